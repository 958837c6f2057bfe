//! A client in 30 lines: calls the procedure that `examples/server.rs` has.
//!
//! ```sh
//! cargo run -p rpcrdma-verbs --features rdma --example client -- 192.0.2.1:20049 2 3
//! ```
//! `examples/loopback.rs` runs both in one process, without an adapter.

use std::error::Error;
use std::net::SocketAddr;

use rpcrdma_verbs::{Call, Client, Provider, Settings};

/// Asks the server at an address to add two numbers.
pub(crate) fn ask_sum<V: Provider>(
    adapter: &V,
    address: SocketAddr,
    numbers: [u32; 2],
) -> Result<u32, Box<dyn Error + Send + Sync>> {
    let client = Client::connect(adapter, address, &Settings::client())?;
    let mut call = Call::rpc(400_100, 1, 1).with_results_length(4);
    numbers.iter().for_each(|number| call.message().push(&number.to_be_bytes()));
    Ok(u32::from_be_bytes(client.call(&mut call)?.results()?.try_into()?))
}

#[cfg(feature = "rdma")]
fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, left, right] = &arguments[..] else { return Err("usage: client ADDRESS:PORT NUMBER NUMBER".into()) };
    let address = address.parse()?;
    let adapter = rpcrdma_verbs::rdma::Device::towards(address)?;
    println!("{}", ask_sum(&adapter, address, [left.parse()?, right.parse()?])?);
    Ok(())
}
