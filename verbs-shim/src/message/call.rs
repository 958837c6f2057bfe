//! A call as an application makes one, and the outcome.

use std::fmt;
use std::mem;
use std::ops::Range;
use std::time::Duration;

use rpcrdma::endpoint::requester;
use rpcrdma::rpc::{self, Auth, AuthSys, Flavor};
use rpcrdma::v1::ErrorBody;
use rpcrdma::v2::ErrorBodyV2;

use crate::message::end_reason::EndReason;
use crate::message::reply::{self, ReplyError};
use crate::message::stream::{Stream, padded_length};
use crate::verbs::Error;

/// An RPC call with buffers for the reply. All buffers belong to the caller and come back with the reply or an error,
/// for the next call. Only the buffers of a call that is given up while waiting come back in [another
/// way](crate::Connection::take_given_up_call).
///
/// ```
/// use rpcrdma::rpc::AuthSys;
/// use rpcrdma_verbs::Call;
///
/// // Procedure 6 of program 100003, version 3, as user 1000: 4096 octets come apart from the other results, which are 128.
/// let user = AuthSys::new(b"host1", 1000, 100, &[])?;
/// let mut call = Call::rpc(100_003, 3, 6).with_credentials(&user).with_results_length(128).with_result(vec![0; 4096]);
/// call.message().push(&[0; 8]); // the arguments, in XDR
/// assert_eq!(call.reply(), b"", "not made yet");
/// # Ok::<(), rpcrdma::rpc::AuthSysError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Call {
    pub(crate) stream: Stream,
    chosen_by: Chooser,
    /// The XID of the latest attempt; kept even if the rest of the call is given up.
    xid: u32,
    pub(crate) results: Vec<Vec<u8>>,
    /// Maximum length of the reply's header, and of the rest, in octets.
    reply_header: u32,
    results_length: u32,
    max_buffer_length: u32,
    expects: Expects,
    repeats: Repeats,
    timeout: Option<Duration>,
    /// The reply, or the reply buffer.
    pub(crate) reply: Vec<u8>,
    /// Range of the reply in `reply`.
    pub(crate) replied: Range<usize>,
    /// Length of each result, in octets.
    pub(crate) received: Vec<u32>,
}

/// A result that came in a separate buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReducedResult {
    /// Position of the result in [`Call::reply`], in octets.
    pub position: usize,
    /// Number of the buffer, from 0.
    pub buffer: usize,
    /// Length in octets, without padding.
    pub length: usize,
}

/// A reply that has come. The server may have denied the call, or not carried out the procedure:
/// [`results`](Self::results) tells.
///
/// ```
/// # use std::thread;
/// # use rpcrdma_verbs::loopback::Fabric;
/// # use rpcrdma_verbs::{Client, Dispatcher, Server, Settings};
/// use rpcrdma_verbs::{Call, ReplyError};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let fabric = Fabric::new();
/// # let (here, there) = (fabric.adapter([192, 0, 2, 1].into())?, fabric.adapter([192, 0, 2, 2].into())?);
/// # let address = "192.0.2.2:20049".parse()?;
/// # let server = Server::bind(&there, address, Settings::server())?;
/// # let stop = server.stopper();
/// # let served = thread::spawn(move || server.serve(&Dispatcher::default()));
/// # let client = Client::connect(&here, address, &Settings::client())?;
/// // The server does not have this program.
/// let reply = client.call(&mut Call::rpc(400_100, 1, 1))?.results().map(<[u8]>::to_vec);
/// assert!(matches!(reply, Err(ReplyError::NotCarriedOut(_))));
/// # stop.stop();
/// # served.join().unwrap()?;
/// # Ok(())
/// # }
/// ```
///
/// ```compile_fail
/// #![deny(unused_must_use)]
/// # use rpcrdma_verbs::{Call, CallError, Client, Provider};
/// # fn make<V: Provider>(client: &Client<V>) -> Result<(), CallError> {
/// client.call(&mut Call::rpc(400_100, 1, 1))?; // not compiled: was the call carried out?
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "the server may have denied the call, or not carried it out"]
pub struct Reply<'a> {
    call: &'a Call,
}

impl<'a> Reply<'a> {
    /// The results, without those in separate buffers; empty for a call without a reply.
    ///
    /// # Errors
    /// The server's answer, if the call was not carried out.
    pub fn results(self) -> Result<&'a [u8], ReplyError> {
        match self.call.expects {
            Expects::Reply => self.call.accepted(),
            Expects::Nothing => Ok(&[]),
        }
    }

    /// The result in the buffer with this number; empty if there is none, or if the result is in the reply.
    #[must_use]
    pub fn result(self, number: usize) -> &'a [u8] {
        self.call.result(number)
    }

    /// The reply with the header, whatever the server answers: [`Call::reply`].
    #[must_use]
    pub fn message(self) -> &'a [u8] {
        self.call.reply()
    }
}

