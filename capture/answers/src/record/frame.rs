//! Frame and time of something.

use rpcrdma_dissector::{Address, Files, MessageDirection, MirrorSession, Stamp};
use serde::Serialize;

use super::values::EndObject;

/// The frame that shows something.
#[derive(Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct FrameObject<'a> {
    /// The number of the frame, from 1. The frames of several files are numbered consecutively.
    frame: u64,
    /// The file that holds the frame.
    file: Option<&'a str>,
    /// The number of the frame in the file, from 1.
    file_frame: Option<u64>,
    /// Time of the frame, in nanoseconds since 1970-01-01 00:00 UTC.
    time_ns: u64,
    /// The number of the connection, from 1.
    connection: u32,
}

impl<'a> FrameObject<'a> {
    pub(crate) fn new(stamp: Stamp, connection: u32, files: &'a Files) -> Self {
        let (file, file_frame) = files.locate(stamp.frame).unzip();
        Self { frame: stamp.frame, file, file_frame, time_ns: stamp.time.0, connection }
    }
}

/// Sender and receiver of a frame, and their roles in the RPC that the frame is for.
#[derive(Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct EndsObject {
    /// The address of the end that sent the frame.
    from: EndObject,
    /// The address of the receiver.
    to: EndObject,
    /// The address of the end that sent the call; null if that is not known.
    requester: Option<EndObject>,
    /// The address of the end that the call was sent to; null if that is not known.
    responder: Option<EndObject>,
}

impl EndsObject {
    /// Returns the ends of a message.
    pub(crate) fn of_message(from: Address, to: Address, direction: Option<MessageDirection>) -> Self {
        let requester = direction.map(|direction| match direction {
            MessageDirection::Call => from,
            MessageDirection::Reply => to,
        });
        Self::new(from, to, requester)
    }

    /// Returns the ends of a frame for an RPC with this requester.
    pub(crate) fn new(from: Address, to: Address, requester: Option<Address>) -> Self {
        let responder = requester.map(|requester| if requester == from { to } else { from });
        Self {
            from: EndObject(from),
            to: EndObject(to),
            requester: requester.map(EndObject),
            responder: responder.map(EndObject),
        }
    }
}

/// Session of a mirror.
#[derive(Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct MirrorSessionObject {
    /// The outermost encapsulation with a number: `ERSPAN`, `VXLAN` or `Geneve`.
    encapsulation: &'static str,
    /// The session ID of ERSPAN, or the virtual network identifier (VNI) of VXLAN and Geneve.
    id: u32,
}

impl MirrorSessionObject {
    pub(crate) const fn new(session: MirrorSession) -> Self {
        Self { encapsulation: session.encapsulation.name(), id: session.id }
    }
}
