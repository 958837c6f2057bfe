//! The name by which programs find the shared library, which changes with the interface.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        let (major, minor) = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,librpcrdma.so.{major}.{minor}");
    }
}
