//! Output of the programs before anything goes over the network.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::path::Path;
use std::process::Command;

const COPY: &str = env!("CARGO_BIN_EXE_nfs4-cp");
const PING: &str = env!("CARGO_BIN_EXE_rpcrdma-ping");
const PROBE: &str = env!("CARGO_BIN_EXE_rpcrdma-probe");
const SERVE: &str = env!("CARGO_BIN_EXE_rpcrdma-serve");

/// Exit status, standard output, standard error.
fn run(program: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let done = Command::new(program).args(arguments).output().unwrap();
    let text = |octets| String::from_utf8(octets).unwrap();
    (done.status.code(), text(done.stdout), text(done.stderr))
}

#[test]
fn help_has_examples() {
    for program in [COPY, PING, PROBE, SERVE] {
        let (status, out, err) = run(program, &["--help"]);
        assert_eq!((status, err.as_str()), (Some(0), ""));
        assert!(out.contains("Examples:\n") && out.contains("Exit status"), "{out}");
        assert_eq!(run(program, &["-V"]).0, Some(0));
    }
}

#[test]
fn wrong_usage_is_one_line_and_status_2() {
    for (program, arguments, said) in [
        (PING, &["-c", "0", "192.0.2.1"][..], "0"),
        (PING, &["-c", "1000001", "192.0.2.1"], "1000001"),
        (PING, &["-i", "-1", "192.0.2.1"], "-1"),
        (PING, &["--carry", "air", "192.0.2.1"], "there are inline, read, write, position-zero, reply and continued"),
        (PING, &["--size", "5", "192.0.2.1"], "--carry and --size are for --program echo"),
        (PING, &["--program", "nothing", "192.0.2.1"], "a number, or nfs, mount, nfsacl, echo"),
        (PING, &["192.0.2.1:70000"], "no such host"),
        (PING, &[], "<HOST[:PORT]>"),
        (COPY, &["--timeout", "0s", "nfs://192.0.2.1/file", "/tmp/file"], "must be above 0"),
        (COPY, &["--timeout", "60", "nfs://192.0.2.1/file", "/tmp/file"], "not a time such as 50ms or 1.5s"),
        (COPY, &["--keep-alive", "0s", "nfs://192.0.2.1/file", "/tmp/file"], "must be above 0"),
        (PING, &["--keep-alive", "0s", "192.0.2.1"], "must be above 0"),
        (SERVE, &["192.0.2.1:1", "--keep-alive", "0s"], "must be above 0"),
        (SERVE, &["192.0.2.1:1", "--misbehave", "all", "--keep-alive", "5s"], "cannot be used with"),
        (PROBE, &["--rpcrdma-version", "auto", "192.0.2.1"], "1, 2a or 2b"),
        (PROBE, &["--silence", "50", "192.0.2.1"], "not a time such as 50ms or 1.5s"),
        (SERVE, &["192.0.2.1"], "192.0.2.1"),
        (SERVE, &["192.0.2.1:1", "--delay", "50"], "not a time such as 50ms or 1.5s"),
        (SERVE, &["192.0.2.1:1", "--program", "5"], "each --program needs its --version"),
    ] {
        let (status, out, err) = run(program, arguments);
        assert_eq!((status, out.as_str(), err.lines().count()), (Some(2), "", 1), "{arguments:?}: {err}");
        assert!(err.contains(said), "{err}");
    }
}

#[test]
fn without_an_adapter_it_is_said_how_to_have_one() {
    if Path::new("/sys/class/infiniband").read_dir().is_ok_and(|mut all| all.next().is_some()) {
        eprintln!("not tested: this computer has an adapter");
        return;
    }
    for (program, arguments) in [
        (PING, &["192.0.2.1"][..]),
        (PROBE, &["192.0.2.1"]),
        (SERVE, &["0.0.0.0:20049"]),
        (SERVE, &["192.0.2.1:20049"]),
        (COPY, &["--list", "nfs://192.0.2.1/"]),
    ] {
        let (status, out, err) = run(program, arguments);
        assert_eq!((status, out.as_str()), (Some(2), ""), "{program}");
        assert!(err.contains("no such RDMA adapter") && err.contains("rdma link add rxe0 type rxe netdev"), "{err}");
    }
}
