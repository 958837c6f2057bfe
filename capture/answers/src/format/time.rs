//! Times in text: seconds since the first frame, the time of day, or both.

use std::fmt;

use rpcrdma_dissector::Time;

use super::date::{DATE, utc};

/// Nanoseconds of a day, and of a second.
const DAY: u64 = 86_400_000_000_000;
const SECOND: u64 = 1_000_000_000;

/// The form of a time in text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeForm {
    /// Seconds since the first frame.
    #[default]
    Since,
    /// The time of day, with the date if the date differs from that of the first frame.
    Clock,
    /// Both.
    Both,
}

/// Form and zone of times in text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShownTimes {
    /// Form of the times.
    pub form: TimeForm,
    /// Nanoseconds by which the time of day is ahead of UTC.
    pub zone: i64,
    /// Time of the first frame.
    pub(crate) start: Time,
}

impl ShownTimes {
    /// Times in this form. Clocks are `zone` nanoseconds ahead of UTC.
    #[must_use]
    pub const fn new(form: TimeForm, zone: i64) -> Self {
        Self { form, zone, start: Time(0) }
    }

    /// The same in a capture whose first frame is at `start`.
    #[must_use]
    pub const fn starting_at(self, start: Time) -> Self {
        Self { start, ..self }
    }

    /// A time, right-aligned below the heading.
    #[must_use]
    pub const fn column(self, time: Time) -> TimeColumn {
        TimeColumn { times: self, time }
    }

    /// The heading of the column.
    pub(crate) const fn heading(&self) -> &'static str {
        match self.form {
            TimeForm::Since => "    seconds",
            TimeForm::Clock => "           time",
            TimeForm::Both => "    seconds            time",
        }
    }

    /// The time of day, if that is to be shown.
    pub(crate) fn clock_if_shown(&self, time: Time) -> Option<String> {
        (self.form != TimeForm::Since).then(|| self.clock(time))
    }

    /// The time of day with microseconds, after the date if that is another than at the start.
    fn clock(&self, time: Time) -> String {
        let [time, start] = [time, self.start].map(|time| time.0.saturating_add_signed(self.zone));
        let text = utc(time);
        let (date, clock) = text.trim_end_matches(" UTC").split_at(DATE);
        let date = if time / DAY == start / DAY { "" } else { date };
        format!("{date}{clock}.{:06}", time % SECOND / 1000)
    }
}

/// A time, padded to the width of the column.
#[derive(Clone, Copy, Debug)]
pub struct TimeColumn {
    times: ShownTimes,
    time: Time,
}

impl fmt::Display for TimeColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { times, time } = *self;
        if times.form != TimeForm::Clock {
            let microseconds = time.0.saturating_sub(times.start.0) / 1000;
            write!(f, "{:>4}.{:06}", microseconds / 1_000_000, microseconds % 1_000_000)?;
        }
        match times.form {
            TimeForm::Since => Ok(()),
            TimeForm::Clock => write!(f, "{:>15}", times.clock(time)),
            TimeForm::Both => write!(f, " {:>15}", times.clock(time)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_or_those_of_a_clock() {
        // 2026-11-21 00:40:52.5 UTC
        let start = Time(1_795_221_652_500_000_000);
        let at = Time(start.0 + 11_000_123_000);
        let shown = |form, zone, time| ShownTimes::new(form, zone).starting_at(start).column(time).to_string();
        let hour = 3_600_000_000_000;
        assert_eq!(shown(TimeForm::Since, 0, at), "  11.000123");
        assert_eq!(shown(TimeForm::Clock, 0, at), "00:41:03.500123");
        assert_eq!(shown(TimeForm::Clock, 2 * hour, at), "02:41:03.500123");
        assert_eq!(shown(TimeForm::Clock, -hour, at), "23:41:03.500123");
        assert_eq!(shown(TimeForm::Both, 0, at), "  11.000123 00:41:03.500123");
        let next_day = Time(start.0 + DAY);
        assert_eq!(shown(TimeForm::Clock, 0, next_day), "2026-11-22 00:40:52.500000");
        // In this zone a day begins between the two.
        assert_eq!(shown(TimeForm::Clock, -hour, Time(start.0 + 3_600_000_000_000)), "2026-11-21 00:40:52.500000");
        for form in [TimeForm::Since, TimeForm::Clock, TimeForm::Both] {
            let times = ShownTimes::new(form, 0).starting_at(start);
            assert_eq!(times.heading().chars().count(), times.column(at).to_string().chars().count(), "{form:?}");
        }
    }
}
