//! One Send as a hex dump, as people copy it: the dumps were made by the tools they are named after.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test falls where its input is wrong"
)]

use std::process::{Command, Stdio};

use rpcrdma::v2::Family;
use rpcrdma_capture::check::send::findings;
use rpcrdma_capture::dissector::Config;
use rpcrdma_capture::events::Events;
use rpcrdma_capture::file::Capture;
use rpcrdma_capture::input::hexdump::{self, HexError};
use rpcrdma_capture::input::send;
use rpcrdma_capture::output::{json, tree};
use rpcrdma_capture::rpc::known::{Direction, Status};

// The Send in frame 118 of nfs41.pcap, an NFSv4 READ with a Write chunk; of some its first 40 octets.

/// `xxd`
const XXD: &str = "\
00000000: 44d1 38ec 0000 0001 0000 0080 0000 0000  D.8.............
00000010: 0000 0000 0000 0001 0000 0001 0000 0771  ...............q
00000020: 0000 1000 44d1 38ec 0e89 5000 0000 0000  ....D.8...P.....
00000030: 0000 0000 44d1 38ec 0000 0000 0000 0002  ....D.8.........
00000040: 0001 86a3 0000 0004 0000 0001 0000 0001  ................
00000050: 0000 001c 0000 0000 0000 0006 636c 6965  ............clie
00000060: 6e74 0000 0000 0000 0000 0000 0000 0000  nt..............
00000070: 0000 0000 0000 0000 0000 0000 0000 0001  ................
00000080: 0000 0003 0000 0035 39e8 006b b068 d762  .......59..k.h.b
00000090: 0100 0000 0000 0000 0000 0010 0000 0000  ................
000000a0: 0000 0000 0000 0000 0000 0016 0000 0014  ................
000000b0: 0100 0101 0000 0000 934c 589c 0400 0000  .........LX.....
000000c0: 0000 0000 0000 0019 0000 0000 39e8 006b  ............9..k
000000d0: b068 d762 0100 0000 0000 0000 0000 0000  .h.b............
000000e0: 0000 1000                                ....
";

/// `hexdump -C`
const HEXDUMP: &str = "\
00000000  44 d1 38 ec 00 00 00 01  00 00 00 80 00 00 00 00  |D.8.............|
00000010  00 00 00 00 00 00 00 01  00 00 00 01 00 00 07 71  |...............q|
00000020  00 00 10 00 44 d1 38 ec  0e 89 50 00 00 00 00 00  |....D.8...P.....|
00000030  00 00 00 00 44 d1 38 ec  00 00 00 00 00 00 00 02  |....D.8.........|
00000040  00 01 86 a3 00 00 00 04  00 00 00 01 00 00 00 01  |................|
00000050  00 00 00 1c 00 00 00 00  00 00 00 06 63 6c 69 65  |............clie|
00000060  6e 74 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |nt..............|
00000070  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 01  |................|
00000080  00 00 00 03 00 00 00 35  39 e8 00 6b b0 68 d7 62  |.......59..k.h.b|
00000090  01 00 00 00 00 00 00 00  00 00 00 10 00 00 00 00  |................|
000000a0  00 00 00 00 00 00 00 00  00 00 00 16 00 00 00 14  |................|
000000b0  01 00 01 01 00 00 00 00  93 4c 58 9c 04 00 00 00  |.........LX.....|
000000c0  00 00 00 00 00 00 00 19  00 00 00 00 39 e8 00 6b  |............9..k|
000000d0  b0 68 d7 62 01 00 00 00  00 00 00 00 00 00 00 00  |.h.b............|
000000e0  00 00 10 00                                       |....|
000000e4
";

/// `xxd -p`
const PLAIN: &str = "\
44d138ec0000000100000080000000000000000000000001000000010000
07710000100044d138ec0e895000000000000000000044d138ec00000000
00000002000186a30000000400000001000000010000001c000000000000
0006636c69656e7400000000000000000000000000000000000000000000
0000000000000001000000030000003539e8006bb068d762010000000000
000000000010000000000000000000000000000000160000001401000101
00000000934c589c0400000000000000000000190000000039e8006bb068
d76201000000000000000000000000001000
";

