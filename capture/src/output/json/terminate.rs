//! A Terminate message.

use serde::Serialize;

use super::place::PlaceObject;
use crate::event::Terminated;
use crate::file::Files;

#[derive(Serialize)]
pub(super) struct TerminateObject<'a> {
    r#type: &'static str,
    #[serde(flatten)]
    place: PlaceObject<'a>,
    layer: u8,
    error_type: u8,
    code: u8,
    segment_length: Option<u16>,
    message: Option<&'static str>,
    text: String,
}

impl<'a> TerminateObject<'a> {
    pub(super) fn new(terminated: &Terminated, files: &'a Files) -> Self {
        let Terminated { stamp, connection, from, to, terminate } = *terminated;
        Self {
            r#type: "terminate",
            place: PlaceObject::new(stamp, connection, (from, to), files),
            layer: terminate.layer,
            error_type: terminate.error_type,
            code: terminate.code,
            segment_length: terminate.length,
            message: terminate.message,
            text: terminate.to_string(),
        }
    }
}
