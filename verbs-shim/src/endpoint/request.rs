//! A call of the other side, to be answered.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rpcrdma::endpoint::is_protected;
use rpcrdma::endpoint::responder::{ReplyFault, ReplyForm};
use rpcrdma::rpc::{self, AcceptStatus, Auth, ReplyBody};

use crate::driver::incoming_calls::DeliveredCall;
use crate::driver::resources::Provider;
use crate::driver::shared_connection::OwnedConnection;
use crate::endpoint::connection::Connection;
use crate::message::end_reason::EndReason;
use crate::message::stream::Stream;
use crate::trace;

/// A call of the other side: the whole message, with the data that was read by RDMA. Any thread can answer, also later.
/// Dropping a request without an answer sends `SYSTEM_ERR`.
///
/// ```
/// use rpcrdma::rpc::AcceptStatus;
/// use rpcrdma_verbs::{Provider, Request};
///
/// /// Procedure 1 has the octets of its arguments come back; NULL is answered, and no other.
/// fn answer<V: Provider>(mut request: Request<V>) {
///     let Ok((call, arguments)) = request.decode() else { return };
///     let (procedure, arguments) = (call.procedure, arguments.to_vec());
///     let answered = match procedure {
///         0 | 1 => {
///             request.accept().push(&arguments);
///             request.answer()
///         }
///         _ => request.refuse(AcceptStatus::PROC_UNAVAIL),
///     };
///     if let Err(fault) = answered {
///         eprintln!("no answer: {fault}");
///     }
/// }
/// # use rpcrdma_verbs::{Service, loopback::Adapter};
/// # fn is_service(_: impl Service<Adapter>) {}
/// # is_service(answer);
/// ```
pub struct Request<V: Provider> {
    shared: Arc<OwnedConnection<V>>,
    delivered: Option<DeliveredCall>,
    /// True if the message was taken out, and asks for protected results.
    protected: bool,
}

impl<V: Provider> Request<V> {
    pub(crate) fn new(shared: Arc<OwnedConnection<V>>, delivered: DeliveredCall) -> Self {
        Self { shared, delivered: Some(delivered), protected: false }
    }

    /// The RPC message.
    #[must_use]
    pub fn message(&self) -> &[u8] {
        self.delivered.as_ref().map_or(&[], |delivered| &delivered.message)
    }

    /// Its XID.
    #[must_use]
    pub fn xid(&self) -> u32 {
        self.delivered.as_ref().map_or(0, |delivered| delivered.xid)
    }

    /// The address of the caller.
    #[must_use]
    pub fn peer(&self) -> SocketAddr {
        self.shared.peer()
    }

    /// The connection of the request, to call back or to disconnect.
    #[must_use]
    pub fn connection(&self) -> Connection<V> {
        Connection::from_shared(Arc::clone(&self.shared))
    }

    /// The header of the call, and the arguments.
    ///
    /// # Errors
    /// If the message is not an RPC version 2 call. Then only `ERR_CHUNK` or an RPC error are valid answers.
    pub fn decode(&self) -> Result<(rpc::RpcCall<'_>, &[u8]), rpc::RpcError> {
        rpc::RpcCall::decode(self.message())
    }

    /// The reply to fill in: an empty stream, which has the buffers of earlier replies.
    pub fn reply(&mut self) -> &mut Stream {
        // It exists until the answer, which consumes the request.
        &mut self.delivered.get_or_insert_default().reply
    }

    /// Takes the message out, without a copy. Later calls then cannot reuse the memory, and [`message`](Self::message)
    /// is empty.
    pub fn take_message(&mut self) -> Vec<u8> {
        self.protected |= self.is_protected();
        self.delivered.as_mut().map(|delivered| std::mem::take(&mut delivered.message)).unwrap_or_default()
    }

    /// The message and the reply together, to build one from the other.
    pub fn message_and_reply(&mut self) -> (&[u8], &mut Stream) {
        let delivered = self.delivered.get_or_insert_default();
        (&delivered.message, &mut delivered.reply)
    }

    /// Sends the reply in [`reply`](Self::reply). Memory that does not travel in the Send is registered first, which
    /// may take an adapter long: by this thread in [`Service::call`](crate::Service::call), and otherwise by another,
    /// so that an asynchronous task may answer too.
    ///
    /// # Errors
    /// A [`ReplyFault`]: the reply is not valid for this call, and `SYSTEM_ERR` is sent instead; or the connection is
    /// over.
    pub fn answer(mut self) -> Result<ReplyForm, ReplyFault> {
        self.send()
    }

