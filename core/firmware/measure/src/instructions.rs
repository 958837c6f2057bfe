//! Instructions, counted by the system timer: with `-icount shift=0`, QEMU lets a nanosecond pass for each.

use core::ptr;

/// Its registers: control and status, reload value, current value, which counts down.
const CONTROL: *mut u32 = 0xe000_e010 as *mut u32;
const RELOAD: *mut u32 = 0xe000_e014 as *mut u32;
const CURRENT: *mut u32 = 0xe000_e018 as *mut u32;

/// The timer has 24 bits.
const MOST: u32 = 0x00ff_ffff;

/// At 25 MHz.
const INSTRUCTIONS_PER_TICK: u32 = 40;

/// Starts the timer.
pub(crate) fn now() -> u32 {
    // SAFETY: every Cortex-M4 has these registers, and nothing else here uses them.
    unsafe {
        ptr::write_volatile(RELOAD, MOST);
        ptr::write_volatile(CURRENT, 0);
        // Enabled, without interrupt, at the speed of the processor.
        ptr::write_volatile(CONTROL, 5);
        ptr::read_volatile(CURRENT)
    }
}

/// Instructions since then, fewer than half a billion.
pub(crate) fn since(before: u32) -> u32 {
    // SAFETY: as above.
    let now = unsafe { ptr::read_volatile(CURRENT) };
    (before.wrapping_sub(now) & MOST) * INSTRUCTIONS_PER_TICK
}
