//! Text of the trace events of a Linux kernel: one line for each event, and a [`Frame`](super::Frame) for each line.
//!
//! ```text
//! tracing/trace, trace_pipe   nfsd-156     [000] .N...    44.126878: svcrdma_post_send: cq_id=1 cid=72 num_sge=1
//! trace-cmd report            nfsd-156   [000]    44.126878: svcrdma_post_send:    cq_id=1 cid=72 num_sge=1
//! perf script                 nfsd   156 [000]    44.126878: rpcrdma:svcrdma_post_send: cq_id=1 cid=72 num_sge=1
//!                             thread     CPU      seconds    event              fields
//! ```
//!
//! The seconds count from the boot of the kernel. Besides events, the text has comments, and lines about events that the
//! ring buffer of the kernel lost.

use core::ops::Range;

use memchr::memchr;

use super::buffer::Buffer;
use super::error::{FileError, Problem};
use super::frame::{LinkType, Time};
use super::record::Record;

/// The most octets of a line that are kept.
const LINE_LIMIT: usize = 8 << 10;
/// The most lines that are examined to recognise the format.
const LINES: usize = 64;
/// The most words between the CPU and the time.
const WORDS: usize = 3;

/// A line of a trace, with its event.
pub(crate) type TraceLine<'a> = LineKind<TraceEvent<'a>>;

/// A line of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineKind<Event> {
    /// An event.
    Event(Event),
    /// The ring buffer lost events; the number, if known.
    Lost(Option<u64>),
    /// A line that is no event: a heading, a comment, or a line of a call chain.
    Comment,
}

/// An event of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceEvent<'a> {
    /// The thread: name and number, as in the line.
    pub(crate) thread: &'a [u8],
    /// Time since the kernel booted.
    pub(crate) time: Time,
    /// Name of the event; empty if the line names a function, as lines of other tracers do.
    pub(crate) name: &'a [u8],
    /// The text after the name.
    pub(crate) fields: &'a [u8],
}

impl<'a> TraceLine<'a> {
    /// Divides a line into parts; `None` for a line that no trace has.
    #[inline]
    pub(crate) fn parse(line: &'a [u8]) -> Option<Self> {
        Self::of(line, TraceEvent::parse)
    }
}

impl<Event> LineKind<Event> {
    /// The kind of a line, whose event `read` reads.
    #[inline]
    fn of<'a>(line: &'a [u8], read: impl Fn(&'a [u8]) -> Option<Event>) -> Option<Self> {
        match line.first() {
            None | Some(b'\t') => return Some(Self::Comment),
            Some(b'#') => return Some(overwritten(line).map_or(Self::Comment, |count| Self::Lost(Some(count)))),
            Some(_) => {}
        }
        match read(line) {
            Some(event) => Some(Self::Event(event)),
            None => other_line(line),
        }
    }
}

impl<'a> TraceEvent<'a> {
    fn parse(line: &'a [u8]) -> Option<Self> {
        let LineStart { cpu, time, rest } = LineStart::find(line)?;
        let (name, fields) = split_name(rest);
        Some(Self { thread: line.get(..cpu.start)?.trim_ascii(), time, name, fields })
    }
}

/// Finds what may be the CPU, `[000]`, at `from` or later. The name of a thread may hold brackets too.
fn find_cpu(line: &[u8], mut from: usize) -> Option<Range<usize>> {
    loop {
        let open = from + memchr(b'[', line.get(from..)?)?;
        let rest = line.get(open + 1..)?;
        let digits = rest.iter().take_while(|octet| octet.is_ascii_digit()).count();
        if digits > 0 && rest.get(digits) == Some(&b']') {
            return Some(open..open + digits + 2);
        }
        from = open + 1;
    }
}

/// Place of the CPU in a line, the time behind, and the rest.
struct LineStart<'a> {
    cpu: Range<usize>,
    time: Time,
    rest: &'a [u8],
}

impl<'a> LineStart<'a> {
    /// Finds the CPU and the time. Flags may stand between the two.
    #[inline]
    fn find(line: &'a [u8]) -> Option<Self> {
        let mut from = 0;
        loop {
            let cpu = find_cpu(line, from)?;
            from = cpu.end;
            let mut rest = line.get(cpu.end..)?;
            for _ in 0..WORDS {
                rest = rest.trim_ascii_start();
                let end = rest.iter().position(|octet| *octet == b' ')?;
                let (word, after) = rest.split_at_checked(end)?;
                if let [digits @ .., b':'] = word
                    && let Some(time) = seconds(digits)
                {
                    return Some(Self { cpu, time, rest: after.trim_ascii_start() });
                }
                rest = after;
            }
        }
    }
}

