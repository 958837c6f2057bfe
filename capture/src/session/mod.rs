//! One connection as RPC-over-RDMA sees it: its messages, the memory its calls advertise, and the calls that wait.
//!
//! ```text
//! operations ─┬─→ assembly ─→ sends ─→ continued ─→ direction ─→ calls ─→ ended
//!             └─→ memory, call                                     └ reply
//! ```
//! `memory_use` tells the checker how memory is used.

mod assembly;
mod call;
mod calls;
mod chunk;
mod continued;
mod direction;
mod ended;
mod memory;
mod memory_use;
mod operations;
mod provided;
mod reply;
mod sends;
mod sequence;
mod state;
#[cfg(test)]
mod tests;
mod watch;

pub(crate) use state::{Context, Session};
