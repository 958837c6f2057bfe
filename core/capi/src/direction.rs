//! The endpoint that a Send is for.

use rpcrdma::endpoint::Direction;

use crate::argument::{Extent, OutPointer, status, values};
use crate::requester::{self, rpcrdma_requester};
use crate::status::rpcrdma_status;

/// The version is 1. An end that only calls passes the Send to the Requester, an end that is only called to the
/// Responder; an end that does both asks rpcrdma_direction.
pub const RPCRDMA_ARRIVED_VERSION_1: u32 = 1;
/// The Requester.
pub const RPCRDMA_ARRIVED_REPLY: u32 = 2;
/// The Responder, if a place is free (rpcrdma_responder_count). Else the Send has to wait.
pub const RPCRDMA_ARRIVED_CALL: u32 = 3;
/// Writes the endpoint for a Send of version 1, at an end that both calls and is called: *kind is RPCRDMA_ARRIVED_REPLY
/// or RPCRDMA_ARRIVED_CALL. A Send that does not show the direction is a Reply if the Requester waits for a Reply with
/// that XID (RFC 8167 section 5).
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
        let others = [kind.extent(), Extent::from_array(octets.as_ptr(), octets.len())?];
        // SAFETY: and for this.
        let requester = unsafe { requester::find(requester, &others) }?;
        kind.write(match Direction::detect(octets, |xid| requester.awaits(xid)) {
            Direction::Reply => RPCRDMA_ARRIVED_REPLY,
            Direction::Call => RPCRDMA_ARRIVED_CALL,
        });
        Ok(())
    };
    status(direct())
}
