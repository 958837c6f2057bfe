//! The body of `RDMA_ERROR`, and the message that answers a bad Call (RFC 8166 section 4.5).
//!
//! ```text
//!  16       20       24       28
//! +--------+--------+--------+
//! | 1 VERS |  low   |  high  |
//! +--------+--------+--------+
//! | 2 CHUNK|
//! +--------+
//! ```

use core::fmt;

use super::VERSION;
use crate::error::{DecodeError, DecodeErrorKind, Reaction};
use crate::prefix::{Prefix, Procedure};
use crate::reader::{EndOfInput, Reader};
use crate::sink::{Emit, Sink, encodable};

/// Error that a Responder reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorBody {
    /// `ERR_VERS`: the Responder does not support the version (section 4.5.1).
    Vers {
        /// `rdma_vers_low`: the lowest supported version.
        low: u32,
        /// `rdma_vers_high`: the highest supported version.
        high: u32,
    },
    /// `ERR_CHUNK`: the Responder cannot decode the header (section 4.5.2), or cannot reply (section 4.5.3).
    Chunk,
}

impl ErrorBody {
    /// `rdma_err` of [`Self::Vers`].
    pub const ERR_VERS: u32 = 1;
    /// `rdma_err` of [`Self::Chunk`].
    pub const ERR_CHUNK: u32 = 2;

    /// Length of the smallest `RDMA_ERROR`, an `ERR_CHUNK`, in octets.
    pub(super) const SMALLEST: usize = 20;

    #[inline]
    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let cut = |end: EndOfInput| DecodeError::short(end.offset);
        let offset = reader.offset();
        match reader.u32().map_err(cut)? {
            Self::ERR_VERS => Ok(Self::Vers { low: reader.u32().map_err(cut)?, high: reader.u32().map_err(cut)? }),
            Self::ERR_CHUNK => Ok(Self::Chunk),
            _ => Err(DecodeError::new(DecodeErrorKind::ErrorCode, offset)),
        }
    }

    /// Returns the name in RFC 8166.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vers { .. } => "ERR_VERS",
            Self::Chunk => "ERR_CHUNK",
        }
    }
}

impl Emit for ErrorBody {
    #[inline]
    fn emit<S: Sink>(&self, sink: &mut S) {
        match *self {
            Self::Vers { low, high } => {
                sink.word(Self::ERR_VERS);
                sink.word(low);
                sink.word(high);
            }
            Self::Chunk => sink.word(Self::ERR_CHUNK),
        }
    }
}

impl fmt::Display for ErrorBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vers { low, high } => write!(f, "ERR_VERS {low} to {high}"),
            Self::Chunk => f.write_str("ERR_CHUNK"),
        }
    }
}

/// The `RDMA_ERROR` that a Responder sends for a Call whose header it refuses, of 20 or 28 octets.
///
/// ```
/// use rpcrdma::error::Role;
/// use rpcrdma::prefix::Prefix;
/// use rpcrdma::v1::{ErrorReply, Header};
///
/// // A Call of version 2.
/// let call = [1, 2, 3, 4, 0, 0, 0, 2, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// let reaction = Header::decode(&call).unwrap_err().reaction(Role::Responder);
/// let reply = ErrorReply::new(&Prefix::decode(&call)?, 32, reaction).unwrap();
/// let mut send = [0; 28];
/// reply.encode(&mut send).unwrap();
/// assert_eq!(send, [1, 2, 3, 4, 0, 0, 0, 2, 0, 0, 0, 32, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1]);
/// # Ok::<(), rpcrdma::error::DecodeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ErrorReply {
    prefix: Prefix,
    error: ErrorBody,
}

impl ErrorReply {
    /// Creates the answer to the Call that began with `request`, granting `credit`; `None` if nothing is to be sent.
    ///
    /// XID and version come from the Call, even if that version is not supported (section 4.5).
    #[must_use]
    pub const fn new(request: &Prefix, credit: u32, reaction: Reaction) -> Option<Self> {
        let error = match reaction {
            Reaction::Discard => return None,
            Reaction::ErrChunk => ErrorBody::Chunk,
            Reaction::ErrVers => ErrorBody::Vers { low: VERSION, high: VERSION },
        };
        Some(Self { prefix: Prefix { credit, procedure: Procedure::RDMA_ERROR, ..*request }, error })
    }

    /// Reads an `RDMA_ERROR` and returns the error and the octets that follow. Any version is accepted: a refusal
    /// carries the refused version (section 4.5).
    ///
    /// # Errors
    /// A [`DecodeError`] if this is another procedure, or the error is unknown or incomplete.
    pub fn decode(octets: &[u8]) -> Result<(Self, &[u8]), DecodeError> {
        let prefix = Prefix::decode(octets)?;
        if prefix.procedure != Procedure::RDMA_ERROR {
            return Err(DecodeError::new(DecodeErrorKind::Procedure, 12));
        }
        let mut reader = Reader::new(octets);
        let short = |_| DecodeError::short(octets.len());
        reader.array::<{ Prefix::LEN }>().map_err(short)?;
        let error = ErrorBody::decode(&mut reader)?;
        Ok((Self { prefix, error }, reader.rest()))
    }

    /// Returns the four fixed words.
    #[must_use]
    pub const fn prefix(&self) -> Prefix {
        self.prefix
    }

    /// Its error.
    #[must_use]
    pub const fn error(&self) -> ErrorBody {
        self.error
    }
}

encodable! {
    #[inline]
    ErrorReply, "answer"
}

impl Emit for ErrorReply {
    #[inline]
    fn emit<S: Sink>(&self, sink: &mut S) {
        self.prefix.emit(sink);
        self.error.emit(sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn err_chunk_is_twenty_octets() {
        let request = Prefix { xid: 9, version: 1, credit: 1, procedure: Procedure(77) };
        let reply = ErrorReply::new(&request, 3, Reaction::ErrChunk).unwrap();
        let mut buffer = [0xa5; 24];
        assert_eq!(reply.encode(&mut buffer), Ok(20));
        assert_eq!(buffer, [0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 2, 0xa5, 0xa5, 0xa5, 0xa5]);
        assert_eq!(ErrorReply::new(&request, 3, Reaction::Discard), None);
    }
}
