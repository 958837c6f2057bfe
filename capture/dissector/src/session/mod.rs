//! One connection as RPC-over-RDMA sees it: its messages, the memory its calls advertise, and the calls that wait.
//!
//! ```text
//! operations ─┬─→ assembly ─→ sends ─→ continued ─→ direction ─→ calls ─→ ended
//!             └─→ memory, call                                     └ reply
//! ```
//! `timeline` says where the time of a call goes, `recovery` which of them lost packets belong to, `credits` how long there was
//! no credit for one, `returned` when a reply returned one, and `step_log` what both ends did for it. `arrivals` says which copy
//! of a message was accepted, so that an RPC ends there. `memory_use` tells the checker how memory is used.
//! `seen_twice` knows what both ends saw, if the file holds the packets of both.
//! `data_flow` knows for how long each end paused in the data that it sends by RDMA, and at which rate it sent.
//! `refused` knows of which `replies` the requester had no Receive, and `joined` how long an RPC has waited at least whose call was
//! sent before the capture. `tries` ends calls that their client makes again on another connection.
//!
//! A client chooses the program number of its callbacks. The session keeps the numbers that SETCLIENTID, CREATE_SESSION
//! and BACKCHANNEL_CTL announce on the connection. If it saw none, it takes a transient program number (RFC 5531
//! section 8.3) for that of NFSv4's callbacks, and the output says that this is a guess.

mod arrivals;
mod assembly;
mod call;
mod calls;
mod chunk;
mod continued;
mod credits;
mod data_flow;
mod direction;
mod ended;
mod joined;
mod memory;
mod memory_use;
mod operations;
mod owners;
mod provided;
mod reads;
mod recovery;
mod refused;
mod replies;
mod reply;
mod returned;
mod seen_twice;
mod sends;
mod sequence;
mod state;
mod step_log;
#[cfg(test)]
mod tests;
mod timeline;
mod tries;
mod unplaced;
mod watch;

pub(crate) use state::{Context, Session};
