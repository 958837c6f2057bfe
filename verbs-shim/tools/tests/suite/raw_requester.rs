//! The example `raw-requester` against a server over the loopback.

#[path = "../../examples/raw-requester/script.rs"]
mod script;

use std::time::Duration;

use rpcrdma_tools::echo::programs;
use rpcrdma_verbs::{Access, Settings, SettingsBuilder};

use crate::support::service::with_settings;
use script::{Part, ScriptStep, parse};

/// The outcome of a script, and what it printed.
fn against_a_server(text: &str) -> (Result<(), String>, String) {
    against(Settings::server().to_builder(), text)
}

/// The same of a server with these settings.
fn against(settings: SettingsBuilder, text: &str) -> (Result<(), String>, String) {
    with_settings(settings, &programs(), |fabric, address| {
        let here = fabric.adapter([192, 0, 2, 1].into()).unwrap();
        let mut said = Vec::new();
        let done = script::run(&here, address, &parse(text).unwrap(), &mut said);
        (done, String::from_utf8(said).unwrap())
    })
}

/// A NULL call of NFSv3 in an RDMA_MSG with the given Write list.
fn null(xid: &str, write_list: &str) -> String {
    format!(
        "send {xid} 00000001 00000020 00000000  00000000 {write_list} 00000000
              {xid} 00000000 00000002 000186a3 00000003 00000000  00000000 00000000 00000000 00000000\n"
    )
}

#[test]
fn words_become_octets() {
    let steps = parse(
        "writable here 64\nreadable there 8   # for a Read chunk\n\nsend 00ff 'file'\n   @here 0a # as one\nwait 0.5\nended",
    );
    let register = |name: &str, length, access| ScriptStep::Register { name: name.to_owned(), length, access };
    let octets = |octets: &[u8]| Part::Octets(octets.to_vec());
    let expected = [
        register("here", 64, Access::LOCAL_WRITE | Access::REMOTE_WRITE),
        register("there", 8, Access::REMOTE_READ),
        ScriptStep::Send(vec![octets(&[0, 0xff]), octets(b"file"), Part::Segment("here".to_owned()), octets(&[10])]),
        ScriptStep::Wait(Duration::from_millis(500)),
        ScriptStep::Ended,
    ];
    assert_eq!(steps.unwrap(), expected);
}

#[test]
fn what_is_not_understood_is_refused_with_its_line() {
    for line in ["0102", "send 010", "send +1", "send 'file", "writable x", "writable x -1", "wait soon", "received"] {
        assert_eq!(parse(&format!("ended\n{line} # so")), Err(format!("not understood: {line}")));
    }
}

#[test]
fn a_call_is_answered_and_its_write_chunk_comes_back() {
    let chunk = "00000001 00000001 @data 00000000";
    let (done, said) = against_a_server(&format!("writable data 64\n{}receive", null("00000007", chunk)));
    assert_eq!(done, Ok(()));
    let lines: Vec<Vec<&str>> = said.lines().map(|line| line.split(' ').collect()).collect();
    let [sent, came] = &lines[..] else { panic!("{said}") };
    // Handle, length, offset.
    let segment = |words: &[&str]| [words[8], words[10], words[11]].map(str::to_owned);
    assert_eq!((sent[0], sent[9], segment(sent)), ("sent", "00000040", segment(came)));
    assert_eq!((came[0], came[1], came[9]), ("came", "00000007", "00000000"));
}

#[test]
fn memory_that_was_withdrawn_ends_the_connection() {
    // ECHO of 1000 octets that are in a Read chunk.
    let call = "send 00000001 00000001 00000020 00000000  00000001 0000002c @data 00000000 00000000 00000000
        00000001 00000000 00000002 20008166 00000001 00000001  00000000 00000000 00000000 00000000 000003e8\n";
    let withdrawn = format!("readable data 1000\n{call}withdraw data\nended");
    // It reads when the memory is gone.
    let late = || Settings::server().to_builder().delay_reads(Duration::from_millis(300));
    assert_eq!(against(late(), &withdrawn).0, Ok(()));
    let (done, _) = against(late(), &withdrawn.replace("ended", "receive"));
    assert_eq!(done, Err("Receive: the connection has ended".to_owned()));
    let (done, _) = against_a_server(&format!("{}withdraw data", null("00000001", "@data")));
    assert!(done.unwrap_err().ends_with("no memory data"));
}
