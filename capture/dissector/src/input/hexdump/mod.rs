//! Reads octets from a hex dump that was copied from a debugger, a kernel log or another tool.
//!
//! ```text
//! 5a7a4583 00000001 ...                                   digits with any white space; xxd -p
//! 5a 7a 45 83, 0x5a, 0x7a, \x5a\x7a, 5a:7a                octets
//! 0x5a7a4583 0x1 0x80                                     words, most significant digit first
//! 00000000: 5a7a 4583 0000 0001  zzE.....                 xxd
//! 00000000  5a 7a 45 83 00 00 00 01  00 ...  |zzE.....|   hexdump -C; with repeated lines as *
//! 000000 5a 7a 45 83 00 00 00 01                          od -A x -t x1, also with octal or decimal offsets
//! 0000  5a 7a 45 83 00 00 00 01  zzE.....                 tshark -x
//! <7>[   12.3] rpcrdma: 00000000: 5a 7a 45 83  zzE.       the kernel's print_hex_dump
//!         0x0000:  5a7a 4583 0000 0001  zzE.....          tcpdump -x and -X
//! 0x7f08 <buffer+16>:     0x5a7a4583      0x00000001      gdb
//! ```
//!
//! Words in the host's order (`hexdump` without an option, `od -x`, gdb's `x/xw` on a little-endian machine) are
//! recognised by `rdma_vers`, which is 1 in only one of the two orders: see [`HexDump::reversed`].

#[cfg(test)]
mod tests;

use core::fmt;

use rpcrdma::prefix::Prefix;
use rpcrdma::v1::VERSION;

/// More than any Send has: four times the largest size that RFC 8797 can express.
const LIMIT: usize = 1 << 20;

/// Content of a hex dump.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HexDump {
    /// The octets.
    pub octets: Vec<u8>,
    /// True if the words were in little-endian order, and were reversed.
    pub reversed: bool,
}

/// Error in a hex dump, and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HexError {
    /// The line, 1-based.
    pub line: usize,
    /// The character in the line, 1-based.
    pub column: usize,
    /// Description of the problem.
    pub reason: &'static str,
}

impl HexError {
    /// There are no digits.
    pub const EMPTY: &'static str = "no hexadecimal digits";
    /// Something else where digits are expected.
    pub const NOT_HEX: &'static str = "not a hexadecimal digit";
    /// A lone digit is half an octet.
    pub const ODD: &'static str = "an odd number of digits";
    /// More digits than a word has.
    pub const WORD: &'static str = "more than 16 digits in a word";
    /// Lines are missing, repeated, or incomplete.
    pub const OFFSET: &'static str = "the offset does not follow from the lines before it";
    /// A `*` before any line, or after the last one.
    pub const REPEAT: &'static str = "a repetition without a line before it, or without an offset after it";
    /// More than a Send can have.
    pub const TOO_LONG: &'static str = "more than 1 MiB";
}

impl fmt::Display for HexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.reason)
    }
}

impl core::error::Error for HexError {}

/// Part of a line, and the offset of its beginning.
#[derive(Clone, Copy, Debug)]
struct DumpText<'a> {
    text: &'a str,
    line: usize,
    /// In octets from the start of the line.
    at: usize,
    whole: &'a str,
}

impl<'a> DumpText<'a> {
    fn error(self, reason: &'static str) -> HexError {
        let before = self.whole.get(..self.at).unwrap_or_default();
        HexError { line: self.line, column: before.chars().count() + 1, reason }
    }

    /// Returns the text after the first `length` octets.
    fn after(self, length: usize) -> Self {
        let text = self.text.get(length..).unwrap_or_default();
        Self { text, at: self.at + self.text.len() - text.len(), ..self }
    }

    /// Returns the text before the first `separator`.
    fn before(self, separator: &str) -> Self {
        Self { text: self.text.split(separator).next().unwrap_or_default(), ..self }
    }

    fn trim_start(self) -> Self {
        self.after(self.text.len() - self.text.trim_start().len())
    }

