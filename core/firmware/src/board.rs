//! Start and end of a board: semihosting hands the output and the exit status to QEMU.

use core::fmt;

use semihosting::{print, process};

struct Console;

impl fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        print!("{text}");
        Ok(())
    }
}

fn run() -> ! {
    process::exit(i32::from(rpcrdma_firmware::run(&mut Console).is_err()))
}

#[cfg(target_arch = "arm")]
#[cortex_m_rt::entry]
fn start() -> ! {
    run()
}

#[cfg(target_arch = "riscv32")]
#[riscv_rt::entry]
fn start() -> ! {
    run()
}

#[cfg(target_arch = "aarch64")]
#[unsafe(no_mangle)]
extern "C" fn rpcrdma_start() -> ! {
    run()
}
