//! Calls everything public in `rpcrdma` with input the compiler knows nothing about.
//!
//! The panic handler calls a function that is nowhere defined. Where the optimiser finds that no panic can be reached, the
//! handler is gone from the program and it links; where one can be, the linker refuses it. `check` builds it and, should
//! it not link, says who panics.
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

/// Where the program would begin.
#[unsafe(no_mangle)]
pub extern "C" fn _start() -> ! {
    let mut input = [0_u8; 256];
    let input: &mut [u8] = core::hint::black_box(&mut input);
    let mut output = [0_u8; 256];
    let output: &mut [u8] = core::hint::black_box(&mut output);
    loop {
        probes::all(input, output);
    }
}
