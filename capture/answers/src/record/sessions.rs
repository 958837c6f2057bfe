//! Sessions of NFSv4.1 in records: SEQUENCE, CREATE_SESSION and EXCHANGE_ID.

use rpcrdma_dissector::OperationArguments;
use rpcrdma_dissector::nfs::{ServerOwner, SessionCreation, SessionId, StableHow};
use serde::{Serialize, Serializer};

use super::described::described;
use super::values::{Hex64, HexOctets, NameObject};
use crate::operation_text::flag_names;

/// A `sessionid4` in hexadecimal digits.
#[derive(Clone, Copy)]
pub(crate) struct SessionIdObject(pub(crate) SessionId);

impl Serialize for SessionIdObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        HexOctets(&self.0).serialize(serializer)
    }
}

described!(SessionIdObject = "^[0-9a-f]{32}$");

/// Fields of SEQUENCE or CB_SEQUENCE (RFC 8881 sections 18.46 and 20.9).
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct SequenceObject {
    /// The session, in hexadecimal digits.
    session_id: SessionIdObject,
    /// Sequence number of the call on the slot.
    sequence_id: u32,
    /// The slot, from 0.
    slot_id: u32,
    /// The highest slot on which the requester has a call in flight; null without the call.
    highest_slot_id: Option<u32>,
    /// True if the requester asks for the reply to be cached; null without the call.
    cache_this: Option<bool>,
    /// The highest slot that the replier keeps; null without a successful reply.
    reply_highest_slot_id: Option<u32>,
    /// The highest slot that the replier wants to be used; null without a successful reply.
    target_highest_slot_id: Option<u32>,
    /// Names of the flags in `sr_status_flags` that are set; bits without a name as one hexadecimal number. Null for CB_SEQUENCE, and
    /// without a successful reply.
    status_flags: Option<Vec<String>>,
}

impl SequenceObject {
    /// The fields of the first operation, if that is SEQUENCE or CB_SEQUENCE.
    pub(crate) fn new(first: Option<&OperationArguments<'_>>) -> Option<Self> {
        let OperationArguments { sequence: call, sequence_results: reply, .. } = *first?;
        let of_call = call.map(|call| (call.session, call.sequence_id, call.slot_id));
        let (session, sequence_id, slot_id) =
            of_call.or_else(|| reply.map(|reply| (reply.session, reply.sequence_id, reply.slot_id)))?;
        Some(Self {
            session_id: SessionIdObject(session),
            sequence_id,
            slot_id,
            highest_slot_id: call.map(|call| call.highest_slot_id),
            cache_this: call.map(|call| call.cache_this),
            reply_highest_slot_id: reply.map(|reply| reply.highest_slot_id),
            target_highest_slot_id: reply.map(|reply| reply.target_highest_slot_id),
            status_flags: reply.and_then(|reply| reply.status_flags).map(flag_names),
        })
    }
}

/// Stability of a WRITE.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct WriteObject {
    /// `stable_how` of the call: `UNSTABLE4`, `DATA_SYNC4`, `FILE_SYNC4` or a number, for NFSv3 too.
    stable_how: Option<NameObject>,
    /// Octets that the server wrote; null without a successful reply.
    count: Option<u32>,
    /// Stability that the server committed to; null without a successful reply.
    committed: Option<NameObject>,
}

impl WriteObject {
    pub(crate) fn new(arguments: &OperationArguments<'_>) -> Option<Self> {
        let OperationArguments { stable, written, committed, .. } = *arguments;
        let name = |stable: StableHow| NameObject { name: stable.name(), number: stable.0 };
        (stable.is_some() || committed.is_some()).then(|| Self {
            stable_how: stable.map(name),
            count: written,
            committed: committed.map(name),
        })
    }
}

/// Slots and lengths of a session, in both directions.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct SessionObject {
    /// The `clientid4` in hexadecimal digits.
    client_id: Option<Hex64>,
    /// The session, in hexadecimal digits; null if the server created none.
    session_id: Option<SessionIdObject>,
    /// Slots that the client asked for.
    slots_asked: Option<u32>,
    /// Slots that the server granted: the most calls of the client in flight.
    slots: Option<u32>,
    /// Slots of callbacks that the client asked for.
    callback_slots_asked: Option<u32>,
    /// Slots of callbacks that the server granted.
    callback_slots: Option<u32>,
    /// Maximum length of a call in octets.
    call_octets: Option<u32>,
    /// Maximum length of a reply in octets.
    reply_octets: Option<u32>,
}

impl SessionObject {
    pub(crate) fn new(arguments: &OperationArguments<'_>) -> Option<Self> {
        let SessionCreation { asked, created, .. } = arguments.session?;
        Some(Self {
            client_id: arguments.client.map(Hex64),
            session_id: created.map(|created| SessionIdObject(created.session)),
            slots_asked: asked.map(|[fore, _]| fore.calls),
            slots: created.map(|created| created.fore.calls),
            callback_slots_asked: asked.map(|[_, back]| back.calls),
            callback_slots: created.map(|created| created.back.calls),
            call_octets: created.map(|created| created.fore.call),
            reply_octets: created.map(|created| created.fore.reply),
        })
    }
}

/// A server, as EXCHANGE_ID names the server (RFC 8881 section 18.35).
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ServerObject<'a> {
    /// The `clientid4` that the server gave to the client, in hexadecimal digits.
    client_id: Option<Hex64>,
    /// `so_major_id` in hexadecimal digits: servers with the same major ID and scope are one.
    major_id: HexOctets<'a>,
    /// `so_minor_id`.
    minor_id: u64,
    /// `eir_server_scope` in hexadecimal digits.
    scope: HexOctets<'a>,
}

impl<'a> ServerObject<'a> {
    pub(crate) fn new(arguments: &OperationArguments<'a>) -> Option<Self> {
        let ServerOwner { minor_id, major_id, scope, .. } = arguments.server_owner?;
        let client_id = arguments.client.map(Hex64);
        Some(Self { client_id, major_id: HexOctets(major_id), minor_id, scope: HexOctets(scope) })
    }
}
