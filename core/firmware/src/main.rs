//! The program: on a board of QEMU, or on this machine.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(all(target_arch = "aarch64", target_os = "none"))]
mod aarch64;
#[cfg(target_os = "none")]
mod board;

#[cfg(not(target_os = "none"))]
fn main() -> std::process::ExitCode {
    let mut output = String::new();
    let outcome = rpcrdma_firmware::run(&mut output);
    print!("{output}");
    if outcome.is_ok() { std::process::ExitCode::SUCCESS } else { std::process::ExitCode::FAILURE }
}
