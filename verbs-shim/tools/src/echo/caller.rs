//! Caller of the echo program, or of the NULL procedure of any program. All replies are checked.

use std::fmt;
use std::sync::Arc;

use rpcrdma::endpoint::{Terms, Version};
use rpcrdma_verbs::{Call, CallError, Client, Provider};

use super::ways::{EchoData, EchoResults, Inline, Null, PositionZero, Read, Reply, Way, Write};
use super::wrong::Wrong;
use super::{Carry, MAX_LENGTH, PROGRAM, VERSION, pattern};

/// Length of the shortest transport header, without chunks, in octets.
const TRANSPORT: u32 = 28;
/// Length of a Call header without credential, and of a Reply header, in octets.
const CALL: u32 = 40;
const REPLY: u32 = 24;

impl Carry {
    /// The most octets of data that a call of the echo program carries in this way, on a connection with these terms.
    #[must_use]
    pub fn most(self, terms: &Terms) -> u32 {
        let inline = |threshold: u32, header: u32| threshold.saturating_sub(TRANSPORT + header + 4);
        match self {
            Self::Continued if terms.version != Version::One => MAX_LENGTH,
            Self::Inline | Self::Continued => {
                inline(terms.call_threshold, CALL).min(inline(terms.reply_threshold, REPLY)).min(MAX_LENGTH)
            }
            Self::Read | Self::Write | Self::PositionZero | Self::Reply => MAX_LENGTH,
        }
    }
}

/// Makes calls of one kind, one after the other, and checks their replies. The data differs each time, so that data of
/// the previous call cannot pass for a reply. All buffers are kept: from the second call on, nothing is allocated here.
#[derive(Clone, Debug)]
pub struct Caller {
    program: u32,
    version: u32,
    procedure: u32,
    way: Arc<dyn Way>,
    length: u32,
    seed: u16,
    call: Call,
}

/// Data that is too long to be carried in this way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TooLong {
    /// The way.
    pub carry: Carry,
    /// Maximum length of the data in octets.
    pub most: u32,
}

/// Reason for a failed call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallFault {
    /// There is no reply.
    Call(CallError),
    /// The reply is wrong.
    Wrong(Wrong),
}

impl Caller {
    /// Calls the NULL procedure of a program.
    #[must_use]
    pub fn null(program: u32, version: u32) -> Self {
        let call = Call::default();
        Self { program, version, procedure: 0, way: Arc::new(Null), length: 0, seed: 0, call }
    }

    /// Calls the echo program with this many octets of data, on a connection with these terms.
    ///
    /// # Errors
    /// [`TooLong`].
    pub fn echo(carry: Carry, length: u32, terms: &Terms) -> Result<Self, TooLong> {
        let most = carry.most(terms);
        if length > most {
            return Err(TooLong { carry, most });
        }
        let missing = |threshold: u32, header: u32| {
            let without = TRANSPORT + header + 8 + length.next_multiple_of(4);
            (threshold + 1).saturating_sub(without).next_multiple_of(4)
        };
        let filler = missing(terms.call_threshold, CALL);
        let way: Arc<dyn Way> = match carry {
            Carry::Inline | Carry::Continued => Arc::new(Inline),
            Carry::Read => Arc::new(Read { filler: if length > 0 { filler } else { 0 } }),
            Carry::PositionZero => Arc::new(PositionZero { filler }),
            Carry::Write => Arc::new(Write),
            Carry::Reply => Arc::new(Reply { filler: missing(terms.reply_threshold, REPLY) }),
        };
        let (procedure, call) = (carry.procedure(), Call::default());
        Ok(Self { program: PROGRAM, version: VERSION, procedure, way, length, seed: 0, call })
    }

    /// Length of the data of a call in octets: 0 for NULL.
    #[must_use]
    pub const fn length(&self) -> u32 {
        self.length
    }

    /// Makes the call and checks the reply.
    ///
    /// # Errors
    /// A [`CallFault`].
    pub fn call<V: Provider>(&mut self, client: &Client<V>) -> Result<(), CallFault> {
        // `check` takes the reply apart.
        let _ = client.call(self.prepare()).map_err(CallFault::Call)?;
        self.check().map_err(CallFault::Wrong)
    }

    /// Returns the next call, for callers that make the call and then [`check`](Self::check) the reply.
    pub fn prepare(&mut self) -> &mut Call {
        self.seed = self.seed.wrapping_add(1);
        if self.call.message().is_empty() {
            // The connection has the previous call, which was given up.
            self.call = Call::rpc(self.program, self.version, self.procedure);
        }
        self.call.message().clear();
        let results = self.way.arguments(self.data(), &mut self.call);
        self.call.set_results_length(results);
        &mut self.call
    }

    /// The last call that was made.
    #[must_use]
    pub const fn last(&self) -> &Call {
        &self.call
    }

    /// The XID of the last call that was made.
    #[must_use]
    pub const fn xid(&self) -> u32 {
        self.call.xid()
    }

    /// Compares every octet of the reply to the last call.
    ///
    /// # Errors
    /// The difference that was found.
    pub fn check(&self) -> Result<(), Wrong> {
        let mut results = EchoResults::new(self.call.accepted().map_err(Wrong::Reply)?);
        self.way.check(self.data(), &self.call, &mut results)?;
        results.check_end()
    }

    fn data(&self) -> EchoData {
        EchoData { seed: self.seed, octets: pattern(self.seed, self.length).unwrap_or_default() }
    }
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {} octets can be carried by `{}` on this connection", self.most, self.carry)
    }
}

impl std::error::Error for TooLong {}

impl fmt::Display for CallFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(error) => error.fmt(f),
            Self::Wrong(wrong) => wrong.fmt(f),
        }
    }
}

impl std::error::Error for CallFault {
    /// The cause of the error whose text this error has.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Call(error) => error.source(),
            Self::Wrong(wrong) => wrong.source(),
        }
    }
}
