//! Makes 1000 NULL calls through client, loopback and server, with one thread at both ends, so that instructions can be
//! counted.
//!
//! ```sh
//! counting='valgrind --tool=callgrind --callgrind-out-file=/tmp/callgrind.out'
//! CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=$counting cargo bench -p rpcrdma-verbs --bench null_call_instructions
//! callgrind_annotate --inclusive=yes --threshold=100 /tmp/callgrind.out | grep measured_
//! ```
//!
//! The first number of each line, divided by 1000, is the number of instructions of one call.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

#[path = "../tests/suite/support/mod.rs"]
mod support;

use rpcrdma_verbs::Connection;
use rpcrdma_verbs::loopback::Adapter;

use support::echo::{Caller, Kind, alone};

#[inline(never)]
fn measured_null_call(caller: &mut Caller<'_>, server: &Connection<Adapter>) {
    caller.call_alone(server);
}

fn main() {
    alone(|_, client, server| {
        let mut caller = Caller::new(client, Kind::Null);
        // Allocations that happen only once are not counted.
        (0..100).for_each(|_| caller.call_alone(server));
        (0..1000).for_each(|_| measured_null_call(&mut caller, server));
    });
}
