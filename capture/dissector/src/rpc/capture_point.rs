//! Place of the capture in the network.

use core::fmt;

use super::phases::Phase;
use crate::carrier::acknowledgement::Acknowledgements;
use crate::carrier::operation::{Side, Sides};

/// Place of the capture, as seen from the calls of the client. For the client's callbacks the place is the other way
/// round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CapturePoint {
    /// At the client.
    Client,
    /// At the server.
    Server,
    /// Between client and server, with a network on either side.
    Between,
}

/// Source of the capture position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CapturePointSource {
    /// The user.
    Given,
    /// Acknowledgement times of the ends: one end takes so much longer that the end must be beyond the network.
    Inferred,
}

impl CapturePoint {
    /// Name of the place.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Between => "between",
        }
    }

    /// Returns the phases of an RPC that contain a round trip through the network, or part of one, in addition to the
    /// activity in the phase's name.
    #[must_use]
    pub const fn with_network(self) -> &'static [Phase] {
        match self {
            Self::Client => &[Phase::Responder],
            Self::Server => &[Phase::RdmaRead, Phase::Requester],
            Self::Between => &[Phase::Responder, Phase::RdmaRead, Phase::Requester],
        }
    }

    /// Returns the only possible place, if the acknowledgement times of both ends show the place.
    pub(crate) fn infer(acknowledgements: Sides<Option<Acknowledgements>>, client: Side) -> Option<Self> {
        let (client_times, server_times) = (*acknowledgements.get(client), *acknowledgements.get(client.other()));
        match (client_times?, server_times?) {
            (client, server) if client.are_nearer_than(&server) => Some(Self::Client),
            (client, server) if server.are_nearer_than(&client) => Some(Self::Server),
            _ => None,
        }
    }
}

impl CapturePointSource {
    /// Name of the source.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Given => "option",
            Self::Inferred => "inferred",
        }
    }
}

impl fmt::Display for CapturePoint {
    /// Says where the network is in the phases.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Client => "captured at the client: the server phase contains the way to the server and back",
            Self::Server => {
                "captured at the server: the server phase is the server's own time; RDMA Read and client contain the way to the client \
                 and back"
            }
            Self::Between => {
                "captured between client and server: the server phase contains the way to the server and back, RDMA Read and \
                 client the way to the client and back"
            }
        })
    }
}
