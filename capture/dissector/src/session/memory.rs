//! Memory that calls advertise, the octets that RDMA Writes and Reads moved into and out of that memory, and which of
//! those octets are kept.
//!
//! A call advertises segments: handle, offset, length. Each segment is filed under connection, end and handle for as
//! long as the call waits. When the reply comes or the connection ends, the segment is withdrawn. A Write or a Read is
//! looked up by handle and address. The latest call comes first, because a client may use a handle again before the
//! capture has shown that the call before has ended.
//!
//! Data is kept in extents, by offset within the segment. A gap stays a gap: a chunk is copied out only if every octet
//! from 0 to the chunk's length is there.
//!
//! Which octets were moved is kept as ranges, apart from the data, because a capture may cut what a peer wrote. A gap
//! in the ranges is the peer's doing only if nothing else explains the gap:
//!
//! - nothing was missed of either end since the call, nor of the responder just before the call; for a gap in a Read
//!   chunk, nothing of the responder, which sends the RDMA Read requests;
//! - every RDMA operation since then found a place within one segment, and no earlier operation without a place aimed
//!   at the memory of the call (`unmatched.rs`);
//! - no other call in flight advertises the same handle;
//! - the call was not sent before.
//!
//! Then the RPC is "not rebuilt" because the responder did not write what the reply returns, or did not read what the
//! call provided, and the checker is told the ranges (`Answered::moved`). In all other cases the RPC is "not rebuilt"
//! because the capture lacks the octets.

use std::collections::BTreeMap;

use crate::carrier::operation::MemoryAddress;
use crate::carrier::table::Map;
use crate::rpc::pieces::Pieces;

/// Maximum number of octets for which a part of [`Extents`] makes room before any of the octets have come.
const ROOM: usize = 1 << 18;

/// Octets at their offsets; offsets for which nothing came are gaps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extents {
    /// Parts by offset; no part overlaps the next. After a full part, another part follows: no part is copied to grow.
    parts: BTreeMap<u64, Vec<u8>>,
}

impl Extents {
    /// Puts `data` at `at`, over what was there. Returns by how many octets the memory in use has grown.
    pub(crate) fn write_data(&mut self, at: u64, data: &[u8]) -> usize {
        // Data nearly always continues where it stopped.
        if let Some(last) = self.parts.last_entry()
            && *last.key() + last.get().len() as u64 == at
        {
            let last = last.into_mut();
            if last.capacity() - last.len() >= data.len() {
                last.extend_from_slice(data);
                return data.len();
            }
            let mut next = Vec::with_capacity((2 * last.len()).min(ROOM).max(data.len()));
            next.extend_from_slice(data);
            self.parts.insert(at, next);
            return data.len() + Self::PART;
        }
        let (mut at, mut data, mut more) = (at, data, 0);
        while !data.is_empty() {
            let taken = match self.part_over(at) {
                Some(room) => {
                    let taken = room.len().min(data.len());
                    for (old, new) in room.iter_mut().zip(data) {
                        *old = *new;
                    }
                    taken
                }
                None => {
                    let gap = self.parts.range(at..).next().map_or(u64::MAX, |(start, _)| start - at);
                    let taken = usize::try_from(gap).unwrap_or(usize::MAX).min(data.len());
                    more += self.append(at, data.get(..taken).unwrap_or_default());
                    taken
                }
            };
            at += taken as u64;
            data = data.get(taken..).unwrap_or_default();
        }
        more
    }

    /// Returns the octets that are held from `at` to the end of the part that contains `at`.
    fn part_over(&mut self, at: u64) -> Option<&mut [u8]> {
        let (start, part) = self.parts.range_mut(..=at).next_back()?;
        part.get_mut(usize::try_from(at - start).ok()?..).filter(|rest| !rest.is_empty())
    }

    fn append(&mut self, at: u64, data: &[u8]) -> usize {
        match self.parts.range_mut(..at).next_back() {
            Some((start, part)) if start + part.len() as u64 == at => {
                part.extend_from_slice(data);
                data.len()
            }
            _ => {
                self.parts.insert(at, data.to_vec());
                data.len() + Self::PART
            }
        }
    }

    /// Memory used by each part in addition to the data, in octets.
    const PART: usize = 2 * size_of::<(u64, Vec<u8>)>();

    /// Appends the octets from 0 to `length` to `out`.
    ///
    /// # Errors
    /// Returns the offset of the first missing octet; `out` then has the octets before that offset.
    pub(crate) fn copy(&self, length: u64, out: &mut Vec<u8>) -> Result<(), u64> {
        let mut reached = 0;
        for (start, part) in &self.parts {
            if reached >= length || *start != reached {
                break;
            }
            let wanted = usize::try_from(length - reached).unwrap_or(usize::MAX).min(part.len());
            out.extend_from_slice(part.get(..wanted).unwrap_or_default());
            reached += wanted as u64;
        }
        if reached == length { Ok(()) } else { Err(reached) }
    }

