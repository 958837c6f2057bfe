//! Place of the capture in the network.

use core::fmt;

use super::phases::Phase;
use crate::carrier::acknowledgement::Acknowledgements;
use crate::carrier::operation::{Side, Sides};

/// Place of the capture, as seen from the calls of the client. For the client's callbacks the place is the other way
/// round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CapturedAt {
    /// At the requester.
    Requester,
    /// At the responder.
    Responder,
    /// Between requester and responder, with a network on either side.
    Between,
}

/// Source of the capture position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PlaceKnown {
    /// The user.
    Given,
    /// Acknowledgement times of the ends: one end takes so much longer that the end must be beyond the network.
    Inferred,
}

impl CapturedAt {
    /// Name of the place.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requester => "requester",
            Self::Responder => "responder",
            Self::Between => "between",
        }
    }

    /// Returns the phases of an RPC that contain a round trip through the network, or part of one, in addition to the
    /// activity in the phase's name.
    #[must_use]
    pub const fn with_network(self) -> &'static [Phase] {
        match self {
            Self::Requester => &[Phase::Responder],
            Self::Responder => &[Phase::Pull, Phase::Requester],
            Self::Between => &[Phase::Responder, Phase::Pull, Phase::Requester],
        }
    }

    /// Returns the only possible place, if the acknowledgement times of both ends show the place.
    pub(crate) fn infer(acknowledgements: Sides<Option<Acknowledgements>>, client: Side) -> Option<Self> {
        let (requester, responder) = (*acknowledgements.get(client), *acknowledgements.get(client.other()));
        match (requester?, responder?) {
            (requester, responder) if requester.are_nearer_than(&responder) => Some(Self::Requester),
            (requester, responder) if responder.are_nearer_than(&requester) => Some(Self::Responder),
            _ => None,
        }
    }
}

impl PlaceKnown {
    /// Name of the source.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::Inferred => "inferred",
        }
    }
}

impl fmt::Display for CapturedAt {
    /// Says where the network is in the phases.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Requester => "captured at the requester: the responder phase contains the way to the responder and back",
            Self::Responder => {
                "captured at the responder: the responder phase is its own time; pull and requester contain the way to the \
                 requester and back"
            }
            Self::Between => {
                "captured between requester and responder: the responder phase contains the way to the responder and back, \
                 pull and requester the way to the requester and back"
            }
        })
    }
}
