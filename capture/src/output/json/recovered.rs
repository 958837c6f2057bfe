//! A sign that something was lost on its way.

use serde::Serialize;

use super::place::PlaceObject;
use super::values::Hex32;
use crate::carrier::recovery::RecoveryKind;
use crate::event::Recovered;
use crate::file::Files;

#[derive(Serialize)]
pub(super) struct RecoveredObject<'a> {
    r#type: &'static str,
    #[serde(flatten)]
    place: PlaceObject<'a>,
    rdma_xid: Option<Hex32>,
    event: &'static str,
    silence_ns: Option<u64>,
    wait_ns: Option<u64>,
}

impl<'a> RecoveredObject<'a> {
    pub(super) fn new(recovered: &Recovered, files: &'a Files) -> Self {
        let Recovered { stamp, connection, from, to, kind, xid, .. } = *recovered;
        let (silence_ns, wait_ns) = match kind {
            RecoveryKind::TimedOut { silence } => (Some(silence), None),
            RecoveryKind::NotReady { wait } => (None, Some(wait)),
            _ => (None, None),
        };
        Self {
            r#type: "event",
            place: PlaceObject::new(stamp, connection, (from, to), files),
            rdma_xid: xid.map(Hex32),
            event: kind.name(),
            silence_ns,
            wait_ns,
        }
    }
}
