//! A connection: the Requester and the Responder of one end of it, driven over an adapter.
//!
//! There is no thread of its own. Whoever waits for something takes completions, one thread at a time, and what it finds
//! for others wakes them. A call in flight of one thread is so answered without a change of threads. Futures and servers do
//! not wait so: for them a connection is attended to by a thread that looks when the adapter has something, among many
//! connections.
//!
//! All that is known of a connection is under one lock. What takes an adapter long is done when it is let go: see [`jobs`].

pub(crate) mod answering;
mod buffers;
mod calling;
mod jobs;
pub(crate) mod line;
mod owner;
pub(crate) mod port;
pub(crate) mod settings;
pub(crate) mod shared;
mod state;
mod thread;
