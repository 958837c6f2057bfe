//! A connection: the Requester and the Responder of one end, driven over an adapter.
//!
//! # Polling threads
//! Connections have no threads. Of the threads that wait for replies, one at a time polls for completions; the others
//! wait, and when the polling thread has its reply, one of the others takes over. So the only call of a program is
//! answered without a thread switch. Futures and servers cannot wait like that: threads that sleep in a
//! [`Waiter`](crate::Waiter) poll their connections in the background (`thread` for futures, `endpoint::thread_pool`
//! for servers).
//!
//! A waiting thread sleeps until something happens or the first deadline passes. Another thread may meanwhile change
//! the conditions: end a deadline earlier, end a call, or make a call first in the queue. The adapter does not report
//! that; [`Verbs::interrupt`](crate::Verbs::interrupt) wakes the threads that are concerned
//! (`SharedConnection::release`).
//!
//! The state of a connection is under one lock. Wakers run when nothing is locked, because a waker may do anything.
//!
//! # Slow operations
//! Slow operations, such as registering memory, deregistering memory, ending a connection and destroying a queue pair,
//! are requested under the lock as jobs, and run without the lock: see [`jobs`].
//!
//! # Buffers
//! All Receives of a connection are one registration, a slab, and so are the first few Sends. If these are all in use,
//! the other Sends are registered in a slab of their own, once; so are the further Receives of version 2, when that is
//! agreed. If the connections of a server share their Receives, these are one slab of the server ([`shared_receives`]).
//! A Requester exists from the first call on, with a table of the size that the settings ask for. The table of a Responder
//! has room for eight calls, until there are more ([`tables`]).
//!
//! The buffer of a data item is registered without copying. The buffer moves into the region, and back when the
//! Requester reports that the memory is fenced. Octets that are not reduced are copied once, into the Send. A call of
//! the other side is assembled in one buffer, into which RDMA Reads go directly; in a reused buffer, only the padding
//! is cleared.
//!
//! The endpoints get the next Receive when all their requests are carried out, and are not polled for more while no
//! work request can be posted. So nothing is queued for which the adapter's queues have no free entry.
//!
//! # Calls that are given up
//! To the other side, a call whose future was dropped or that timed out is a call like any other, and the other side
//! may still use the call's memory. Deregistering that memory would make an RDMA Write fail and end the connection for
//! all calls. So a call that was sent keeps buffers, credit and slot until the reply has come; then the buffers are
//! freed, or returned by `Connection::take_given_up_call`. If no reply comes within `SettingsBuilder::grace`, the connection
//! ends: 64 calls that are never answered must not make a client wait for ever. The background poller checks that time,
//! from the first given-up call on. A reply that the other side is to read stays registered until `RDMA_DONE`; the
//! thread that waits checks that time.
//!
//! # Resources that the other side can use
//! If memory for a call of the other side or the reply cannot be registered, that call is answered with `ERR_CHUNK`,
//! and the connection goes on. A peer with more calls in flight than granted is disconnected, even though its Receives
//! are free again during the RDMA Reads of its calls. So the grant limits the resources that the peer can use.

pub(crate) mod alarms;
mod buffers;
pub(crate) mod call_queue;
mod flow_control;
pub(crate) mod incoming_calls;
mod jobs;
mod keep_alive;
pub(crate) mod negotiation;
mod outgoing_calls;
mod receives;
mod regions;
mod registration;
pub(crate) mod resources;
pub(crate) mod settings;
pub(crate) mod shared_connection;
pub(crate) mod shared_receives;
mod state;
mod tables;
mod thread;
mod work_id;
