//! The program: on a board of QEMU, or on this machine. There, `rpcrdma-firmware sends` writes the recorded Sends, for a
//! program in another language that does the same.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(all(target_arch = "aarch64", target_os = "none"))]
mod aarch64;
#[cfg(target_os = "none")]
mod board;

#[cfg(not(target_os = "none"))]
fn main() -> std::process::ExitCode {
    use std::io::Write;

    let mut output = String::new();
    let is_done = if std::env::args().nth(1).as_deref() == Some("sends") {
        std::io::stdout().write_all(rpcrdma_firmware::RECORDED).is_ok()
    } else {
        let outcome = rpcrdma_firmware::run(&mut output);
        print!("{output}");
        outcome.is_ok()
    };
    if is_done { std::process::ExitCode::SUCCESS } else { std::process::ExitCode::FAILURE }
}
