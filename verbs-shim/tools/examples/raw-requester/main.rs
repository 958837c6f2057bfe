//! Sends hand-made messages to an RPC-over-RDMA server, over an RDMA adapter: messages that no sound requester would
//! send, or none at hand. Reads a script from standard input, and sends octets without interpreting any.
//!
//! ```sh
//! raw-requester 192.0.2.1:20049 <<'END'
//! send 00000001 00000001 00000020 00000000 00000000 00000000 00000000          # RDMA_MSG without chunks
//!      00000001 00000000 00000002 000186a3 00000003 00000000                   # a NULL call of NFSv3
//!      00000000 00000000 00000000 00000000
//! receive
//! END
//! ```

mod script;

use std::io::{self, BufWriter, Read as _, Write as _};
use std::net::SocketAddr;
use std::process::ExitCode;

use rpcrdma_verbs::rdma::Device;

const HELP: &str = "\
raw-requester ADDRESS:PORT <SCRIPT

  writable NAME LENGTH  registers memory that the server may write
  readable NAME LENGTH  registers memory that the server may read
  send WORD...          posts a Send and does not wait for it. A word is hexadecimal digits; 'text'; or @NAME: the
                        segment of that memory, which is handle, length and offset
  receive               waits for a Send of the server, and shows it
  withdraw NAME         ends the registration
  wait SECONDS          waits, whatever comes
  ended                 waits until the server or an adapter has ended the connection

A number sign begins a comment. At the end of the script the connection is closed.
Exit status: 0; 1 where something else came to pass; 2 for wrong usage.
";

fn main() -> ExitCode {
    match prepared() {
        Ok((address, steps)) => match run(address, &steps) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failed) => {
                eprintln!("raw-requester: {failed}");
                ExitCode::FAILURE
            }
        },
        Err(wrong) => {
            eprintln!("raw-requester: {wrong}\n\n{HELP}");
            ExitCode::from(2)
        }
    }
}

fn prepared() -> Result<(SocketAddr, Vec<script::ScriptStep>), String> {
    let mut arguments = std::env::args().skip(1);
    let (Some(address), None) = (arguments.next(), arguments.next()) else { return Err("one address".to_owned()) };
    let address = address.parse().map_err(|error| format!("{address}: {error}"))?;
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).map_err(|error| error.to_string())?;
    Ok((address, script::parse(&text)?))
}

fn run(address: SocketAddr, steps: &[script::ScriptStep]) -> Result<(), String> {
    let device = Device::towards(address).map_err(|error| format!("{address}: {error}"))?;
    // Written at the end, because waiting for the reader would delay the next Send.
    let mut out = BufWriter::new(io::stdout().lock());
    let done = script::run(&device, address, steps, &mut out);
    out.flush().map_err(|error| error.to_string()).and(done)
}
