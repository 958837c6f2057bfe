//! A time, as given on the command line and in filters.

use std::str::FromStr;

use super::calendar::CalendarDate;
use crate::file::Time;

const SECOND: u64 = 1_000_000_000;
const DAY: u64 = 24 * 60 * 60 * SECOND;

/// A time in the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A date and a time.
    Date(Time),
    /// Seconds since 1970.
    Seconds(Time),
    /// A time of day, in nanoseconds, on the day of the first frame.
    TimeOfDay {
        /// Nanoseconds since midnight.
        time: u64,
        /// Nanoseconds by which the time zone is ahead of UTC.
        zone: i64,
    },
    /// After the first frame, in nanoseconds.
    Relative(u64),
}

impl Moment {
    /// The time, in a capture whose first frame is at `first`.
    #[must_use]
    pub fn at(self, first: Time) -> Time {
        match self {
            Self::Date(time) | Self::Seconds(time) => time,
            Self::TimeOfDay { time, zone } => {
                let local = first.0.saturating_add_signed(zone);
                Time((local - local % DAY + time).saturating_add_signed(-zone))
            }
            Self::Relative(nanoseconds) => Time(first.0.saturating_add(nanoseconds)),
        }
    }

    /// Returns true if a moment without a date is before the first frame; then something else was meant.
    #[must_use]
    pub fn is_astray(self, first: Time) -> bool {
        matches!(self, Self::Seconds(_) | Self::TimeOfDay { .. }) && self.at(first) < first
    }
}

/// A zone by itself (+02:00, Z): nanoseconds ahead of UTC.
///
/// # Errors
/// A text that says what is expected.
pub fn zone_alone(text: &str) -> Result<i64, &'static str> {
    let ahead = || {
        let text = format!("00:00{text}");
        zone(&text).filter(|(time, _)| *time == "00:00").map(|(_, ahead)| ahead)
    };
    ahead().filter(|_| !text.is_empty()).ok_or("not a zone: Z, or hours and minutes ahead of UTC (+02:00, -0530)")
}

impl FromStr for Moment {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let moment = match text.strip_prefix('+') {
            Some(seconds) => nanoseconds(seconds).map(Self::Relative),
            None => nanoseconds(text).map(|time| Self::Seconds(Time(time))).or_else(|| clock(text)),
        };
        moment.ok_or(
            "not a time: seconds after the first frame (+12.5), a time of day (10:00), a date and time \
             (2025-11-21T00:00:00+02:00; UTC without a zone), or seconds since 1970 (1763683200.5)",
        )
    }
}

/// A time of day, or a date with or without one.
fn clock(text: &str) -> Option<Moment> {
    let (text, zone) = zone(text)?;
    let (date, time) = match text.split_once(['T', 't', ' ']) {
        Some((date, time)) => (Some(date), Some(time)),
        None if text.contains(':') => (None, Some(text)),
        None => (Some(text), None),
    };
    let time = time.map_or(Some(0), time_of_day)?;
    let Some(date) = date else { return Some(Moment::TimeOfDay { time, zone }) };
    let midnight = midnight(date)?;
    Some(Moment::Date(Time(midnight.checked_add(time)?.checked_add_signed(-zone)?)))
}

