//! State for messages of version 2.

use rpcrdma::prefix::Prefix;
use rpcrdma::v2::{ErrorReplyV2, Family};
use rpcrdma::{v1, v2};

use crate::carrier::operation::Sides;

/// Per-connection state for the rules of version 2.
#[derive(Debug)]
pub(super) struct Version2 {
    /// True if a message of version 2 was seen.
    pub(super) spoken: bool,
    /// `true` if a message of an end in one of the wire formats of version 2 was read.
    pub(super) speaks: Sides<bool>,
    /// The wire format in which that was.
    pub(super) family: Option<Family>,
    /// `true` if the next message of an end may continue a Payload stream.
    pub(super) goes_on: Sides<bool>,
}

impl Version2 {
    /// Makes the state of a connection that was captured from the start (`whole`) or later.
    pub(super) const fn new(whole: bool) -> Self {
        Self {
            spoken: false,
            speaks: Sides { active: false, passive: false },
            family: None,
            goes_on: Sides { active: !whole, passive: !whole },
        }
    }

    /// Returns true once both ends have sent messages of version 2: the connection keeps that version (-07 section 4.3.3).
    pub(super) const fn is_established(&self) -> bool {
        self.speaks.active && self.speaks.passive
    }

    /// Returns true if a message of another version is an error that answers one of that version on a connection of
    /// version 2, where both ends have spoken that. Such an error has the version of the refused message (-07 section
    /// 7.3), and the layout of version 2, or that of version 1: an `ERR_VERS`.
    pub(super) fn answers_other_version(&self, octets: &[u8]) -> bool {
        let is_other = Prefix::decode(octets).is_ok_and(|prefix| prefix.version != v2::VERSION);
        let is_whole = |rest: &[u8]| rest.is_empty();
        let is_of = |family| ErrorReplyV2::decode(family, octets).is_ok_and(|(_, rest)| is_whole(rest));
        is_other
            && self.is_established()
            && (self.family.is_some_and(is_of) || v1::ErrorReply::decode(octets).is_ok_and(|(_, rest)| is_whole(rest)))
    }
}
