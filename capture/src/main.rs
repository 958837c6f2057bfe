//! The program `rpcrdma`: shows what is in captures of RPC over RDMA.

mod program;

use std::process::ExitCode;

fn main() -> ExitCode {
    program::main()
}
