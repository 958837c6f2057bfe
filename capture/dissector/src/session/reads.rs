//! RDMA Read requests for the data of calls.

use super::memory::SegmentPlace;

/// An RDMA Read request for data of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct AskedRead {
    /// Number that names the request in the responses.
    pub(super) request: u64,
    /// Segment that the data is in.
    pub(super) place: SegmentPlace,
    /// Octets of the segment before the first that was asked for.
    pub(super) at: u64,
    /// Octets that were asked for before for the same call.
    pub(super) before: u64,
    pub(super) length: u32,
    /// Place of the last response, once captured.
    pub(super) last: Option<u64>,
}

impl AskedRead {
    /// Returns true if the response at this place is the last to the request, which is for this call.
    pub(super) fn ends_with(&self, call: u64, place: u64) -> bool {
        self.place.call == call && self.last == Some(place)
    }

    /// Notes a response at this place of what the responder sends: so many octets after `at` others.
    pub(super) fn note(&mut self, place: u64, at: u64, octets: usize) {
        if at + octets as u64 == u64::from(self.length) {
            self.last = Some(place);
        }
    }
}
