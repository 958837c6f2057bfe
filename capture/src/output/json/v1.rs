//! The words that only a message of version 1 has.

use rpcrdma::prefix::Procedure;
use rpcrdma::v1::{self, Body, ErrorBody};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::rpc::message::Message;

/// What a header of version 1 has between `rdma_credit` and the lengths.
pub(super) struct WordsV1 {
    /// Null if it cannot be read.
    rdma_proc: Option<Name>,
    /// `rdma_align` and `rdma_thresh` of an RDMA_MSGP.
    msgp: Option<(u32, u32)>,
}

impl WordsV1 {
    /// The words of a message, including its header, if that can be read.
    pub(super) fn new(message: &Message, header: Option<&v1::Header<'_>>) -> Self {
        let msgp = header.and_then(|header| match header.body {
            Body::Msgp { align, thresh, .. } => Some((align, thresh)),
            _ => None,
        });
        Self { rdma_proc: message.prefix().map(|prefix| Name(prefix.procedure)), msgp }
    }

    pub(super) const fn is_msgp(&self) -> bool {
        self.msgp.is_some()
    }

    pub(super) fn entries<M: SerializeStruct>(&self, object: &mut M) -> Result<(), M::Error> {
        object.serialize_field("rdma_proc", &self.rdma_proc)?;
        if let Some((align, thresh)) = self.msgp {
            object.serialize_field("rdma_align", &align)?;
            object.serialize_field("rdma_thresh", &thresh)?;
        }
        Ok(())
    }
}

/// `rdma_proc`: its name, or the number if it has none.
struct Name(Procedure);

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.name() {
            Some(name) => serializer.serialize_str(name),
            None => serializer.serialize_u32(self.0.0),
        }
    }
}

/// The body of an RDMA_ERROR.
#[derive(Serialize)]
pub(super) struct ErrorObjectV1 {
    code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    low: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high: Option<u32>,
}

impl ErrorObjectV1 {
    pub(super) const fn new(error: ErrorBody) -> Self {
        let (low, high) = match error {
            ErrorBody::Vers { low, high } => (Some(low), Some(high)),
            ErrorBody::Chunk => (None, None),
        };
        Self { code: error.name(), low, high }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(value: impl Serialize) -> String {
        serde_json::to_string(&value).unwrap()
    }

    #[test]
    fn what_has_no_name_is_a_number() {
        assert_eq!(shown(Name(Procedure(4))), r#""RDMA_ERROR""#);
        assert_eq!(shown(Name(Procedure(5))), "5");
    }

    #[test]
    fn an_error_has_the_versions_only_where_it_is_about_versions() {
        assert_eq!(
            shown(ErrorObjectV1::new(ErrorBody::Vers { low: 1, high: 2 })),
            r#"{"code":"ERR_VERS","low":1,"high":2}"#
        );
        assert_eq!(shown(ErrorObjectV1::new(ErrorBody::Chunk)), r#"{"code":"ERR_CHUNK"}"#);
    }
}
