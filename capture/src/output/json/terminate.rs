//! A Terminate message.

use serde::Serialize;

use super::values::{EndObject, Seconds};
use crate::event::Terminated;
use crate::file::Files;

#[derive(Serialize)]
pub(super) struct TerminateObject<'a> {
    r#type: &'static str,
    frame: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_frame: Option<u64>,
    time: Seconds,
    connection: u32,
    from: EndObject,
    to: EndObject,
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
        let file = files.locate(stamp.frame);
        Self {
            r#type: "terminate",
            frame: stamp.frame,
            file: file.map(|(file, _)| file),
            file_frame: file.map(|(_, frame)| frame),
            time: Seconds(stamp.time),
            connection,
            from: EndObject(from),
            to: EndObject(to),
            layer: terminate.layer,
            error_type: terminate.error_type,
            code: terminate.code,
            segment_length: terminate.length,
            message: terminate.message,
            text: terminate.to_string(),
        }
    }
}
