//! The client and the server of the other two examples, in one process, over a network that needs no adapter.
//!
//! ```sh
//! cargo run -p rpcrdma-verbs --example loopback
//! ```

#[path = "client.rs"]
#[allow(dead_code, reason = "it has a main of its own")]
mod client;
#[path = "server.rs"]
#[allow(dead_code, reason = "it has a main of its own")]
mod server;

use std::error::Error;
use std::sync::mpsc;
use std::thread;

use rpcrdma_verbs::loopback::Fabric;

/// Asks a server to add 2 and 3.
pub(crate) fn two_and_three() -> Result<u32, Box<dyn Error + Send + Sync>> {
    let network = Fabric::new();
    let (here, there) = (network.adapter([192, 0, 2, 1].into())?, network.adapter([192, 0, 2, 2].into())?);
    let address = "192.0.2.2:20049".parse()?;
    let (tell, ready) = mpsc::channel();
    let served = thread::spawn(move || server::serve(&there, address, |stop| drop(tell.send(stop))));
    let stop = ready.recv()?;
    let sum = client::ask_sum(&here, address, [2, 3]);
    stop.stop();
    served.join().map_err(|_| "the server has panicked")??;
    sum
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    println!("2 + 3 = {}", two_and_three()?);
    Ok(())
}
