//! `librpcrdma.a` and `librpcrdma.so`. `rpcrdma-capi` has the contents; here is only what a linked program has to have
//! once.
#![no_std]

pub use rpcrdma_capi::*;

/// Never called, and so not in the library, as `core/capi/check` proves; a library without std has to have one nevertheless.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
