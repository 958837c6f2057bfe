//! A thin layer over RDMA verbs: what an RPC-over-RDMA endpoint asks of its adapter, and nothing more.
//!
//! [`Verbs`] is the layer: one trait. [`loopback`] is a provider of it that lives in this process, needs no hardware
//! and no rights, and refuses what hardware refuses. With the feature `rdma` the module `rdma` is another, for the
//! adapters that rdma-core has drivers for; it alone contains unsafe code.
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
//! server.post_receive(&receiver, 1, Local::all(&buffer, 1024))?;
//! server.accept(request, &receiver, b"welcome")?;
//! assert!(client.connected(&sender, second)?.expect("accepted").starts_with(b"welcome"));
//!
//! let message = client.register(&domain, b"an RPC".to_vec(), Access::empty())?;
//! client.post(&sender, Work::new(7, Operation::Send, Local::all(&message, 6)))?;
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
mod verbs;

#[cfg(all(feature = "rdma", not(target_os = "linux")))]
compile_error!("the feature `rdma` needs Linux: libibverbs and librdmacm of rdma-core");

pub use driver::port::Provider;
pub use driver::settings::{MAX_CALLS, Settings};
pub use endpoint::client::Client;
pub use endpoint::connection::Connection;
pub use endpoint::pending::Pending;
pub use endpoint::request::Request;
pub use endpoint::server::{Server, Service, Stopper};
pub use message::call::{Call, CallError, Progress};
pub use message::ended::Ended;
pub use message::stream::Stream;
pub use rpcrdma::segment::Segment;
pub use verbs::{
    Access, Armed, Completion, Depths, Error, Kind, Local, NotRegistered, Operation, Remote, Status, Verbs, Waiter,
    Work,
};
