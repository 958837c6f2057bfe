//! Interface of libFuzzer for custom mutators.

use core::slice;

use rpcrdma_gen::{Choices, cross_over, mutate};

/// Changes the message of `size` octets in `data`, and returns its new size: from 1 to `max_size`, or 0 if `max_size` is 0.
///
/// # Safety
/// `data` has room for `max_size` octets; the first `size` are initialised, and `size` is not larger. Nothing else uses them
/// meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LLVMFuzzerCustomMutator(data: *mut u8, size: usize, max_size: usize, seed: u32) -> usize {
    // SAFETY: the caller promises so many initialised octets.
    let message = unsafe { octets(data, size.min(max_size)) };
    let changed = mutate(&mut Choices::of_seed(u64::from(seed)), message, max_size);
    // SAFETY: the caller promises so much room; `message` is not used any more.
    unsafe { copy(&changed, data, max_size) }
}

/// Makes one message of two in `out`, and returns its size: from 1 to `max_out_size`, or 0 if that is 0.
///
/// # Safety
/// There are `size1` octets at `data1` and `size2` at `data2`, and room for `max_out_size` at `out`, apart from both. Nothing
/// writes to them meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LLVMFuzzerCustomCrossOver(
    data1: *const u8,
    size1: usize,
    data2: *const u8,
    size2: usize,
    out: *mut u8,
    max_out_size: usize,
    seed: u32,
) -> usize {
    // SAFETY: the caller promises so many initialised octets at each.
    let (one, other) = unsafe { (octets(data1, size1), octets(data2, size2)) };
    let made = cross_over(&mut Choices::of_seed(u64::from(seed)), one, other, max_out_size);
    // SAFETY: the caller promises so much room.
    unsafe { copy(&made, out, max_out_size) }
}

/// The octets at an address, which may be null if there are none.
///
/// # Safety
/// There are `size` initialised octets at `data`, which nothing writes to while the result is used.
pub(crate) unsafe fn octets<'a>(data: *const u8, size: usize) -> &'a [u8] {
    if data.is_null() || size == 0 {
        return &[];
    }
    // SAFETY: not null, and the caller promises the rest.
    unsafe { slice::from_raw_parts(data, size) }
}

/// Copies as much as there is room for, and returns how many octets that are.
///
/// # Safety
/// There is room for `room` octets at `to`, apart from `from`.
unsafe fn copy(from: &[u8], to: *mut u8, room: usize) -> usize {
    let size = from.len().min(room);
    if to.is_null() || size == 0 {
        return 0;
    }
    // SAFETY: `from` has `size` octets, and the caller promises the rest.
    unsafe { to.copy_from_nonoverlapping(from.as_ptr(), size) };
    size
}
