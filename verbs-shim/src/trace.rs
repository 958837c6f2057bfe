//! Events about connections and calls for subscribers of `tracing`. Without the feature `tracing`, nothing here has an
//! effect.
//!
//! No event is emitted while anything is locked, because a subscriber may do anything. Each event names the `peer`, and
//! events of calls name the `xid`.
//!
//! The end of a connection is reported when this end learns of that end: at once, as the driver attends to idle
//! connections. If the operating system has no thread for the driver, the report comes with the next use of the
//! connection.

use std::fmt;
use std::net::SocketAddr;

use rpcrdma::endpoint::Terms;
use rpcrdma::endpoint::responder::ReplyFault;
use rpcrdma::rpc::RpcReply;

use crate::message::call::CallError;
use crate::message::end_reason::EndReason;
use crate::verbs::Error;

/// Emits an event, with fields formatted by `Display`. Without the feature, the fields are not even computed.
macro_rules! emit {
    ($level:ident, $text:literal, $($name:ident = $value:expr),+) => {
        #[cfg(feature = "tracing")]
        tracing::event!(tracing::Level::$level, $($name = tracing::field::display(&$value),)+ $text);
        #[cfg(not(feature = "tracing"))]
        let _ = || { $(let _ = &$value;)+ };
    };
}

/// An XID, formatted as in all output of this project.
struct Xid(u32);

impl fmt::Display for Xid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#010x}", self.0)
    }
}

/// An attempt to set up a connection has succeeded or failed.
#[inline]
pub(crate) fn connected(peer: SocketAddr, outcome: Result<Terms, &Error>) {
    match outcome {
        Ok(terms) => {
            emit!(
                DEBUG,
                "connected",
                peer = peer,
                calls_inline = terms.call_threshold,
                replies_inline = terms.reply_threshold
            );
        }
        Err(error) => {
            emit!(DEBUG, "not connected", peer = peer, error = error);
        }
    }
}

/// A connection is over, and the reason is certain.
#[inline]
pub(crate) fn ended(peer: SocketAddr, why: &EndReason) {
    emit!(DEBUG, "ended", peer = peer, reason = why);
}

/// This end makes a call.
#[inline]
pub(crate) fn called(peer: SocketAddr, xid: u32) {
    emit!(TRACE, "call", peer = peer, xid = Xid(xid));
}

/// A call of this end has ended, or was given up.
#[inline]
pub(crate) fn returned(peer: SocketAddr, xid: u32, outcome: &Result<(), CallError>) {
    match outcome {
        Ok(()) => {
            emit!(TRACE, "reply", peer = peer, xid = Xid(xid));
        }
        Err(CallError::Lost(ended, _)) => {
            emit!(DEBUG, "call lost", peer = peer, xid = Xid(xid), reason = ended);
        }
        Err(error @ CallError::TimedOut(_)) => {
            emit!(DEBUG, "call given up", peer = peer, xid = Xid(xid), error = error);
        }
        Err(error) => {
            emit!(DEBUG, "call refused", peer = peer, xid = Xid(xid), error = error);
        }
    }
}

/// The other side has made a call.
#[inline]
pub(crate) fn requested(peer: SocketAddr, xid: u32) {
    emit!(TRACE, "request", peer = peer, xid = Xid(xid));
}

/// This end refuses to carry out a call of the other side.
#[inline]
pub(crate) fn refused(peer: SocketAddr, reply: &RpcReply<'_>) {
    emit!(DEBUG, "request refused", peer = peer, xid = Xid(reply.xid), reply = reply);
}

/// A reply could not be sent.
#[inline]
pub(crate) fn not_answered(peer: SocketAddr, xid: u32, fault: &ReplyFault) {
    emit!(DEBUG, "request not answered", peer = peer, xid = Xid(xid), error = fault);
}
