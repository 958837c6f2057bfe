//! The Gregorian calendar: days since 1970-01-01, and dates.
//!
//! Years are counted from March 1st of the year 0, so that the leap day is the last day of a year: 400 years have 146,097 days, and the
//! months from March on have 30.6 days on average.

/// Days from March 1st of the year 0 to 1970-01-01.
const BEFORE_1970: u64 = 719_468;

/// A day of the Gregorian calendar from 1970-01-01 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CalendarDate {
    /// Year: from 1970 on.
    pub year: u64,
    /// Month: 1 to 12.
    pub month: u64,
    /// Day of the month: from 1 on.
    pub day: u64,
}

impl CalendarDate {
    /// Returns the date so many days after 1970-01-01.
    #[must_use]
    pub const fn from_days(days: u64) -> Self {
        let days = days.saturating_add(BEFORE_1970);
        let (era, of_era) = (days / 146_097, days % 146_097);
        let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
        Self { year: era * 400 + year, month, day }
    }

    /// Returns the days from 1970-01-01 to the date.
    pub(crate) const fn days(self) -> u64 {
        let Self { year, month, day } = self;
        let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
        let before = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day;
        before - (BEFORE_1970 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_the_reverse_of_each_other() {
        for days in 0..200_000 {
            assert_eq!(CalendarDate::from_days(days).days(), days);
        }
        assert_eq!(CalendarDate::from_days(11_016), CalendarDate { year: 2000, month: 2, day: 29 });
    }
}
