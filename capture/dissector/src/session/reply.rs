//! A reply, rebuilt as far as the chunks of the reply allow.

use super::call::Call;
use super::chunk::{self, Chunk};
use crate::rpc::describe::{self, Described};
use crate::rpc::header::{PayloadPlace, write_lengths};
use crate::rpc::message::{Beginning, Message};
use crate::rpc::not_rebuilt::NotRebuilt;
use crate::rpc::pieces::Pieces;
use crate::rpc::properties::Rpc;
use crate::rpc::transaction::Rebuilt;

/// A reply, rebuilt as far as the chunks of the reply allow: the Payload stream, still reduced, and the Write chunks.
pub(crate) struct Reply {
    payload: Result<Pieces, NotRebuilt>,
    writes: Result<Vec<Pieces>, NotRebuilt>,
    pub(crate) described: Option<Described>,
}

impl Reply {
    /// Rebuilds a reply. Without the call, only the octets of the Send are known. The data that was moved for the call
    /// becomes part of the reply.
    pub(crate) fn new(message: &Message, mut call: Option<&mut Call>) -> Self {
        let Ok(decoded) = message.decode() else {
            let error = message.error().map_or_else(|| message.unreadable(), NotRebuilt::Error);
            return Self { payload: Err(error), writes: Ok(Vec::new()), described: None };
        };
        let payload = match (decoded.header.place(), call.as_deref_mut()) {
            (PayloadPlace::Chunk, None) => Err(NotRebuilt::CallMissing),
            (PayloadPlace::Chunk, Some(call)) => {
                call.returned_reply_chunk(&decoded.header.chunks().unwrap_or_default())
            }
            _ => Ok(message.stream(&decoded).into_owned().into()),
        };
        Self::with_payload(message, call, payload)
    }

    /// The same, if the Payload stream is known.
    pub(crate) fn with_payload(message: &Message, mut call: Option<&mut Call>, payload: Chunk) -> Self {
        let returned = message.decode().ok().and_then(|decoded| decoded.header.chunks()).unwrap_or_default();
        let writes = match call.as_deref_mut() {
            _ if returned.writes.is_empty() => Ok(Vec::new()),
            None => Err(NotRebuilt::CallMissing),
            Some(call) => call.returned(&returned),
        };
        let written = write_lengths(&returned);
        let called = call.and_then(|call| call.called.as_ref());
        let mut described =
            payload.as_ref().ok().and_then(|payload| describe::reply(payload.octets(), called, &written));
        if let Some(described) = described.as_mut().filter(|_| message.padding.is_none()) {
            described.forget_body();
        }
        let payload = message.check_whole().and(payload);
        Self { payload, writes, described }
    }

    /// Returns the beginning of the RPC message, if the Payload stream is known.
    pub(crate) fn beginning(&self) -> Option<Beginning> {
        Beginning::from_payload(self.payload.as_ref().ok()?.octets())
    }

    /// Returns the known properties of the RPC message.
    pub(crate) fn rpc(&self) -> Option<Rpc> {
        self.described.as_ref().map(|described| described.rpc.clone())
    }

    pub(super) fn rebuild(self) -> Result<Rebuilt, NotRebuilt> {
        let (payload, mut writes) = (self.payload?, self.writes?);
        let (mut items, walked) = match self.described {
            Some(described) => (described.items, described.walked),
            None => (Vec::new(), Ok(())),
        };
        if writes.iter().all(Pieces::is_empty) {
            return Ok(Rebuilt { pieces: payload, items });
        }
        walked.map_err(NotRebuilt::Results)?;
        let mut chunks = Vec::new();
        for item in &mut items {
            if let Some(data) = item.chunk.and_then(|chunk| writes.get_mut(chunk)) {
                let position = u32::try_from(item.at).map_err(|_| NotRebuilt::Header)?;
                chunks.push((position, core::mem::take(data)));
            }
        }
        Ok(Rebuilt { pieces: chunk::insert(payload.octets(), chunks.into_iter())?, items })
    }
}