    /// Ends a call of a procedure that has no reply ([`Call::without_reply`](crate::Call::without_reply)): nothing is sent.
    ///
    /// # Errors
    /// [`ReplyFault::Owed`] in version 1, and `SYSTEM_ERR` is sent; or the connection is over.
    pub fn forget(mut self) -> Result<(), ReplyFault> {
        let Some(delivered) = &mut self.delivered else { return Err(ReplyFault::NoCall) };
        let done = self.shared.forget(delivered);
        self.given_back(done)
    }

    /// Puts the header of a successful reply into the reply; the results follow.
    pub fn accept(&mut self) -> &mut Stream {
        let xid = self.xid();
        let reply = self.reply();
        accept(xid, reply);
        reply
    }

    /// Answers with a status other than success: the call was not carried out.
    ///
    /// # Errors
    /// As [`answer`](Self::answer).
    pub fn refuse(self, status: AcceptStatus) -> Result<ReplyForm, ReplyFault> {
        self.answer_with(ReplyBody::Accepted { verifier: Auth::NONE, status, mismatch: None })
    }

    /// Answers with only this header: the call was denied, or not carried out.
    ///
    /// # Errors
    /// As [`answer`](Self::answer).
    pub fn answer_with(mut self, body: ReplyBody<'_>) -> Result<ReplyForm, ReplyFault> {
        let header = rpc::RpcReply { xid: self.xid(), body };
        trace::refused(self.peer(), &header);
        write_header(&header, &mut [0; 32 + Auth::MAX_BODY], self.reply());
        self.send()
    }

    /// Returns true if the call asks for results that must not be reduced (RPCSEC_GSS).
    fn is_protected(&self) -> bool {
        rpc::RpcCall::decode(self.message()).is_ok_and(|(call, _)| is_protected(&call))
    }

    fn send(&mut self) -> Result<ReplyForm, ReplyFault> {
        let protected = self.protected || self.is_protected();
        let Some(delivered) = &mut self.delivered else { return Err(ReplyFault::NoCall) };
        let done = self.shared.reply(delivered, protected);
        self.given_back(done)
    }

    /// Handles the outcome of an answer. If the connection did not take the call, and is not over, the call is still to
    /// be answered.
    fn given_back<T>(&mut self, done: Result<T, ReplyFault>) -> Result<T, ReplyFault> {
        if let Err(fault) = &done {
            trace::not_answered(self.peer(), self.xid(), fault);
        }
        if matches!(done, Ok(_) | Err(ReplyFault::NoCall)) {
            self.delivered = None;
        }
        done
    }
}

/// Starts `reply` with this header.
#[inline]
fn write_header(header: &rpc::RpcReply<'_>, room: &mut [u8], reply: &mut Stream) {
    if let Ok(length) = header.encode(room) {
        reply.start_with(room.get(..length).unwrap_or_default());
    }
}

#[inline]
fn begin_accepted(xid: u32, status: AcceptStatus, reply: &mut Stream) {
    let body = ReplyBody::Accepted { verifier: Auth::NONE, status, mismatch: None };
    write_header(&rpc::RpcReply { xid, body }, &mut [0; 24], reply);
}

/// Starts `reply` with the header of a successful reply; the results follow.
#[inline]
pub(super) fn accept(xid: u32, reply: &mut Stream) {
    begin_accepted(xid, AcceptStatus::SUCCESS, reply);
}

impl<V: Provider> Drop for Request<V> {
    fn drop(&mut self) {
        if self.delivered.is_some() {
            let xid = self.xid();
            begin_accepted(xid, AcceptStatus::SYSTEM_ERR, self.reply());
            // The connection may be over.
            let _ = self.send();
        }
    }
}

impl<V: Provider> fmt::Debug for Request<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("peer", &self.peer()).field("xid", &self.xid()).finish_non_exhaustive()
    }
}

impl<V: Provider> Connection<V> {
    /// Returns the next call of the other side, or `None` after the timeout. Zero looks once.
    ///
    /// Meanwhile, this thread runs the pending jobs of the connection: registering memory for RDMA Reads of calls, and
    /// deregistering memory. With an adapter that may take long, even with a timeout of zero, so an asynchronous task
    /// calls this on a thread for blocking work.
    ///
    /// # Errors
    /// [`EndReason`] if the connection is over.
    pub fn request(&self, timeout: Duration) -> Result<Option<Request<V>>, EndReason> {
        let delivered = self.shared.request(timeout)?;
        if let Some(delivered) = &delivered {
            trace::requested(self.peer(), delivered.xid);
        }
        Ok(delivered.map(|delivered| Request::new(Arc::clone(&self.shared), delivered)))
    }
}
