//! iWARP: RDMA over TCP (RFC 5040, 5041, 5044, 6581).
//!
//! A segment goes through `connections`, which finds the connection; `tcp` puts the octets of both ends in order;
//! `framing` cuts the octets into the frames of `mpa`: setup frames and FPDUs; `ddp` decodes the content of an FPDU,
//! and `rdmap` makes operations.

pub(crate) mod connections;
pub mod ddp;
mod framing;
pub mod mpa;
mod rdmap;
mod retransmission;
mod tcp;
mod terminate;