    /// Returns the first word and the rest; both empty at the end.
    fn word(self) -> (Self, Self) {
        let trimmed = self.trim_start();
        let end = trimmed.text.find(char::is_whitespace).unwrap_or(trimmed.text.len());
        (Self { text: trimmed.text.get(..end).unwrap_or_default(), ..trimmed }, trimmed.after(end))
    }
}

/// A form of dump.
struct Layout {
    /// Returns true if a text has this form.
    recognises: fn(&str) -> bool,
    /// Reads a line; `None` for a line that is not part of the dump.
    line: for<'a> fn(DumpText<'a>) -> Option<DumpLine<'a>>,
    groups: Groups,
}

/// Meaning of the groups of digits in a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Groups {
    /// Octets or words, or digits that are separated anywhere.
    Any,
    /// Octets or words in the order of transmission.
    InOrder,
    /// The same, or words of the host.
    MaybeOfHost,
}

/// The forms of dump; the first form that recognises a text is used.
static LAYOUTS: [Layout; 3] = [
    // xxd, tcpdump, print_hex_dump, gdb: anything, an offset and a colon.
    Layout {
        recognises: |text| numbered(text).any(|line| colon(line).is_some()),
        line: line_with_colon,
        groups: Groups::InOrder,
    },
    // hexdump, od, tshark: an offset.
    Layout {
        recognises: |text| numbered(text).next().is_some_and(begins_with_offset),
        line: line_with_offset,
        groups: Groups::MaybeOfHost,
    },
    // xxd -p, C, people: digits.
    Layout { recognises: |_| true, line: plain_line, groups: Groups::Any },
];

/// A line of a dump.
#[derive(Debug)]
struct DumpLine<'a> {
    offset: Option<DumpText<'a>>,
    /// True if the line stands for repetitions of the previous line.
    repeats: bool,
    groups: Vec<DumpText<'a>>,
}

impl<'a> DumpLine<'a> {
    fn new(offset: Option<DumpText<'a>>, data: DumpText<'a>) -> Self {
        Self { offset, repeats: false, groups: groups(data) }
    }
}

impl HexDump {
    /// Reads a hex dump.
    ///
    /// # Errors
    /// A [`HexError`] at the first thing that cannot be part of one.
    pub fn parse(text: &str) -> Result<Self, HexError> {
        let mut lines = Vec::new();
        let [.., plain] = &LAYOUTS;
        let layout = LAYOUTS.iter().find(|layout| (layout.recognises)(text)).unwrap_or(plain);
        for line in numbered(text) {
            lines.extend((layout.line)(line));
        }
        let groups = || lines.iter().flat_map(|line| &line.groups);
        let size = word_size(groups())?;
        let mut octets = DumpOctets::new(layout.groups == Groups::Any, size);
        for line in &lines {
            octets.line(line)?;
        }
        let octets = octets.finish()?;
        let host_words = if layout.groups == Groups::MaybeOfHost { group_size(groups()) } else { size };
        Ok(ordered(octets, host_words))
    }
}

/// Lines that are not empty, with their numbers.
fn numbered(text: &str) -> impl Iterator<Item = DumpText<'_>> {
    let lines = text.lines().enumerate().map(|(index, whole)| DumpText { text: whole, line: index + 1, at: 0, whole });
    lines.filter(|line| !line.text.trim().is_empty() && !line.text.trim_start().starts_with('#'))
}

