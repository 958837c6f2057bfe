//! The echo program: moves octets to or from a server in each way that RPC-over-RDMA has, and checks that all arrive
//! intact. `rpcrdma-serve` answers and `rpcrdma-ping` calls the program; tests and measurements use both ends.
//!
//! # The program
//! Number [`PROGRAM`], from the range that anybody may use (RFC 5531 section 13), version [`VERSION`]. In XDR (RFC
//! 4506):
//!
//! ```text
//! struct summary { unsigned int length; unsigned int crc32; };
//! struct wanted  { unsigned int seed; unsigned int length; unsigned int filler; };
//! struct given   { opaque filler<>; opaque data<>; };
//!
//! void    NULL(void)        = 0;
//! opaque  ECHO(opaque<>)    = 1;    the argument comes back
//! summary TAKE(given)       = 2;    of the data; crc32 is that of ISO 3309
//! given   GIVE(wanted)      = 3;    the octets of `pattern(seed, length)`
//! summary TAKE_WHOLE(given) = 4;
//! given   GIVE_WHOLE(wanted) = 5;
//! ```
//!
//! # Its Upper-Layer Binding
//! `data` is DDP-eligible (RFC 8166 section 3.4.1) as the argument of TAKE and as the result of GIVE, and nothing else
//! is. A client provides a Write chunk for the result of GIVE, and a Reply chunk if the reply may be longer than the
//! inline threshold; the request tells the longest reply.
//!
//! A filler consists of zeros that make a message too long for a Send, so that even small data travels in the requested
//! way.
//!
//! # Ways
//! | [`Carry`] | procedure | the data |
//! |---|---|---|
//! | `Inline` | ECHO | in the Send, there and back |
//! | `Read` | TAKE | to the server in a Read chunk; 0 octets need none |
//! | `Write` | GIVE | to the client in a Write chunk; 0 octets need none |
//! | `PositionZero` | TAKE_WHOLE | to the server in a Long Call |
//! | `Reply` | GIVE_WHOLE | to the client in a Long Reply |
//! | `Continued` | ECHO | in as many Sends as it takes, there and back; only in version 2, on a connection that [continues] all |
//!
//! [continues]: rpcrdma_verbs::SettingsBuilder::continued
//!
//! An entry of the Read list itself needs 24 octets. So if a Call with 1 to 24 octets of data is too long for a Send,
//! the Call is also too long without the data: the data goes in a Read chunk, and the rest of the Call in a Position
//! Zero chunk.
//!
//! ```
//! use std::thread;
//!
//! use rpcrdma_tools::echo::{Caller, Carry, programs};
//! use rpcrdma_verbs::loopback::Fabric;
//! use rpcrdma_verbs::{Client, Server, Settings};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let fabric = Fabric::new();
//! let (here, there) = (fabric.adapter([192, 0, 2, 1].into())?, fabric.adapter([192, 0, 2, 2].into())?);
//! let address = "192.0.2.2:20049".parse()?;
//! let server = Server::bind(&there, address, Settings::server())?;
//! let stop = server.stopper();
//! let served = thread::spawn(move || server.serve(&programs()));
//!
//! let client = Client::connect(&here, address, &Settings::client())?;
//! let mut caller = Caller::echo(Carry::Read, 100_000, &client.connection().terms())?;
//! for _ in 0..3 {
//!     caller.call(&client)?;
//! }
//!
//! stop.stop();
//! served.join().unwrap()?;
//! # Ok(())
//! # }
//! ```

mod caller;
mod programs;
mod ways;
mod wrong;

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

pub use caller::{CallFault, Caller, TooLong};
pub(crate) use programs::procedure;
pub use programs::programs;
pub use wrong::Wrong;

/// The number of the echo program.
pub const PROGRAM: u32 = 0x2000_8166;
/// Its version.
pub const VERSION: u32 = 1;
/// Maximum length of the data of a call in octets.
pub const MAX_LENGTH: u32 = 0x10_0000;
/// Maximum length of a filler in octets: more than an inline threshold can be (RFC 8797 section 4.2).
pub const MAX_FILLER: u32 = 0x4_0400;

const ECHO: u32 = 1;
const TAKE: u32 = 2;
const GIVE: u32 = 3;
const TAKE_WHOLE: u32 = 4;
const GIVE_WHOLE: u32 = 5;

/// The way in which the data of a call travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Carry {
    /// In the Sends.
    Inline,
    /// As an argument, in a Read chunk.
    Read,
    /// As a result, in a Write chunk.
    Write,
    /// As an argument, with the whole Call in a Position Zero chunk.
    PositionZero,
    /// As a result, with the whole reply in a Reply chunk.
    Reply,
    /// In as many Sends as needed.
    Continued,
}

impl Carry {
    /// All ways.
    pub const ALL: [Self; 6] =
        [Self::Inline, Self::Read, Self::Write, Self::PositionZero, Self::Reply, Self::Continued];

    const fn name(self) -> &'static str {
        match self {
            Self::Inline => "inline",
            Self::Read => "read",
            Self::Write => "write",
            Self::PositionZero => "position-zero",
            Self::Reply => "reply",
            Self::Continued => "continued",
        }
    }

    const fn procedure(self) -> u32 {
        match self {
            Self::Inline | Self::Continued => ECHO,
            Self::Read => TAKE,
            Self::Write => GIVE,
            Self::PositionZero => TAKE_WHOLE,
            Self::Reply => GIVE_WHOLE,
        }
    }
}

impl fmt::Display for Carry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// There is no way with this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownCarry;

impl fmt::Display for UnknownCarry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there are inline, read, write, position-zero, reply and continued")
    }
}

impl std::error::Error for UnknownCarry {}

impl FromStr for Carry {
    type Err = UnknownCarry;

    fn from_str(name: &str) -> Result<Self, UnknownCarry> {
        Self::ALL.into_iter().find(|carry| carry.name() == name).ok_or(UnknownCarry)
    }
}

/// Returns the `length` octets for `seed`: the octets at offset `seed` of a sequence whose word number n, counted from
/// 0, is n times 0x9e3779b1 modulo 2^32, most significant octet first. Returns `None` for more than [`MAX_LENGTH`].
///
/// The sequence is built once; no word occurs twice.
#[must_use]
pub fn pattern(seed: u16, length: u32) -> Option<&'static [u8]> {
    static SEQUENCE: OnceLock<Vec<u8>> = OnceLock::new();
    let words = (MAX_LENGTH + 0x1_0000) / 4;
    let sequence =
        SEQUENCE.get_or_init(|| (0..words).flat_map(|word| word.wrapping_mul(0x9e37_79b1).to_be_bytes()).collect());
    if length > MAX_LENGTH {
        return None;
    }
    sequence.get(usize::from(seed)..)?.get(..length as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_is_found_by_its_name() {
        for carry in Carry::ALL {
            assert_eq!(carry.to_string().parse(), Ok(carry));
        }
        assert_eq!("Inline".parse::<Carry>(), Err(UnknownCarry));
    }

    #[test]
    fn the_pattern_is_that_of_the_documentation() {
        assert_eq!(pattern(0, 12), Some(&[0, 0, 0, 0, 0x9e, 0x37, 0x79, 0xb1, 0x3c, 0x6e, 0xf3, 0x62][..]));
        assert_eq!(pattern(5, 4), Some(&[0x37, 0x79, 0xb1, 0x3c][..]));
        assert_eq!(pattern(u16::MAX, MAX_LENGTH).map(<[u8]>::len), Some(MAX_LENGTH as usize));
        assert_eq!(pattern(0, MAX_LENGTH + 1), None);
    }
}
