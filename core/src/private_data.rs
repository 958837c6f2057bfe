//! Private data of both sides during connection setup (RFC 8797 section 4).
//!
//! ```text
//!  0                   4         5         6         7         8
//! +-------------------+---------+---------+---------+---------+
//! |    f6 ab 0e 18    | version | flags   |send size|recv size|
//! +-------------------+---------+---------+---------+---------+
//! ```
//!
//! A size on the wire is the number of 1024-octet blocks beyond the first.

use core::fmt;

use crate::error::EncodeError;
use crate::sink::{self, Emit, Sink};

bitflags::bitflags! {
    /// The flags; unknown flags are kept as received.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Flags: u8 {
        /// R: the other side may invalidate memory of the sender (section 4.1).
        const REMOTE_INVALIDATION = 0x01;
        const _ = !0;
    }
}

/// The private data of one side.
///
/// ```
/// use rpcrdma::private_data::PrivateData;
///
/// // As it may lie in a connection manager's message: not aligned, with something else before it.
/// let found = PrivateData::find(&[0, 0, 0, 0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 3, 0, 0]).unwrap();
/// assert_eq!((found.send_size, found.receive_size), (4096, 4096));
/// assert_eq!(found.to_octets(), [0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 3]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PrivateData {
    /// Capabilities of the sender.
    pub flags: Flags,
    /// Maximum Send size in octets: a multiple of 1024 from 1024 to 262,144.
    pub send_size: u32,
    /// Maximum size of a received Send in octets: a multiple of 1024 from 1024 to 262,144.
    pub receive_size: u32,
}

impl PrivateData {
    /// Octets on the wire.
    pub const LEN: usize = 8;
    /// The format identifier at the start.
    pub const IDENTIFIER: [u8; 4] = [0xf6, 0xab, 0x0e, 0x18];
    /// The version of the format.
    pub const VERSION: u8 = 1;
    /// The smallest size, also of a side that sent no private data.
    pub const SMALLEST_SIZE: u32 = 1024;
    /// The largest size that can be expressed.
    pub const LARGEST_SIZE: u32 = 262_144;

    /// Finds RPC-over-RDMA private data in the private data of a connection manager's message, at any alignment.
    #[must_use]
    pub fn find(octets: &[u8]) -> Option<Self> {
        let mut rest = octets;
        while let Some(candidate) = rest.first_chunk() {
            if let Some(found) = Self::from_octets(candidate) {
                return Some(found);
            }
            (_, rest) = rest.split_first()?;
        }
        None
    }

    /// Finds the same as [`find`](Self::find), or else private data that begins in the same way but has another version
    /// or is cut, and returns the octets.
    #[must_use]
    pub fn locate(octets: &[u8]) -> Option<&[u8]> {
        let (mut rest, mut other) = (octets, None);
        loop {
            if let Some(found) = rest.first_chunk()
                && Self::from_octets(found).is_some()
            {
                return Some(found);
            }
            if rest.starts_with(&Self::IDENTIFIER) {
                other = other.or(rest.get(..Self::LEN.min(rest.len())));
            }
            match rest.split_first() {
                Some((_, after)) => rest = after,
                None => return other,
            }
        }
    }

    /// Reads it; `None` if the identifier or the version is another.
    #[inline]
    #[must_use]
    pub const fn from_octets(octets: &[u8; Self::LEN]) -> Option<Self> {
        match *octets {
            [0xf6, 0xab, 0x0e, 0x18, Self::VERSION, flags, send, receive] => Some(Self {
                flags: Flags::from_bits_retain(flags),
                send_size: decoded_size(send),
                receive_size: decoded_size(receive),
            }),
            _ => None,
        }
    }

    /// Returns the encoded private data. A size that cannot be expressed becomes the next smaller one that can, or the
    /// smallest.
    #[must_use]
    pub const fn to_octets(self) -> [u8; Self::LEN] {
        let [i0, i1, i2, i3] = Self::IDENTIFIER;
        let (send, receive) = (encoded_size(self.send_size), encoded_size(self.receive_size));
        [i0, i1, i2, i3, Self::VERSION, self.flags.bits(), send, receive]
    }

    /// Writes the private data at the start of `buffer` and returns the length in octets.
    ///
    /// # Errors
    /// An [`EncodeError`] if the private data does not fit; `buffer` is then unchanged.
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        sink::encode(self, buffer)
    }
}

/// Values of a side without private data.
impl Default for PrivateData {
    fn default() -> Self {
        Self { flags: Flags::empty(), send_size: Self::SMALLEST_SIZE, receive_size: Self::SMALLEST_SIZE }
    }
}

