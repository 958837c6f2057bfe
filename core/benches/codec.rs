//! Nanoseconds to decode a header and visit every segment of it, to encode it, and to make and encode its reply's.
//!
//! ```sh
//! cargo bench -p rpcrdma      # this
//! core/benches/rpcgen/run     # this, then the same headers with rpcgen and libtirpc, measured in the same way
//! ```
//!
//! Each number is from the best of many short rounds: other work on the machine can only make a round longer.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[path = "../tests/suite/support/mod.rs"]
mod support;

use std::hint::black_box;
use std::time::Instant;

use rpcrdma::v1::{Header, ReplyHeader};

use support::{decode_and_visit, vector};

const HEADERS: [&str; 4] =
    ["msg_no_chunks", "msg_one_write_chunk", "msg_two_read_segments_and_reply_chunk", "msg_sixteen_of_each"];

const ROUNDS: u32 = 500;
const TIMES: u32 = 2000;

fn nanoseconds<T>(mut operation: impl FnMut() -> T) -> f64 {
    let round = |_| {
        let start = Instant::now();
        for _ in 0..TIMES {
            black_box(operation());
        }
        start.elapsed()
    };
    let best = (0..ROUNDS).map(round).min().unwrap();
    best.as_secs_f64() * 1e9 / f64::from(TIMES)
}

fn main() {
    for name in HEADERS {
        let octets = vector(name);
        let (header, _) = Header::decode(&octets).unwrap();
        let provided = header.chunks().unwrap();
        let written: Vec<u64> = provided.writes.iter().map(|chunk| chunk.length() / 2).collect();
        let mut buffer = [0; 1024];

        let decode = nanoseconds(|| decode_and_visit(black_box(&octets)));
        let encode = nanoseconds(|| black_box(&header).encode(black_box(&mut buffer)));
        let reply = nanoseconds(|| {
            let reply = ReplyHeader::new(header.xid, header.credit, black_box(&provided)).with_writes(&written);
            reply.unwrap().encode(black_box(&mut buffer))
        });
        println!("{name:40} decode {decode:8.1} ns, encode {encode:8.1} ns, reply {reply:8.1} ns");
    }
}
