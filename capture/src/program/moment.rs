//! A time as it is given on the command line.

use std::str::FromStr;

use rpcrdma_capture::file::Time;

const SECOND: u64 = 1_000_000_000;

/// A time in the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// Since 1970.
    Absolute(Time),
    /// After the first frame, in nanoseconds.
    Relative(u64),
}

impl Moment {
    /// The time, in a capture whose first frame is of `first`.
    pub(super) const fn at(self, first: Time) -> Time {
        match self {
            Self::Absolute(time) => time,
            Self::Relative(nanoseconds) => Time(first.0.saturating_add(nanoseconds)),
        }
    }
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let moment = match text.strip_prefix('+') {
            Some(seconds) => nanoseconds(seconds).map(Self::Relative),
            None => nanoseconds(text).or_else(|| date(text)).map(|time| Self::Absolute(Time(time))),
        };
        moment.ok_or_else(|| {
            "not a time: seconds since 1970 (1763683200.5), after the first frame (+12.5), or UTC (2025-11-21T00:00:00)"
                .to_owned()
        })
    }
}

/// Seconds with up to nine decimals.
fn nanoseconds(text: &str) -> Option<u64> {
    let (seconds, decimals) = text.split_once('.').unwrap_or((text, ""));
    let seconds = number(seconds)?.checked_mul(SECOND)?;
    if decimals.is_empty() {
        return (!text.ends_with('.')).then_some(seconds);
    }
    let scale = 10_u64.pow(9_u32.checked_sub(u32::try_from(decimals.len()).ok()?)?);
    seconds.checked_add(number(decimals)?.checked_mul(scale)?)
}

/// Digits only: `parse` alone would take a sign.
fn number(digits: &str) -> Option<u64> {
    digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// `2025-11-21`, `2025-11-21T14:05`, `2025-11-21 14:05:06.789Z`: always UTC.
fn date(text: &str) -> Option<u64> {
    let text = text.trim_end_matches(['Z', 'z']);
    let (date, time) = text.split_once(['T', 't', ' ']).unwrap_or((text, "00:00"));
    let mut date = date.splitn(3, '-').map(number);
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let mut time = time.splitn(3, ':');
    let (hour, minute) = (number(time.next()?)?, number(time.next()?)?);
    let seconds = nanoseconds(time.next().unwrap_or("0"))?;
    if !(1970..=2500).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    if hour > 23 || minute > 59 || seconds >= 61 * SECOND {
        return None;
    }
    let minutes = (days(year, month, day) * 24 + hour) * 60 + minute;
    (minutes * 60).checked_mul(SECOND)?.checked_add(seconds)
}

/// Days from 1970-01-01 to a day of the Gregorian calendar.
fn days(year: u64, month: u64, day: u64) -> u64 {
    // Years that begin in March have the leap day at their end, and months of 30.6 days on average.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let before = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day;
    before - 719_469
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_or_dates() {
        let absolute = |nanoseconds| Ok(Moment::Absolute(Time(nanoseconds)));
        // What `date -u -d … +%s` says.
        assert_eq!("1763683200.5".parse(), absolute(1_763_683_200_500_000_000));
        assert_eq!("2025-11-21T00:00:00.5Z".parse(), absolute(1_763_683_200_500_000_000));
        assert_eq!("2025-11-21".parse(), absolute(1_763_683_200_000_000_000));
        assert_eq!("2024-02-29 23:59".parse(), absolute(1_709_251_140_000_000_000));
        assert_eq!("1970-01-01T00:00:01".parse(), absolute(1_000_000_000));
        assert_eq!("2000-03-01".parse(), absolute(951_868_800_000_000_000));
        assert_eq!("+0.000000001".parse(), Ok(Moment::Relative(1)));
        assert_eq!(Moment::Relative(5).at(Time(7)), Time(12));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "+",
            ".",
            "1.",
            "-1",
            "+-1",
            "1.0000000001",
            "99999999999999999999",
            "2025-13-01",
            "2025-11",
            "2025-11-21T24:00",
            "2025-11-21T1",
            "1e9",
            "tomorrow",
            "2025-11-21T00:00:00+01:00",
        ] {
            assert!(text.parse::<Moment>().is_err(), "{text}");
        }
    }
}
