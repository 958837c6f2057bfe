//! The vectors, and the Sends of a capture, which `build.rs` has put together.

use rpcrdma::endpoint::Version;
use rpcrdma::v2::Family;

/// Records, one after the other: version, length (big-endian, two octets), and the octets of a Send.
static RECORDED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/recorded"));

/// Iterates over the Sends, each with its version.
pub(crate) fn sends() -> impl Iterator<Item = (Version, &'static [u8])> {
    let mut rest = RECORDED;
    core::iter::from_fn(move || {
        let (&[version, high, low], behind) = rest.split_first_chunk()?;
        let (send, behind) = behind.split_at_checked(usize::from(u16::from_be_bytes([high, low])))?;
        rest = behind;
        let version = match version {
            b'1' => Version::One,
            b'A' => Version::Two(Family::A),
            _ => Version::Two(Family::B),
        };
        Some((version, send))
    })
}
