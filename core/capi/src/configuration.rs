//! The version and the sizes that the library is built with, and values derived from these.
//!
//! The build script makes constants of `configuration.h`, which is a part of `rpcrdma.h`.

use core::ffi::{CStr, c_char};

use crate::status::rpcrdma_status;
use crate::status::rpcrdma_status::RPCRDMA_OTHER_BUILD;

include!(concat!(env!("OUT_DIR"), "/configuration.rs"));

/// The maximum number of ranges of an output.
pub const RPCRDMA_RANGES: usize = RPCRDMA_SEGMENTS + 1;

/// The sizes and the interface that this header is for: the last argument of rpcrdma_requester_init, rpcrdma_responder_init and
/// rpcrdma_channel_init, which refuse another library's.
pub const RPCRDMA_BUILD: u64 = ((RPCRDMA_CALLS as u64) << 52)
    | ((RPCRDMA_SEGMENTS as u64) << 40)
    | ((RPCRDMA_CALL_HEADER as u64) << 24)
    | ((RPCRDMA_CALL_CHUNKS as u64) << 16)
    | ((RPCRDMA_LIBRARY_VERSION_NUMBER as u64) >> 8);

/// The alignment of a Requester, a Responder and a channel, in octets: that of a uint64_t is enough.
pub const RPCRDMA_ALIGNMENT: usize = 8;

/// Octets of memory for a Requester. rpcrdma_requester_size may say less.
pub const RPCRDMA_REQUESTER_SIZE: usize = 256 + RPCRDMA_CALLS * (208 + 60 * RPCRDMA_SEGMENTS);

/// Octets of memory for a Responder. rpcrdma_responder_size may say less.
pub const RPCRDMA_RESPONDER_SIZE: usize = 256 + RPCRDMA_CALLS * (216 + RPCRDMA_CALL_HEADER + 16 * RPCRDMA_CALL_CHUNKS);

/// Refuses a program that was compiled with the header of another build.
pub(crate) const fn same_build(build: u64) -> Result<(), rpcrdma_status> {
    if build == RPCRDMA_BUILD { Ok(()) } else { Err(RPCRDMA_OTHER_BUILD) }
}

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => c"",
};

/// Returns the version of the library that the program runs with, as text that lasts as long as the program.
/// RPCRDMA_LIBRARY_VERSION is that of the header.
#[unsafe(no_mangle)]
pub extern "C" fn rpcrdma_library_version() -> *const c_char {
    VERSION.as_ptr()
}

/// Returns the version of the library that the program runs with, in the form of RPCRDMA_LIBRARY_VERSION_NUMBER.
#[unsafe(no_mangle)]
pub extern "C" fn rpcrdma_library_version_number() -> u32 {
    RPCRDMA_LIBRARY_VERSION_NUMBER
}

/// Returns RPCRDMA_BUILD of the library that the program runs with.
#[unsafe(no_mangle)]
pub extern "C" fn rpcrdma_library_build() -> u64 {
    RPCRDMA_BUILD
}
