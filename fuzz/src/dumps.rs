//! Hex dumps: any text, and octets in the formats of other programs.
//!
//! The first octet of the input chooses: 0 stands for text, others for one of [`FORMS`], in which what follows is
//! printed.

use rpcrdma_dissector::HexDump;

/// The most octets that are printed: more lines than the forms differ in.
const OCTETS: usize = 1024;
/// The most that a dump may hold.
const MOST: usize = 1 << 20;

/// Prints a line of at most 16 octets; the number is the offset.
type LineFormat = fn(usize, &[u8]) -> String;

/// Dumps in the formats of other programs.
const FORMS: [LineFormat; 8] = [
    // xxd -p.
    |_, line| joined(line, ""),
    // An array in C.
    |_, line| line.iter().map(|octet| format!("0x{octet:02x}, ")).collect(),
    // A string in C.
    |_, line| line.iter().map(|octet| format!("\\x{octet:02x}")).collect(),
    // xxd.
    |offset, line| format!("{offset:08x}: {:<39}  {}", pairs(line), characters(line)),
    // hexdump -C.
    |offset, line| format!("{offset:08x}  {:<48}  |{}|", halves(line), characters(line)),
    // tshark -x.
    |offset, line| format!("{offset:04x}  {:<47}   {}", joined(line, " "), characters(line)),
    // tcpdump -X.
    |offset, line| format!("\t0x{offset:04x}:  {:<39}  {}", pairs(line), characters(line)),
    // print_hex_dump of Linux.
    |offset, line| format!("<7>[   12.345678] rpcrdma: {offset:08x}: {:<47}  {}", joined(line, " "), characters(line)),
];

/// For any text: reading the text as a hex dump ends, and either returns no more than a Send can have, or says where in
/// the text the fault is. For any octets: after printing in any format, reading returns the same octets.
///
/// # Panics
/// If this does not hold.
pub fn dumps(octets: &[u8]) {
    let Some((&form, octets)) = octets.split_first() else { return };
    match usize::from(form).checked_sub(1) {
        None => any_text(&String::from_utf8_lossy(octets)),
        Some(form) => printed(form % FORMS.len(), octets.get(..OCTETS).unwrap_or(octets)),
    }
}

fn any_text(text: &str) {
    match HexDump::parse(text) {
        Ok(dump) => {
            assert!((1..=MOST).contains(&dump.octets.len()), "{} octets", dump.octets.len());
            // Without lines that repeat, each octet has digits.
            assert!(text.contains('*') || dump.octets.len() <= text.len() * 8, "{} octets", dump.octets.len());
        }
        Err(error) => {
            let line = text.lines().nth(error.line.saturating_sub(1)).unwrap_or_default();
            let is_there = (1..=line.chars().count() + 1).contains(&error.column);
            assert!(error.line >= 1 && is_there, "{error} is not in the text");
        }
    }
}

fn printed(form: usize, octets: &[u8]) {
    let Some(print) = FORMS.get(form).filter(|_| !octets.is_empty()) else { return };
    let lines = octets.chunks(16).enumerate().map(|(number, line)| print(16 * number, line));
    let text: Vec<String> = lines.collect();
    let text = text.join("\n");
    match HexDump::parse(&text) {
        Ok(dump) => assert_eq!((dump.octets.as_slice(), dump.reversed), (octets, false), "of\n{text}"),
        Err(error) => panic!("{error}, of\n{text}"),
    }
}

fn joined(line: &[u8], separator: &str) -> String {
    line.iter().map(|octet| format!("{octet:02x}")).collect::<Vec<_>>().join(separator)
}

fn pairs(line: &[u8]) -> String {
    line.chunks(2).map(|pair| joined(pair, "")).collect::<Vec<_>>().join(" ")
}

fn halves(line: &[u8]) -> String {
    line.chunks(8).map(|half| joined(half, " ")).collect::<Vec<_>>().join("  ")
}

fn characters(line: &[u8]) -> String {
    let shown = |octet: &u8| octet.is_ascii_graphic() || *octet == b' ';
    line.iter().map(|octet| if shown(octet) { char::from(*octet) } else { '.' }).collect()
}