/// `od -A x -t x1`, `od -t x1` and `od -A d -t x1`
const OD: [&str; 3] = [
    "\
000000 44 d1 38 ec 00 00 00 01 00 00 00 80 00 00 00 00
000010 00 00 00 00 00 00 00 01 00 00 00 01 00 00 07 71
000020 00 00 10 00 44 d1 38 ec
000028
",
    "\
0000000 44 d1 38 ec 00 00 00 01 00 00 00 80 00 00 00 00
0000020 00 00 00 00 00 00 00 01 00 00 00 01 00 00 07 71
0000040 00 00 10 00 44 d1 38 ec
0000050
",
    "\
0000000 44 d1 38 ec 00 00 00 01 00 00 00 80 00 00 00 00
0000016 00 00 00 00 00 00 00 01 00 00 00 01 00 00 07 71
0000032 00 00 10 00 44 d1 38 ec
0000040
",
];

/// `hexdump` and `od -t x4` on a little-endian machine
const HOST_WORDS: [&str; 2] = [
    "\
0000000 d144 ec38 0000 0100 0000 8000 0000 0000
0000010 0000 0000 0000 0100 0000 0100 0000 7107
0000020 0000 0010 d144 ec38                    
0000028
",
    "\
0000000 ec38d144 01000000 80000000 00000000
0000020 00000000 01000000 01000000 71070000
0000040 00100000 ec38d144
0000050
",
];

/// `tcpdump -X`
const TCPDUMP: &str = "03:05:47.000001 UNSUPPORTED
	0x0000:  44d1 38ec 0000 0001 0000 0080 0000 0000  D.8.............
	0x0010:  0000 0000 0000 0001 0000 0001 0000 0771  ...............q
	0x0020:  0000 1000 44d1 38ec                      ....D.8.
";

/// `tshark -x`
const TSHARK: &str = "\
0000  44 d1 38 ec 00 00 00 01 00 00 00 80 00 00 00 00   D.8.............
0010  00 00 00 00 00 00 00 01 00 00 00 01 00 00 07 71   ...............q
0020  00 00 10 00 44 d1 38 ec                           ....D.8.
";

/// `print_hex_dump(KERN_DEBUG, "rpcrdma: ", DUMP_PREFIX_OFFSET, 16, 1, octets, 40, true)`, in a log
const KERNEL: &str = "\
<7>[  112.345678] RPC:       rpcrdma_reply_handler: reply 00000000e2b8b1ad
<7>[  112.345681] rpcrdma: 00000000: 44 d1 38 ec 00 00 00 01 00 00 00 80 00 00 00 00  D.8.............
<7>[  112.345684] rpcrdma: 00000010: 00 00 00 00 00 00 00 01 00 00 00 01 00 00 07 71  ...............q
<7>[  112.345688] rpcrdma: 00000020: 00 00 10 00 44 d1 38 ec                          ....D.8.
";

/// gdb on a little-endian machine: `x/10xw`, `x/40xb`, `x/5xg`
const GDB: [&str; 3] = [
    "0x0:	0xec38d144	0x01000000	0x80000000	0x00000000
0x10:	0x00000000	0x01000000	0x01000000	0x71070000
0x20:	0x00100000	0xec38d144
",
    "0x7f08 <buffer>:	0x44	0xd1	0x38	0xec	0x00	0x00	0x00	0x01
0x7f10 <buffer+8>:	0x00	0x00	0x00	0x80	0x00	0x00	0x00	0x00
0x7f18 <buffer+16>:	0x00	0x00	0x00	0x00	0x00	0x00	0x00	0x01
0x7f20 <buffer+24>:	0x00	0x00	0x00	0x01	0x00	0x00	0x07	0x71
0x7f28 <buffer+32>:	0x00	0x00	0x10	0x00	0x44	0xd1	0x38	0xec
",
    "0x0:	0x01000000ec38d144	0x0000000080000000
0x10:	0x0100000000000000	0x7107000001000000
0x20:	0xec38d14400100000
",
];

fn octets(text: &str) -> Vec<u8> {
    hexdump::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}")).octets
}

