//! The two ends of a connection.

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The side that asked for the connection.
    Active,
    /// The side that accepted.
    Passive,
}

impl Side {
    /// A bit for the side, in a set of sides.
    pub(super) const fn flag(self) -> u8 {
        match self {
            Self::Active => 1,
            Self::Passive => 2,
        }
    }

    pub(super) const fn other(self) -> Self {
        match self {
            Self::Active => Self::Passive,
            Self::Passive => Self::Active,
        }
    }
}
