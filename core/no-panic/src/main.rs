//! Calls everything public in `rpcrdma` with input that the compiler knows nothing about.
//!
//! The panic handler calls a function that is not defined anywhere. If the optimiser can prove that no panic is
//! reachable, it drops the handler, and the program links; otherwise linking fails. `check` builds it and, if it does not
//! link, lists the functions that panic.
#![no_std]
#![no_main]

mod probes;

#[cfg(not(feature = "locate"))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    unsafe extern "C" {
        fn rpcrdma_can_panic() -> !;
    }
    // SAFETY: never linked, so never called.
    unsafe { rpcrdma_can_panic() }
}

#[cfg(feature = "locate")]
#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::black_box(info);
    }
}

/// Entry point of the program, which never runs.
#[unsafe(no_mangle)]
pub extern "C" fn _start() -> ! {
    let mut input = [0_u8; 256];
    let input: &mut [u8] = core::hint::black_box(&mut input);
    let mut output = [0_u8; 256];
    let output: &mut [u8] = core::hint::black_box(&mut output);
    loop {
        probes::run_all(input, output);
    }
}