/// Reads seconds with a fraction of up to nine digits.
fn seconds(word: &[u8]) -> Option<Time> {
    let dot = word.iter().position(|octet| *octet == b'.')?;
    let (whole, fraction) = (word.get(..dot)?, word.get(dot + 1..)?);
    if whole.is_empty() || fraction.is_empty() || fraction.len() > 9 {
        return None;
    }
    let unit = 10_u64.pow(9 - u32::try_from(fraction.len()).ok()?);
    let fraction = decimal(fraction)?.checked_mul(unit)?;
    Some(Time(decimal(whole)?.checked_mul(1_000_000_000)?.checked_add(fraction)?))
}

/// Reads a decimal number of up to 18 digits, and nothing else.
#[inline]
pub(crate) fn decimal(digits: &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for octet in digits {
        let digit = octet.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
    }
    (1..=18).contains(&digits.len()).then_some(number)
}

/// Divides the name of an event from its fields. `perf` puts the name of the subsystem in front.
fn split_name(rest: &[u8]) -> (&[u8], &[u8]) {
    let length = |text: &[u8]| text.iter().take_while(|octet| octet.is_ascii_alphanumeric() || **octet == b'_').count();
    let mut rest = rest;
    for _ in 0..2 {
        let end = length(rest);
        let (name, after) = rest.split_at_checked(end).unwrap_or((b"", rest));
        match after {
            [b':', next, ..] if next.is_ascii_alphanumeric() => rest = after.get(1..).unwrap_or_default(),
            [b':', fields @ ..] => return (name, fields.trim_ascii_start()),
            _ => break,
        }
    }
    (b"", rest)
}

/// The number of events that were written and are no longer there, in the heading of `trace`:
/// `# entries-in-buffer/entries-written: 4888/5000   #P:1`.
fn overwritten(line: &[u8]) -> Option<u64> {
    let rest = line.strip_prefix(b"# entries-in-buffer/entries-written: ")?;
    let mut numbers = rest.split(|octet| !octet.is_ascii_digit());
    let (there, written) = (decimal(numbers.next()?)?, decimal(numbers.next()?)?);
    Some(written.checked_sub(there)?).filter(|count| *count > 0)
}

/// A line that holds no event.
#[cold]
fn other_line<Event>(line: &[u8]) -> Option<LineKind<Event>> {
    let text = line.trim_ascii();
    if text.is_empty() {
        return Some(LineKind::Comment);
    }
    let is_about_cpu = text.starts_with(b"CPU:");
    let tells_loss = |word: &[u8]| text.windows(word.len()).any(|part| part == word);
    if is_about_cpu && (tells_loss(b"LOST") || tells_loss(b"DROPPED")) {
        let numbers = text.get(b"CPU:".len()..)?.split(|octet| !octet.is_ascii_digit());
        return Some(LineKind::Lost(numbers.filter_map(decimal).nth(1)));
    }
    let starts: [&[u8]; 6] = [b"cpus=", b"version = ", b"CPU ", b"=>", b"CPU:", b"<stack trace>"];
    starts.iter().any(|start| text.starts_with(start)).then_some(LineKind::Comment)
}

/// A trace that is read.
#[derive(Clone, Debug, Default)]
pub(super) struct KernelTrace {
    /// Time of the last event.
    last: Time,
    /// Lines without a record before the last record.
    skipped: u64,
    /// `true` if the rest of the last line is still to be skipped.
    is_inside_line: bool,
}

impl KernelTrace {
    /// Returns the reader of a trace if the file is one; nothing is used.
    #[cold]
    pub(super) fn open(buffer: &mut Buffer<'_>) -> Result<Option<Self>, FileError> {
        let mut at = 0;
        for line in 0..LINES {
            let Some(end) = find_line_end(buffer, at)? else {
                // What follows is the end of the file, or a line that is too long.
                let rest = buffer.available().get(at..).unwrap_or_default();
                let is_event = rest.len() > LINE_LIMIT && matches!(TraceLine::parse(rest), Some(TraceLine::Event(_)));
                return Ok(is_event.then(Self::default));
            };
            let text = buffer.available().get(at..end).unwrap_or_default();
            match TraceLine::parse(text) {
                Some(TraceLine::Event(_) | TraceLine::Lost(_)) => return Ok(Some(Self::default())),
                Some(TraceLine::Comment) if line > 0 || is_heading(text) || text.starts_with(b"#") => {}
                _ => return Ok(None),
            }
            at = end + 1;
        }
        Ok(None)
    }

