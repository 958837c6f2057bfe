//! A mutator of RPC-over-RDMA messages for the fuzzers of C and C++ programs: `librpcrdma_mutator.so`.
//!
//! libFuzzer calls the functions in [`libfuzzer`] if a harness is linked with the library; AFL++ calls those in [`afl`] if
//! `AFL_CUSTOM_MUTATOR_LIBRARY` names it. What they do is [`rpcrdma_gen::mutate`] and [`rpcrdma_gen::cross_over`]; here are
//! only the C interfaces of the two, and so the unsafe code.

pub mod afl;
pub mod libfuzzer;
