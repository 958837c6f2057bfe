//! Names the type of a file that is no capture, by its first octets.

use super::error::Problem;

const XZ: &[u8] = &[0xfd, b'7', b'z', b'X', b'Z', 0];
const BZIP2: &[u8] = b"BZh";
const LZ4: &[u8] = &[0x04, 0x22, 0x4d, 0x18];
const ZIP: &[u8] = b"PK\x03\x04";
const SNOOP: &[u8] = b"snoop\0\0\0";
const NETMON_1: &[u8] = b"RTSS";
const NETMON_2: &[u8] = b"GMBU";

/// The number of octets that are examined to recognise text.
const LOOKED_AT: usize = 512;

/// Names the problem of a file that begins with `start` and is none of the formats that are read.
pub(super) fn name(start: &[u8]) -> Problem {
    match start {
        [] => Problem::Empty,
        _ if start.starts_with(XZ) => Problem::CompressedBy("xz"),
        _ if start.starts_with(BZIP2) => Problem::CompressedBy("bzip2"),
        _ if start.starts_with(LZ4) => Problem::CompressedBy("lz4"),
        _ if start.starts_with(ZIP) => Problem::NotACapture(Some("a zip archive")),
        _ if start.starts_with(SNOOP) => Problem::OtherCapture("a snoop file"),
        _ if start.starts_with(NETMON_1) || start.starts_with(NETMON_2) => Problem::OtherCapture("a NetMon file"),
        _ if is_text(start) => Problem::NotACapture(Some("a text file")),
        _ => Problem::NotACapture(None),
    }
}

fn is_text(start: &[u8]) -> bool {
    let start = start.get(..LOOKED_AT).unwrap_or(start);
    let text = match core::str::from_utf8(start) {
        Ok(text) => text,
        // The last character may extend past the octets that are examined.
        Err(error) if error.error_len().is_none() => {
            start.get(..error.valid_up_to()).and_then(|start| core::str::from_utf8(start).ok()).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !text.is_empty() && text.chars().all(|character| !character.is_control() || character.is_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_recognised_in_any_alphabet_and_at_any_cut() {
        let text = "Größe: 12 µs → 13 µs\n".repeat(40);
        for cut in 1..text.len() {
            assert!(is_text(&text.as_bytes()[..cut]), "{cut}");
        }
        assert!(!is_text(b"a\0b") && !is_text(&[0x80; 8]) && !is_text(&[0xc3]));
    }
}