    /// Returns the lines without a record before the last record, once.
    pub(super) const fn take_skipped(&mut self) -> u64 {
        core::mem::replace(&mut self.skipped, 0)
    }

    /// The next line with an event, or about lost events; none at the end of the file.
    pub(super) fn next(&mut self, buffer: &mut Buffer<'_>) -> Result<Option<Record>, FileError> {
        loop {
            if self.is_inside_line {
                skip_line(buffer)?;
                self.is_inside_line = false;
            }
            let offset = buffer.offset();
            let end = match find_line_end(buffer, 0)? {
                Some(end) => end,
                None if buffer.available().is_empty() => return Ok(None),
                None if buffer.available().len() > LINE_LIMIT => {
                    self.is_inside_line = true;
                    LINE_LIMIT
                }
                None => return Err(FileError::new(offset, Problem::EndsInside("a line"))),
            };
            let line = buffer.available().get(..end).unwrap_or_default();
            let time = match LineKind::of(line, |line| LineStart::find(line).map(|start| start.time)) {
                Some(LineKind::Event(time)) => time,
                Some(LineKind::Lost(_)) => next_time(buffer.available()).unwrap_or(self.last),
                Some(LineKind::Comment) => {
                    buffer.consume(end + usize::from(!self.is_inside_line));
                    self.skipped = self.skipped.saturating_add(1);
                    continue;
                }
                None => return Err(FileError::new(offset, Problem::Damaged("a line is no event of a kernel trace"))),
            };
            self.last = time;
            let mut data = buffer.consume(end + usize::from(!self.is_inside_line));
            data.end = data.end.min(data.start.saturating_add(end));
            let length = (data.len() as u32).saturating_add(self.is_inside_line.into());
            return Ok(Some(Record { time, link: LinkType::KERNEL_TRACE, data, length }));
        }
    }
}

/// Returns true for the first line of the text of a tracer, which may have no events.
pub(super) fn is_heading(text: &[u8]) -> bool {
    let starts: [&[u8]; 3] = [b"# tracer:", b"cpus=", b"version = "];
    starts.iter().any(|start| text.starts_with(start))
}

/// Time of the first event in the text that is available.
#[cold]
fn next_time(text: &[u8]) -> Option<Time> {
    text.split(|octet| *octet == b'\n').take(LINES).find_map(|line| LineStart::find(line).map(|start| start.time))
}

/// Returns the end of the line that begins at `from`; `None` if the file ends before, or the line is too long.
#[inline]
fn find_line_end(buffer: &mut Buffer<'_>, from: usize) -> Result<Option<usize>, FileError> {
    let mut searched = from;
    loop {
        let available = buffer.available();
        if let Some(end) = available.get(searched..).and_then(|text| memchr(b'\n', text)) {
            let end = searched + end;
            return Ok((end - from <= LINE_LIMIT).then_some(end));
        }
        searched = available.len();
        if searched.saturating_sub(from) > LINE_LIMIT || !buffer.fill(searched + 1)? {
            return Ok(None);
        }
    }
}

