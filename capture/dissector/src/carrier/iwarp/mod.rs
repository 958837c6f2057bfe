//! iWARP: RDMA over TCP (RFC 5040, 5041, 5044, 6581).
//!
//! A segment goes through `connections`, which finds its connection; `tcp` puts the octets of both ends in order;
//! `framing` cuts them into what `mpa` describes: set-up frames and FPDUs; `ddp` reads what is in an FPDU, and `rdmap`
//! turns it into operations.

mod again;
pub(crate) mod connections;
pub mod ddp;
mod framing;
pub mod mpa;
mod rdmap;
mod tcp;
mod terminate;
