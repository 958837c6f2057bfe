//! Interface of AFL++ for custom mutators.

use core::ffi::c_void;

use rpcrdma_gen::{Choices, cross_over, mutate};

use crate::libfuzzer::octets;

/// A mutator of one fuzzer.
struct Mutator {
    choices: Choices<'static>,
    /// The last message, which AFL++ uses until it asks for the next.
    made: Vec<u8>,
}

/// In so many of a hundred cases, AFL++'s own mutation also calls [`afl_custom_havoc_mutation`].
const HAVOC: u8 = 20;

/// Begins: everything follows from the seed.
#[unsafe(no_mangle)]
pub extern "C" fn afl_custom_init(_afl: *mut c_void, seed: u32) -> *mut c_void {
    let mutator = Mutator { choices: Choices::of_seed(u64::from(seed)), made: Vec::new() };
    Box::into_raw(Box::new(mutator)).cast()
}

/// Makes a message of the one in `buf`, and in one of four cases of the one in `add_buf` too; returns its size, and its
/// address in `out_buf`.
///
/// # Safety
/// `data` comes from [`afl_custom_init`], and nothing else uses it. There are `buf_size` octets at `buf`, and `add_buf_size` at
/// `add_buf`. `out_buf` may be written to. The message lasts until the next call with the same `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn afl_custom_fuzz(
    data: *mut c_void,
    buf: *const u8,
    buf_size: usize,
    out_buf: *mut *const u8,
    add_buf: *const u8,
    add_buf_size: usize,
    max_size: usize,
) -> usize {
    // SAFETY: the caller promises so many octets at each.
    let (one, other) = unsafe { (octets(buf, buf_size), octets(add_buf, add_buf_size)) };
    // SAFETY: the caller promises that `data` comes from `afl_custom_init` and that `out_buf` may be written to.
    unsafe {
        make(data, out_buf, |choices| match other {
            [_, ..] if choices.below(4) == 0 => cross_over(choices, one, other, max_size),
            _ => mutate(choices, one, max_size),
        })
    }
}

/// Changes a message that AFL++ goes on to change; returns its size, and its address in `out_buf`.
///
/// # Safety
/// As for [`afl_custom_fuzz`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn afl_custom_havoc_mutation(
    data: *mut c_void,
    buf: *const u8,
    buf_size: usize,
    out_buf: *mut *const u8,
    max_size: usize,
) -> usize {
    // SAFETY: the caller promises so many octets.
    let message = unsafe { octets(buf, buf_size) };
    // SAFETY: the caller promises that `data` comes from `afl_custom_init` and that `out_buf` may be written to.
    unsafe { make(data, out_buf, |choices| mutate(choices, message, max_size)) }
}

/// In how many of a hundred cases AFL++ calls [`afl_custom_havoc_mutation`].
#[unsafe(no_mangle)]
pub extern "C" fn afl_custom_havoc_mutation_probability(_data: *mut c_void) -> u8 {
    HAVOC
}

/// Ends.
///
/// # Safety
/// `data` comes from [`afl_custom_init`], and is not used any more, nor is a message that was made with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn afl_custom_deinit(data: *mut c_void) {
    if !data.is_null() {
        // SAFETY: `afl_custom_init` made it of a box, and the caller promises that this is the end.
        drop(unsafe { Box::from_raw(data.cast::<Mutator>()) });
    }
}

/// Makes a message, and keeps it.
///
/// # Safety
/// `data` comes from [`afl_custom_init`], and nothing else uses it. `out_buf` may be written to.
unsafe fn make(data: *mut c_void, out_buf: *mut *const u8, of: impl FnOnce(&mut Choices<'static>) -> Vec<u8>) -> usize {
    // SAFETY: the caller promises that it is a mutator of ours, used by nobody else, or null.
    let Some(mutator) = (unsafe { data.cast::<Mutator>().as_mut() }) else {
        return 0;
    };
    mutator.made = of(&mut mutator.choices);
    // SAFETY: the caller promises that it may be written to, or that it is null.
    if let Some(out_buf) = unsafe { out_buf.as_mut() } {
        *out_buf = mutator.made.as_ptr();
    }
    mutator.made.len()
}
