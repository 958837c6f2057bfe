//! Runs one entry of `rpcrdma` on a board of QEMU, and prints for each of four headers the octets of stack that the
//! entry takes, and the number of instructions of a thousand runs. The size of the program shows the size of the entry.
#![no_std]
#![no_main]

#[cfg(target_arch = "aarch64")]
#[path = "../../src/aarch64.rs"]
mod aarch64;
mod entry;
mod instructions;
#[cfg(target_pointer_width = "32")]
mod memory;
mod stack;

use core::hint::black_box;

use semihosting::sys::arm_compat::sys_writec;

/// Number of runs of an entry, to count its instructions.
const TIMES: u32 = 1000;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    semihosting::process::abort()
}

#[cfg(target_arch = "arm")]
#[cortex_m_rt::entry]
fn start() -> ! {
    measure()
}

#[cfg(target_arch = "aarch64")]
#[unsafe(no_mangle)]
extern "C" fn rpcrdma_start() -> ! {
    measure()
}

fn measure() -> ! {
    let mut buffer = [0; 2048];
    copy(&mut buffer);
    for (number, send) in entry::SENDS.into_iter().enumerate() {
        let mut entry = entry::Entry::new(number);
        let stack = stack::deepest(|| entry.run(black_box(send), black_box(&mut buffer)));
        let before = instructions::now();
        for _ in 0..TIMES {
            entry.run(black_box(send), black_box(&mut buffer));
        }
        print(stack, b' ');
        print(instructions::since(before), b'\n');
    }
    semihosting::process::exit(0)
}

/// Every firmware copies memory: what the compiler needs for that is in each of the programs.
fn copy(buffer: &mut [u8; 2048]) {
    black_box(*black_box(&*buffer));
    black_box(buffer).copy_within(black_box(1)..black_box(2), black_box(0));
}

/// Prints a number, and a character after the number. Formatting would be larger than most entries.
fn print(number: u32, end: u8) {
    if number > 9 {
        print(number / 10, b'0' + (number % 10) as u8);
    } else {
        sys_writec(b'0' + number as u8);
    }
    sys_writec(end);
}
