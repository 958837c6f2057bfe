//! What is kept for messages of version 2.

use crate::carrier::operation::Sides;

/// What is kept about a connection for the rules of version 2.
#[derive(Debug)]
pub(super) struct Version2 {
    /// Whether a message of version 2 was seen.
    pub(super) spoken: bool,
    /// Whether a message of an end in one of the wire formats of version 2 was read.
    pub(super) speaks: Sides<bool>,
    /// Whether the next message of an end may continue a Payload stream.
    pub(super) goes_on: Sides<bool>,
}

impl Version2 {
    /// For a connection that was seen from its start, or not.
    pub(super) const fn new(whole: bool) -> Self {
        Self {
            spoken: false,
            speaks: Sides { active: false, passive: false },
            goes_on: Sides { active: !whole, passive: !whole },
        }
    }
}
