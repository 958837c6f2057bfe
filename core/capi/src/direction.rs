//! The endpoint that a Send is for.

use rpcrdma::endpoint::Direction;

use crate::argument::{Extent, OutPointer, status, values};
use crate::requester::{self, rpcrdma_requester};
use crate::status::rpcrdma_status;

/// The version is 1. An end that only calls gives it to its Requester, one that is only called to its Responder;
/// rpcrdma_direction says it to one that does both.
pub const RPCRDMA_ARRIVED_VERSION_1: u32 = 1;
/// The Requester.
pub const RPCRDMA_ARRIVED_REPLY: u32 = 2;
/// The Responder, if it has a place (rpcrdma_responder_count). Else the Send has to wait.
pub const RPCRDMA_ARRIVED_CALL: u32 = 3;
/// Says to an end that both calls and is called which of its endpoints a Send of version 1 is for: *kind is
/// RPCRDMA_ARRIVED_REPLY or RPCRDMA_ARRIVED_CALL. A Send that does not show it is a Reply if the Requester waits for one with
/// its XID (RFC 8167 section 5).
///
/// RPCRDMA_INVALID: this is no Requester. RPCRDMA_OVERLAP: the octets, *kind and the Requester are not apart.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_direction(
    requester: *mut rpcrdma_requester,
    octets: *const u8,
    length: usize,
    kind: *mut u32,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (octets, kind) = unsafe { (values(octets, length), OutPointer::new(kind)) };
    let direct = || {
        let octets = octets?;
        let kind = kind?.apart_from(octets)?;
        let others = [kind.extent(), Extent::of(octets.as_ptr(), octets.len())?];
        // SAFETY: and for this.
        let requester = unsafe { requester::find(requester, &others) }?;
        kind.put(match Direction::of(octets, |xid| requester.awaits(xid)) {
            Direction::Reply => RPCRDMA_ARRIVED_REPLY,
            Direction::Call => RPCRDMA_ARRIVED_CALL,
        });
        Ok(())
    };
    status(direct())
}