#[test]
fn a_whole_send_in_every_common_form() {
    let send = octets(PLAIN);
    assert_eq!((send.len(), &send[..4], &send[224..]), (228, &[0x44, 0xd1, 0x38, 0xec][..], &[0, 0, 0x10, 0][..]));
    for dump in [XXD, HEXDUMP] {
        assert_eq!(octets(dump), send, "{dump}");
    }
    for dump in OD.into_iter().chain([TCPDUMP, TSHARK, KERNEL, GDB[1]]) {
        let found = hexdump::parse(dump).unwrap();
        assert_eq!((found.octets.as_slice(), found.reversed), (&send[..40], false), "{dump}");
    }
    for dump in HOST_WORDS.into_iter().chain([GDB[0], GDB[2]]) {
        let found = hexdump::parse(dump).unwrap();
        assert_eq!((found.octets.as_slice(), found.reversed), (&send[..40], true), "{dump}");
    }
    for dump in [
        "44D138EC 00000001",
        "44 d1 38 ec 00 00\n00 01",
        "44d138e\nc000\n00001",
        "0x44d138ec 0x00000001",
        "0x44d138ec, 0x1,",
        "{ 0x44, 0xd1, 0x38, 0xec, 0x0, 0, 0x0, 0x1 };".replace(" 0,", " 0x00,").as_str(),
        "\"\\x44\\xd1\\x38\\xec\" \"\\x00\\x00\\x00\\x01\"",
        "44:d1:38:ec:00:00:00:01",
        "# a comment\r\n44d138ec\r\n\r\n00000001\r\n",
        "\u{feff}44d138ec00000001".trim_start_matches('\u{feff}'),
    ] {
        assert_eq!(octets(dump), send[..8], "{dump}");
    }
}

#[test]
fn repeated_lines_are_put_back() {
    let hexdump = "\
00000000  44 d1 38 ec 00 00 00 01  00 00 00 80 00 00 00 00  |D.8.............|
00000010  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|
*
00000050  61 62 20 63 64 20 65 66                           |ab cd ef|
00000058
";
    let od = "\
0000000 44 d1 38 ec 00 00 00 01 00 00 00 80 00 00 00 00
0000020 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
*
0000120 61 62 20 63 64 20 65 66
0000130
";
    let whole = [&octets(PLAIN)[..12], &[0; 68], b"ab cd ef"].concat();
    assert_eq!(octets(hexdump), whole);
    assert_eq!(octets(od), whole);
    assert_eq!(octets(&hexdump.replace("00000050", "000fff00").replace("00000058", "000fff08")).len(), 0xfff08);
    let far = hexdump.replace("00000050", "ffffff00").replace("00000058", "ffffff08");
    assert_eq!(hexdump::parse(&far).unwrap_err().reason, HexError::TOO_LONG);
}

#[test]
fn what_is_no_dump_is_said_with_its_place() {
    for (text, line, column, reason) in [
        ("", 1, 1, HexError::EMPTY),
        (" \n# nothing\n", 1, 1, HexError::EMPTY),
        ("44d1\n38ex", 2, 4, HexError::NOT_HEX),
        ("44d1 é", 1, 6, HexError::NOT_HEX),
        ("é 44", 1, 1, HexError::NOT_HEX),
        ("44d1 0x", 1, 8, HexError::NOT_HEX),
        ("44d1 38e", 1, 6, HexError::ODD),
        ("44d138e 0x01", 1, 1, HexError::ODD),
        ("00000000: 44d1 38e", 1, 16, HexError::ODD),
        ("0x44d138ec0000000100", 1, 1, HexError::WORD),
        ("*\n00000000: 44d1", 1, 1, HexError::REPEAT),
        ("00000000: 44d1\n*\n", 2, 1, HexError::REPEAT),
        ("00000000: 44d1\n00000004: 38ec", 2, 1, HexError::OFFSET),
        ("00000000: 44d1\n0000000O: 38ec", 2, 8, HexError::NOT_HEX),
    ] {
        let error = hexdump::parse(text).unwrap_err();
        assert_eq!((error.line, error.column, error.reason), (line, column, reason), "{text:?}");
    }
    let error = hexdump::parse("44d1\n38ex").unwrap_err();
    assert_eq!(error.to_string(), "line 2, column 4: not a hexadecimal digit");
    // A line is missing.
    let dump = XXD.lines().enumerate().filter(|(index, _)| *index != 3).map(|(_, line)| line);
    let error = hexdump::parse(&dump.collect::<Vec<_>>().join("\n")).unwrap_err();
    assert_eq!((error.line, error.reason), (4, HexError::OFFSET));
}

#[test]
fn a_byte_order_mistake_in_the_message_is_not_turned_round() {
    // xxd says the order of octets: a version in the wrong order is the sender's mistake.
    let send = octets("00000000: 44d1 38ec 0100 0000 8000 0000 0000 0000  ....");
    assert_eq!(send[4..8], [1, 0, 0, 0]);
}

