//! Numbers in text: counts, octets and times.

use std::fmt;

/// A number of things with their name, in the plural unless there is one: `2 packets`, `2 losses`, `2 replies`.
#[must_use]
pub fn counted(count: u64, name: &str) -> String {
    let stem = name.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'i', 'o', 'u']));
    let (stem, ending) = match stem {
        _ if count == 1 => (name, ""),
        Some(stem) => (stem, "ies"),
        None if name.ends_with('s') => (name, "es"),
        None => (name, "s"),
    };
    format!("{} {stem}{ending}", grouped(count))
}

/// Number of times in words: "once", "12 times".
#[must_use]
pub fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{} times", grouped(count)) }
}

/// A time of so many nanoseconds, in three digits or more.
pub(crate) fn milliseconds(nanoseconds: u64) -> String {
    let value = nanoseconds as f64 / 1e6;
    match nanoseconds {
        0..1_000_000 => format!("{value:.3}"),
        1_000_000..10_000_000 => format!("{value:.2}"),
        10_000_000..100_000_000 => format!("{value:.1}"),
        _ => grouped(value.round() as u64),
    }
}

/// A number with digits in groups of three.
#[must_use]
pub fn grouped(number: u64) -> String {
    let mut text = String::new();
    push_grouped(&mut text, number);
    text
}

/// Appends a number with digits in groups of three.
pub(crate) fn push_grouped(text: &mut String, number: u64) {
    let digit = |divisor: u64| char::from(b'0' + (number / divisor % 10) as u8);
    if number >= 1000 {
        push_grouped(text, number / 1000);
        text.push(',');
    }
    if number >= 100 {
        text.push(digit(100));
    }
    if number >= 10 {
        text.push(digit(10));
    }
    text.push(digit(1));
}

/// A number of octets in full, for a field of the protocol.
pub(crate) fn octets(count: u64) -> String {
    counted(count, "octet")
}

/// A number of octets in full, for people.
pub(crate) fn bytes(count: u64) -> String {
    counted(count, "byte")
}

/// A number of octets, exact if small.
pub(crate) fn short(octets: u64) -> String {
    if octets < 100_000 { grouped(octets) } else { size(octets as f64) }
}

/// Octets, or octets per second, in a suitable unit, in three digits.
#[must_use]
pub fn size(octets: f64) -> String {
    match octets {
        1e9.. => three_digits(octets / 1e9, "GB"),
        1e6.. => three_digits(octets / 1e6, "MB"),
        1e3.. => three_digits(octets / 1e3, "kB"),
        _ => format!("{octets:.0} B"),
    }
}

/// A time of so many nanoseconds, in three digits or more.
#[must_use]
pub fn duration(nanoseconds: u64) -> String {
    let value = nanoseconds as f64;
    let (value, unit) = match nanoseconds {
        0..1_000 => return format!("{nanoseconds} ns"),
        1_000..1_000_000 => (value / 1e3, "µs"),
        1_000_000..1_000_000_000 => (value / 1e6, "ms"),
        _ => (value / 1e9, "s"),
    };
    three_digits(value, unit)
}

/// A number of 1 or more with a unit, in three digits or more.
pub(crate) fn three_digits(value: f64, unit: &str) -> String {
    let decimals = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.decimals$} {unit}")
}

/// A time of so many nanoseconds in milliseconds, to a microsecond; aligned to the right.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Milliseconds(pub(crate) u64);

impl fmt::Display for Milliseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = f.width().unwrap_or_default().saturating_sub(".000".len());
        write!(f, "{:>whole$}.{:03}", self.0 / 1_000_000, self.0 / 1000 % 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([1, 999, 1000, 1_234_567].map(grouped), ["1", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn names_are_in_the_plural_unless_there_is_one() {
        let texts = ["packet", "loss", "reply", "day"].map(|name| [0, 1, 2].map(|count| counted(count, name)));
        let expected = [
            ["0 packets", "1 packet", "2 packets"],
            ["0 losses", "1 loss", "2 losses"],
            ["0 replies", "1 reply", "2 replies"],
            ["0 days", "1 day", "2 days"],
        ];
        assert_eq!(texts, expected.map(|row| row.map(str::to_owned)));
    }

    #[test]
    fn octets_are_short() {
        let octets = [0, 99_999, 100_000, 1_234_567, 12_345_678, 123_456_789_012].map(short);
        assert_eq!(octets, ["0", "99,999", "100 kB", "1.23 MB", "12.3 MB", "123 GB"]);
        assert_eq!((size(65_536.0), size(7.0)), ("65.5 kB".to_owned(), "7 B".to_owned()));
    }

    #[test]
    fn times_have_three_digits() {
        let times = [0, 999, 1_234, 12_345, 123_456, 1_234_567, 2_000_000_000, 123_456_000_000, 3_600_000_000_000]
            .map(duration);
        assert_eq!(times, ["0 ns", "999 ns", "1.23 µs", "12.3 µs", "123 µs", "1.23 ms", "2.00 s", "123 s", "3600 s"]);
        let times = [12_345, 123_456, 1_234_567, 12_345_678, 2_412_379_000].map(milliseconds);
        assert_eq!(times, ["0.012", "0.123", "1.23", "12.3", "2,412"]);
    }
}
