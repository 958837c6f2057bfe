//! The end that calls the echo program, or the NULL procedure of any program, and checks the replies.

use std::fmt;

use rpcrdma::endpoint::Terms;
use rpcrdma_verbs::{Call, CallError, Client, Provider, ReplyError, Stream};

use super::{Carry, MAX_LENGTH, PROGRAM, VERSION, opaque, padding, pattern, word};

/// Octets of the shortest transport header, without chunks.
const TRANSPORT: u32 = 28;
/// Octets of a Call header without credential, and of a Reply header.
const CALL: u32 = 40;
const REPLY: u32 = 24;

/// Makes calls of one kind, one after the other, and checks their replies. The data differs each time, so that remains
/// of the previous call cannot pass for a reply. All buffers are kept: from the second call on, nothing is allocated
/// here.
#[derive(Clone, Debug)]
pub struct Caller {
    program: u32,
    version: u32,
    /// None: NULL.
    carry: Option<Carry>,
    length: u32,
    filler: u32,
    seed: u16,
    call: Call,
}

/// Data that is too long to be carried in this way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TooLong {
    /// The way.
    pub carry: Carry,
    /// The most octets that this way carries.
    pub most: u32,
}

/// What is wrong with a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wrong {
    /// It has no results.
    Reply(ReplyError),
    /// The results end early, or something follows them; the octets of the results.
    Results(usize),
    /// It claims or has this many octets.
    Length(u32),
    /// The first octet of the data that differs.
    Octet(usize),
    /// The server has received something else: its CRC.
    Checksum(u32),
}

/// Why a call has not succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallFault {
    /// There is no reply.
    Call(CallError),
    /// There is one, and it is wrong.
    Wrong(Wrong),
}

impl Caller {
    /// Calls the NULL procedure of a program.
    #[must_use]
    pub fn null(program: u32, version: u32) -> Self {
        let call = Call::default();
        Self { program, version, carry: None, length: 0, filler: 0, seed: 0, call }
    }

    /// Calls the echo program with this many octets of data, on a connection with these terms.
    ///
    /// # Errors
    /// [`TooLong`].
    pub fn echo(carry: Carry, length: u32, terms: &Terms) -> Result<Self, TooLong> {
        let inline = |threshold: u32, header: u32| threshold.saturating_sub(TRANSPORT + header + 4);
        let most = match carry {
            Carry::Inline => {
                inline(terms.call_threshold, CALL).min(inline(terms.reply_threshold, REPLY)).min(MAX_LENGTH)
            }
            _ => MAX_LENGTH,
        };
        if length > most {
            return Err(TooLong { carry, most });
        }
        let missing = |threshold: u32, header: u32| {
            let without = TRANSPORT + header + 8 + length.next_multiple_of(4);
            (threshold + 1).saturating_sub(without).next_multiple_of(4)
        };
        let filler = match carry {
            Carry::Read if length > 0 => missing(terms.call_threshold, CALL),
            Carry::PositionZero => missing(terms.call_threshold, CALL),
            Carry::Reply => missing(terms.reply_threshold, REPLY),
            _ => 0,
        };
        let call = Call::default();
        Ok(Self { program: PROGRAM, version: VERSION, carry: Some(carry), length, filler, seed: 0, call })
    }

    /// Octets of data in a call: 0 for NULL.
    #[must_use]
    pub const fn length(&self) -> u32 {
        self.length
    }

    /// Makes the call and checks the reply.
    ///
    /// # Errors
    /// A [`CallFault`].
    pub fn call<V: Provider>(&mut self, client: &Client<V>) -> Result<(), CallFault> {
        client.call(self.prepare()).map_err(CallFault::Call)?;
        self.check().map_err(CallFault::Wrong)
    }

