//! SEQUENCE and CB_SEQUENCE, with which each COMPOUND of a session begins (RFC 8881 sections 18.46 and 20.9).
//!
//! ```text
//! arguments   session (16) | sequence | slot | highest slot | cache this
//! results     status | session (16) | sequence | slot | highest slot | target highest slot | status flags
//! ```
//! The results of CB_SEQUENCE have no status flags.

use rpcrdma::reader::{EndOfInput, Reader};

use super::{OperationCode, SessionId};

/// Arguments of SEQUENCE or CB_SEQUENCE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SequenceArguments {
    /// The session.
    pub session: SessionId,
    /// Sequence number of the call on the slot.
    pub sequence_id: u32,
    /// The slot, from 0.
    pub slot_id: u32,
    /// The highest slot on which the requester has a call in flight.
    pub highest_slot_id: u32,
    /// `true` to store the reply in the reply cache.
    pub cache_this: bool,
}

/// Results of SEQUENCE or CB_SEQUENCE that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SequenceResults {
    /// The session.
    pub session: SessionId,
    /// Sequence number of the call on the slot.
    pub sequence_id: u32,
    /// The slot, from 0.
    pub slot_id: u32,
    /// The highest slot that the replier keeps.
    pub highest_slot_id: u32,
    /// The highest slot that the requester should use.
    pub target_highest_slot_id: u32,
    /// State of the client as the server sees the client; `None` for CB_SEQUENCE.
    pub status_flags: Option<SequenceFlags>,
}

/// `sr_status_flags` of SEQUENCE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SequenceFlags(pub u32);

/// A flag of [`SequenceFlags`].
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SequenceFlag {
    /// The bit.
    pub bit: u32,
    /// Name of the flag in RFC 8881.
    pub name: &'static str,
    /// State that the server reports, as the end of a sentence that begins with the server.
    pub meaning: &'static str,
}

const fn flag(bit: u32, name: &'static str, meaning: &'static str) -> SequenceFlag {
    SequenceFlag { bit, name, meaning }
}

impl SequenceFlags {
    /// All flags of RFC 8881 section 18.46.3.
    pub const ALL: &[SequenceFlag] = &[
        flag(1, "SEQ4_STATUS_CB_PATH_DOWN", "has no callback path to the client"),
        flag(2, "SEQ4_STATUS_CB_GSS_CONTEXTS_EXPIRING", "will soon lack a GSS context for callbacks"),
        flag(4, "SEQ4_STATUS_CB_GSS_CONTEXTS_EXPIRED", "has no valid GSS context for callbacks"),
        flag(8, "SEQ4_STATUS_EXPIRED_ALL_STATE_REVOKED", "revoked all state of the client, whose lease had expired"),
        flag(
            0x10,
            "SEQ4_STATUS_EXPIRED_SOME_STATE_REVOKED",
            "revoked some state of the client, whose lease had expired",
        ),
        flag(0x20, "SEQ4_STATUS_ADMIN_STATE_REVOKED", "revoked state of the client by order of an administrator"),
        flag(
            0x40,
            "SEQ4_STATUS_RECALLABLE_STATE_REVOKED",
            "revoked delegations or layouts that the client did not return",
        ),
        flag(0x80, "SEQ4_STATUS_LEASE_MOVED", "moved a file system and its lease to another server"),
        flag(0x100, "SEQ4_STATUS_RESTART_RECLAIM_NEEDED", "restarted, and the client has to reclaim its state"),
        flag(0x200, "SEQ4_STATUS_CB_PATH_DOWN_SESSION", "has no callback path to the client in this session"),
        flag(0x400, "SEQ4_STATUS_BACKCHANNEL_FAULT", "has a fault in the callback channel of this session"),
        flag(0x800, "SEQ4_STATUS_DEVID_CHANGED", "changed a device ID of pNFS"),
        flag(0x1000, "SEQ4_STATUS_DEVID_DELETED", "deleted a device ID of pNFS"),
    ];

    /// The flags that are set and have a name.
    pub fn flags(self) -> impl Iterator<Item = &'static SequenceFlag> {
        Self::ALL.iter().filter(move |flag| self.0 & flag.bit != 0)
    }

    /// Bits that are set and have no name.
    #[must_use]
    pub fn unknown(self) -> u32 {
        self.0 & !Self::ALL.iter().fold(0, |all, flag| all | flag.bit)
    }
}

/// Returns true if an operation is SEQUENCE or CB_SEQUENCE.
const fn is_sequence(code: OperationCode) -> bool {
    matches!(code, OperationCode::SEQUENCE | OperationCode::CB_SEQUENCE)
}

fn session(reader: &mut Reader<'_>) -> Result<SessionId, EndOfInput> {
    let octets = reader.read_octets(size_of::<SessionId>())?;
    Ok(octets.first_chunk().copied().unwrap_or_default())
}

