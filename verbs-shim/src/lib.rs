//! An RPC client and server over RDMA: RPC-over-RDMA version 1 (RFC 8166) and version 2 (drafts), blocking or async.
//!
//! Calls name a program, a version and a procedure. Arguments and results are octets of XDR. Data that the Upper-Layer
//! Binding allows to be reduced travels by RDMA Read and Write, between the caller's own buffers. Both ends may make
//! calls on one connection (RFC 8167).
//!
//! The [`Settings`] choose the versions that may be used; [`Connection::version`] is the version of a connection. In
//! version 2, a message that is longer than a Send may be continued in further Sends, up to a length that
//! [`SettingsBuilder::continued`] sets.
//!
//! This library does not encode XDR, and has no NFS, port mapper or RPCSEC_GSS. To read captures of any of these, see
//! `rpcrdma-capture`.
//!
//! ```text
//!  Client  Call  StartedCall            Server   Dispatcher   Request        what an application sees
//!      \      |      /                      \        |         /
//!       Connection: credits, chunks, memory, calls given up               who waits, and who does what
//!                              |
//!                     Verbs, the trait                                    what an endpoint asks of an adapter
//!                    /                \
//!            loopback::Adapter      rdma::Device                          in this process; libibverbs, librdmacm
//! ```
//!
//! - [`Client`] connects, and makes each [`Call`]: [`Client::call`] waits for the reply, [`Client::start`] returns a
//!   [`StartedCall`], which is a future for any runtime.
//! - [`ReconnectingClient`] is a client that connects again after the loss of a connection.
//! - [`Server`] accepts connections, and passes each [`Request`] to a [`Service`]. A [`Dispatcher`] is a service made
//!   of procedures.
//! - [`Stream`] is a message. Each data item has a buffer, and moves by RDMA.
//! - [`Settings`] are the maximum number of calls in flight, the sizes of Sends, and timeouts.
//! - [`loopback`] needs no hardware and no privileges, and refuses what hardware refuses. The module `rdma`, with the
//!   feature `rdma`, is for the adapters that rdma-core has drivers for (Linux). No other module contains unsafe code.
//!
//! # A client and a server
//! ```
//! use std::thread;
//!
//! use rpcrdma_verbs::loopback::Fabric;
//! use rpcrdma_verbs::{Call, Client, Dispatcher, Refusal, Server, Settings};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // With adapters: `rdma::Device::with_address` and `rdma::Device::towards`.
//! let network = Fabric::new();
//! let (here, there) = (network.adapter([192, 0, 2, 1].into())?, network.adapter([192, 0, 2, 2].into())?);
//! let address = "192.0.2.2:20049".parse()?;
//!
//! // Procedure 1 of program 400100, version 1, takes a number, and returns this many octets.
//! let programs = Dispatcher::default().with_procedure(400_100, 1, 1, |call, results| {
//!     let Ok(count) = call.arguments.try_into().map(u32::from_be_bytes) else { return Err(Refusal::GarbageArguments) };
//!     results.push(&count.to_be_bytes());
//!     results.push_item(vec![7; count.min(1 << 20) as usize]);
//!     Ok(())
//! });
//! let server = Server::bind(&there, address, Settings::server())?;
//! let stop = server.stopper();
//! let served = thread::spawn(move || server.serve(&programs));
//!
//! // The octets come into this buffer by RDMA Write; their count stays in the reply.
//! let client = Client::connect(&here, address, &Settings::client())?;
//! let mut call = Call::rpc(400_100, 1, 1).with_results_length(4).with_result(vec![0; 100_000]);
//! call.message().push(&100_000_u32.to_be_bytes());
//! let reply = client.call(&mut call)?;
//! assert_eq!(reply.results()?, 100_000_u32.to_be_bytes());
//! assert_eq!(reply.result(0), [7; 100_000]);
//!
//! // Another version: what the server says is an error that can be matched.
//! let mut call = Call::rpc(400_100, 2, 0);
//! let answer = client.call(&mut call)?.results();
//! assert_eq!(answer.unwrap_err().to_string(), "the server answers PROG_MISMATCH: it has versions 1 to 1");
//!
//! stop.stop();
//! served.join().unwrap()?;
//! # Ok(())
//! # }
//! ```
//!
//! `examples/client.rs` and `examples/server.rs` are a client and a server over adapters.
//!
//! With the feature `tracing`, events report connections, calls and their outcomes, with XIDs.
//!
//! # Waits, limits and cancellation
//! No wait is without a limit, except one that a program asks for, and the end of a connection whose peer is gone without a
//! word: that needs a [`keep_alive`], or a server's [idle limit](Server::with_idle_limit).
//!
//! | wait | limit |
//! |---|---|
//! | [`Client::connect`] | 8 seconds to find the way to the address, then [`connect_timeout`] for the answer and again for version 2; both once more if it falls back to version 1 |
//! | [`Client::connecting`] | the same, once one of its eight threads is free, or [`connect_timeout`] in line for one |
//! | [`Client::call`], [`StartedCall::wait`] | [`Call::with_timeout`], or else [`timeout`]: with the wait for a free slot |
//! | [`StartedCall`] as a future | [`Call::with_timeout`]; without it, the end of the connection, so the runtime or a [`keep_alive`] should have a limit |
//! | [`ReconnectingClient::call`] | [`Call::with_timeout`], or else [`ReconnectingClient::with_timeout`]: with all connections |
//! | [`ReconnectingClient::start`] | [`Call::with_timeout`], and an attempt to connect that is under way then; without it, none |
//! | the reply to a call that was given up | [`grace`]; then the connection ends |
//! | the end of a connection whose peer is gone | three times [`keep_alive`]; without it, the next Send |
//! | the end of a server's connection that is not used | [`Server::with_idle_limit`], even if its answers are not taken; without it, none |
//! | a Send to a server whose [shared Receives](SettingsBuilder::shared_receives) are used up | that of its call; the adapter repeats it until then |
//! | [`Connection::request`], [`Server::accept`], [`Waiter::wait`], all of [`Verbs`] that have a timeout | their arguments |
//! | [`Request::answer`] | it does not wait for the other side |
//! | [`Server::serve`] | after [`Stopper::stop`], as long as the running [`Service::call`]s and the ends of its connections take |
//! | `rdma::Device::towards` | 4 seconds |
//! | [`Connection::disconnect`], dropping a connection, a server or a region; registering memory in any of the above; [`Server::bind`] and all that finds or opens an adapter | as long as the adapter and the operating system take: they cannot be interrupted |
//!
//! A call is cancelled by dropping its [`StartedCall`], or by a timeout. That harms no other call. A call that was not sent
//! is never sent. A call that was sent may still be carried out; until the reply comes, or [`grace`] is over, the call
//! keeps its slot and its buffers, which the other side may read and write. Then the buffers are freed, or come back by
//! [`Connection::take_given_up_call`]. Dropping a [`Connecting`] gives the connection up.
//!
//! [`connect_timeout`]: SettingsBuilder::connect_timeout
//! [`timeout`]: SettingsBuilder::timeout
//! [`grace`]: SettingsBuilder::grace
//! [`keep_alive`]: SettingsBuilder::keep_alive
//!
//! # The layer below
//! [`Verbs`] is the interface of an adapter, as one trait: for a provider of another kind, or for Sends, RDMA Reads and
//! Writes without RPC.
//!
//! ```
//! use std::time::Duration;
//!
//! use rpcrdma_verbs::loopback::Fabric;
//! use rpcrdma_verbs::{Access, Depths, Local, Operation, Verbs, Work};
//!
//! # fn main() -> Result<(), rpcrdma_verbs::Error> {
//! let fabric = Fabric::new();
//! let (client, server) = (fabric.adapter([192, 0, 2, 1].into())?, fabric.adapter([192, 0, 2, 2].into())?);
//! let second = Duration::from_secs(1);
//!
//! // The server has a receive buffer in place before it accepts, so that the first Send finds one.
//! let address = "192.0.2.2:20049".parse().unwrap();
//! let listener = server.listen(address, 4)?;
//! let domain = client.domain()?;
//! let sender = client.queue_pair(&domain, Depths::default())?;
//! client.connect(&sender, address, b"hello")?;
//! let request = server.request(&listener, second)?.expect("the client asks for a connection");
//! let inbox = server.domain()?;
//! let receiver = server.queue_pair(&inbox, Depths::default())?;
//! let buffer = server.register(&inbox, vec![0; 1024], Access::LOCAL_WRITE)?;
//! server.post_receive(&receiver, 1, Local::whole_region(&buffer, 1024))?;
//! server.accept(request, &receiver, b"welcome")?;
//! assert!(client.connected(&sender, second)?.expect("accepted").starts_with(b"welcome"));
//!
//! let message = client.register(&domain, b"an RPC".to_vec(), Access::empty())?;
//! client.post(&sender, Work::new(7, Operation::Send, Local::whole_region(&message, 6)))?;
//! assert_eq!(client.completion(&sender, second)?.expect("sent").id, 7);
//! let received = server.completion(&receiver, second)?.expect("received");
//! assert_eq!((received.id, received.length), (1, 6));
//! server.read(&buffer, |octets| assert_eq!(&octets[..6], b"an RPC"))?;
//! # Ok(())
//! # }
//! ```
#![cfg_attr(not(feature = "rdma"), forbid(unsafe_code))]
#![deny(unsafe_code)]

