//! The error that answers a Call.

use crate::endpoint::version::{SpeaksTwo, Version};
use crate::error::{EncodeError, Reaction};
use crate::prefix::Prefix;
use crate::v1::ErrorReply;
use crate::v2::{Credit, ErrorBodyV2, ErrorReplyV2};

/// The header of an `RDMA_ERROR` or `RDMA2_ERROR`.
///
/// The error is given in the terms of version 2, which has more errors. In version 1, all but a refused version become
/// `ERR_CHUNK` (RFC 8166 section 4.5).
#[derive(Clone, Copy, Debug)]
pub(in crate::endpoint) enum ErrorHeader {
    V1(Option<ErrorReply>),
    V2(ErrorReplyV2, SpeaksTwo),
}

impl ErrorHeader {
    pub(in crate::endpoint) const fn new(version: Version, request: &Prefix, credit: u32, error: ErrorBodyV2) -> Self {
        match version.two() {
            None => {
                let reaction = match error {
                    ErrorBodyV2::Vers { .. } => Reaction::ErrVers,
                    _ => Reaction::ErrChunk,
                };
                Self::V1(ErrorReply::new(request, credit, reaction))
            }
            Some((family, two)) => Self::V2(ErrorReplyV2::new(family, request, Credit(0), error), two),
        }
    }

    pub(in crate::endpoint) fn encode(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        match self {
            Self::V1(reply) => reply.map_or(Ok(0), |reply| reply.encode(buffer)),
            Self::V2(reply, _) => reply.encode(buffer),
        }
    }
}
