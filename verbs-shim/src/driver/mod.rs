//! A connection: the Requester and the Responder of one end, driven over an adapter.
//!
//! # Polling threads
//! A connection has no thread of its own. A thread that waits for a reply takes completions, one thread at a time. The
//! others wait for that one, and when it has what it wants, one of them goes on. So the only call of a program is
//! answered without a thread switch. Futures and servers cannot wait like that: threads that sleep in one place, a
//! [`Waiter`](crate::Waiter), poll their connections in the background (`thread` for futures, `endpoint::thread_pool` for
//! servers).
//!
//! A waiting thread sleeps until something comes or the first of its deadlines passes, and polls nothing in between.
//! Another thread may meanwhile change what it waits for: end a deadline earlier, end its call, or make it first in the
//! queue of calls. The adapter does not tell it so; [`Verbs::interrupt`](crate::Verbs::interrupt) does, for the threads
//! that are concerned only (`SharedConnection::release`).
//!
//! Everything known about a connection is under one lock. Wakers run when nothing is locked, because they may do
//! anything.
//!
//! # What is slow
//! Registering memory, taking it back, ending the connection and destroying its queue pair may take an adapter long.
//! They are asked for under the lock, where each becomes a job, and done without it: see [`jobs`].
//!
//! # Buffers
//! An item's buffer is registered as it is. It moves into the region, and back when the Requester says that the memory
//! is fenced. What is not reduced is copied once, into the Send. A call of the other side is put together in one
//! buffer, into which RDMA Reads go directly; if a buffer is used again, only its padding is cleared.
//!
//! The endpoints get the next Receive once everything that they asked for is done, and they are not asked for more
//! while no work request could be posted. So nothing is queued that the adapter has no room for.
//!
//! # Calls that are given up
//! To the other side, a call whose future was dropped or whose time is over is a call like any other, and it may still
//! use the call's memory. Taking that memory away would make an RDMA Write fail and end the connection for all calls.
//! So a call that was sent keeps its buffers, its credit and its slot until its reply has come; then the buffers are
//! freed, or handed back by `Connection::returned`. If no reply comes within `SettingsBuilder::grace`, the connection
//! ends: 64 calls that are never answered must not leave a client waiting for ever. The background
//! poller keeps that time, from the first call that was given up. A reply that the other side is to pull stays
//! registered until `RDMA_DONE`; the thread that waits keeps that time.
//!
//! # What the other side can use up
//! If memory for a call of the other side, or for its reply, cannot be registered, that call is answered with
//! `ERR_CHUNK`, and the connection goes on. A peer with more calls under way than it was granted is cut off, even
//! though its Receives are free again while its calls are pulled. So its grant bounds what it can make this end hold.

pub(crate) mod answering;
mod buffers;
pub(crate) mod call_queue;
mod calling;
mod flow_control;
mod jobs;
pub(crate) mod negotiation;
mod registration;
pub(crate) mod resources;
pub(crate) mod settings;
pub(crate) mod shared;
mod state;
mod thread;
