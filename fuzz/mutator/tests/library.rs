//! The library as the fuzzers use it: its functions called from Rust, and from C after it was loaded.
#![allow(missing_docs, clippy::unwrap_used)]

use core::ptr::{null, null_mut};
use std::path::PathBuf;
use std::process::Command;

use rpcrdma_gen::{Choices, Format, Role};
use rpcrdma_mutator::{afl, libfuzzer};

/// Room for any named case, and more.
const ROOM: usize = 4096;

/// A call of libFuzzer's mutator, in a buffer with room for `most` octets.
fn mutated(octets: &[u8], most: usize, seed: u32) -> Vec<u8> {
    let mut data = octets.to_vec();
    data.resize(most, 0xa5);
    // SAFETY: `data` has `most` octets.
    let size = unsafe { libfuzzer::LLVMFuzzerCustomMutator(data.as_mut_ptr(), octets.len(), most, seed) };
    data.truncate(size);
    data
}

#[test]
fn libfuzzer_is_given_what_the_generator_makes() {
    let cases = rpcrdma_gen::named(Format::V1, Role::Call);
    for (seed, pair) in (0..).zip(cases.windows(2).step_by(97)) {
        let [one, other] = pair else { panic!("two cases") };
        let choices = || Choices::of_seed(u64::from(seed));
        let expected = rpcrdma_gen::mutate(&mut choices(), &one.octets, ROOM);
        assert_eq!(mutated(&one.octets, ROOM, seed), expected, "{}", one.name);
        let (data1, data2, mut out) = (&one.octets, &other.octets, vec![0xa5; ROOM]);
        // SAFETY: each address comes with the length of what is there.
        let size = unsafe {
            let (first, second) = (data1.as_ptr(), data2.as_ptr());
            libfuzzer::LLVMFuzzerCustomCrossOver(
                first,
                data1.len(),
                second,
                data2.len(),
                out.as_mut_ptr(),
                out.len(),
                seed,
            )
        };
        out.truncate(size);
        assert_eq!(out, rpcrdma_gen::cross_over(&mut choices(), data1, data2, ROOM), "{}", one.name);
    }
}

#[test]
fn no_octets_and_no_addresses_do_no_harm() {
    assert_eq!(mutated(&[], 0, 1), []);
    assert!((1..=64).contains(&mutated(&[], 64, 1).len()));
    let data = afl::afl_custom_init(null_mut(), 1);
    let mut out = null();
    // SAFETY: there is nothing at any of the addresses, and the sizes say so; `data` is a mutator until the last call.
    unsafe {
        assert_eq!(libfuzzer::LLVMFuzzerCustomMutator(null_mut(), 0, 0, 1), 0);
        assert_eq!(libfuzzer::LLVMFuzzerCustomCrossOver(null(), 0, null(), 0, null_mut(), 0, 1), 0);
        assert!((1..=64).contains(&afl::afl_custom_fuzz(data, null(), 0, &mut out, null(), 0, 64)));
        assert!(!out.is_null());
        assert_eq!(afl::afl_custom_fuzz(null_mut(), null(), 0, &mut out, null(), 0, 64), 0);
        assert_eq!(afl::afl_custom_havoc_mutation(data, null(), 0, null_mut(), 0), 0);
        afl::afl_custom_deinit(data);
        afl::afl_custom_deinit(null_mut());
    }
}

#[test]
fn a_program_in_c_loads_the_library_and_gets_messages() {
    if !Command::new("cc").arg("--version").output().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: there is no C compiler");
        return;
    }
    // Cargo puts the library beside the test programs.
    let folder = PathBuf::from(std::env::current_exe().unwrap().parent().unwrap());
    let library = folder.join("librpcrdma_mutator.so");
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("harness");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/harness.c");
    let compiled = Command::new("cc").args(["-Wall", "-Werror", "-o"]).arg(&program).args([source, "-ldl"]).status();
    assert!(compiled.unwrap().success());
    assert!(Command::new(&program).arg(&library).status().unwrap().success());
}
