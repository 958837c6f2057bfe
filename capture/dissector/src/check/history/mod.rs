//! Per-connection state, and the rules that need the state.
//!
//! # Findings that wait
//! A finding that rests on something not being there (no call for this reply, no call with this memory, no reply yet for
//! these credits) may be the fault of the capture. Such a finding waits until the end that should have sent the missing
//! thing has gone on without a gap. The finding is dropped, and counted as not judged, if something turns out to be
//! missing or out of order.
//!
//! "No answer came" is said at the end of the connection, if nothing was missed and the requester was still there a
//! second later: the requester sent something, or ended the connection, after that time. A requester that leaves before
//! is owed nothing. A responder that ends the connection has also answered (RFC 8166 section 4.5.4).
//!
//! # Which came first
//! Two calls are in flight at once if the second was sent before the reply to the first arrived. The order of the
//! capture proves nothing, because an adapter hands received packets to a capture later than sent ones. The other end
//! proves the order if the reply came after an acknowledgement of the second call (`operation::Progress`): both go in
//! one direction, whose order a capture keeps. iWARP acknowledges with every segment. Without such a proof the finding
//! counts as not judged.
//!
//! # Cut data
//! Data that a capture cut is not taken for absent. Private data is absent, cut, present, or something else
//! (`connection::Shown`); if that of one end was cut, the agreement of the two is not known. A Send that was cut before
//! the direction shows counts as missed (`Message::hides_direction`).
//!
//! The arguments of a long call are known only when the chunk has been read, so rules about arguments are judged when
//! the reply comes, and count as not judged until then.

mod answers_v2;
mod end;
mod exchanges;
mod messages;
mod messages_v2;
mod open_requests;
mod pending;
mod proof;
mod provided_replies;
mod refused;
mod reply_reads;
mod requests;
mod rules;
mod sends;
mod state;
mod version_2;

pub(crate) use rules::rules;
pub(crate) use state::History;
