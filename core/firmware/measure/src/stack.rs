//! Measures the stack that a function takes: the stack below is painted first, and the words that have lost the paint
//! were used.

use core::ptr;

/// A word that no function writes.
const PAINT: u32 = 0xa5c3_965a;

/// Number of words to paint: far more than anything here takes, and far less than there are.
const WORDS: usize = 16_384;

/// Returns the octets of stack that a function takes at most, the call included.
#[inline(never)]
pub(crate) fn deepest(run: impl FnOnce()) -> u32 {
    let here = stack_pointer();
    // SAFETY: the board has 4 MiB of stack, of which little is used: these words are below the stack pointer, and nothing is
    // there. No interrupt is enabled, and nothing is called in between.
    unsafe {
        for word in 1..=WORDS {
            ptr::write_volatile(here.sub(word), PAINT);
        }
    }
    run();
    // SAFETY: as above.
    let untouched =
        (1..=WORDS).rev().take_while(|word| unsafe { ptr::read_volatile(here.sub(*word)) } == PAINT).count();
    ((WORDS - untouched) * 4) as u32
}

fn stack_pointer() -> *mut u32 {
    let here;
    // SAFETY: reads a register.
    unsafe { core::arch::asm!("mov {}, sp", out(reg) here, options(nomem, nostack, preserves_flags)) };
    here
}
