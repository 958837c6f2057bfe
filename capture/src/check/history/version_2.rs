//! What is kept for messages of version 2.

use crate::carrier::operation::Sides;

/// What is kept of a connection for the rules of version 2.
#[derive(Debug)]
pub(super) struct Version2 {
    /// A message of version 2 was seen.
    pub(super) spoken: bool,
    /// What an end sends next may go on with a Payload stream.
    pub(super) goes_on: Sides<bool>,
}

impl Version2 {
    /// Of a connection that was seen from its start or not.
    pub(super) const fn new(whole: bool) -> Self {
        Self { spoken: false, goes_on: Sides { active: !whole, passive: !whole } }
    }
}
