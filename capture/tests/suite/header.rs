//! One Send by itself: what is said of it, and what is wrong with it.

use rpcrdma::v2::Family;
use rpcrdma_answers::JsonRecord;
use rpcrdma_answers::messages::HeaderObject;
use rpcrdma_answers::messages::tree;
use rpcrdma_dissector::check::send::findings;
use rpcrdma_dissector::{MessageDirection, Status, lone_message};

use crate::command::run;

/// The Send in frame 118 of nfs41.pcap, an NFSv4 READ with a Write chunk.
const READ: &str = include_str!("../../dissector/src/input/hexdump/plain.hex");

/// The octets of words written with `0x`, and of digits without.
fn octets(text: &str) -> Vec<u8> {
    let word = |word: &str| match word.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).unwrap().to_be_bytes().to_vec(),
        None => (0..word.len()).step_by(2).map(|at| u8::from_str_radix(&word[at..at + 2], 16).unwrap()).collect(),
    };
    text.split_whitespace().flat_map(word).collect()
}

#[test]
fn a_call_is_shown_with_its_operations() {
    let message = lone_message(octets(READ), None);
    let rpc = message.rpc.clone().unwrap();
    let operations: Vec<&str> = rpc.operations.iter().map(|operation| operation.name).collect();
    assert_eq!((rpc.direction, rpc.name), (MessageDirection::Call, Some("NFSv4 COMPOUND")));
    assert_eq!(operations, ["SEQUENCE", "PUTFH", "READ"]);
    assert!(findings(&message).is_empty());
}

#[test]
fn a_reply_is_shown_with_its_status() {
    // rdma_xid 7, one credit, no chunks; REPLY, MSG_ACCEPTED, AUTH_NONE, PROG_UNAVAIL.
    let send = "00000007 00000001 00000001 00000000 00000000 00000000 00000000
                00000007 00000001 00000000 00000000 00000000 00000001";
    let message = lone_message(octets(send), None);
    assert_eq!(message.rpc.as_ref().unwrap().status, Some(Status::Refused { name: "PROG_UNAVAIL", number: 1 }));
    assert!(findings(&message).is_empty());
}

