//! A Terminate message.

use rpcrdma_dissector::{Files, Terminated};
use serde::Serialize;

use crate::record::frame::FrameObject;
use crate::record::values::EndObject;

/// A Terminate message, with which an end ends an iWARP connection (RFC 5040 section 4.8).
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TerminateObject<'a> {
    #[serde(flatten)]
    place: FrameObject<'a>,
    /// The address of the end that ended the connection.
    sender: EndObject,
    /// The address of the other end, whose segment was wrong.
    receiver: EndObject,
    /// The layer that found the error: 0 RDMAP, 1 DDP, 2 MPA.
    layer: u8,
    /// The type of the error, by the numbers of the layer.
    error_type: u8,
    /// The code of the error within the type.
    code: u8,
    /// The length of the DDP segment that was wrong, if the message has the length.
    segment_octets: Option<u16>,
    /// The kind of message that the segment belongs to, if the Terminate has the segment's header.
    message: Option<&'static str>,
    /// All of that in words.
    text: String,
}

impl<'a> TerminateObject<'a> {
    /// Returns the record of a Terminate.
    #[must_use]
    pub fn new(terminated: &Terminated, files: &'a Files) -> Self {
        let Terminated { stamp, connection, from, to, terminate, .. } = *terminated;
        Self {
            place: FrameObject::new(stamp, connection, files),
            sender: EndObject(from),
            receiver: EndObject(to),
            layer: terminate.layer,
            error_type: terminate.error_type,
            code: terminate.code,
            segment_octets: terminate.length,
            message: terminate.message,
            text: terminate.to_string(),
        }
    }
}
