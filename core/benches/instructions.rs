//! Runs each operation of the codec 1000 times, so that its instructions can be counted.
//!
//! ```sh
//! counting='valgrind --tool=callgrind --callgrind-out-file=/tmp/callgrind.out'
//! CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=$counting cargo bench -p rpcrdma --bench instructions
//! callgrind_annotate --inclusive=yes --threshold=100 /tmp/callgrind.out | grep -E 'measured_(decode|encode)'
//! ```
//!
//! The first number of each line, divided by 1000, is the number of instructions of one operation, with the call to it.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[path = "../tests/suite/support/mod.rs"]
mod support;

use std::hint::black_box;

use rpcrdma::v1;
use rpcrdma::v2::{family_a, family_b};

use support::{decode_and_visit, decode_and_visit_a, decode_and_visit_b, vector_of};

macro_rules! measured {
    ($($version:ident $visit:ident $folder:literal { $($decode:ident $encode:ident $vector:literal $number:literal)* })*) => {
        // The number makes the functions differ, so that the linker does not make one of them all.
        $($(
            #[inline(never)]
            fn $decode(octets: &[u8]) -> u64 {
                $visit(octets) ^ $number
            }

            #[inline(never)]
            fn $encode(header: &$version::Header<'_>, buffer: &mut [u8]) -> usize {
                header.encode(buffer).unwrap_or($number)
            }
        )*)*

        fn main() {
            let mut buffer = [0; 2048];
            $($(
                let octets = vector_of($folder, $vector);
                for _ in 0..1000 {
                    black_box($decode(black_box(&octets)));
                }
                let (header, _) = $version::Header::decode(&octets).unwrap();
                for _ in 0..1000 {
                    black_box($encode(black_box(&header), black_box(&mut buffer)));
                }
            )*)*
        }
    };
}

measured! {
    v1 decode_and_visit "v1" {
        measured_decode_no_chunks measured_encode_no_chunks "msg_no_chunks" 1
        measured_decode_one_write_chunk measured_encode_one_write_chunk "msg_one_write_chunk" 2
        measured_decode_reads_and_reply measured_encode_reads_and_reply "msg_two_read_segments_and_reply_chunk" 3
        measured_decode_sixteen_of_each measured_encode_sixteen_of_each "msg_sixteen_of_each" 4
    }
    family_a decode_and_visit_a "v2/family-a" {
        measured_decode_a_no_chunks measured_encode_a_no_chunks "msg_no_chunks" 5
        measured_decode_a_one_write_chunk measured_encode_a_one_write_chunk "msg_one_write_chunk" 6
        measured_decode_a_reads_and_reply measured_encode_a_reads_and_reply "msg_two_read_segments_and_reply_chunk" 7
        measured_decode_a_sixteen_of_each measured_encode_a_sixteen_of_each "msg_sixteen_of_each" 8
    }
    family_b decode_and_visit_b "v2/family-b" {
        measured_decode_b_no_chunks measured_encode_b_no_chunks "call_inline_no_chunks" 9
        measured_decode_b_one_write_chunk measured_encode_b_one_write_chunk "call_inline_one_write_chunk" 10
        measured_decode_b_reads_and_reply measured_encode_b_reads_and_reply "call_inline_two_read_segments_and_reply_chunk" 11
        measured_decode_b_sixteen_of_each measured_encode_b_sixteen_of_each "call_inline_sixteen_of_each" 12
        measured_decode_b_reply_no_chunks measured_encode_b_reply_no_chunks "reply_inline_no_chunks" 13
        measured_decode_b_reply_one_write measured_encode_b_reply_one_write "reply_inline_one_write_chunk" 14
    }
}