/// A call that was made in an asynchronous function or by [`Client::start`](crate::Client::start), and has ended: the call
/// with all buffers, and the reply or the reason why there is none.
///
/// ```compile_fail
/// #![deny(unused_must_use)]
/// # use rpcrdma_verbs::{Call, CallError, Client, Provider};
/// # async fn make<V: Provider>(client: &Client<V>) -> Result<(), CallError> {
/// client.start(Call::rpc(400_100, 1, 1)).await.reply()?; // not compiled: was the call carried out?
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "the call may have no reply"]
pub struct CallOutcome {
    pub(crate) call: Call,
    pub(crate) ended: Result<(), CallError>,
}

impl CallOutcome {
    /// The reply, as from [`Client::call`](crate::Client::call).
    ///
    /// # Errors
    /// A [`CallError`], if there is no reply.
    pub fn reply(&self) -> Result<Reply<'_>, CallError> {
        self.ended.clone().map(|()| self.call.replied())
    }

    /// The call with all buffers, to be made once more. After [`CallError::TimedOut`], most buffers are missing.
    #[must_use]
    pub fn into_call(self) -> Call {
        self.call
    }
}

/// Origin of the XID of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Chooser {
    /// The caller has put the XID in the message.
    #[default]
    Caller,
    /// The connection chooses an XID for each attempt.
    Connection,
    /// A [`ReconnectingClient`](crate::ReconnectingClient) client has chosen the XID, for all attempts.
    Reconnecting,
}

/// Permission to carry a call out more than once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Repeats {
    #[default]
    Never,
    Allowed,
}

/// Answer to a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Expects {
    #[default]
    Reply,
    Nothing,
}

/// Reason for a call without a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallError {
    /// The call is impossible, at least on this connection, and was not made.
    Refused(requester::CallRefusal),
    /// Memory could not be registered, for this reason. The call was not sent.
    NotRegistered(Error),
    /// The other side cannot answer this call; another attempt does not help (RFC 8166 section 4.5).
    Error(ErrorBody),
    /// The other side answered `RDMA2_ERROR`, of version 2, and making the call again, as that error asks for, is not
    /// possible, not allowed, or was tried.
    ErrorV2(ErrorBodyV2),
    /// The octets received outside a Send are not a reply to this call, or exceed the announced buffer. In version 2,
    /// also a reply whose chunks are not the chunks of the call.
    NoReply,
    /// The call timed out and was given up. If the call was sent, the other side may still use the buffers: the buffers
    /// are not in the [`Call`], but are freed when the reply has come, or [returned](crate::Connection::take_given_up_call).
    TimedOut(Progress),
    /// The connection ended first.
    Lost(EndReason, Progress),
    /// A [`ReconnectingClient`](crate::ReconnectingClient) client had no connection in time. A call that was sent was on an earlier
    /// connection.
    NotConnected(Error, Progress),
}

/// Progress of a call without a reply: tells if the other side may have carried out the call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Progress {
    /// The call was not sent, so nothing was carried out, and another attempt is safe.
    #[default]
    NotSent,
    /// The Send of the call was posted: the call may have been carried out, once.
    Sent,
}

/// Length of the header of a call without credentials, and of an accepted reply without verifier, in octets.
const CALL_HEADER: usize = 40;
const REPLY_HEADER: u32 = 24;

impl Call {
    /// A call of a procedure, with `AUTH_NONE` and without arguments, which are appended to [`message`](Self::message).
    /// The connection chooses an XID for each attempt.
    #[must_use]
    pub fn rpc(program: u32, version: u32, procedure: u32) -> Self {
        let header = rpc::RpcCall {
            xid: 0,
            rpc_version: rpc::RpcCall::RPC_VERSION,
            program,
            version,
            procedure,
            credential: Auth::NONE,
            verifier: Auth::NONE,
        };
        let mut octets = [0; CALL_HEADER];
        let mut call = Self { chosen_by: Chooser::Connection, reply_header: REPLY_HEADER, ..Self::default() };
        if header.encode(&mut octets).is_ok() {
            call.stream.start_with(&octets);
        }
        call
    }

