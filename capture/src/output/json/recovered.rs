//! A sign that something was lost on its way.

use serde::Serialize;

use super::values::{EndObject, Hex32, Seconds};
use crate::carrier::recovery::RecoveryKind;
use crate::event::Recovered;
use crate::file::Files;

#[derive(Serialize)]
pub(super) struct RecoveredObject<'a> {
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
    rdma_xid: Option<Hex32>,
    event: &'static str,
    silence_ns: Option<u64>,
    wait_ns: Option<u64>,
}

impl<'a> RecoveredObject<'a> {
    pub(super) fn new(recovered: &Recovered, files: &'a Files) -> Self {
        let Recovered { stamp, connection, from, to, kind, xid, .. } = *recovered;
        let file = files.locate(stamp.frame);
        let (silence_ns, wait_ns) = match kind {
            RecoveryKind::TimedOut { silence } => (Some(silence), None),
            RecoveryKind::NotReady { wait } => (None, Some(wait)),
            _ => (None, None),
        };
        Self {
            r#type: "event",
            frame: stamp.frame,
            file: file.map(|(file, _)| file),
            file_frame: file.map(|(_, frame)| frame),
            time: Seconds(stamp.time),
            connection,
            from: EndObject(from),
            to: EndObject(to),
            rdma_xid: xid.map(Hex32),
            event: kind.name(),
            silence_ns,
            wait_ns,
        }
    }
}