/// Uses the octets up to the end of the line.
#[cold]
fn skip_line(buffer: &mut Buffer<'_>) -> Result<(), FileError> {
    while buffer.fill(1)? {
        let end = memchr(b'\n', buffer.available());
        buffer.consume(end.map_or(buffer.available().len(), |end| end + 1));
        if end.is_some() {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::reader::Reader;
    use super::*;

    fn event(line: &str) -> (String, u64, String, String) {
        let Some(TraceLine::Event(event)) = TraceLine::parse(line.as_bytes()) else { panic!("{line}") };
        let text = |octets: &[u8]| String::from_utf8(octets.to_vec()).unwrap();
        (text(event.thread), event.time.0, text(event.name), text(event.fields))
    }

    #[test]
    fn each_program_writes_the_same_event() {
        for (line, thread) in [
            ("            nfsd-156     [000] .N...    44.126878: svc_send: xid=0xd78c23f1 status=0", "nfsd-156"),
            ("            nfsd-156     (    156) [012] d..1.    44.126878: svc_send: xid=0xd78c23f1 status=0", ""),
            ("            nfsd-156   [000]    44.126878: svc_send:             xid=0xd78c23f1 status=0", "nfsd-156"),
            ("            nfsd-156   [000] .....    44.126878000: svc_send:   xid=0xd78c23f1 status=0", "nfsd-156"),
            ("nfsd     156 [000]    44.126878: sunrpc:svc_send: xid=0xd78c23f1 status=0", "nfsd     156"),
            (" a[1] b: c-156  [000]    44.126878: svc_send: xid=0xd78c23f1 status=0", "a[1] b: c-156"),
        ] {
            let (found, time, name, fields) = event(line);
            assert!(thread.is_empty() || found == thread, "{line}: {found}");
            assert_eq!((time, &*name, &*fields), (44_126_878_000, "svc_send", "xid=0xd78c23f1 status=0"), "{line}");
        }
    }

    #[test]
    fn lost_events_are_counted() {
        for (line, expected) in [
            ("CPU:2 [LOST 123 EVENTS]", Some(TraceLine::Lost(Some(123)))),
            ("CPU:1 [EVENTS DROPPED]", Some(TraceLine::Lost(None))),
            ("CPU:1 [17 EVENTS DROPPED]", Some(TraceLine::Lost(Some(17)))),
            ("# entries-in-buffer/entries-written: 4888/5000   #P:1", Some(TraceLine::Lost(Some(112)))),
            ("# entries-in-buffer/entries-written: 4888/4888   #P:1", Some(TraceLine::Comment)),
            ("cpus=2", Some(TraceLine::Comment)),
            (" => ret_from_fork", Some(TraceLine::Comment)),
            ("hello", None),
            ("nfsd-156 [000] .... soon: svc_send: xid=1", None),
        ] {
            assert_eq!(TraceLine::parse(line.as_bytes()), expected, "{line}");
        }
    }

    fn read(text: &str) -> (Vec<(u64, u64, usize)>, Option<String>) {
        let mut reader = Reader::with_capacity(16, text.as_bytes()).unwrap();
        let mut frames = Vec::new();
        loop {
            match reader.next() {
                Some(Ok(frame)) => frames.push((frame.number, frame.time.0, frame.data.len())),
                Some(Err(error)) => return (frames, Some(error.to_string())),
                None => return (frames, None),
            }
        }
    }

    const LINE: &str = "nfsd-1 [000] 1.000001: svc_send: xid=0x1";

    #[test]
    fn a_frame_has_the_number_of_its_line() {
        let (frames, error) = read(&format!("# tracer: nop\n#\n{LINE}\n\nCPU:0 [LOST 3 EVENTS]\n{LINE}\r\n"));
        assert_eq!(
            (frames, error),
            (vec![(3, 1_000_001_000, 40), (5, 1_000_001_000, 21), (6, 1_000_001_000, 41)], None)
        );
    }

    #[test]
    fn damage_takes_nothing_before_it() {
        let (frames, error) = read(&format!("{LINE}\nhello\n{LINE}\n"));
        assert_eq!(frames.len(), 1);
        assert_eq!(error.unwrap(), "at octet 41: a line is no event of a kernel trace: the file is damaged");
        let (frames, error) = read(&format!("{LINE}\n{LINE}"));
        assert_eq!(frames.len(), 1);
        assert_eq!(error.unwrap(), "at octet 41: the file ends in the middle of a line");
    }

    #[test]
    fn a_long_line_is_cut() {
        let long = format!("{LINE} {}\n{LINE}\n", "x".repeat(3 * LINE_LIMIT));
        let (frames, error) = read(&long);
        assert_eq!(frames, [(1, 1_000_001_000, LINE_LIMIT), (2, 1_000_001_000, LINE.len())]);
        assert_eq!(error, None);
    }

    #[test]
    fn other_text_is_no_trace() {
        for text in ["hello\nworld\n", "# a comment\n", "", "\n\n\n", "CPU:0 is here\n", "xid=1 [000] 7: a\n"] {
            assert!(Reader::new(text.as_bytes()).is_err(), "{text}");
        }
        for text in ["# tracer: nop\n#\n", "cpus=4\n"] {
            let error = Reader::new(text.as_bytes()).err().unwrap().to_string();
            assert!(error.starts_with("a kernel trace without events: record those of RPCs"), "{error}");
        }
    }

    #[test]
    fn a_line_ends_anywhere() {
        for length in 0..40 {
            let line = format!("{LINE}{}", "\u{8a}\u{0b}\t\0".repeat(length));
            let (frames, error) = read(&format!("{line}\n\n{line}\n"));
            assert_eq!(frames.iter().map(|(.., octets)| *octets).collect::<Vec<_>>(), [line.len(); 2]);
            assert_eq!(error, None);
        }
    }
}