    /// As [`copy`](Self::copy), but moves what is held.
    pub(crate) fn take_pieces(&mut self, length: u64, out: &mut Pieces) -> Result<(), u64> {
        let mut reached = 0;
        for (start, mut part) in core::mem::take(&mut self.parts) {
            if reached >= length || start != reached {
                break;
            }
            part.truncate(usize::try_from(length - reached).unwrap_or(usize::MAX));
            reached += part.len() as u64;
            out.push(part);
        }
        if reached == length { Ok(()) } else { Err(reached) }
    }

    /// Memory used by the extents, in octets.
    #[must_use]
    pub(crate) fn memory_used(&self) -> usize {
        self.parts.values().map(|part| part.len() + Self::PART).sum()
    }
}

/// The segment and call that a piece of memory belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentPlace {
    /// Number of the call in the session.
    pub(crate) call: u64,
    /// The segment, counted through the call's Read list, Write list and Reply chunk.
    pub(crate) segment: usize,
}

/// An octet in a segment of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentOffset {
    pub(crate) place: SegmentPlace,
    /// Octets of the segment before this one.
    pub(crate) at: u64,
}

/// Access to a segment that a responder has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// RDMA Read: the segment is in the Read list.
    Read,
    /// RDMA Write: the segment is in the Write list or the Reply chunk.
    Write,
}

/// A segment that is advertised.
#[derive(Clone, Copy, Debug)]
struct Advertised {
    place: SegmentPlace,
    access: Access,
    offset: u64,
    length: u32,
    /// The frame in which the other end invalidated the handle, if any.
    invalidated: Option<u64>,
}

/// The memory that one end advertises, by handle, for as long as the advertising call lasts.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    handles: Map<u32, Vec<Advertised>>,
}

impl Memory {
    /// A call advertises a segment. Returns the oldest other call that advertises the same handle, if there is one.
    pub(crate) fn advertise(
        &mut self,
        access: Access,
        address: MemoryAddress,
        length: u32,
        place: SegmentPlace,
    ) -> Option<u64> {
        let MemoryAddress { handle, offset } = address;
        let list = self.handles.entry(handle).or_default();
        list.push(Advertised { place, access, offset, length, invalidated: None });
        list.first().map(|oldest| oldest.place.call).filter(|&oldest| oldest != place.call)
    }

    /// Notes that the other end invalidated a handle in this frame, whichever calls still advertise the handle.
    pub(crate) fn invalidate(&mut self, handle: u32, frame: u64) {
        for advertised in self.handles.get_mut(&handle).into_iter().flatten() {
            advertised.invalidated = Some(frame);
        }
    }

    /// Returns the frame in which the other end invalidated a handle that a call advertises, if any.
    #[must_use]
    pub(crate) fn invalidated(&self, handle: u32, call: u64) -> Option<u64> {
        let mut list = self.handles.get(&handle)?.iter();
        list.find(|advertised| advertised.place.call == call)?.invalidated
    }

    /// Withdraws what a call advertised under this handle, because the call is over.
    pub(crate) fn withdraw(&mut self, handle: u32, call: u64) {
        if let Some(list) = self.handles.get_mut(&handle) {
            list.retain(|advertised| advertised.place.call != call);
            if list.is_empty() {
                self.handles.remove(&handle);
            }
        }
    }

    /// A call, other than `call`, that advertises this handle.
    #[must_use]
    pub(crate) fn is_shared(&self, handle: u32, call: u64) -> Option<u64> {
        let list = self.handles.get(&handle)?;
        list.iter().map(|advertised| advertised.place.call).find(|&other| other != call)
    }