const fn decoded_size(blocks: u8) -> u32 {
    (blocks as u32).saturating_add(1).saturating_mul(1024)
}

const fn encoded_size(octets: u32) -> u8 {
    let blocks = (octets / 1024).saturating_sub(1);
    if blocks > 0xff { 0xff } else { blocks.to_le_bytes()[0] }
}

impl Emit for PrivateData {
    fn emit<S: Sink>(&self, sink: &mut S) {
        sink.put_octets(&self.to_octets());
    }
}

impl fmt::Display for PrivateData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let can = if self.flags.contains(Flags::REMOTE_INVALIDATION) { "remote" } else { "no remote" };
        write!(f, "send {} receive {} {can} invalidation", self.send_size, self.receive_size)
    }
}

/// Terms of a connection, from the private data of both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Agreement {
    /// The inline threshold from client to server, in octets (section 4.2).
    pub client_to_server: u32,
    /// The inline threshold from server to client, in octets.
    pub server_to_client: u32,
    /// True if a Responder may use Send with Invalidate (section 4.1).
    pub remote_invalidation: bool,
}

impl Agreement {
    /// Creates the agreement of two sides; `None` is a side that sent no private data.
    #[must_use]
    pub fn new(client: Option<PrivateData>, server: Option<PrivateData>) -> Self {
        let (client, server) = (client.unwrap_or_default(), server.unwrap_or_default());
        Self {
            client_to_server: client.send_size.min(server.receive_size),
            server_to_client: server.send_size.min(client.receive_size),
            remote_invalidation: (client.flags & server.flags).contains(Flags::REMOTE_INVALIDATION),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINUX: [u8; 8] = [0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 3];

    #[test]
    fn it_is_found_anywhere() {
        for before in 0..20 {
            let mut octets = [0xf6; 40];
            octets[before..before + 8].copy_from_slice(&LINUX);
            let found = PrivateData::find(&octets).unwrap();
            assert_eq!((found.send_size, found.receive_size, found.flags.bits()), (4096, 4096, 1));
            assert_eq!(PrivateData::find(&octets[..before + 7]), None);
        }
    }

    #[test]
    fn another_version_is_not_it() {
        let octets = [0xf6, 0xab, 0x0e, 0x18, 2, 1, 3, 3, 0xf6, 0xab, 0x0e, 0x18, 1, 0xfe, 0, 255];
        assert_eq!(PrivateData::find(&octets[..8]), None);
        let found = PrivateData::find(&octets).unwrap();
        assert_eq!((found.send_size, found.receive_size, found.flags.bits()), (1024, 262_144, 0xfe));
        assert_eq!(found.to_octets(), octets[8..]);
    }

    #[test]
    fn another_version_is_located() {
        let octets = [0, 0xf6, 0xab, 0x0e, 0x18, 2, 1, 3, 3, 0xf6, 0xab, 0x0e, 0x18, 1, 0xfe, 0, 255];
        assert_eq!(PrivateData::locate(&octets[..10]), Some(&octets[1..9]));
        assert_eq!(PrivateData::locate(&octets[..6]), Some(&octets[1..6]), "cut");
        assert_eq!(PrivateData::locate(&octets), Some(&octets[9..]), "the known version comes first");
        assert_eq!(PrivateData::locate(&octets[2..9]), None);
        assert_eq!(PrivateData::locate(&[]), None);
    }

    #[test]
    fn a_size_that_cannot_be_said_is_made_smaller() {
        for (size, octet) in [(0, 0), (1023, 0), (2047, 0), (2048, 1), (262_143, 254), (262_144, 255), (u32::MAX, 255)]
        {
            let data = PrivateData { send_size: size, ..PrivateData::default() };
            assert_eq!(data.to_octets()[6], octet, "{size}");
        }
    }

    #[test]
    fn the_smaller_size_is_agreed_and_silence_is_1024() {
        let client = PrivateData { flags: Flags::from_bits_retain(0x81), send_size: 4096, receive_size: 8192 };
        let server = PrivateData { flags: Flags::REMOTE_INVALIDATION, send_size: 16_384, receive_size: 2048 };
        let both = Agreement::new(Some(client), Some(server));
        assert_eq!((both.client_to_server, both.server_to_client, both.remote_invalidation), (2048, 8192, true));
        let one = Agreement::new(Some(client), None);
        assert_eq!((one.client_to_server, one.server_to_client, one.remote_invalidation), (1024, 1024, false));
    }
}