    /// The next call, for callers that make it themselves. [`check`](Self::check) it then.
    pub fn prepare(&mut self) -> &mut Call {
        self.seed = self.seed.wrapping_add(1);
        if self.call.message().is_empty() {
            // The connection has the one before, which was given up.
            self.call = Call::rpc(self.program, self.version, self.carry.map_or(0, Carry::procedure));
        }
        let message = self.call.message();
        message.clear();
        let data = pattern(self.seed, self.length).unwrap_or_default();
        let given = |message: &mut Stream| {
            message.push(&self.filler.to_be_bytes());
            message.push_zeros(self.filler as usize);
            message.push(&self.length.to_be_bytes());
        };
        let wanted = |message: &mut Stream| {
            [u32::from(self.seed), self.length, self.filler].iter().for_each(|word| message.push(&word.to_be_bytes()));
        };
        let mut results = 0;
        match self.carry {
            None => {}
            Some(Carry::Inline) => {
                message.push(&self.length.to_be_bytes());
                message.push(data);
                message.push(padding(data.len()));
                results = 4 + self.length.next_multiple_of(4);
            }
            Some(Carry::Read) => {
                given(message);
                message.push_copy(data);
                results = 8;
            }
            Some(Carry::PositionZero) => {
                given(message);
                message.push(data);
                message.push(padding(data.len()));
                results = 8;
            }
            Some(Carry::Write) => {
                wanted(message);
                // The connection has the buffers of a call that was given up.
                self.call.rooms().resize_with(1, || vec![0; self.length as usize]);
                results = 8;
            }
            Some(Carry::Reply) => {
                wanted(message);
                results = 8 + self.filler + self.length.next_multiple_of(4);
            }
        }
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

    /// Whether the reply to the last call is right: every octet of it is compared.
    ///
    /// # Errors
    /// What is [`Wrong`].
    pub fn check(&self) -> Result<(), Wrong> {
        let results = self.call.accepted().map_err(Wrong::Reply)?;
        let data = pattern(self.seed, self.length).unwrap_or_default();
        let mut rest = results;
        let broken = Wrong::Results(results.len());
        match self.carry {
            None => {}
            Some(Carry::Inline) => same(opaque(&mut rest).ok_or(broken)?, data)?,
            Some(Carry::Read | Carry::PositionZero) => {
                let (length, crc) = (word(&mut rest).ok_or(broken)?, word(&mut rest).ok_or(broken)?);
                if length != self.length {
                    return Err(Wrong::Length(length));
                }
                if crc != crc32fast::hash(data) {
                    return Err(Wrong::Checksum(crc));
                }
            }
            Some(Carry::Write) => {
                opaque(&mut rest).filter(|filler| filler.is_empty()).ok_or(broken)?;
                let length = word(&mut rest).ok_or(broken)?;
                if length != self.length {
                    return Err(Wrong::Length(length));
                }
                same(self.call.result(0), data)?;
            }
            Some(Carry::Reply) => {
                opaque(&mut rest).filter(|filler| filler.len() == self.filler as usize).ok_or(broken)?;
                same(opaque(&mut rest).ok_or(broken)?, data)?;
            }
        }
        if rest.is_empty() { Ok(()) } else { Err(broken) }
    }
}

/// Whether the received data is this.
fn same(come: &[u8], data: &[u8]) -> Result<(), Wrong> {
    if come == data {
        return Ok(());
    }
    match come.iter().zip(data).position(|(come, sent)| come != sent) {
        Some(at) => Err(Wrong::Octet(at)),
        None => Err(Wrong::Length(u32::try_from(come.len()).unwrap_or(u32::MAX))),
    }
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {} octets can be carried by `{}` on this connection", self.most, self.carry)
    }
}

impl std::error::Error for TooLong {}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reply(error) => error.fmt(f),
            Self::Results(length) => write!(f, "{length} octets of results are not what the procedure returns"),
            Self::Length(length) => write!(f, "{length} octets of data, which is not what was asked for"),
            Self::Octet(at) => write!(f, "octet {at} of the data is wrong"),
            Self::Checksum(crc) => write!(f, "the server has received other data, with the CRC {crc:#010x}"),
        }
    }
}

impl std::error::Error for Wrong {}

impl fmt::Display for CallFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(error) => error.fmt(f),
            Self::Wrong(wrong) => wrong.fmt(f),
        }
    }
}

impl std::error::Error for CallFault {}
