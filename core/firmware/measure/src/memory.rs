//! Checks FIRMWARE.md's formulas for the memory that the endpoints take on a machine of 32 bits. If they are wrong,
//! this does not compile.

use rpcrdma::endpoint::{Requester, Responder};

const fn requester(calls: usize, segments: usize) -> usize {
    128 + calls * (180 + 60 * segments)
}

const fn responder(calls: usize, header: usize, chunks: usize) -> usize {
    160 + calls * (192 + header + 16 * chunks)
}

/// Returns true if `octets` is at most `stated`, and not much less.
const fn is_about(octets: usize, stated: usize) -> bool {
    octets <= stated && octets * 100 >= stated * 95
}

const _: () = {
    assert!(is_about(size_of::<Requester<1, 1>>(), requester(1, 1)));
    assert!(is_about(size_of::<Requester<8, 16>>(), requester(8, 16)));
    assert!(is_about(size_of::<Requester<16, 9>>(), requester(16, 9)));
    assert!(is_about(size_of::<Requester<32, 16>>(), requester(32, 16)));
    assert!(is_about(size_of::<Responder<1, 64, 1>>(), responder(1, 64, 1)));
    assert!(is_about(size_of::<Responder<8, 1024, 2>>(), responder(8, 1024, 2)));
    assert!(is_about(size_of::<Responder<16, 516, 3>>(), responder(16, 516, 3)));
    assert!(is_about(size_of::<Responder<32, 1024, 4>>(), responder(32, 1024, 4)));
};
