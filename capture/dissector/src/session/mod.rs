//! One connection as seen by RPC-over-RDMA: messages, the memory that calls advertise, and the calls that wait.
//!
//! ```text
//! session_end ─┐           ┌─→ direction
//! operations ──┴→ messages ┼─→ call_messages ──┬─→ call_waits ─→ losses ─→ deliveries
//!                          └─→ reply_messages ─┴─→ provided_replies, memory_use
//! ```
//! These files, and `state` below all of the files, have the methods of [`Session`]: no file calls methods of a file that
//! stands before the file. A session receives the operations of both ends and directs components, which own their fields:
//! - `sends` joins the parts of Sends and of Payload streams; `assembly` and `sequence` keep the parts.
//! - `calls` keeps the calls that wait and the `memory` that the calls advertise. A `call` keeps what was moved, a
//!   `timeline` divides the time of a call into phases, and a `step_log` records what both ends did for a call.
//! - `recovery` assigns indications of loss to RPCs; `owners` knows the call of each packet.
//! - `arrivals` finds the copy of a message that was accepted, with which an RPC ends, from `sent_copies`, the `gaps` of
//!   the receiver and the `passes` of the sender.
//! - `credits` measures how long there was no credit for a call, with a `credit_account` for each end.
//! - `coverage` and `unmatched` note what the capture lacks.
//! - `data_flow` measures the pauses and the rate of the data that each end sends by RDMA.
//! - `clocks` keeps round trips and the order of acknowledgements; `seen_twice` compares what both ends saw, if the file
//!   holds the packets of both ends.
//! - `watch` remembers the memory that ended calls advertised, for the checker.
//! - `refusals` reports the `replies` for which the requester had no Receive.
//! - `joined_wait` gives the minimum wait of an RPC whose call was sent before the capture.
//!
//! A client chooses the program number for callbacks. The session keeps the numbers that SETCLIENTID, CREATE_SESSION
//! and BACKCHANNEL_CTL announce on the connection. Without such a number, the session takes a transient program number
//! (RFC 5531 section 8.3) for the number of NFSv4's callbacks, and the output says that this is a guess.

mod arrivals;
mod assembly;
mod call;
mod call_messages;
mod call_waits;
mod calls;
mod chunk;
mod clocks;
mod coverage;
mod credit_account;
mod credits;
mod data_flow;
mod deliveries;
mod direction;
mod gaps;
mod joined_wait;
mod losses;
mod memory;
mod memory_use;
mod messages;
mod operations;
mod owners;
mod passes;
mod provided_replies;
mod reads;
mod recovery;
mod refusals;
mod replies;
mod reply;
mod reply_messages;
mod rpc_end;
mod seen_twice;
mod sends;
mod sent_copies;
mod sequence;
mod session_end;
mod state;
mod step_log;
#[cfg(test)]
mod tests;
mod timeline;
mod unmatched;
mod watch;

pub(crate) use state::{Context, Session};