/// What a program makes of `octets`; `None` where it is not installed.
fn dumped(program: &[&str], octets: &[u8]) -> Option<String> {
    use std::io::Write as _;
    let mut command = Command::new(program[0]);
    command.args(&program[1..]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().ok()?;
    child.stdin.take().unwrap().write_all(octets).unwrap();
    Some(String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap())
}

#[test]
fn every_tool_dumps_every_send() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/captures/nfs41.pcap");
    let messages = Events::new(Capture::from_paths([path]), Config::default()).messages().map(Result::unwrap);
    let sends: Vec<Vec<u8>> = messages.map(|message| message.octets).collect();
    for program in [
        &["xxd"][..],
        &["xxd", "-p"],
        &["xxd", "-i"],
        &["xxd", "-c", "8", "-g", "1"],
        &["xxd", "-u"],
        &["hexdump", "-C"],
        &["hexdump"],
        &["od", "-A", "x", "-t", "x1"],
        &["od", "-t", "x1"],
        &["od", "-A", "d", "-t", "x1"],
        &["od", "-A", "n", "-t", "x1"],
        &["od", "-A", "x", "-t", "x1z"],
        &["od", "-t", "x4"],
    ] {
        for send in sends.iter().step_by(7) {
            let Some(dump) = dumped(program, send) else {
                println!("{} is not installed: it is left out", program[0]);
                break;
            };
            assert_eq!(&octets(&dump), send, "{program:?}\n{dump}");
        }
    }
}

#[test]
fn no_text_is_too_much() {
    // Every cut and a few mutations of every dump: an error or octets, never a panic.
    let all = [XXD, HEXDUMP, PLAIN, TCPDUMP, TSHARK, KERNEL].into_iter().chain(OD).chain(HOST_WORDS).chain(GDB);
    for dump in all {
        for end in 0..dump.len() {
            _ = hexdump::parse(&dump[..end]);
            for other in ["*", "\u{fffd}", "|", "  ", ":", "0x", "\\x", "\n*\n", ">:"] {
                _ = hexdump::parse(&format!("{}{other}{}", &dump[..end], &dump[end..]));
            }
        }
    }
}

#[test]
fn a_call_is_shown_with_its_operations() {
    let message = send::message(octets(XXD), None);
    let rpc = message.rpc.clone().unwrap();
    let operations: Vec<&str> = rpc.operations.iter().map(|operation| operation.name).collect();
    assert_eq!((rpc.direction, rpc.name), (Direction::Call, Some("NFSv4 COMPOUND")));
    assert_eq!(operations, ["SEQUENCE", "PUTFH", "READ"]);
    assert!(findings(&message).is_empty());
}

#[test]
fn a_reply_is_shown_with_its_status() {
    // rdma_xid 7, one credit, no chunks; REPLY, MSG_ACCEPTED, AUTH_NONE, PROG_UNAVAIL.
    let send = "00000007 00000001 00000001 00000000 00000000 00000000 00000000
                00000007 00000001 00000000 00000000 00000000 00000001";
    let message = send::message(octets(send), None);
    assert_eq!(message.rpc.as_ref().unwrap().status, Some(Status::Refused("PROG_UNAVAIL")));
    assert!(findings(&message).is_empty());
}

/// What is found in a Send, each as it is said on one line.
fn said(send: &str, family: Option<Family>) -> Vec<String> {
    let found = findings(&send::message(octets(send), family));
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
    // What an RDMA_ERROR says is no fault of its own, whatever version it carries.
    assert_eq!(said("0x00000007 0x2 0x20 0x4 0x1 0x1 0x1", None), [""; 0]);
    assert_eq!(said("0x00000007 0x1 0x20 0x4 0x2", None), [""; 0]);
}

#[test]
fn what_is_wrong_in_version_2_is_said_in_its_wire_format() {
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

/// On a connection of drafts -00 to -02 a peer of version 1 refuses in its own layout.
#[test]
fn an_err_vers_with_an_octet_behind_it_is_the_same_in_text_and_json() {
    let send = "00000007 00000002 00000020 00000004 00000001 00000001 00000001 00";
    let message = send::message(octets(send), Some(Family::A));
    let (mut text, mut json) = (Vec::new(), Vec::new());
    tree::write(&mut text, &message, false).unwrap();
    json::lone_message(&mut json, &message).unwrap();
    let (text, json) = (String::from_utf8(text).unwrap(), String::from_utf8(json).unwrap());
    assert!(text.contains("0018  rdma_vers_high    1\n"), "{text}");
    assert!(text.contains("001c  warning           1 octet after the body of ERR_VERS (error-trailing, "), "{text}");
    assert!(json.contains(r#""header_length":28,"payload_length":0,"trailing_length":1,"#), "{json}");
    assert!(json.contains(r#""error":{"code":"ERR_VERS","low":1,"high":1}"#), "{json}");
    assert!(!json.contains("malformed") && !text.contains("malformed"));
}
