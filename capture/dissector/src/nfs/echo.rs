//! Echo program of `rpcrdma-serve`, described by the documentation of `rpcrdma_tools::echo`. The program is here so
//! that echo RPCs can be rebuilt.

use super::grammar::Item::{Data, Fixed, Opaque};
use super::grammar::{Row, plain, row};

pub(super) const PROCEDURES: &[Row] = &[
    row(0, "echo NULL", &[], plain(&[])),
    row(1, "echo ECHO", &[Opaque], plain(&[Opaque])),
    row(2, "echo TAKE", &[Opaque, Data], plain(&[Fixed(8)])),
    row(3, "echo GIVE", &[Fixed(12)], plain(&[Opaque, Data])),
    row(4, "echo TAKE_WHOLE", &[Opaque, Opaque], plain(&[Fixed(8)])),
    row(5, "echo GIVE_WHOLE", &[Fixed(12)], plain(&[Opaque, Opaque])),
];
