//! Writes the JavaScript that calls a module of WebAssembly: `wasm-bindgen` as a library, in the version of the lockfile.
#![forbid(unsafe_code)]

use std::env::args;
use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let [_, module, folder] = &args().collect::<Vec<_>>()[..] else {
        eprintln!("usage: rpcrdma-viewer-bind MODULE FOLDER");
        return ExitCode::from(2);
    };
    let mut bindgen = Bindgen::new();
    bindgen.input_path(module).remove_name_section(true).remove_producers_section(true).typescript(true);
    let bound = bindgen.web(true).and_then(|bindgen| bindgen.generate(folder));
    match bound {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rpcrdma-viewer-bind: {error:#}");
            ExitCode::FAILURE
        }
    }
}
