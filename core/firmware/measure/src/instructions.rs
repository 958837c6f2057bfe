//! Instructions, counted by a timer: with `-icount shift=0`, QEMU lets a nanosecond pass for each.

pub(crate) use timer::{now, since};

/// The system timer.
#[cfg(target_arch = "arm")]
mod timer {
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
}

/// The virtual counter, which always runs.
#[cfg(target_arch = "aarch64")]
mod timer {
    const NANOSECONDS: u64 = 1_000_000_000;

    pub(crate) fn now() -> u64 {
        let now;
        // SAFETY: reads a register, after everything before it.
        unsafe {
            core::arch::asm!("isb", "mrs {}, cntvct_el0", out(reg) now, options(nomem, nostack, preserves_flags))
        };
        now
    }

    /// Instructions since then, fewer than four billion.
    pub(crate) fn since(before: u64) -> u32 {
        let frequency: u64;
        // SAFETY: reads a register.
        unsafe { core::arch::asm!("mrs {}, cntfrq_el0", out(reg) frequency, options(nomem, nostack, preserves_flags)) };
        (now().wrapping_sub(before) * (NANOSECONDS / frequency)) as u32
    }
}
