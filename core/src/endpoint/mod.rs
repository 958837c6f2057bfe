//! Requester and Responder of version 1 (RFC 8166), and of both formats of version 2. The endpoints decide how to react
//! to received messages, and a driver carries out the reactions.
//!
//! Neither has a socket, a clock, an adapter or memory of its own. A driver passes events ([`requester::Input`],
//! [`responder::Input`]) and carries out requests ([`requester::Output`], [`responder::Output`]), in that order.
//! Payload streams stay in the driver's memory: the endpoints name octets by offset. One value is one direction of one
//! connection; a new connection has new ones.
//!
//! ```text
//!                       call, cancel                            reply, refuse
//!                            |                                       |
//!        Input         +-----v-----+      Send       +-----------+   v
//!   Received, Sent, -->| Requester |---------------->| Responder |<-- Received, Completed
//!   Registered ...     +-----------+<----------------+-----------+
//!        Output: Register, Send,        Read, Write        Output: Place, Read, Deliver,
//!                Invalidate, Done                                  Write, Send
//! ```
//!
//! After every input and every method call, the driver polls for outputs until none are left.
//!
//! Duties of a driver:
//! - Requests are posted to the adapter in the order of the outputs. A Send is then carried out after the RDMA Writes
//!   before it.
//! - A `Release` returns a Receive. The driver posts one before the next output is carried out.
//! - A Requester's side has a Receive posted for each call in flight. A Responder's side has `CALLS` Receives posted; no
//!   grant is larger, so a grant that grows always finds enough Receives.
//! - A server that recognises a returning Requester passes the Call whose RDMA failed to the Responder of the new
//!   connection: [`Responder::refuse_xid`].
//! - A memory region is registered for each `Register`, in the connection's own protection domain, under a handle that
//!   cannot be predicted from earlier handles (RFC 8166 sections 8.1.1, 8.1.2). No handle is in use twice at the same
//!   time: the Requester refuses that. The Requester never advertises memory for longer than one call.
//!
//! ```
//! use rpcrdma::endpoint::requester::{self, End, Input, Output, Requester};
//! use rpcrdma::endpoint::responder::{self, CallMessage, Responder};
//! use rpcrdma::endpoint::{Limits, Terms};
//!
//! // At most 8 calls, each of 16 segments; headers of Calls of 1024 octets, with 2 chunks of a kind.
//! let mut requester = Requester::<8, 16>::new(Terms::default(), 8, 65_536);
//! let mut responder = Responder::<8, 1024, 2>::new(Terms::default(), Limits::default());
//! let mut send = [0; 1024];
//!
//! // A NULL call, and the Send it becomes.
//! let mut message = [0; 40];
//! (message[3], message[11]) = (7, 2);
//! let (arguments, results) = (&[][..], &[][..]);
//! let call = requester::Call { head: &message, length: 40, arguments, results, reply_length: 24, largest_capacity: 0 };
//! requester.call(&call).unwrap();
//! let Some(Output::Send { call, header, payload }) = requester.poll(&mut send).unwrap() else { unreachable!() };
//! assert!(payload.eq(std::iter::once(0..40)));
//! send[header..header + 40].copy_from_slice(&message);
//!
//! // The Responder receives it, and delivers it.
//! let input = responder::Input::Received { receive: 1, octets: &send[..header + 40] };
//! responder.handle(input).unwrap();
//! let Some(responder::Output::Deliver { message, .. }) = responder.poll(&mut []).unwrap() else { unreachable!() };
//! assert_eq!(message, CallMessage::Inline { receive: 1, from: 28, length: 40 });
//! # requester.handle(Input::Sent { call }).unwrap();
//! # requester.handle(Input::Disconnected).unwrap();
//! # assert!(matches!(requester.poll(&mut send), Ok(Some(Output::Done { end: End::Lost, .. }))));
//! ```
//!
//! # Both directions
//! An end that also answers calls (RFC 8167) has one of each. The two know nothing of each other, so credits are
//! counted separately, and an XID may be in use both ways. [`Direction::detect`] returns the endpoint for a Send; a
//! Send that is too damaged to show the direction counts as a Reply if the Requester waits for a Reply with that XID.
//! [`Terms::reverse`] applies to the RPCs that the server calls. Besides the Receives for replies, such an end posts
//! the Receives of the Responder.
//!
//! # Responder-provided replies
//! If a reply fits neither a Send nor a Reply chunk, RFC 8166 offers nothing but `ERR_CHUNK`. Between peers that
//! support more, the Responder registers the reply and sends an `RDMA_NOMSG` with a Position Zero Read chunk; the
//! Requester reads that chunk by RDMA and sends `RDMA_DONE` (RFC 5666 section 3.5): [`Responder::provide_replies`],
//! [`Requester::read_provided_replies`]. Both are off by default: a Responder then discards `RDMA_DONE`, and a
//! Requester discards such a reply. A connection whose ends both make calls cannot use such replies, because
//! [`Direction`] takes such a reply for a Call.
//!
//! # Forms of a message
//! The first possible form is used. A Call:
//! 1. In one Send, complete.
//! 2. In version 2, in several Sends, up to the limit set by [`Requester::continue_messages`].
//! 3. In one Send, with each argument that may be reduced in a Read chunk.
//! 4. Completely in Read chunks, the rest at Position 0 (`RDMA_NOMSG`, `RDMA2_CALL_EXTERNAL`).
//!
//! Without chunks, if chunks are not supported ([`Terms::formats`]): in one Send, or in several if that is supported,
//! whatever the length.
//!
//! Results get a Write chunk each if the caller asks for that and the results are not protected. There is a Reply chunk
//! only if the longest reply does not fit in a Send, and exceeds that limit.
//!
//! A Reply, whose results go to the Write chunks of the Call:
//! 1. In one Send.
//! 2. In the Reply chunk, if that is large enough.
//! 3. In version 2, in several Sends; in version 1, provided in Read chunks, if the Responder may do that.
//! 4. An error: `ERR_CHUNK`; in version 2 `RDMA2_ERR_REPLY_RESOURCE`, or `RDMA2_ERR_WRITE_RESOURCE` for a result that
//!    exceeds a chunk.
//!
//! The driver assembles the parts of a continued message: [`requester::Output::Place`], [`responder::Output::Place`].
//! [`requester::Call::reply_length`] and [`Limits::collected`] limit the length. Continuing needs no registered memory,
//! but copies, and uses a credit for each part; so continuing is off by default, and pays for messages that are usually
//! short.
//!
//! # Missing features
//! - Continued Calls with Read chunks: answered with `READ_CHUNKS`.
//! - Read chunks of single results in a reply, which RFC 5666 also has: a Responder provides none, and a Requester
//!   discards replies with such chunks.
//! - Read chunks whose segments are not next to each other in the Read list: answered with `ERR_CHUNK`.
//! - Remembering handles that are no longer in use: only the driver promises that a new handle is not an old one.
//!
//! # No access to data
//! Lengths and positions alone decide if a message fits, which part goes inline, and which octets go to which segment.
//! So the data stays in the driver's memory.

