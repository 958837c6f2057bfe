//! Rejects each connection, with private data.
//!
//! ```sh
//! reject 192.0.2.1:20049 "no more clients"
//! ```

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use rpcrdma_tools::command_line::explain;
use rpcrdma_verbs::rdma::Device;
use rpcrdma_verbs::{Error, Verbs as _};

const NAME: &str = "reject";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, private_data] = arguments.as_slice() else {
        eprintln!("usage: reject ADDRESS:PORT PRIVATE-DATA");
        return ExitCode::FAILURE;
    };
    let Ok(address) = address.parse() else {
        eprintln!("{NAME}: not an address with a port: {address}");
        return ExitCode::FAILURE;
    };
    match reject(address, private_data.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            explain(NAME, format_args!("cannot listen at {address}"), &error);
            ExitCode::FAILURE
        }
    }
}

/// Rejects until the program is killed, or nobody has asked for an hour.
fn reject(address: SocketAddr, private_data: &[u8]) -> Result<(), Error> {
    let device = Device::with_address(address.ip())?;
    let listener = device.listen(address, 8)?;
    println!("listening at {address}");
    while let Some(request) = device.request(&listener, Duration::from_secs(3600))? {
        println!("{} is rejected", device.peer(&request));
        device.reject(request, private_data)?;
    }
    Ok(())
}
