//! Headers of packets and FPDUs, and where the octets of a message were, for programs that write changed copies of packets:
//! `rpcrdma-answers` takes confidential content out of captures with it.
//!
//! The layers below are in [`link`](crate::link), the values in a message in [`nfs`](crate::nfs).

pub use crate::carrier::connection::Consumer;
pub use crate::carrier::framed::FramedKind;
pub use crate::carrier::infiniband::crc::{right_icrc, right_vcrc};
pub use crate::carrier::infiniband::transport;
pub use crate::carrier::iwarp::{ddp, mpa};
pub use crate::rpc::header::{read_chunks, write_lengths};
pub use crate::rpc::placement::{FramePlacement, PlacedPart};