    /// Adds the credentials of a user. The reply may then have a verifier (RFC 5531 appendix A), for which the buffer
    /// is enlarged.
    #[must_use]
    pub fn with_credentials(mut self, user: &AuthSys<'_>) -> Self {
        let (mut body, mut octets) = ([0; AuthSys::MAX_LEN], [0; CALL_HEADER + AuthSys::MAX_LEN]);
        let head = self.stream.head();
        if let (Ok(length), Ok((call, arguments))) = (user.encode(&mut body), rpc::RpcCall::decode(head)) {
            let credential = Auth { flavor: Flavor::SYS, body: body.get(..length).unwrap_or_default() };
            let (before, header) = (head.len() - arguments.len(), rpc::RpcCall { credential, ..call });
            if let Ok(length) = header.encode(&mut octets) {
                self.stream.replace_header(before, octets.get(..length).unwrap_or_default());
            }
        }
        if self.chosen_by == Chooser::Connection {
            self.reply_header = REPLY_HEADER + Auth::MAX_BODY as u32;
        }
        self
    }

    /// A call with this message, which begins with the whole RPC header, the XID included: to use other credentials, or
    /// to forward a call. [`Connection::xid`](crate::Connection::xid) provides XIDs. `reply_length`: maximum length of
    /// the reply in octets, not counting results with buffers of their own; a longer one is refused.
    #[must_use]
    pub fn new(message: Stream, reply_length: u32) -> Self {
        Self { stream: message, results_length: reply_length, ..Self::default() }
    }

    /// Sets the maximum length of the results in octets, not counting results with buffers of their own. Default: 0. A
    /// longer reply cannot be received.
    #[must_use]
    pub const fn with_results_length(mut self, octets: u32) -> Self {
        self.set_results_length(octets);
        self
    }

    /// Adds a buffer for one more result that the Upper-Layer Binding allows to be reduced: a Write chunk as long as
    /// the buffer. The other side fills these in the order of the results.
    #[must_use]
    pub fn with_result(mut self, room: Vec<u8>) -> Self {
        self.results.push(room);
        self
    }

    /// Allows the call to be made again with larger buffers, if the other side reports in version 2 that a result, or
    /// the reply, exceeds its buffer. `octets`: maximum length of each. The buffer of the result then grows. The other
    /// side carries the call out before reporting that, and once more afterwards; so this is for calls that may be
    /// carried out twice. Default: 0. Such a call then ends with [`CallError::ErrorV2`].
    #[must_use]
    pub const fn with_max_buffer_length(mut self, octets: u32) -> Self {
        self.max_buffer_length = octets;
        self
    }

    /// Makes this a call of a procedure that has no reply: a Call-only of version 2 (version two draft -07 section
    /// 4.7). Such a call has ended when the Send has completed, which does not mean that the other side has carried out
    /// the call. The whole call travels in Sends, data items included, and buffers for results are not used. Version 1
    /// has no such calls: the call ends with [`CallError::Refused`].
    ///
    /// ```
    /// use rpcrdma_verbs::Call;
    ///
    /// // Procedure 5 of program 400100, version 1.
    /// let call = Call::rpc(400_100, 1, 5).without_reply();
    /// ```
    #[must_use]
    pub const fn without_reply(mut self) -> Self {
        self.expects = Expects::Nothing;
        self
    }

    /// Allows a [`ReconnectingClient`](crate::ReconnectingClient) client to make the call again, with the same XID, if the
    /// connection was lost before the reply came. The call may then be carried out more than once; so this is for calls
    /// that are idempotent, and for upper layers that detect repeated calls, such as sessions of NFSv4.1.
    #[must_use]
    pub const fn repeatable(mut self) -> Self {
        self.repeats = Repeats::Allowed;
        self
    }

    /// Sets the time after which each attempt is given up, instead of
    /// [`SettingsBuilder::timeout`](crate::SettingsBuilder::timeout), which is for blocking callers. This is for
    /// futures too.
    #[must_use]
    pub const fn with_timeout(mut self, longest: Duration) -> Self {
        self.timeout = Some(longest);
        self
    }

    /// The message, to which arguments are appended: octets of XDR, and data items that may be reduced, each a Read
    /// chunk. A message begun by [`rpc`](Self::rpc) keeps the header when [cleared](Stream::clear) for the next call.
    pub const fn message(&mut self) -> &mut Stream {
        &mut self.stream
    }

    /// The buffers for results, to be changed for the next call.
    pub const fn result_buffers(&mut self) -> &mut Vec<Vec<u8>> {
        &mut self.results
    }

    /// Changes the maximum length of the results of the next call: [`with_results_length`](Self::with_results_length).
    /// For a call made by [`new`](Self::new), this is the maximum length of the whole reply.
    pub const fn set_results_length(&mut self, octets: u32) {
        self.results_length = octets;
    }

    /// The XID of the latest attempt, even if given up; 0 before that.
    #[must_use]
    pub const fn xid(&self) -> u32 {
        self.xid
    }

