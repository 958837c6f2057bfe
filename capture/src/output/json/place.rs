//! Where and when something was seen.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::values::{EndObject, Seconds};
use crate::carrier::operation::Stamp;
use crate::file::Files;
use crate::link::Address;

/// At least as many fields as an object has: `serde_json` asks whether there are any.
pub(super) const FIELDS: usize = 1;

/// The frame that shows something, and who sent it to whom.
#[derive(Clone, Copy)]
pub(in crate::output) struct PlaceObject<'a> {
    frame: u64,
    file: Option<(&'a str, u64)>,
    time: Seconds,
    connection: u32,
    from: EndObject,
    to: EndObject,
}

impl<'a> PlaceObject<'a> {
    pub(in crate::output) fn new(
        stamp: Stamp,
        connection: u32,
        (from, to): (Address, Address),
        files: &'a Files,
    ) -> Self {
        Self {
            frame: stamp.frame,
            file: files.locate(stamp.frame),
            time: Seconds(stamp.time),
            connection,
            from: EndObject(from),
            to: EndObject(to),
        }
    }

    /// Adds its fields to those of an object.
    pub(super) fn entries<M: SerializeStruct>(&self, object: &mut M) -> Result<(), M::Error> {
        object.serialize_field("frame", &self.frame)?;
        if let Some((file, frame)) = self.file {
            object.serialize_field("file", file)?;
            object.serialize_field("file_frame", &frame)?;
        }
        object.serialize_field("time", &self.time)?;
        object.serialize_field("connection", &self.connection)?;
        object.serialize_field("from", &self.from)?;
        object.serialize_field("to", &self.to)
    }
}

impl Serialize for PlaceObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("place", FIELDS)?;
        self.entries(&mut object)?;
        object.end()
    }
}
