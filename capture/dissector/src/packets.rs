//! Headers of packets and FPDUs, and the positions of a message's octets, for programs that write changed copies of
//! packets: `rpcrdma-answers` takes confidential content out of captures with these headers.
//!
//! The layers below are in [`link`](crate::link), the values in a message in [`nfs`](crate::nfs).

pub use crate::carrier::connection::Consumer;
pub use crate::carrier::framed::FramedKind;
pub use crate::carrier::infiniband::crc::{right_icrc, right_vcrc};
pub use crate::carrier::infiniband::transport;
pub use crate::carrier::iwarp::{ddp, mpa};
pub use crate::rpc::header::{read_chunks, write_lengths};
pub use crate::rpc::placement::{FramePlacement, PlacedPart};
