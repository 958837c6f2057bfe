//! A server in 30 lines: procedure 1 of program 400100 adds two numbers.
//!
//! ```sh
//! cargo run -p rpcrdma-verbs --features rdma --example server -- 192.0.2.1:20049
//! ```
//! `examples/client.rs` calls it; `examples/loopback.rs` runs both in one process, without an adapter.

use std::net::SocketAddr;

use rpcrdma_verbs::{Dispatcher, Error, Provider, Refusal, Server, Settings, Stopper};

/// Listens at an address of an adapter, and answers until it is stopped. `ready` receives what stops it.
pub(crate) fn serve<V: Provider>(adapter: &V, address: SocketAddr, ready: impl FnOnce(Stopper)) -> Result<(), Error> {
    let programs = Dispatcher::default().with_procedure(400_100, 1, 1, |call, results| {
        let ([left, right], []) = call.arguments.as_chunks::<4>() else {
            return Err(Refusal::GarbageArguments);
        };
        let sum = u32::from_be_bytes(*left).wrapping_add(u32::from_be_bytes(*right));
        results.push(&sum.to_be_bytes());
        Ok(())
    });
    let server = Server::bind(adapter, address, Settings::server())?;
    ready(server.stopper());
    server.serve(&programs)
}

#[cfg(feature = "rdma")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address: SocketAddr = std::env::args().nth(1).ok_or("usage: server ADDRESS:PORT")?.parse()?;
    let adapter = rpcrdma_verbs::rdma::Device::with_address(address.ip())?;
    Ok(serve(&adapter, address, |_| println!("listening at {address}"))?)
}