impl SequenceArguments {
    /// Reads the first operation, `code`, in the arguments of a COMPOUND or CB_COMPOUND.
    pub(crate) fn decode(code: OperationCode, body: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        reader.opaque().ok().filter(|_| is_sequence(code))?;
        // Minor version; in CB_COMPOUND, the identifier of the callback follows.
        let words = if matches!(code, OperationCode::Callback(_)) { 4 } else { 3 };
        let start = reader.read_octets(words * 4).ok()?;
        (start.last_chunk() == Some(&code.number().to_be_bytes())).then_some(())?;
        Self::read(&mut reader).ok()
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, EndOfInput> {
        Ok(Self {
            session: session(reader)?,
            sequence_id: reader.u32()?,
            slot_id: reader.u32()?,
            highest_slot_id: reader.u32()?,
            cache_this: reader.u32()? != 0,
        })
    }
}

impl SequenceResults {
    /// Reads the first operation, `code`, in the results of a COMPOUND or CB_COMPOUND.
    pub(crate) fn decode(code: OperationCode, body: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        let _status = reader.u32().ok().filter(|_| is_sequence(code))?;
        reader.opaque().ok()?;
        let _count = reader.u32().ok()?;
        ([reader.u32().ok()?, reader.u32().ok()?] == [code.number(), 0]).then_some(())?;
        Self::read(code, &mut reader).ok()
    }

    fn read(code: OperationCode, reader: &mut Reader<'_>) -> Result<Self, EndOfInput> {
        Ok(Self {
            session: session(reader)?,
            sequence_id: reader.u32()?,
            slot_id: reader.u32()?,
            highest_slot_id: reader.u32()?,
            target_highest_slot_id: reader.u32()?,
            status_flags: match code {
                OperationCode::Compound(_) => Some(SequenceFlags(reader.u32()?)),
                OperationCode::Callback(_) => None,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    const SESSION: SessionId = [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4];

    #[test]
    fn fields_of_sequence_are_read_in_order() {
        // Tag of 3 octets, minor version, count, operation.
        let start = [3, 0x6162_6300, 1, 2, 53];
        let body = words(&[&start[..], &[1, 2, 3, 4], &[5, 6, 7, 1]].concat());
        let read = SequenceArguments::decode(OperationCode::SEQUENCE, &body);
        let expected =
            SequenceArguments { session: SESSION, sequence_id: 5, slot_id: 6, highest_slot_id: 7, cache_this: true };
        assert_eq!(read, Some(expected));
        assert_eq!(SequenceArguments::decode(OperationCode::CB_SEQUENCE, &body), None);
        assert!((0..body.len()).all(|cut| SequenceArguments::decode(OperationCode::SEQUENCE, &body[..cut]).is_none()));
        // The callback identifier stands before the count.
        let body = words(&[0, 1, 0x99, 2, 11, 1, 2, 3, 4, 5, 6, 7, 0]);
        let read = SequenceArguments::decode(OperationCode::CB_SEQUENCE, &body);
        assert_eq!(read, Some(SequenceArguments { cache_this: false, ..expected }));
    }

    #[test]
    fn results_of_sequence_have_flags_and_those_of_callbacks_none() {
        let body = words(&[0, 0, 3, 53, 0, 1, 2, 3, 4, 5, 6, 30, 20, 0x4001_0501]);
        let read = SequenceResults::decode(OperationCode::SEQUENCE, &body).unwrap();
        assert_eq!((read.session, read.sequence_id, read.slot_id), (SESSION, 5, 6));
        assert_eq!((read.highest_slot_id, read.target_highest_slot_id), (30, 20));
        let flags = read.status_flags.unwrap();
        let names: Vec<_> = flags.flags().map(|flag| flag.name.trim_start_matches("SEQ4_STATUS_")).collect();
        assert_eq!(names, ["CB_PATH_DOWN", "RESTART_RECLAIM_NEEDED", "BACKCHANNEL_FAULT"]);
        assert_eq!(flags.unknown(), 0x4001_0000);
        assert!((0..body.len()).all(|cut| SequenceResults::decode(OperationCode::SEQUENCE, &body[..cut]).is_none()));
        let failed = words(&[10_008, 0, 1, 53, 10_008, 1, 2, 3, 4, 5, 6, 30, 20, 1]);
        assert_eq!(SequenceResults::decode(OperationCode::SEQUENCE, &failed), None);
        let callback = words(&[0, 0, 1, 11, 0, 1, 2, 3, 4, 5, 6, 30, 20]);
        assert_eq!(SequenceResults::decode(OperationCode::CB_SEQUENCE, &callback).unwrap().status_flags, None);
    }
}
