//! A NULL call of a Requester.

use rpcrdma::endpoint::Requester;
use rpcrdma::endpoint::requester::Call;

/// Words in the order of the network.
pub fn octets(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// Has the Requester make a NULL call with this XID, and returns its message.
pub fn null<const CALLS: usize, const SEGMENTS: usize>(
    requester: &mut Requester<CALLS, SEGMENTS>,
    xid: u32,
) -> Vec<u8> {
    let head = octets(&[xid, 0, 2, 400_100, 1, 0, 0, 0, 0, 0]);
    let call = Call { head: &head, length: 40, arguments: &[], results: &[], reply_length: 24, largest_capacity: 0 };
    requester.call(&call).unwrap();
    head
}
