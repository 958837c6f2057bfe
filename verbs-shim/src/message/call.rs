//! A call as an application makes it, and its outcome.

use std::fmt;
use std::ops::Range;

use rpcrdma::endpoint::requester;
use rpcrdma::v1::ErrorBody;

use crate::message::ended::Ended;
use crate::message::stream::Stream;

/// An RPC call with room for its reply. All buffers belong to the caller and come back with the reply or an error, so
/// that the next call can reuse them. Only the buffers of a call that is given up while it waits for its reply come
/// back in [another way](crate::Connection::returned).
///
/// ```
/// use rpcrdma_verbs::{Call, Stream};
///
/// // READ of 4096 octets: all of the reply but the data fits in 200 octets.
/// let call = Call::new(Stream::from(vec![0; 40]), 200).with_result(vec![0; 4096]);
/// assert_eq!(call.reply(), b"", "not answered yet");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Call {
    pub(crate) stream: Stream,
    pub(crate) results: Vec<Vec<u8>>,
    pub(crate) reply_length: u32,
    /// The reply, or the room for it.
    pub(crate) reply: Vec<u8>,
    /// Where in `reply` the reply is.
    pub(crate) replied: Range<usize>,
    /// Octets of each result.
    pub(crate) received: Vec<u32>,
}

/// Why there is no reply to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallError {
    /// The call was not made, because it is impossible, at least on this connection.
    Refused(requester::CallRefusal),
    /// Memory could not be registered.
    NotRegistered,
    /// The other side says that it cannot answer this call; making it again does not help (RFC 8166 section 4.5).
    Error(ErrorBody),
    /// What was received outside a Send is not a reply to this call, or is longer than the room that was announced.
    NoReply,
    /// The call took too long and was given up. If it was sent, the other side may still use its buffers: they are not
    /// in the [`Call`], but are freed when its reply has come, or [returned](crate::Connection::returned).
    TimedOut(Progress),
    /// The connection ended first.
    Lost(Ended, Progress),
}

/// How far a call without a reply had got: whether the other side may have carried it out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Progress {
    /// It was not sent, so it was not carried out and can be made again.
    #[default]
    NotSent,
    /// Its Send was posted: it may have been carried out, once.
    Sent,
}

impl Call {
    /// A call with this message, which begins with the whole RPC header. A reply may have at most `reply_length`
    /// octets, not counting the results that have room of their own; a longer one is refused.
    #[must_use]
    pub fn new(message: Stream, reply_length: u32) -> Self {
        Self { stream: message, reply_length, ..Self::default() }
    }

    /// Adds room for one more result that the Upper-Layer Binding allows to be reduced: a Write chunk as long as the
    /// buffer. The other side fills these in the order of the results.
    #[must_use]
    pub fn with_result(mut self, room: Vec<u8>) -> Self {
        self.results.push(room);
        self
    }

    /// The message, to change it for the next call.
    pub const fn message(&mut self) -> &mut Stream {
        &mut self.stream
    }

    /// The room for results, to change it for the next call.
    pub const fn rooms(&mut self) -> &mut Vec<Vec<u8>> {
        &mut self.results
    }

    /// Changes how long a reply may be, for the next call.
    pub const fn set_reply_length(&mut self, octets: u32) {
        self.reply_length = octets;
    }

    /// The reply, without the results that are in their own buffers; empty if there is none.
    #[must_use]
    pub fn reply(&self) -> &[u8] {
        self.reply.get(self.replied.clone()).unwrap_or_default()
    }

    /// The result in the buffer with this number; empty if there is none, or if the result is in the reply.
    #[must_use]
    pub fn result(&self, number: usize) -> &[u8] {
        let length = self.received.get(number).map_or(0, |&length| length as usize);
        self.results.get(number).and_then(|room| room.get(..length)).unwrap_or_default()
    }

    /// Forgets the previous reply.
    pub(crate) fn begin(&mut self) {
        self.replied = 0..0;
        self.received.clear();
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => write!(f, "the call cannot be made: {error}"),
            Self::NotRegistered => f.write_str("the memory of the call could not be registered"),
            Self::Error(error) => write!(f, "the other side answers with an error: {error}"),
            Self::NoReply => f.write_str("what came is no reply to this call, or too long for its room"),
            Self::TimedOut(Progress::NotSent) => f.write_str("not sent within the time that was set"),
            Self::TimedOut(Progress::Sent) => f.write_str("no reply within the time that was set"),
            Self::Lost(ended, Progress::NotSent) => write!(f, "the connection ended before the call was sent: {ended}"),
            Self::Lost(ended, Progress::Sent) => write!(f, "the connection ended before the reply: {ended}"),
        }
    }
}

impl std::error::Error for CallError {}
