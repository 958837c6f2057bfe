//! Dates and times of day as text.

use rpcrdma_dissector::{CalendarDate, TimeBase};

/// Octets of a date with a year of four digits, and the space after the date.
pub(crate) const DATE: usize = 11;

/// Nanoseconds since 1970 as a date and a time of day, to the second, in UTC.
pub(crate) fn utc(nanoseconds: u64) -> String {
    let seconds = nanoseconds / 1_000_000_000;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let CalendarDate { year, month, day } = CalendarDate::from_days(days);
    format!("{year}-{month:02}-{day:02} {:02}:{:02}:{:02} UTC", second / 3600, second / 60 % 60, second % 60)
}

/// Nanoseconds since the boot of a kernel, in seconds.
pub(crate) fn since_boot(nanoseconds: u64) -> String {
    format!("{}.{:03} s after boot", nanoseconds / 1_000_000_000, nanoseconds / 1_000_000 % 1000)
}

/// The span between two times, in UTC: with the second date only if the dates differ.
#[must_use]
pub fn time_range(base: TimeBase, first: u64, last: u64) -> String {
    if base == TimeBase::Boot {
        return format!("{} to {}", since_boot(first).trim_end_matches(" after boot"), since_boot(last));
    }
    let (first, last) = (utc(first), utc(last));
    let (begun, ended) = (first.trim_end_matches(" UTC"), last.split_at(DATE));
    if first.starts_with(ended.0) { format!("{begun} to {}", ended.1) } else { format!("{begun} to {last}") }
}

/// Nanoseconds since 1970 as a time that options take, `2026-11-21T00:41:07Z`, with a fraction of the second if there is one.
#[must_use]
pub fn utc_option(nanoseconds: u64) -> String {
    let text = utc(nanoseconds).replace(" UTC", "").replace(' ', "T");
    let fraction = format!("{:09}", nanoseconds % 1_000_000_000);
    match fraction.trim_end_matches('0') {
        "" => format!("{text}Z"),
        fraction => format!("{text}.{fraction}Z"),
    }
}

/// A moment in words: a date and a time of day, or seconds since the kernel booted.
pub(crate) fn moment(base: TimeBase, nanoseconds: u64) -> String {
    match base {
        TimeBase::Utc => utc(nanoseconds),
        TimeBase::Boot => since_boot(nanoseconds),
    }
}

/// A moment in words without the date.
pub(crate) fn moment_of_day(base: TimeBase, nanoseconds: u64) -> String {
    match base {
        TimeBase::Utc => time_of_day(nanoseconds),
        TimeBase::Boot => since_boot(nanoseconds),
    }
}

/// The time of day of nanoseconds since 1970, in UTC.
pub(crate) fn time_of_day(nanoseconds: u64) -> String {
    utc(nanoseconds).split_off(DATE)
}

/// The hour of nanoseconds since 1970, as `2026-11-21T10`, in UTC.
#[cfg(any(feature = "parquet", test))]
pub(crate) fn hour(nanoseconds: u64) -> String {
    let hours = nanoseconds / 3_600_000_000_000;
    let CalendarDate { year, month, day } = CalendarDate::from_days(hours / 24);
    format!("{year}-{month:02}-{day:02}T{:02}", hours % 24)
}

#[cfg(test)]
mod tests {
    use rpcrdma_dissector::Time;
    use rpcrdma_dissector::values::Moment;

    use super::*;

    #[test]
    fn times_of_a_trace_are_seconds_since_boot() {
        assert_eq!(time_range(TimeBase::Boot, 40_352_263_000, 50_078_000_000), "40.352 s to 50.078 s after boot");
        assert_eq!(moment(TimeBase::Boot, 0), "0.000 s after boot");
        assert_eq!(moment_of_day(TimeBase::Utc, 1), "00:00:00 UTC");
    }

    #[test]
    fn a_time_of_an_option_is_read_back() {
        for time in [1_795_221_667_000_000_000, 1_795_221_667_500_000_000, 1_795_221_667_000_000_001] {
            let moment: Moment = utc_option(time).parse().unwrap();
            assert_eq!(moment.at(Time(0)).0, time);
        }
        assert_eq!(utc_option(1_795_221_667_500_000_000), "2026-11-21T00:41:07.5Z");
    }

    /// Expected dates are those of `date -u -d @SECONDS`.
    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_399, "2000-02-28 23:59:59 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (951_868_800, "2000-03-01 00:00:00 UTC"),
            (1_763_683_200, "2025-11-21 00:00:00 UTC"),
            (1_795_221_559, "2026-11-21 00:39:19 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
            (18_446_744_073, "2554-07-21 23:34:33 UTC"),
        ] {
            assert_eq!(utc(seconds * 1_000_000_000), expected);
            assert_eq!(hour(seconds * 1_000_000_000), expected[..13].replace(' ', "T"));
        }
    }
}