    /// The results, without those in separate buffers.
    ///
    /// # Errors
    /// The server's answer, if the call was not carried out.
    pub fn accepted(&self) -> Result<&[u8], ReplyError> {
        reply::results(self.reply())
    }

    /// The reply with the header, without results in separate buffers; empty if there is none.
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

    /// Takes the whole reply, with the results from separate buffers, in parts that follow each other. `items`: the
    /// results that came in buffers of their own, in ascending order of their positions. Padding is added to each. The
    /// buffers are empty afterwards.
    pub fn take_unreduced_reply(&mut self, items: impl IntoIterator<Item = ReducedResult>) -> Vec<Vec<u8>> {
        let (mut parts, mut taken) = (Vec::new(), 0);
        for ReducedResult { position, buffer, length } in items {
            let mut data = self.results.get_mut(buffer).map(mem::take).unwrap_or_default();
            data.truncate(length);
            data.resize(padded_length(data.len()), 0);
            parts.extend([self.reply().get(taken..position).unwrap_or_default().to_vec(), data]);
            taken = position;
        }
        parts.push(self.reply().get(taken..).unwrap_or_default().to_vec());
        parts
    }

    /// Returns the maximum length of the reply in octets.
    pub(crate) const fn reply_length(&self) -> u32 {
        self.reply_header.saturating_add(self.results_length)
    }

    /// Returns the maximum length in octets to which the buffer of a result or the reply may grow.
    pub(crate) const fn max_buffer_length(&self) -> u32 {
        self.max_buffer_length
    }

    /// Returns the kind of answer to expect.
    pub(crate) const fn expects(&self) -> Expects {
        self.expects
    }

    pub(crate) fn is_repeatable(&self) -> bool {
        self.repeats == Repeats::Allowed
    }

    pub(crate) const fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// Sets an XID for all connections on which the call is made, unless the caller has chosen one.
    pub(crate) fn keep_xid(&mut self, next: impl FnOnce() -> u32) {
        if self.chosen_by != Chooser::Caller {
            self.stream.set_xid(next());
            self.chosen_by = Chooser::Reconnecting;
        }
    }

    /// Lets the connection choose the next XID again.
    pub(crate) fn release_xid(&mut self) {
        if self.chosen_by == Chooser::Reconnecting {
            self.chosen_by = Chooser::Connection;
        }
    }

    /// Sets an XID, if the connection is to choose one.
    pub(crate) fn choose_xid(&mut self, next: impl FnOnce() -> u32) {
        if self.chosen_by == Chooser::Connection {
            self.stream.set_xid(next());
        }
    }

    /// Records the XID of an attempt.
    pub(crate) const fn made_with(&mut self, xid: u32) {
        self.xid = xid;
    }

    /// Returns the reply that has come.
    pub(crate) const fn replied(&self) -> Reply<'_> {
        Reply { call: self }
    }

    /// Forgets the previous reply.
    pub(crate) fn clear_outcome(&mut self) {
        self.replied = 0..0;
        self.received.clear();
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => write!(f, "the call cannot be made: {error}"),
            Self::NotRegistered(error) => write!(f, "the memory of the call could not be registered: {error}"),
            Self::Error(error) => write!(f, "the other side answers with an error: {error}"),
            Self::ErrorV2(error) => write!(f, "the other side answers with an error: {error}"),
            Self::NoReply => f.write_str("the answer is not a reply to this call, or exceeds its buffer"),
            Self::TimedOut(Progress::NotSent) => f.write_str("timed out before it was sent"),
            Self::TimedOut(Progress::Sent) => f.write_str("timed out waiting for the reply"),
            Self::Lost(ended, Progress::NotSent) => write!(f, "the connection ended before the call was sent: {ended}"),
            Self::NotConnected(error, Progress::NotSent) => {
                write!(f, "no connection before the call was sent: {error}")
            }
            Self::NotConnected(error, Progress::Sent) => {
                write!(f, "the connection ended before the reply, and there was no other: {error}")
            }
            Self::Lost(ended, Progress::Sent) => write!(f, "the connection ended before the reply: {ended}"),
        }
    }
}

impl CallError {
    /// Advice for a user, if there is any.
    #[must_use]
    pub const fn advice(&self) -> Option<&'static str> {
        match self {
            Self::NotRegistered(error) | Self::NotConnected(error, _) => error.advice(),
            Self::Lost(ended, _) => ended.advice(),
            _ => None,
        }
    }
}

impl std::error::Error for CallError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Refused(error) => Some(error),
            Self::NotRegistered(error) | Self::NotConnected(error, _) => Some(error),
            Self::Lost(ended, _) => Some(ended),
            Self::Error(_) | Self::ErrorV2(_) | Self::NoReply | Self::TimedOut(_) => None,
        }
    }
}
