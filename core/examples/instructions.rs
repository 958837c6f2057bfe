//! Runs each operation of the codec 1000 times, for a count of its instructions.
//!
//! ```sh
//! cargo build --release -p rpcrdma --example instructions
//! valgrind --tool=callgrind --callgrind-out-file=/tmp/callgrind.out target/release/examples/instructions
//! callgrind_annotate --inclusive=yes --threshold=100 /tmp/callgrind.out | grep -E 'measured_(decode|encode)'
//! ```
//!
//! The first number of each line, divided by 1000, is the number of instructions of one operation, with the call to it.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::hint::black_box;

use rpcrdma::v1::Header;
use support::vector;

macro_rules! measured {
    ($($decode:ident $encode:ident $vector:literal $number:literal)*) => {
        // The number makes the functions differ, so that the linker does not make one of them all.
        $(
            #[inline(never)]
            fn $decode(octets: &[u8]) -> u64 {
                support::decode_and_visit(octets) ^ $number
            }

            #[inline(never)]
            fn $encode(header: &Header<'_>, buffer: &mut [u8]) -> usize {
                header.encode(buffer).unwrap_or($number)
            }
        )*

        fn main() {
            let mut buffer = [0; 2048];
            $(
                let octets = vector($vector);
                for _ in 0..1000 {
                    black_box($decode(black_box(&octets)));
                }
                let (header, _) = Header::decode(&octets).unwrap();
                for _ in 0..1000 {
                    black_box($encode(black_box(&header), black_box(&mut buffer)));
                }
            )*
        }
    };
}

measured! {
    measured_decode_no_chunks measured_encode_no_chunks "msg_no_chunks" 1
    measured_decode_one_write_chunk measured_encode_one_write_chunk "msg_one_write_chunk" 2
    measured_decode_reads_and_reply measured_encode_reads_and_reply "msg_two_read_segments_and_reply_chunk" 3
    measured_decode_sixteen_of_each measured_encode_sixteen_of_each "msg_sixteen_of_each" 4
}