    /// Finds the segment that contains `length` octets from an address on, and returns the segment with the offset of
    /// the address in it. Only calls that may be meant count. The latest call comes first, because a handle may be in
    /// use again before the end of the previous call was seen. If no segment contains all of the octets, a segment that
    /// contains the first octet is returned.
    #[must_use]
    pub(crate) fn find(
        &self,
        access: Access,
        address: MemoryAddress,
        length: u64,
        is_meant: impl Fn(u64) -> bool,
    ) -> Option<SegmentOffset> {
        let MemoryAddress { handle, offset } = address;
        let list = self.handles.get(&handle)?.iter().rev().filter(|advertised| advertised.access == access);
        let mut first = None;
        for advertised in list {
            let at = offset.wrapping_sub(advertised.offset);
            let room = u64::from(advertised.length).saturating_sub(at);
            if room == 0 || !is_meant(advertised.place.call) {
                continue;
            }
            if length <= room {
                return Some(SegmentOffset { place: advertised.place, at });
            }
            first = first.or(Some(SegmentOffset { place: advertised.place, at }));
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(extents: &Extents, length: u64) -> Result<Vec<u8>, u64> {
        let mut out = Vec::new();
        let copied = extents.copy(length, &mut out).map(|()| out.clone());
        let mut pieces = Pieces::default();
        assert_eq!(extents.clone().take_pieces(length, &mut pieces), copied.clone().map(drop));
        assert_eq!(pieces.octets(), out, "what is moved is what is copied");
        copied
    }

    #[test]
    fn parts_grow_together() {
        let mut extents = Extents::default();
        assert_eq!(extents.write_data(4, &[5, 6]), 2 + Extents::PART);
        assert_eq!(prefix(&extents, 1), Err(0));
        assert_eq!(extents.write_data(0, &[1, 2]), 2 + Extents::PART);
        assert_eq!(prefix(&extents, 6), Err(2));
        assert_eq!(extents.write_data(1, &[7, 3, 4, 8]), 2, "two of the four are new");
        assert_eq!(prefix(&extents, 6), Ok(vec![1, 7, 3, 4, 8, 6]));
        assert_eq!(prefix(&extents, 5), Ok(vec![1, 7, 3, 4, 8]), "within a part behind others");
        assert_eq!(prefix(&extents, 7), Err(6));
        assert_eq!(prefix(&extents, 0), Ok(vec![]));
        assert_eq!(extents.memory_used(), 6 + 2 * Extents::PART);
    }

    #[test]
    fn parts_far_apart_hold_only_what_came() {
        let mut extents = Extents::default();
        extents.write_data(u64::from(u32::MAX), &[1]);
        extents.write_data(7, &[1]);
        extents.write_data(9, &[1]);
        extents.write_data(8, &[2]);
        assert_eq!(extents.memory_used(), 4 + 3 * Extents::PART);
        assert_eq!(extents.write_data(0, &[3; 20]), 17 + Extents::PART);
        assert_eq!(prefix(&extents, 20), Ok(vec![3; 20]));
    }

    #[test]
    fn repeated_data_takes_no_more_room() {
        let mut extents = Extents::default();
        assert_eq!(extents.write_data(0, &[1; 1024]), 1024 + Extents::PART);
        assert_eq!(extents.write_data(0, &[1; 1024]), 0, "it is there already");
        assert_eq!(extents.write_data(512, &[1; 1024]), 512);
    }

    const fn at(offset: u64) -> MemoryAddress {
        MemoryAddress { handle: 7, offset }
    }

    #[test]
    fn memory_is_found_by_handle_and_address() {
        let found = |place, at| Some(SegmentOffset { place, at });
        let mut memory = Memory::default();
        let (old, new) = (SegmentPlace { call: 1, segment: 0 }, SegmentPlace { call: 2, segment: 3 });
        assert_eq!(memory.advertise(Access::Write, at(0x1000), 0x100, old), None);
        assert_eq!(memory.advertise(Access::Write, at(0x1000), 0x100, new), Some(1));
        assert_eq!(memory.find(Access::Write, at(0x10ff), 1, |_| true), found(new, 0xff));
        assert_eq!(memory.find(Access::Read, at(0x10ff), 1, |_| true), None, "it is there to be written");
        assert_eq!(memory.find(Access::Write, at(0x1100), 1, |_| true), None);
        assert_eq!(memory.find(Access::Write, at(0xfff), 1, |_| true), None);
        assert_eq!(memory.find(Access::Write, at(0x1000), 1, |call| call < 2), found(old, 0));
        memory.withdraw(7, 2);
        assert_eq!(memory.find(Access::Write, at(0x1000), 1, |_| true), found(old, 0));
        memory.advertise(Access::Write, at(0x10f0), 0x20, new);
        assert_eq!(memory.find(Access::Write, at(0x10f0), 0x20, |_| true), found(new, 0));
        assert_eq!(memory.find(Access::Write, at(0x10e0), 0x20, |_| true), found(old, 0xe0));
        memory.advertise(Access::Write, at(0x10f0), 0x1f, SegmentPlace { call: 2, segment: 4 });
        assert_eq!(memory.find(Access::Write, at(0x10f0), 0x20, |_| true), found(new, 0), "all of it is in the other");
        assert_eq!(
            memory.find(Access::Write, at(0x10f0), 0x21, |_| true),
            found(SegmentPlace { call: 2, segment: 4 }, 0)
        );
        memory.withdraw(7, 2);
        memory.withdraw(7, 1);
        assert_eq!(memory.find(Access::Write, at(0x1000), 1, |_| true), None);
    }
}
