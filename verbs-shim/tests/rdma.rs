//! Errors of the provider for adapters without an adapter, and of a process without descriptors.
#![allow(clippy::unwrap_used, reason = "a failed expectation fails the test")]

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use rpcrdma_verbs::loopback::{Adapter, Fabric};
use rpcrdma_verbs::rdma::Device;
use rpcrdma_verbs::{Error, Request, Server, Service, Settings, Stopper, Waiter};

#[test]
fn a_missing_adapter_is_reported_with_advice() {
    if Path::new("/sys/class/infiniband").read_dir().is_ok_and(|mut all| all.next().is_some()) {
        eprintln!("not tested: this computer has an adapter");
        return;
    }
    let somebody = "192.0.2.1:20049".parse().unwrap();
    let tries = [
        Device::first(),
        Device::named("mlx5_0"),
        Device::with_address([127, 0, 0, 1].into()),
        Device::towards(somebody),
    ];
    for tried in tries {
        let error = tried.unwrap_err();
        assert_eq!(error, Error::NoAdapter);
        assert!(error.to_string().contains("`rdma link`"), "{error}");
    }
    assert_eq!(Device::names(), Err(Error::NoAdapter));
}

/// Set in the process that runs with a limit.
const LIMITED: &str = "RPCRDMA_LIMITED";

/// Runs the test with this name in a process whose shell has set a limit first. Returns what it printed.
fn limited(ulimit: &str, test: &str) -> String {
    let program = std::env::current_exe().unwrap();
    let script = format!("ulimit {ulimit} && exec \"$0\" --exact {test} --nocapture --test-threads=1");
    let run = Command::new("sh").args(["-c", &script]).arg(program).env(LIMITED, "1").output().unwrap();
    let printed = String::from_utf8(run.stdout).unwrap();
    assert!(run.status.success(), "{ulimit}: {printed}{}", String::from_utf8_lossy(&run.stderr));
    printed
}

#[test]
fn too_few_descriptors_are_named_as_the_cause() {
    if std::env::var_os(LIMITED).is_some() {
        return with_few_descriptors();
    }
    for limit in 4..=30 {
        let printed = limited(&format!("-n {limit}"), "too_few_descriptors_are_named_as_the_cause");
        // With none left, with one, two and so on: what a waiter needs are two, and one for each descriptor it is given.
        assert!(printed.contains("0 left: waiter OpenFiles, adapter OpenFiles\n"), "{limit}: {printed}");
        assert!(limit < 6 || printed.contains("2 left: waiter fine,"), "{limit}: {printed}");
    }
}

#[test]
fn a_server_without_descriptors_does_not_report_listening() {
    if std::env::var_os(LIMITED).is_some() {
        return serving_with_few_descriptors();
    }
    let printed = limited("-n 12", "a_server_without_descriptors_does_not_report_listening");
    assert!(printed.contains("0 left: OpenFiles\n") && printed.contains("6 left: listening\n"), "{printed}");
}

/// Stops its server as soon as that listens.
struct StopsAtOnce {
    stopper: Stopper,
    is_listening: AtomicBool,
}

impl Service<Adapter> for StopsAtOnce {
    fn call(&self, _: Request<Adapter>) {}

    fn listening(&self) {
        self.is_listening.store(true, Ordering::SeqCst);
        self.stopper.stop();
    }
}

/// Serves over the loopback, which needs no descriptors itself, with ever more of them left. Prints the outcomes.
fn serving_with_few_descriptors() {
    println!();
    let adapter = Fabric::new().adapter([192, 0, 2, 2].into()).unwrap();
    let server = |port| Server::bind(&adapter, ([192, 0, 2, 2], port).into(), Settings::server()).unwrap();
    let mut held: Vec<_> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    for left in 0..=held.len() {
        let server = server(u16::try_from(left + 1).unwrap());
        let service = StopsAtOnce { stopper: server.stopper(), is_listening: AtomicBool::new(false) };
        let served = server.serve(&service);
        let is_listening = service.is_listening.load(Ordering::SeqCst);
        assert_eq!(served.is_ok(), is_listening, "{left} left: {served:?}");
        println!("{left} left: {}", served.err().map_or("listening".to_owned(), |error| format!("{error:?}")));
        held.pop();
    }
}

/// Prints the errors with ever more descriptors left.
fn with_few_descriptors() {
    println!();
    let mut held: Vec<_> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    let has_adapter = Path::new("/sys/class/infiniband").exists();
    for left in 0..=held.len() {
        let waiter = Waiter::new().err();
        let adapter = Device::first().err();
        let name = |error: &Option<Error>| error.as_ref().map_or("fine".to_owned(), |error| format!("{error:?}"));
        println!("{left} left: waiter {}, adapter {}", name(&waiter), name(&adapter));
        for error in waiter.iter().chain(&adapter) {
            let expected = *error == Error::OpenFiles || left > 0 && *error == Error::NoAdapter && !has_adapter;
            assert!(expected || has_adapter, "{left} left: {error}");
            let advice = error.advice().unwrap();
            assert!(advice.contains(if *error == Error::OpenFiles { "ulimit -n" } else { "modprobe" }), "{advice}");
        }
        held.pop();
    }
}
