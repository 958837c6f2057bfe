//! Colours, and a line of known width.

use std::fmt::{self, Write as _};
use std::io;

use anstyle::{AnsiColor, Style};
use rpcrdma::rules::Severity;

use super::screen::Screen;

pub(crate) const PLAIN: Style = Style::new();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const NAME: Style = Style::new().bold();
pub(crate) const CALL: Style = AnsiColor::Cyan.on_default();
pub(crate) const REPLY: Style = AnsiColor::Green.on_default();
pub(crate) const CHUNK: Style = AnsiColor::Blue.on_default();
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default();
pub(crate) const FAULT: Style = AnsiColor::Red.on_default().bold();

pub(crate) const fn severity_style(severity: Severity) -> Style {
    match severity {
        Severity::Error => FAULT,
        Severity::Warning => WARNING,
        Severity::Hazard => PLAIN,
    }
}

/// The words of a text in lines of so many columns.
pub(crate) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A text whose first letter is a capital.
pub(crate) fn capital(text: &str) -> String {
    let mut characters = text.chars();
    // A text that begins with a name of the protocol keeps it as it is.
    let is_name = text.starts_with("rdma_") || text.starts_with("offset");
    match characters.next() {
        Some(first) if !is_name => first.to_uppercase().chain(characters).collect(),
        _ => text.to_owned(),
    }
}

/// A text as a sentence.
pub(crate) fn sentence(text: &str) -> String {
    format!("{}.", capital(text))
}

/// A line of text, at most `limit` columns wide; text that is too long ends in an ellipsis.
#[derive(Debug)]
pub(crate) struct Line {
    text: String,
    width: usize,
    pub(super) limit: usize,
    colour: bool,
}

impl Line {
    pub(crate) fn new(colour: bool, limit: usize) -> Self {
        Self { text: String::with_capacity(160), width: 0, limit, colour }
    }

    /// The same line, without a limit.
    pub(crate) fn unlimited(self) -> Self {
        Self { limit: usize::MAX, ..self }
    }

    /// The same line, not wider than the screen.
    pub(crate) fn within(self, screen: Screen) -> Self {
        Self { limit: screen.within(self.limit), ..self }
    }

    /// Returns the line with this text appended.
    pub(crate) fn with(mut self, style: Style, text: &str) -> Self {
        self.push(style, text);
        self
    }

    /// Columns that are left.
    pub(crate) const fn room(&self) -> usize {
        self.limit.saturating_sub(self.width)
    }

    /// Adds text, padded with spaces to `width` columns.
    pub(crate) fn column(&mut self, style: Style, text: &str, width: usize) {
        let length = text.chars().count();
        self.push(style, text);
        self.push(PLAIN, &" ".repeat(width.saturating_sub(length)));
    }

    /// Adds text, and spaces up to `width` columns, but at least one.
    pub(crate) fn column_apart(&mut self, style: Style, text: &str, width: usize) {
        self.column(style, text, width.max(text.chars().count() + 1));
    }

    /// Adds text.
    pub(crate) fn push(&mut self, style: Style, text: &str) {
        self.push_within(style, text, self.room());
    }

    /// Adds the first `room` columns of a text.
    pub(crate) fn push_within(&mut self, style: Style, text: &str, room: usize) {
        self.add_text(style, room, |line| line.push_str(text));
    }

    /// Adds text that is formatted in place: `line.print(DIM, format_args!("{frame:>6} "))`.
    pub(crate) fn print(&mut self, style: Style, text: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        self.add_text(style, self.room(), |line| _ = line.write_fmt(text));
    }

    /// Adds the text that `write` appends to the line, at most `room` columns.
    pub(super) fn add_text(&mut self, style: Style, room: usize, write: impl FnOnce(&mut String)) {
        if room == 0 {
            return;
        }
        let before = self.text.len();
        let is_styled = self.colour && !style.is_plain();
        if is_styled {
            _ = write!(self.text, "{style}");
        }
        let begin = self.text.len();
        write(&mut self.text);
        let columns = self.cut(begin, room);
        self.width += columns;
        if columns == 0 {
            self.text.truncate(before);
        } else if is_styled {
            _ = write!(self.text, "{style:#}");
        }
    }

    /// Cuts the text that begins at this octet to `room` columns, and returns the width.
    fn cut(&mut self, begin: usize, room: usize) -> usize {
        let added = self.text.get(begin..).unwrap_or_default();
        let columns = added.chars().count();
        if columns <= room {
            return columns;
        }
        let kept = added.char_indices().nth(room - 1).map_or(0, |(at, _)| at);
        self.text.truncate(begin + kept);
        self.text.push('…');
        room
    }

    /// Writes the line without trailing spaces.
    pub(crate) fn write(mut self, out: &mut impl io::Write) -> io::Result<()> {
        self.text.truncate(self.text.trim_end().len());
        self.text.push('\n');
        out.write_all(self.text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(line: Line) -> String {
        let mut out = Vec::new();
        line.write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_line_is_never_wider_than_its_limit() {
        let mut line = Line::new(false, 10);
        line.column(PLAIN, "a→b", 5);
        line.push_within(PLAIN, "12345", 3);
        line.push(FAULT, "6789");
        assert_eq!(written(line), "a→b  12…6…\n");
    }

    #[test]
    fn colour_takes_no_room() {
        let mut line = Line::new(true, 4);
        line.push(FAULT, "ab");
        line.push(PLAIN, "cd");
        assert_eq!(written(line), "\u{1b}[1m\u{1b}[31mab\u{1b}[0mcd\n");
    }

    #[test]
    fn a_text_is_wrapped_between_words() {
        assert_eq!(wrapped("one two  three", 7), ["one two", "three"]);
        assert_eq!(wrapped("longer-than-that", 7), ["longer-than-that"]);
        assert!(wrapped("", 7).is_empty());
    }
}
