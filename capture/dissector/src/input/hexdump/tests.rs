//! Dumps that were made by the tools they are named after.

use std::process::{Command, Stdio};

use super::*;

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
const PLAIN: &str = include_str!("plain.hex");

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
    HexDump::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}")).octets
}

#[test]
fn a_whole_send_in_every_common_form() {
    let send = octets(PLAIN);
    assert_eq!((send.len(), &send[..4], &send[224..]), (228, &[0x44, 0xd1, 0x38, 0xec][..], &[0, 0, 0x10, 0][..]));
    for dump in [XXD, HEXDUMP] {
        assert_eq!(octets(dump), send, "{dump}");
    }
    for dump in OD.into_iter().chain([TCPDUMP, TSHARK, KERNEL, GDB[1]]) {
        let found = HexDump::parse(dump).unwrap();
        assert_eq!((found.octets.as_slice(), found.reversed), (&send[..40], false), "{dump}");
    }
    for dump in HOST_WORDS.into_iter().chain([GDB[0], GDB[2]]) {
        let found = HexDump::parse(dump).unwrap();
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
    assert_eq!(HexDump::parse(&far).unwrap_err().reason, HexError::TOO_LONG);
}

#[test]
fn repetitions_count_together() {
    let line = |offset: u32| format!("{offset:08x}  00\n*\n");
    assert_eq!(octets(&(line(0) + &line(0x8_0000) + "00100000\n")).len(), 0x10_0000);
    let beyond = line(0) + &line(0x8_0000) + "00100001\n";
    assert_eq!(HexDump::parse(&beyond).unwrap_err().reason, HexError::TOO_LONG);
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
        let error = HexDump::parse(text).unwrap_err();
        assert_eq!((error.line, error.column, error.reason), (line, column, reason), "{text:?}");
    }
    let error = HexDump::parse("44d1\n38ex").unwrap_err();
    assert_eq!(error.to_string(), "line 2, column 4: not a hexadecimal digit");
    // A line is missing.
    let dump = XXD.lines().enumerate().filter(|(index, _)| *index != 3).map(|(_, line)| line);
    let error = HexDump::parse(&dump.collect::<Vec<_>>().join("\n")).unwrap_err();
    assert_eq!((error.line, error.reason), (4, HexError::OFFSET));
}

#[test]
fn a_byte_order_mistake_of_the_sender_is_kept() {
    // xxd says the order of octets: a version in the wrong order is the sender's mistake.
    let send = octets("00000000: 44d1 38ec 0100 0000 8000 0000 0000 0000  ....");
    assert_eq!(send[4..8], [1, 0, 0, 0]);
}

/// Returns the dump that a program makes of `octets`; `None` if it is not installed.
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
    // Of all lengths that a header and small calls have: dumps end in whole lines, and in every kind of half a line.
    let whole = octets(PLAIN);
    let sends: Vec<&[u8]> = (28..=whole.len()).step_by(4).map(|length| &whole[..length]).collect();
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
        for send in &sends {
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
            _ = HexDump::parse(&dump[..end]);
            for other in ["*", "\u{fffd}", "|", "  ", ":", "0x", "\\x", "\n*\n", ">:"] {
                _ = HexDump::parse(&format!("{}{other}{}", &dump[..end], &dump[end..]));
            }
        }
    }
}