mod driver;
mod endpoint;
pub mod loopback;
mod message;
#[cfg(feature = "rdma")]
#[allow(unsafe_code, reason = "libibverbs and librdmacm are C libraries")]
#[deny(clippy::undocumented_unsafe_blocks)]
pub mod rdma;
mod trace;
mod verbs;

#[cfg(all(feature = "rdma", not(target_os = "linux")))]
compile_error!("the feature `rdma` needs Linux: libibverbs and librdmacm of rdma-core");

pub use driver::resources::Provider;
pub use driver::settings::{MAX_CALLS, MAX_SHARED_RECEIVES, Settings, SettingsBuilder, SettingsError};
pub use endpoint::client::Client;
pub use endpoint::connection::Connection;
pub use endpoint::connection_attempt::Connecting;
pub use endpoint::dispatcher::{Dispatcher, ProcedureCall, Refusal};
pub use endpoint::reconnecting_client::{ReconnectingCall, ReconnectingClient};
pub use endpoint::request::Request;
pub use endpoint::server::{Server, Service, Stopper};
pub use endpoint::started_call::StartedCall;
pub use endpoint::weak_connection::WeakConnection;
pub use message::call::{Call, CallError, CallOutcome, Progress, ReducedResult, Reply};
pub use message::end_reason::{EndReason, InternalFault, PeerFault};
pub use message::reply::ReplyError;
pub use message::stream::Stream;
/// Types of the codec appear in signatures here.
pub use rpcrdma;
pub use rpcrdma::endpoint::channel::HostAuthenticationTooLong;
pub use rpcrdma::endpoint::{Version, Versions};
pub use rpcrdma::segment::Segment;
pub use verbs::{
    Access, Completion, Depths, Error, Kind, Local, NotRegistered, Operation, Remote, Status, Verbs, Waiter,
    WatchState, Work,
};
