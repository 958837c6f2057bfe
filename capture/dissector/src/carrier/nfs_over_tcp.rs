//! Servers to which a capture holds NFS over TCP: a mount without RDMA, or the server of a referral.

use super::operation::Stamp;
use crate::file::Time;
use crate::link::{Address, TcpSegment};

/// The port of NFS over TCP (RFC 8881 section 2.9.1).
const NFS_TCP_PORT: u16 = 2049;
/// The most servers that are kept.
const SERVERS: usize = 16;

/// TCP segments between clients and port 2049 of one server. The content of the segments is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NfsOverTcp {
    /// Address of the server.
    pub server: Address,
    /// Segments in both directions.
    pub segments: u64,
    /// The first of these segments.
    pub first: Stamp,
    /// Time of the last of these segments.
    pub last: Time,
}

/// Counts a segment at the server whose port 2049 is one of the two ports. Servers beyond the first 16 are not counted.
#[cold]
pub(crate) fn count_segment(servers: &mut Vec<NfsOverTcp>, segment: &TcpSegment<'_>, stamp: Stamp) {
    let server = match (segment.source_port, segment.destination_port) {
        (_, NFS_TCP_PORT) => segment.destination,
        (NFS_TCP_PORT, _) => segment.source,
        _ => return,
    };
    if let Some(known) = servers.iter_mut().find(|known| known.server == server) {
        known.segments += 1;
        known.last = stamp.time;
    } else if servers.len() < SERVERS {
        servers.push(NfsOverTcp { server, segments: 1, first: stamp, last: stamp.time });
    }
}
