//! The body of an RDMA_ERROR.

use rpcrdma::v1::ErrorBody;
use rpcrdma::v2::ErrorBodyV2;
use rpcrdma_dissector::AnyErrorBody;
use serde::Serialize;

use crate::record::values::NameObject;

/// The body of an RDMA_ERROR (RFC 8166 section 4.5), or of an RDMA2_ERROR of version 2. What the error does not have is null.
#[derive(Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ErrorObject {
    /// The name of `rdma_err`, or the number in digits.
    code: NameObject,
    /// `rdma_vers_low`: the lowest version that the responder supports.
    low: Option<u32>,
    /// `rdma_vers_high`: the highest.
    high: Option<u32>,
    /// `rdma_max_chunks` of version 2: maximum number of chunks.
    max_chunks: Option<u32>,
    /// `rdma_max_segments` of version 2: maximum number of segments in a chunk.
    max_segments: Option<u32>,
    /// `rdma_chunk_index` of version 2: which Write chunk is too short, from 0.
    chunk_index: Option<u32>,
    /// `rdma_length_needed` of version 2: the octets that the chunk would need.
    length_needed: Option<u32>,
}

impl ErrorObject {
    pub(crate) fn new(error: AnyErrorBody) -> Self {
        match error {
            AnyErrorBody::V1(body) => {
                let (low, high) = match body {
                    ErrorBody::Vers { low, high } => (Some(low), Some(high)),
                    ErrorBody::Chunk => (None, None),
                };
                let code = NameObject { name: Some(body.name()), number: error.number() };
                Self { code, low, high, ..Self::default() }
            }
            AnyErrorBody::V2(body) => Self::version_2(body),
        }
    }

    fn version_2(error: ErrorBodyV2) -> Self {
        let code = error.code();
        let mut object = Self { code: NameObject { name: code.name(), number: code.0 }, ..Self::default() };
        match error {
            ErrorBodyV2::Vers { low, high } => (object.low, object.high) = (Some(low), Some(high)),
            ErrorBodyV2::ReadChunks { max_chunks } | ErrorBodyV2::WriteChunks { max_chunks } => {
                object.max_chunks = Some(max_chunks);
            }
            ErrorBodyV2::Segments { max_segments } => object.max_segments = Some(max_segments),
            ErrorBodyV2::WriteResource { chunk_index, length_needed } => {
                (object.chunk_index, object.length_needed) = (Some(chunk_index), Some(length_needed));
            }
            ErrorBodyV2::ReplyResource { length_needed } => object.length_needed = Some(length_needed),
            ErrorBodyV2::Void(_) => {}
        }
        object
    }
}
