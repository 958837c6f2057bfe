//! The program `rpcrdma`: shows what is in captures of RPC over RDMA.

use std::process::ExitCode;

fn main() -> ExitCode {
    rpcrdma_capture::program::main()
}
