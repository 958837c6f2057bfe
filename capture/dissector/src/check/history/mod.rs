//! Per-connection state, and the rules that need it.
//!
//! # Findings that wait
//! A finding that rests on something not being there (no call for this reply, no call with this memory, no reply yet
//! for these credits) may be the fault of the capture. It waits until the end that should have sent the missing thing
//! has gone on without a hole. It is dropped, and counted as not judged, if something turns out to be missing or out of
//! order.
//!
//! "No answer came" is said at the end of the connection, if nothing of it was missed and the requester was still there
//! a second later: it sent something, or ended the connection, after that time. A requester that leaves before is owed
//! nothing. A responder that ends the connection has answered in its own way (RFC 8166 section 4.5.4).
//!
//! # Which came first
//! Two calls are in flight at once if the second was sent before the reply to the first arrived. That the capture holds
//! them in that order proves nothing, because an adapter hands a capture what it receives later than what it sends. The
//! other end proves it if it had acknowledged the second call before it replied (`operation::Progress`): both go in one
//! direction, whose order a capture keeps. iWARP acknowledges with every segment. Without such a proof the finding
//! counts as not judged.
//!
//! # Cut data
//! Data that a capture cut is not taken for absent. Private data is absent, cut, present, or something else
//! (`connection::Shown`); if that of one end was cut, the agreement of the two is not known. A Send that was cut before
//! it shows its direction counts as missed (`Message::hides_direction`).
//!
//! The arguments of a long call are known only when its chunk was read, so whatever depends on them is judged when the
//! reply comes, and counts as not judged until then.

mod answers_v2;
mod end;
mod exchanges;
mod messages;
mod messages_v2;
mod pending;
mod proof;
mod provided;
mod pulled;
mod refused;
mod requests;
mod rules;
mod sends;
mod state;
mod version_2;

pub(crate) use rules::rules;
pub(crate) use state::History;
