//! Defects of a message: functions that put one defect into a valid message, at each kind of place and with
//! every value at a boundary, so that the verdict follows from what was done.

mod framing;
mod reads;
mod returned_chunks;
mod single_message;
mod version_2;

pub(crate) use single_message::alone;

use crate::case::{Base, Case};

/// Makes the cases of one kind of defect from a valid message; none if the kind does not apply.
pub(crate) type Defect = fn(&Base, &mut Vec<Case>);

/// All kinds of defects.
pub(crate) const ALL: [Defect; 27] = [
    framing::truncated,
    framing::version,
    framing::procedure,
    framing::credit,
    framing::list_flag,
    framing::count,
    framing::xid,
    framing::payload,
    framing::trailing,
    framing::no_stream,
    framing::inline_threshold,
    reads::unaligned,
    reads::at_other_positions,
    reads::unordered,
    reads::overlapping,
    reads::long_call,
    reads::in_reply,
    reads::empty_segments,
    reads::offsets,
    returned_chunks::reply_chunk,
    returned_chunks::handles,
    returned_chunks::counts,
    returned_chunks::lengths,
    returned_chunks::emptied,
    version_2::flags,
    version_2::inv_handle,
    version_2::external,
];

/// Words where something changes: the smallest, the largest, and the neighbours of each power of two that limits matter
/// at.
pub(crate) const BOUNDARIES: [u32; 16] = [
    0,
    1,
    2,
    3,
    4,
    5,
    0xff,
    0x100,
    0xffff,
    0x1_0000,
    0x0100_0000,
    0x7fff_fffe,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fffe,
    0xffff_ffff,
];

/// Selects items of a row that differ for the receiver: the first two, the one in the middle, the last.
pub(crate) fn some_of(count: usize) -> impl Iterator<Item = usize> {
    (0..count).filter(move |&index| index < 2 || index == count / 2 || index + 1 == count)
}
