//! Difference of two clocks, as far as the difference is known.

/// Least and most nanoseconds by which one clock is ahead of another; negative if behind. If the clocks drift, the least may be above
/// the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockBounds {
    /// The least nanoseconds.
    pub least: i64,
    /// The most nanoseconds.
    pub most: i64,
}

impl ClockBounds {
    /// Bounds before anything is known.
    pub(crate) const UNKNOWN: Self = Self { least: i64::MIN, most: i64::MAX };

    /// Returns true if both bounds are known.
    pub(crate) const fn are_known(self) -> bool {
        self.least != i64::MIN && self.most != i64::MAX
    }

    /// Returns the bounds at another time: by then, the clocks have drifted apart by at most so many nanoseconds.
    pub(crate) fn widened(self, drift: u64) -> Self {
        let drift = i64::try_from(drift).unwrap_or(i64::MAX);
        let widen =
            |bound: i64, by: i64| if matches!(bound, i64::MIN | i64::MAX) { bound } else { bound.saturating_add(by) };
        Self { least: widen(self.least, -drift), most: widen(self.most, drift) }
    }

    /// Returns the middle of the bounds.
    #[must_use]
    pub const fn middle(self) -> i64 {
        self.least.midpoint(self.most)
    }

    /// Returns half the distance of the bounds: by so many nanoseconds, the middle may be wrong in either direction.
    #[must_use]
    pub const fn uncertainty(self) -> u64 {
        self.most.abs_diff(self.least).div_ceil(2)
    }
}
