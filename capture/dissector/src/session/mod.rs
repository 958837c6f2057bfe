//! One connection as seen by RPC-over-RDMA: messages, the memory that calls advertise, and the calls that wait.
//!
//! ```text
//! operations ─┬─→ messages ─→ sends ─→ direction ─→ calls ─→ rpc_end
//!             └─→ memory, call                     └ reply
//! ```
//! - `timeline` divides the time of a call into phases.
//! - `recovery` assigns lost packets to calls.
//! - `credits` measures how long there was no credit for a call, and `returned_credits` notes when a reply returned a credit.
//! - `step_log` records what both ends did for a call.
//! - `coverage` and `unmatched` note what the capture lacks.
//! - `arrivals` finds the copy of a message that was accepted, with which an RPC ends.
//! - `memory_use` tells the checker how memory is used.
//! - `clocks` keeps round trips and the order of acknowledgements; `seen_twice` compares what both ends saw, if the file
//!   holds the packets of both ends.
//! - `data_flow` measures the pauses and the rate of the data that each end sends by RDMA.
//! - `refusals` finds the `replies` for which the requester had no Receive.
//! - `joined_wait` gives the minimum wait of an RPC whose call was sent before the capture.
//! - `tries` ends calls that the client makes again on another connection.
//!
//! A client chooses the program number for callbacks. The session keeps the numbers that SETCLIENTID, CREATE_SESSION
//! and BACKCHANNEL_CTL announce on the connection. Without such a number, the session takes a transient program number
//! (RFC 5531 section 8.3) for the number of NFSv4's callbacks, and the output says that this is a guess.

mod arrivals;
mod assembly;
mod call;
mod calls;
mod chunk;
mod clocks;
mod coverage;
mod credits;
mod data_flow;
mod direction;
mod joined_wait;
mod memory;
mod memory_use;
mod messages;
mod operations;
mod owners;
mod provided_replies;
mod reads;
mod recovery;
mod refusals;
mod replies;
mod reply;
mod returned_credits;
mod rpc_end;
mod seen_twice;
mod sends;
mod sequence;
mod state;
mod step_log;
#[cfg(test)]
mod tests;
mod timeline;
mod tries;
mod unmatched;
mod watch;

pub(crate) use state::{Context, Session};