/// Returns the findings in a Send, one line each.
fn said(send: &str, family: Option<Family>) -> Vec<String> {
    let found = findings(&lone_message(octets(send), family));
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn what_is_wrong_is_said_with_what_to_do() {
    const CHUNK: &str = "; a responder answers with ERR_CHUNK; a requester discards it";
    const DROP: &str = "; a responder discards it; a requester discards it";
    // RFC 8166 section 4.5 and what it refers to.
    for (send, says, reaction) in [
        (
            "0x00000007 0x1 0x20 0x0 0x0 0x2",
            "octet 24: the Send has 24 octets and ends inside the header (header-short, RFC 8166 4.5)",
            DROP,
        ),
        (
            "0x00000007 0x2 0x20 0x0 0x0 0x0 0x0",
            "octet 4: rdma_vers is 2 (version, RFC 8166 4.2.2, 4.5.1)",
            "; a responder answers with ERR_VERS; a requester discards it",
        ),
        ("0x00000007 0x1 0x20 0x5 0x0 0x0 0x0", "octet 12: rdma_proc is 5 (proc-unknown, RFC 8166 4.5.2)", CHUNK),
        (
            "0x00000007 0x1 0x20 0x0 0x0 0x2 0x0",
            "octet 20: 2 where a list says whether it goes on (list-flag, RFC 8166 4.3; RFC 4506 4.19, 4.4)",
            CHUNK,
        ),
        (
            "0x00000007 0x1 0x20 0x1 0x0 0x0 0x0",
            "octet 16: RDMA_NOMSG without any chunk (nomsg-empty, RFC 8166 4.2.4, 4.5.2)",
            CHUNK,
        ),
        (
            "0x00000007 0x1 0x20 0x1 0x0 0x1 0x1 0x9 0x64 0x0 0x0 0x0 0x0",
            "octet 16: no Position Zero Read chunk nor Reply chunk of RDMA_NOMSG has an octet (nomsg-empty, ",
            CHUNK,
        ),
        (
            "0x00000007 0x1 0x20 0x1 0x1 0x0 0x9 0x28 0x0 0x0 0x0 0x0 0x0 0x7",
            "octet 52: 4 octets after the lists of RDMA_NOMSG (nomsg-trailing, RFC 8166 4.2.4)",
            "",
        ),
        ("0x00000007 0x1 0x20 0x3", "octet 12: RDMA_DONE (done-sent, ", DROP),
        (
            "0x00000007 0x1 0x20 0x0 0x0 0x0 0x0  0x8 0x1 0x0 0x0 0x0 0x0",
            "octet 28: the RPC message has the XID 0x00000008, rdma_xid is 0x00000007 (xid-mismatch, RFC 8166 4.2.1, 4.5.2)",
            "",
        ),
        (
            "0x00000007 0x1 0x1 0x0 0x1 0x4 0x9 0x10 0x0 0x0 0x0 0x0 0x0  0x7 0x1 0x0 0x0 0x0 0x0",
            "octet 16: a reply with 1 segment in its Read list (read-in-reply, RFC 8166 4.3.1",
            "",
        ),
        (
            "0x00000007 0x1 0x0 0x0 0x0 0x0 0x0  0x7 0x1 0x0 0x0 0x0 0x0",
            "octet 8: rdma_credit is 0 in a reply (credit-zero-grant, RFC 8166 3.3.1)",
            "",
        ),
        (
            "0x00000007 0x1 0x0 0x0 0x0 0x0 0x0  0x7 0x0 0x2 0x99 0x1 0x0 0x0 0x0 0x0 0x0",
            "octet 8: rdma_credit is 0 in a call (credit-zero-request, RFC 8166 3.3.1)",
            "",
        ),
        ("0x00000007 0x1 0x0 0x4 0x2", "octet 8: rdma_credit is 0 in a reply (credit-zero-grant, RFC 8166 3.3.1)", ""),
        // Nothing in this says whether it grants credits or asks for them.
        (
            "0x00000007 0x1 0x0 0x0 0x0 0x0 0x0",
            "octet 28: the Payload stream has 0 octets, fewer than an XID (msg-no-payload, RFC 8166 4.2.4)",
            CHUNK,
        ),
        (
            "00000007 00000001 00000020 00000000 00000000 00000000 00000000 010203",
            "octet 28: the Payload stream has 3 octets, fewer than an XID (msg-no-payload, RFC 8166 4.2.4)",
            CHUNK,
        ),
        (
            "0x00000007 0x1 0x20 0x4 0x2 0x0",
            "octet 20: 4 octets after the body of ERR_CHUNK (error-trailing, RFC 8166 4.1; RFC 5666 4.2)",
            "",
        ),
        (
            "00000007 00000003 00000020 00000004 00000001 00000001 00000001 00",
            "octet 28: 1 octet after the body of ERR_VERS (error-trailing, RFC 8166 4.1; RFC 5666 4.2)",
            "",
        ),
    ] {
        let [found] = &said(send, None)[..] else { panic!("{send}: {:?}", said(send, None)) };
        assert!(found.starts_with(says), "{send}: {found}");
        assert_eq!(found.split_once(')').unwrap().1, reaction, "{send}: {found}");
    }
    // The code of an RDMA_ERROR is no fault of its own, whatever version it carries.
    assert_eq!(said("0x00000007 0x2 0x20 0x4 0x1 0x1 0x1", None), [""; 0]);
    assert_eq!(said("0x00000007 0x1 0x20 0x4 0x2", None), [""; 0]);
}

#[test]
fn version_2_errors_are_reported_in_their_wire_format() {
    const NOTHING: &str = "";
    const BAD_XDR: &str = "; a responder answers with RDMA2_ERR_BAD_XDR; a requester discards it";
    const INVAL_HTYPE: &str =
        "; a responder answers with RDMA2_ERR_INVAL_HTYPE; a requester answers with RDMA2_ERR_INVAL_HTYPE";
    for (family, send, says, reaction) in [
        (Family::A, "7 2 200001 0 8 0 0 0 0 7 0", "octet 16: rdma_flags has the bits 0x8 (v2-reserved-flag, ", NOTHING),
        (Family::A, "7 2 200001 4 1 1 4 3", "octet 24: rdma_vers_low is 4, rdma_vers_high 3 (error-range, ", NOTHING),
        (Family::A, "7 2 200001 1 0 0 0 0 0", "octet 24: RDMA2_NOMSG without any chunk, and rdma_xid is ", BAD_XDR),
        (Family::B, "7 2 200001 a 0 0 0 0", "octet 32: nothing follows the header of RDMA2_CALL_INLINE (", BAD_XDR),
        (Family::B, "7 2 200001 b 0 0", "octet 20: RDMA2_REPLY_EXTERNAL with no Reply chunk (v2-external, ", BAD_XDR),
        (Family::B, "7 2 200001 5", "octet 0: RDMA2_GRANT has the XID 0x00000007 (v2-grant-xid, ", NOTHING),
        (Family::B, "0 2 200001 5 0", "octet 16: 4 octets after the header of RDMA2_GRANT (v2-trailing, ", NOTHING),
        (Family::B, "7 2 200001 e", "octet 12: rdma_htype is 14 (v2-htype, ", INVAL_HTYPE),
    ] {
        let found = said(&words(send), Some(family));
        let [found] = &found[..] else { panic!("{send}: {found:?}") };
        assert!(found.starts_with(says), "{send}: {found}");
        assert_eq!(found.split_once(')').unwrap().1, reaction, "{send}: {found}");
    }
    // It may be a later part of a Payload stream, which has no XID.
    assert_eq!(said(&words("7 2 200001 a 0 0 0 0 8 1"), Some(Family::B)), [""; 0]);
}

/// Hexadecimal words, each written out.
fn words(send: &str) -> String {
    send.split_whitespace().map(|word| format!("{word:0>8} ")).collect()
}

/// An ERR_VERS of family A has 32 octets, and one of version 1 has 28: a Send of 32 octets with rdma_err 2 is an
/// RDMA2_ERR_BAD_XDR, and what follows has no meaning.
#[test]
fn an_error_of_32_octets_has_family_a_layout() {
    let trailing = "octet 24: 8 octets after the header of RDMA2_ERROR (v2-trailing, ";
    let found = said(&words("7 2 200001 4 1 2 0 0"), Some(Family::A));
    assert!(found.len() == 1 && found[0].starts_with(trailing), "{found:?}");
    // With 28 octets it is the ERR_VERS of version 1.
    let message = lone_message(octets(&words("7 2 20 4 1 1 1")), Some(Family::A));
    assert_eq!(message.error().unwrap().to_string(), "ERR_VERS 1 to 1");
    let message = lone_message(octets(&words("7 2 200001 4 1 1 1 3")), Some(Family::A));
    assert_eq!(message.error().unwrap().to_string(), "RDMA2_ERR_VERS 1 to 3");
}

/// On a connection of drafts -00 to -02 a peer of version 1 refuses in its own layout.
#[test]
fn text_and_json_agree_on_octets_after_an_err_vers() {
    let send = "00000007 00000002 00000020 00000004 00000001 00000001 00000001 00";
    let message = lone_message(octets(send), Some(Family::A));
    let (mut text, mut json) = (Vec::new(), Vec::new());
    tree::write(&mut text, &message, false).unwrap();
    HeaderObject::new(&message).write_json(&mut json).unwrap();
    let (text, json) = (String::from_utf8(text).unwrap(), String::from_utf8(json).unwrap());
    assert!(text.contains("0018  rdma_vers_high    1\n"), "{text}");
    assert!(text.contains("001c  warning           1 octet after the body of ERR_VERS (error-trailing, "), "{text}");
    assert!(json.contains(r#""header_octets":28,"payload_octets":0,"trailing_octets":1,"#), "{json}");
    assert!(json.contains(r#""error":{"code":"ERR_VERS","low":1,"high":1,"max_chunks":null,"#), "{json}");
    assert!(json.contains(r#""malformed":null,"#) && !text.contains("malformed"));
}

#[test]
fn what_is_wrong_is_wrapped_at_120_columns() {
    // A Read chunk whose end is past that of the Payload stream, and no Payload stream.
    let send =
        "0x21 0x1 0x1 0x0 0x1 0x78 0x1 0x400 0x0 0x1 0x1 0x78 0x2 0x800 0x0 0x1 0x1 0x78 0x3 0x5 0x0 0x1 0x0 0x0 0x0";
    let message = lone_message(octets(send), None);
    let mut text = Vec::new();
    tree::write(&mut text, &message, false).unwrap();
    let text = String::from_utf8(text).unwrap();
    let mut lines = text.lines().skip_while(|line| !line.contains("wrong"));
    let (first, rest) = (lines.next().unwrap(), lines.next().unwrap());
    assert!(first.starts_with("        0014  wrong             a chunk of 3077 octets at Position 120, and"), "{text}");
    assert!(rest.starts_with(&" ".repeat(32)) && rest.trim_end().ends_with("RFC 8166 3.4.5, 4.5.2)"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
}

#[test]
fn a_file_given_instead_of_hex_names_the_command() {
    let path = format!("{}/Cargo.toml", env!("CARGO_MANIFEST_DIR"));
    let output = run(&["header", &path]);
    let words = format!("not a hexadecimal digit; to read the dump in that file: rpcrdma header < {path}");
    assert!(String::from_utf8_lossy(&output.stderr).contains(&words), "{output:?}");
    assert_eq!(output.status.code(), Some(2));
}