#[cfg(feature = "version-2")]
pub mod channel;
mod direction;
mod formats;
mod input_error;
mod limits;
mod parts;
mod queue;
mod receipt;
mod registered_memory;
pub mod requester;
pub mod responder;
mod slots;
mod stream;
mod version;
mod window;
mod wire;

#[cfg(feature = "version-2")]
pub use channel::{Channel, Versions};
pub use direction::Direction;
pub use formats::PayloadFormats;
pub use input_error::InputError;
pub use limits::{Limits, SegmentLimits};
pub use registered_memory::RegisteredMemory;
pub use requester::Requester;
pub use responder::Responder;
pub use slots::CallId;
pub use stream::{Item, Ranges};
pub use version::Version;

use crate::private_data::{Agreement, PrivateData};
use crate::rpc::{Flavor, GssCredential, GssService, RpcCall};

/// Terms of a connection, as agreed during connection setup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The inline threshold for Calls, in octets (RFC 8166 section 3.3.2).
    pub call_threshold: u32,
    /// The inline threshold for Replies, in octets.
    pub reply_threshold: u32,
    /// True if memory may be invalidated remotely. In version 1: if both peers have announced that (RFC 8797 section
    /// 4.1). In version 2, where each Call may offer a handle: if this end takes part.
    pub remote_invalidation: bool,
    /// The version of the connection.
    pub version: Version,
    /// The formats that messages may have.
    pub formats: PayloadFormats,
}

impl Terms {
    /// Returns the terms for RPCs that the client calls.
    #[must_use]
    pub const fn forward(agreement: &Agreement) -> Self {
        Self {
            call_threshold: agreement.client_to_server,
            reply_threshold: agreement.server_to_client,
            remote_invalidation: agreement.remote_invalidation,
            version: Version::One,
            formats: PayloadFormats::All,
        }
    }

    /// Returns the terms for RPCs that the server calls (RFC 8167 section 4.2).
    #[must_use]
    pub const fn reverse(agreement: &Agreement) -> Self {
        Self {
            call_threshold: agreement.server_to_client,
            reply_threshold: agreement.client_to_server,
            remote_invalidation: agreement.remote_invalidation,
            version: Version::One,
            formats: PayloadFormats::All,
        }
    }
}

/// Without private data: 1024 octets each way, no remote invalidation (RFC 8166 section 3.3.3).
impl Default for Terms {
    fn default() -> Self {
        Self {
            call_threshold: PrivateData::SMALLEST_SIZE,
            reply_threshold: PrivateData::SMALLEST_SIZE,
            remote_invalidation: false,
            version: Version::One,
            formats: PayloadFormats::All,
        }
    }
}

/// Returns true if RPCSEC_GSS covers arguments and results, so that none may be reduced (RFC 8166 section 8.2.2.3). A
/// credential that cannot be read counts as covered.
#[must_use]
pub fn is_protected(call: &RpcCall<'_>) -> bool {
    let open = |gss: GssCredential<'_>| matches!(gss.service, GssService::NONE | GssService::CHANNEL_PROTECTION);
    call.credential.flavor == Flavor::RPCSEC_GSS && !GssCredential::decode(call.credential.body).is_ok_and(open)
}