fn line_with_colon(line: DumpText<'_>) -> Option<DumpLine<'_>> {
    repetition(line).or_else(|| match colon(line) {
        Some((offset, data)) => Some(DumpLine::new(offset, without_text_column(data.before("|").trim_start()))),
        None if is_prose(line) => None,
        None => Some(DumpLine::new(None, without_text_column(line.trim_start()))),
    })
}

fn line_with_offset(line: DumpText<'_>) -> Option<DumpLine<'_>> {
    let (offset, data) = line.word();
    let data = || without_text_column(data.before("|").trim_start());
    repetition(line).or_else(|| Some(DumpLine::new(Some(offset), data())))
}

fn plain_line(line: DumpText<'_>) -> Option<DumpLine<'_>> {
    repetition(line).or_else(|| Some(DumpLine::new(None, line)))
}

/// A line of an asterisk alone.
fn repetition(line: DumpText<'_>) -> Option<DumpLine<'_>> {
    let (first, rest) = line.word();
    let is_one = first.text == "*" && rest.text.trim().is_empty();
    is_one.then(|| DumpLine { offset: Some(first), repeats: true, groups: Vec::new() })
}

/// Finds `offset:` in a line. Returns the offset and the rest. gdb's `<symbol+16>:` has an offset no one can check.
fn colon(line: DumpText<'_>) -> Option<(Option<DumpText<'_>>, DumpText<'_>)> {
    let mut rest = line.before("|");
    let (first, second) = (rest.word().0, rest.word().1.word().0);
    if matches!(first.text.len(), 2 | 4..) && is_hex(first.text) && is_hex(second.text) {
        // Data: the words that end in a colon are characters.
        return None;
    }
    loop {
        let (word, after) = rest.word();
        if word.text.is_empty() {
            return None;
        }
        if let Some(offset) = offset_of(word) {
            // A log's prefix may look like an offset itself.
            let (next, rest) = after.word();
            return Some(offset_of(next).map_or((Some(offset), after), |offset| (Some(offset), rest)));
        }
        if word.text.ends_with(">:") {
            return Some((None, after));
        }
        rest = after;
    }
}

/// The offset in `offset:`.
fn offset_of(word: DumpText<'_>) -> Option<DumpText<'_>> {
    let text = word.text.strip_suffix(':')?;
    let digits = unprefixed(text);
    let least = if digits.len() < text.len() { 1 } else { 3 };
    ((least..=16).contains(&digits.len()) && is_hex(digits)).then_some(DumpText { text, ..word })
}

fn is_hex(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_hexdigit())
}

fn unprefixed(text: &str) -> &str {
    text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text)
}

/// Returns true for text of a log between the lines of a dump. A number with a colon is not text, but a mistyped
/// offset.
fn is_prose(line: DumpText<'_>) -> bool {
    let (first, _) = line.word();
    let is_number = first.text.starts_with(|first: char| first.is_ascii_digit()) && first.text.ends_with(':');
    !is_number && !line.text.split_whitespace().all(|word| is_hex(unprefixed(word)))
}

/// Returns true if a line begins with an offset. Returns true if a line begins with an offset. An offset is longer than
/// the following groups, and the first offset is 0 unless `hexdump -C` skipped the beginning. The first word of a Send
/// may be as long; that word is the XID.
fn begins_with_offset(line: DumpText<'_>) -> bool {
    let (offset, rest) = line.word();
    let (group, _) = rest.word();
    let is_zero = offset.text.bytes().all(|octet| octet == b'0');
    let differs = offset.text.len() != group.text.len();
    (4..=16).contains(&offset.text.len())
        && is_hex(offset.text)
        && is_hex(group.text)
        && differs
        && (is_zero || line.text.contains('|'))
}

/// Cuts off the characters that many tools print two or more spaces after the digits.
fn without_text_column(data: DumpText<'_>) -> DumpText<'_> {
    let Some(gap) = data.text.find("  ") else { return data };
    if data.text.trim_end().split("  ").all(|group| group.len() == 2 && is_hex(group)) {
        // Two spaces between all octets.
        return data;
    }
    let (before, after) = data.text.split_at(gap);
    let pairs = |text: &str| text.split(' ').all(|group| group.len() == 2 && is_hex(group));
    // Some tools put two spaces after the eighth octet too.
    let is_middle = before.split(' ').count() == 8 && pairs(before) && !after.starts_with("   ");
    let second = after.trim_start();
    let length = second.find("  ").unwrap_or(second.len());
    let second_part = second.get(..length).unwrap_or_default().trim_end();
    if is_middle && pairs(second_part) {
        let end = data.text.len() - second.len() + second_part.len();
        return DumpText { text: data.text.get(..end).unwrap_or_default(), ..data };
    }
    DumpText { text: before, ..data }
}

/// The groups of digits in a line.
fn groups(line: DumpText<'_>) -> Vec<DumpText<'_>> {
    let separates = |octet: u8| octet.is_ascii_whitespace() || b",;:{}()[]\"'".contains(&octet);
    let mut groups = Vec::new();
    let mut start = 0;
    for (at, octet) in line.text.bytes().chain(*b" ").enumerate() {
        // `\x` begins an octet of a string in C.
        let ends = separates(octet) || octet == b'\\';
        if ends {
            if at > start {
                let from = line.after(start);
                groups.push(DumpText { text: from.text.get(..at - start).unwrap_or(from.text), ..from });
            }
            start = if octet == b'\\' { at } else { at + 1 };
        }
    }
    groups
}

/// Returns the digits of a group, and true if a prefix marks hexadecimal digits.
fn digits(group: &str) -> (&str, bool) {
    let prefixed = ["0x", "0X", "\\x"].iter().find_map(|prefix| group.strip_prefix(prefix));
    prefixed.map_or((group, false), |digits| (digits, true))
}

/// Octets in a word written with `0x`: leading zeros may be missing, so the longest word decides. 1 if there are none.
fn word_size<'a>(groups: impl Iterator<Item = &'a DumpText<'a>>) -> Result<usize, HexError> {
    let mut longest = 0;
    for group in groups {
        if let (digits, true) = digits(group.text) {
            if digits.len() > 16 {
                return Err(group.error(HexError::WORD));
            }
            longest = longest.max(digits.len());
        }
    }
    Ok(longest.div_ceil(2).next_power_of_two())
}

/// Octets in a group, if all groups have the same number; otherwise 1.
fn group_size<'a>(mut groups: impl Iterator<Item = &'a DumpText<'a>>) -> usize {
    let Some(first) = groups.next().map(|group| group.text.len()) else { return 1 };
    if groups.all(|group| group.text.len() == first) && matches!(first, 4 | 8 | 16) { first / 2 } else { 1 }
}

/// Returns the octets in the order of transmission.
fn ordered(octets: Vec<u8>, word: usize) -> HexDump {
    let is_version_1 = |octets: &[u8]| Prefix::decode(octets).is_ok_and(|prefix| prefix.version == VERSION);
    if word > 1 && !is_version_1(&octets) {
        let turned: Vec<u8> = octets.chunks(word).flat_map(|word| word.iter().rev()).copied().collect();
        if is_version_1(&turned) {
            return HexDump { octets: turned, reversed: true };
        }
    }
    HexDump { octets, reversed: false }
}

/// Octets of a dump, collected line by line.
struct DumpOctets<'a> {
    octets: Vec<u8>,
    /// True if spaces may separate digits anywhere.
    is_plain: bool,
    /// The first digit of an incomplete octet, and its group.
    half: Option<(u8, DumpText<'a>)>,
    /// Octets in a word written with `0x`.
    size: usize,
    /// Beginning of the last line with data.
    last_line: usize,
    /// The first offset.
    base: Option<DumpText<'a>>,
    /// The radix of the offsets, once known.
    radix: Option<u32>,
    /// Set if the last line is repeated up to the next offset.
    repeats: Option<DumpText<'a>>,
}

impl<'a> DumpOctets<'a> {
    const fn new(is_plain: bool, size: usize) -> Self {
        let octets = Vec::new();
        Self { octets, is_plain, half: None, size, last_line: 0, base: None, radix: None, repeats: None }
    }

    fn line(&mut self, line: &DumpLine<'a>) -> Result<(), HexError> {
        if let Some(offset) = line.offset {
            if line.repeats {
                self.repeats = Some(offset);
                return Ok(());
            }
            self.offset(offset)?;
        }
        if !line.groups.is_empty() {
            self.last_line = self.octets.len();
        }
        line.groups.iter().try_for_each(|group| self.group(*group))
    }

    /// Checks that an offset is the end of the octets so far, and repeats the last line up to there if need be.
    fn offset(&mut self, offset: DumpText<'a>) -> Result<(), HexError> {
        let Some(base) = self.base else {
            self.base = Some(offset);
            return self.repeats.map_or(Ok(()), |star| Err(star.error(HexError::REPEAT)));
        };
        let Some(star) = self.repeats.take() else {
            let found = self.radices(offset).find(|radix| distance(base, offset, *radix) == Some(self.octets.len()));
            if !self.octets.is_empty() {
                self.radix = Some(found.ok_or_else(|| offset.error(HexError::OFFSET))?);
            }
            return Ok(());
        };
        let line = self.octets.get(self.last_line..).filter(|line| !line.is_empty());
        let line = line.ok_or_else(|| star.error(HexError::REPEAT))?.to_vec();
        let missing = |radix| distance(base, offset, radix)?.checked_sub(self.octets.len());
        let fits = |missing: &usize| *missing > 0 && missing.is_multiple_of(line.len());
        let missing =
            self.radices(offset).filter_map(missing).find(fits).ok_or_else(|| offset.error(HexError::OFFSET))?;
        if missing > LIMIT.saturating_sub(self.octets.len()) {
            return Err(offset.error(HexError::TOO_LONG));
        }
        self.octets.extend(line.iter().cycle().take(missing));
        Ok(())
    }

    /// The radices in which an offset may be written; `od` writes seven octal digits.
    fn radices(&self, offset: DumpText<'_>) -> impl Iterator<Item = u32> + use<> {
        let all = if offset.text.len() == 7 { [8, 16, 10] } else { [16, 8, 10] };
        let known = self.radix;
        all.into_iter().filter(move |radix| known.is_none_or(|known| known == *radix))
    }

    fn group(&mut self, group: DumpText<'a>) -> Result<(), HexError> {
        let (digits, is_prefixed) = digits(group.text);
        let start = group.text.len() - digits.len();
        if let Some((at, _)) = digits.char_indices().find(|(_, digit)| !digit.is_ascii_hexdigit()) {
            return Err(group.after(start + at).error(HexError::NOT_HEX));
        }
        if digits.is_empty() {
            return Err(group.after(start).error(HexError::NOT_HEX));
        }
        if is_prefixed {
            if let Some((_, group)) = self.half {
                return Err(group.error(HexError::ODD));
            }
            for _ in digits.len()..2 * self.size {
                self.digit(0, group)?;
            }
        }
        for digit in digits.chars().filter_map(|digit| digit.to_digit(16)) {
            self.digit(digit as u8, group)?;
        }
        match self.half {
            Some((_, group)) if !self.is_plain => Err(group.error(HexError::ODD)),
            _ => Ok(()),
        }
    }

    fn digit(&mut self, digit: u8, group: DumpText<'a>) -> Result<(), HexError> {
        match self.half.take() {
            None => self.half = Some((digit, group)),
            Some(_) if self.octets.len() >= LIMIT => return Err(group.error(HexError::TOO_LONG)),
            Some((upper, _)) => self.octets.push((upper << 4) | digit),
        }
        Ok(())
    }

    fn finish(self) -> Result<Vec<u8>, HexError> {
        if let Some((_, group)) = self.half {
            return Err(group.error(HexError::ODD));
        }
        if let Some(star) = self.repeats {
            return Err(star.error(HexError::REPEAT));
        }
        if self.octets.is_empty() {
            return Err(HexError { line: 1, column: 1, reason: HexError::EMPTY });
        }
        Ok(self.octets)
    }
}

/// The distance from one offset to another.
fn distance(from: DumpText<'_>, to: DumpText<'_>, radix: u32) -> Option<usize> {
    let value = |text: DumpText<'_>| u64::from_str_radix(unprefixed(text.text), radix).ok();
    usize::try_from(value(to)?.checked_sub(value(from)?)?).ok()
}
