//! Built by `cargo fuzz`; the body is in the library.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|octets: &[u8]| rpcrdma_fuzz::traces(octets));

#[cfg(not(fuzzing))]
fn main() {
    rpcrdma_fuzz::replay(rpcrdma_fuzz::traces);
}
