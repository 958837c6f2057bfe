//! A connection: the Requester and the Responder of one end, driven over an adapter.
//!
//! # Polling threads
//! A connection has no thread of its own. Of the threads that wait for replies, one at a time polls for completions;
//! the others wait for it, and when it has its reply, one of them takes over. So the only call of a program is answered
//! without a thread switch. Futures and servers cannot wait like that: threads that sleep in a
//! [`Waiter`](crate::Waiter) poll their connections in the background (`thread` for futures, `endpoint::thread_pool`
//! for servers).
//!
//! A waiting thread sleeps until something happens or the first of its deadlines passes. Another thread may meanwhile
//! change what it waits for: end a deadline earlier, end its call, or make it first in the queue of calls. The adapter
//! does not report that; [`Verbs::interrupt`](crate::Verbs::interrupt) wakes the threads that are concerned
//! (`SharedConnection::release`).
//!
//! The state of a connection is under one lock. Wakers run when nothing is locked, because they may do anything.
//!
//! # Slow operations
//! Registering and deregistering memory, ending the connection and destroying its queue pair may take an adapter long.
//! They are requested under the lock, where each becomes a job, and run without it: see [`jobs`].
//!
//! # Buffers
//! All Receives of a connection are one registration, a slab, and so are the first few Sends. If these are all in use,
//! the other Sends are registered in a slab of their own, once; so are the further Receives of version 2, when that is
//! agreed. If the connections of a server share their Receives, these are one slab of the server ([`shared_receives`]).
//! A Requester exists from the first call on, with a table of the size that the settings ask for. The table of a Responder
//! has room for eight calls, until there are more ([`tables`]).
//!
//! The buffer of a data item is registered as it is. It moves into the region, and back when the Requester reports that
//! the memory is fenced. Octets that are not reduced are copied once, into the Send. A call of the other side is
//! assembled in one buffer, into which RDMA Reads go directly; if a buffer is used again, only its padding is cleared.
//!
//! The endpoints get the next Receive when all their requests are carried out, and they are not polled for more while
//! no work request can be posted. So nothing is queued for which the adapter's queues have no free entry.
//!
//! # Calls that are given up
//! To the other side, a call whose future was dropped or that timed out is a call like any other, and the other side
//! may still use the call's memory. Deregistering that memory would make an RDMA Write fail and end the connection for
//! all calls. So a call that was sent keeps its buffers, its credit and its slot until its reply has come; then the
//! buffers are freed, or returned by `Connection::returned`. If no reply comes within `SettingsBuilder::grace`, the
//! connection ends: 64 calls that are never answered must not make a client wait for ever. The background poller checks
//! that time, from the first given-up call on. A reply that the other side is to pull stays registered until
//! `RDMA_DONE`; the thread that waits checks that time.
//!
//! # Resources that the other side can use
//! If memory for a call of the other side, or for its reply, cannot be registered, that call is answered with
//! `ERR_CHUNK`, and the connection goes on. A peer with more calls in flight than it was granted is disconnected, even
//! though its Receives are free again while its calls are pulled. So its grant limits the resources that it can use at
//! this end.

pub(crate) mod alarms;
pub(crate) mod answering;
mod buffers;
pub(crate) mod call_queue;
mod calling;
mod flow_control;
mod jobs;
mod keep_alive;
pub(crate) mod negotiation;
mod posted;
mod receives;
mod regions;
mod registration;
pub(crate) mod resources;
pub(crate) mod settings;
pub(crate) mod shared;
pub(crate) mod shared_receives;
mod state;
mod tables;
mod thread;