/// Splits a time zone off the end of a text. Returns the text before, and the nanoseconds by which the zone is ahead of
/// UTC.
fn zone(text: &str) -> Option<(&str, i64)> {
    if let Some(text) = text.strip_suffix(['Z', 'z']) {
        return Some((text, 0));
    }
    let Some(zone) = text.find(':').and_then(|colon| Some(colon + text.get(colon..)?.find(['+', '-'])?)) else {
        return Some((text, 0));
    };
    let (text, zone) = text.split_at_checked(zone)?;
    let (sign, zone) = zone.split_at_checked(1)?;
    let (hours, minutes) = match zone.split_once(':') {
        Some(parts) => parts,
        None if zone.len() == 4 => zone.split_at_checked(2)?,
        None => (zone, "0"),
    };
    let (hours, minutes) = (number(hours).filter(|hours| *hours <= 14)?, number(minutes).filter(|m| *m <= 59)?);
    let ahead = i64::try_from((hours * 60 + minutes) * 60 * SECOND).ok()?;
    Some((text, if sign == "-" { -ahead } else { ahead }))
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

/// `14:05`, `14:05:06.789`: nanoseconds since midnight.
fn time_of_day(text: &str) -> Option<u64> {
    let mut parts = text.splitn(3, ':');
    let (hour, minute) = (number(parts.next()?)?, number(parts.next()?)?);
    let seconds = nanoseconds(parts.next().unwrap_or("0"))?;
    let is_sound = hour <= 23 && minute <= 59 && seconds < 61 * SECOND;
    is_sound.then_some((hour * 60 + minute) * 60 * SECOND + seconds)
}

/// `2025-11-21`: nanoseconds from 1970 to the beginning of the day.
fn midnight(text: &str) -> Option<u64> {
    let mut parts = text.splitn(3, '-').map(number);
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let is_sound = (1970..=2500).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if is_sound { CalendarDate { year, month, day }.days().checked_mul(DAY) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_or_dates() {
        let date = |nanoseconds| Ok(Moment::Date(Time(nanoseconds)));
        // As `date -u -d … +%s` prints them.
        assert_eq!("1763683200.5".parse(), Ok(Moment::Seconds(Time(1_763_683_200_500_000_000))));
        assert_eq!("2025-11-21T00:00:00.5Z".parse(), date(1_763_683_200_500_000_000));
        assert_eq!("2025-11-21".parse(), date(1_763_683_200_000_000_000));
        assert_eq!("2024-02-29 23:59".parse(), date(1_709_251_140_000_000_000));
        assert_eq!("1970-01-01T00:00:01".parse(), date(1_000_000_000));
        assert_eq!("2000-03-01".parse(), date(951_868_800_000_000_000));
        assert_eq!("+0.000000001".parse(), Ok(Moment::Relative(1)));
        assert_eq!(Moment::Relative(5).at(Time(7)), Time(12));
    }

    #[test]
    fn a_zone_is_ahead_of_utc_or_behind() {
        let seconds = |text: &str| text.parse::<Moment>().map(|moment| moment.at(Time(0)).0 / SECOND);
        for (text, utc) in [
            ("2025-11-21T02:00:00+02:00", 1_763_683_200),
            ("2025-11-20 18:30-0530", 1_763_683_200),
            ("2025-11-21T01:00+01", 1_763_683_200),
        ] {
            assert_eq!(seconds(text), Ok(utc), "{text}");
        }
    }

    #[test]
    fn a_zone_stands_alone() {
        let hours = |text| zone_alone(text).map(|ahead| ahead / (3600 * SECOND.cast_signed()));
        assert_eq!(["Z", "+02:00", "-0530", "+14"].map(hours), [Ok(0), Ok(2), Ok(-5), Ok(14)]);
        for text in ["", "2", "CET", "+15:00", "10:00+02:00", "+"] {
            assert!(zone_alone(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_of_day_are_on_the_day_of_frame_one() {
        // 2025-11-21T09:30:00Z
        let first = Time(1_763_717_400 * SECOND);
        let at = |text: &str| text.parse::<Moment>().unwrap().at(first).0.cast_signed() - first.0.cast_signed();
        let minute = 60 * SECOND.cast_signed();
        assert_eq!(at("10:00"), 30 * minute);
        assert_eq!(at("10:00:00.5"), 30 * minute + 500_000_000);
        assert_eq!(at("11:00+01:00"), 30 * minute);
        // In this zone it is still the day before.
        assert_eq!(at("23:31-10:00"), minute);
        assert_eq!(at("09:29"), -minute);
    }

    #[test]
    fn a_time_without_a_date_before_the_capture_is_astray() {
        let first = Time(1_763_717_400 * SECOND);
        let is_astray = |text: &str| text.parse::<Moment>().unwrap().is_astray(first);
        assert!(is_astray("19.4") && is_astray("09:29"));
        assert!(!is_astray("+19.4") && !is_astray("2025-11-20") && !is_astray("09:30") && !is_astray("1763717400"));
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
            "24:00",
            "10:00+15:00",
            "10:00+1:60",
            "10:00+",
            "1970-01-01T00:00+02:00",
        ] {
            assert!(text.parse::<Moment>().is_err(), "{text}");
        }
    }
}
