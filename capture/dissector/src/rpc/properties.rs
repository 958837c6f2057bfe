//! Known properties of an RPC message.

use rpcrdma::rpc::{GssProcedure, GssService};

use super::header::AnyErrorBody;
use crate::nfs::{Callback, CompoundOperation, DataItem, Procedure, WalkError};

/// Direction of an RPC message: call or reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageDirection {
    /// A call.
    Call,
    /// A reply.
    Reply,
}

/// Known properties of an RPC message. A reply names no procedure, so a reply has the procedure of the call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rpc {
    /// Direction: call or reply.
    pub direction: MessageDirection,
    /// True for a call from the server to the client, or the reply to such a call (RFC 8167).
    pub reverse: bool,
    /// Evidence that the program is that of NFSv4's callbacks.
    pub callback: Callback,
    /// Called procedure.
    pub procedure: Option<Procedure>,
    /// The name of the procedure.
    pub name: Option<&'static str>,
    /// Operations of an NFSv4 COMPOUND that could be read.
    pub operations: Vec<CompoundOperation>,
    /// RPCSEC_GSS protection.
    pub security: Option<Security>,
    /// For a reply: how the call ended.
    pub status: Option<Status>,
}

impl Rpc {
    /// A message of which only the direction is known.
    #[must_use]
    pub const fn unknown(direction: MessageDirection) -> Self {
        Self {
            direction,
            reverse: false,
            callback: Callback::No,
            procedure: None,
            name: None,
            operations: Vec::new(),
            security: None,
            status: None,
        }
    }
}

/// The service of RPCSEC_GSS (RFC 2203 section 5.3.1), or that the message sets up or ends a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// Only the header is authenticated.
    Authentication,
    /// The body is protected from modification.
    Integrity,
    /// The body is encrypted.
    Privacy,
    /// A control message; the procedure in the header is not called.
    Control(&'static str),
}

impl Security {
    /// The protection of a message with this RPCSEC_GSS procedure and service.
    #[must_use]
    pub const fn of_gss(procedure: GssProcedure, service: GssService) -> Self {
        match (procedure, service) {
            (GssProcedure::DATA, GssService::NONE) => Self::Authentication,
            (GssProcedure::DATA, GssService::INTEGRITY) => Self::Integrity,
            (GssProcedure::DATA, _) => Self::Privacy,
            (GssProcedure::INIT, _) => Self::Control("RPCSEC_GSS_INIT"),
            (GssProcedure::CONTINUE_INIT, _) => Self::Control("RPCSEC_GSS_CONTINUE_INIT"),
            (GssProcedure::DESTROY, _) => Self::Control("RPCSEC_GSS_DESTROY"),
            _ => Self::Control("RPCSEC_GSS control"),
        }
    }

    /// Returns the name of the service in RFC 2203 section 5.3.1, or of the control procedure.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Authentication => "rpc_gss_svc_none",
            Self::Integrity => "rpc_gss_svc_integrity",
            Self::Privacy => "rpc_gss_svc_privacy",
            Self::Control(name) => name,
        }
    }
}

/// Final status of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The procedure was carried out, with a procedure status if there is one (nfsstat; 0 is success).
    Success(Option<u32>),
    /// The RPC was accepted and not carried out.
    Refused {
        /// The name of the `accept_stat` (RFC 5531 section 9).
        name: &'static str,
        /// Number of the `accept_stat`.
        number: u32,
    },
    /// The RPC was denied.
    Denied {
        /// `RPC_MISMATCH`, or the name of the `auth_stat` (RFC 5531 section 9).
        name: &'static str,
        /// The `reject_stat` in the one case, the `auth_stat` in the other.
        number: u32,
    },
    /// RDMA_ERROR.
    Error(AnyErrorBody),
}

/// NFS4ERR_MOVED (RFC 8881 section 15.1.2.4).
const MOVED: u32 = 10_019;

impl Status {
    /// Returns true if the RPC failed. NFS4ERR_MOVED is no failure: the file system is on another server, and the
    /// client asks for the locations or knows these (RFC 8881 section 11.3).
    #[must_use]
    pub const fn is_failure(self) -> bool {
        !matches!(self, Self::Success(None | Some(0 | MOVED)))
    }

    /// Returns true if the server referred the client to another one (NFS4ERR_MOVED).
    #[must_use]
    pub const fn is_referral(self) -> bool {
        matches!(self, Self::Success(Some(MOVED)))
    }

    /// Returns the name of the RPC's outcome, independent of the procedure status.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Success(_) => "SUCCESS",
            Self::Refused { name, .. } | Self::Denied { name, .. } => name,
            Self::Error(error) => error.name(),
        }
    }

    /// The number that stands for [`name`](Self::name): an `accept_stat`, `reject_stat` or `auth_stat` (RFC 5531 section 9), or
    /// an `rdma_err`.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::Success(_) => 0,
            Self::Refused { number, .. } | Self::Denied { number, .. } => number,
            Self::Error(error) => error.number(),
        }
    }
}

/// Result of stepping through arguments or results.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Walked {
    /// DDP-eligible data items; their offsets count from the start of the Payload stream.
    pub items: Vec<DataItem>,
    /// Octets of the Payload stream before the arguments or results, as sent.
    pub start: usize,
    /// `Ok` if everything was stepped through.
    pub end: Result<(), WalkError>,
}
