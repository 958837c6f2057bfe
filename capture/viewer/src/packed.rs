//! Rows in few octets: most numbers of a row are small, and many are 0.
//!
//! Numbers are written seven bits at a time, the least first, and the high bit says that more follow (LEB128, as in WebAssembly).
//! A row takes a quarter of the memory of an unpacked row.

use answers::diagnosis::CauseSet;
use dissector::{Phase, Phases};

use crate::names::Name;
use crate::row::{Kind, Row};

/// Rows of a block: block and place in the block find a row.
pub(crate) const ROWS: usize = 1 << 12;

/// Up to [`ROWS`] rows.
#[derive(Debug, Default)]
pub(crate) struct Block {
    octets: Vec<u8>,
    /// Beginning of each row.
    starts: Vec<u32>,
    /// The time of the first row, to which the other times are near.
    time: u64,
}

/// Numbers that a row has.
mod has {
    pub(super) const LATENCY: u64 = 1;
    pub(super) const PHASES: u64 = 2;
    pub(super) const CALL: u64 = 4;
    pub(super) const REPLY: u64 = 8;
    pub(super) const RECOVERY: u64 = 16;
    pub(super) const OCTETS: u64 = 32;
    pub(super) const ENDED: u64 = 64;
    pub(super) const CAUSES: u64 = 128;
    pub(super) const SENDING: u64 = 256;
}

impl Block {
    pub(crate) const fn is_full(&self) -> bool {
        self.starts.len() >= ROWS
    }

    /// Octets of memory.
    pub(crate) const fn size(&self) -> usize {
        self.octets.capacity() + self.starts.capacity() * size_of::<u32>()
    }

    /// Adds a row; `kind` is the number of the row's kind. Returns false if the row does not fit.
    pub(crate) fn push(&mut self, row: &Row, kind: u32) -> bool {
        let Ok(start) = u32::try_from(self.octets.len()) else { return false };
        if self.is_full() {
            return false;
        }
        if self.starts.is_empty() {
            self.time = row.time;
        }
        self.starts.push(start);
        self.write(row, kind);
        if self.is_full() {
            self.octets.shrink_to_fit();
        }
        true
    }

    fn write(&mut self, row: &Row, kind: u32) {
        let has_recovery = row.recovery != Phases::default() || row.retransmitted > 0;
        let has_octets = row.read > 0 || row.written > 0;
        // Most RPCs end after their latency, as `usual_end` has it.
        let ended = row.ended.filter(|_| row.ended != usual_end(row.time, row.latency));
        // The phases add up to the latency.
        let latency = row.latency.filter(|_| row.phases.is_none());
        let flags = [
            (latency.is_some(), has::LATENCY),
            (row.phases.is_some(), has::PHASES),
            (row.call.is_some(), has::CALL),
            (row.reply.is_some(), has::REPLY),
            (has_recovery, has::RECOVERY),
            (has_octets, has::OCTETS),
            (ended.is_some(), has::ENDED),
            (row.causes != CauseSet::default(), has::CAUSES),
            (row.sending > 0, has::SENDING),
        ];
        self.number(flags.into_iter().filter(|(has, _)| *has).map(|(_, flag)| flag).sum());
        self.number(kind.into());
        self.number(row.file.number().into());
        self.number(row.folder.number().into());
        self.octets.extend(row.xid.to_le_bytes());
        self.number(folded(row.time.wrapping_sub(self.time)));
        latency.into_iter().for_each(|latency| self.number(latency));
        row.phases.into_iter().for_each(|phases| self.phases(phases));
        row.call.into_iter().for_each(|frame| self.number(frame));
        row.reply.into_iter().for_each(|frame| self.number(folded(frame.wrapping_sub(row.call.unwrap_or_default()))));
        if has_recovery {
            self.phases(row.recovery);
            self.number(row.retransmitted);
        }
        if has_octets {
            self.number(row.read);
            self.number(row.written);
        }
        ended.into_iter().for_each(|ended| self.number(folded(ended.wrapping_sub(row.time))));
        if row.causes != CauseSet::default() {
            self.number(row.causes.0);
        }
        if row.sending > 0 {
            self.number(row.sending);
        }
    }

    fn phases(&mut self, phases: Phases) {
        Phase::ALL.into_iter().for_each(|phase| self.number(phases.phase_time(phase)));
    }

    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.octets.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.octets.push(number as u8);
    }

    /// The row at a place; `kinds` has each kind at the number of the kind.
    pub(crate) fn row(&self, place: usize, kinds: &[Kind]) -> Option<Row> {
        let start = *self.starts.get(place)?;
        let mut octets = Octets(self.octets.get(start as usize..)?);
        let flags = octets.number();
        let kind = *kinds.get(usize::try_from(octets.number()).ok()?)?;
        let (file, folder) = (Name::from_number(octets.number()), Name::from_number(octets.number()));
        let xid = octets.word();
        let time = self.time.wrapping_add(unfolded(octets.number()));
        let latency = (flags & has::LATENCY != 0).then(|| octets.number());
        let phases = (flags & has::PHASES != 0).then(|| octets.phases());
        let call = (flags & has::CALL != 0).then(|| octets.number());
        let reply = (flags & has::REPLY != 0).then(|| call.unwrap_or_default().wrapping_add(unfolded(octets.number())));
        let (recovery, retransmitted) = match flags & has::RECOVERY {
            0 => (Phases::default(), 0),
            _ => (octets.phases(), octets.number()),
        };
        let [read, written] = octets.pair(flags & has::OCTETS);
        let ended = (flags & has::ENDED != 0).then(|| time.wrapping_add(unfolded(octets.number())));
        let causes = if flags & has::CAUSES == 0 { 0 } else { octets.number() };
        let causes = CauseSet(causes);
        let sending = if flags & has::SENDING == 0 { 0 } else { octets.number() };
        let latency = latency.or_else(|| phases.as_ref().map(Phases::total));
        let ended = ended.or_else(|| usual_end(time, latency));
        Some(Row {
            kind,
            xid,
            file,
            folder,
            time,
            sending,
            latency,
            ended,
            phases,
            recovery,
            retransmitted,
            causes,
            call,
            reply,
            read,
            written,
        })
    }
}

/// Octets to be read.
struct Octets<'a>(&'a [u8]);

impl Octets<'_> {
    fn number(&mut self) -> u64 {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let Some((octet, rest)) = self.0.split_first() else { break };
            self.0 = rest;
            number |= u64::from(octet & 0x7f) << shift;
            if octet & 0x80 == 0 {
                break;
            }
        }
        number
    }

    fn word(&mut self) -> u32 {
        let Some((word, rest)) = self.0.split_first_chunk() else { return 0 };
        self.0 = rest;
        u32::from_le_bytes(*word)
    }

    fn phases(&mut self) -> Phases {
        let mut phases = Phases::default();
        Phase::ALL.into_iter().for_each(|phase| *phases.phase_time_mut(phase) = self.number());
        phases
    }

    /// Two numbers; zeros if the flag is not set.
    fn pair(&mut self, flag: u64) -> [u64; 2] {
        if flag == 0 { [0; 2] } else { [self.number(), self.number()] }
    }
}

/// The end of an RPC that began at a time, without regard to retransmission.
fn usual_end(time: u64, latency: Option<u64>) -> Option<u64> {
    latency.map(|latency| time.wrapping_add(latency))
}

/// A difference as a number that is small for small differences of either sign.
const fn folded(difference: u64) -> u64 {
    let difference = difference.cast_signed();
    ((difference << 1) ^ (difference >> 63)).cast_unsigned()
}

const fn unfolded(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind {
        connection: 7,
        earlier: Name::from_number(8),
        tries: 3,
        client: Name::from_number(1),
        server: Name::from_number(2),
        user: Name::from_number(0),
        uid: None,
        machine: Name::from_number(0),
        procedure: Name::from_number(3),
        operation: Name::from_number(4),
        operations: Name::from_number(5),
        status: Name::from_number(6),
        status_number: Some(10_008),
        has_failed: true,
        unanswered: "unknown",
        is_wait_known: false,
    };

    fn row(number: u64) -> Row {
        let phases =
            Phases { call: 1, responder: number, rdma_read: 0, rdma_write: 1 << 33, reply: 127, requester: 128 };
        Row {
            kind: KIND,
            xid: 0xfeed_f00d,
            file: Name::from_number(number & 0xffff),
            folder: Name::from_number(number & 0xff),
            time: 1_763_683_200_500_000_000_u64.wrapping_sub(number),
            sending: number & 0xfff,
            latency: Some(phases.total()),
            ended: Some(1_763_683_200_500_000_000 + number),
            phases: Some(phases),
            recovery: Phases { rdma_write: number, ..Phases::default() },
            retransmitted: number,
            causes: CauseSet(number & 1 << 10),
            call: Some(1_000_000),
            reply: Some(1_000_003),
            read: 1 << 40,
            written: number,
        }
    }

    #[test]
    fn a_row_is_unpacked_as_it_was() {
        let phases = row(5).phases;
        let rows = [
            row(0),
            row(5),
            Row { phases: None, latency: Some(u64::MAX), reply: Some(3), ..row(1 << 20) },
            Row { ended: usual_end(row(5).time, row(5).latency), ..row(5) },
            Row {
                phases: None,
                latency: None,
                ended: None,
                call: None,
                reply: Some(u64::MAX),
                time: u64::MAX,
                ..row(0)
            },
            Row { phases: None, latency: None, ended: Some(0), ..row(7) },
            Row {
                call: None,
                reply: None,
                retransmitted: 0,
                recovery: Phases { call: 1, ..Phases::default() },
                read: 0,
                written: 0,
                time: 0,
                ..row(0)
            },
            Row { phases, causes: CauseSet(u64::MAX), ..row(5) },
        ];
        let mut block = Block::default();
        assert!(rows.iter().all(|row| block.push(row, 0)));
        for (place, expected) in rows.iter().enumerate() {
            assert_eq!(block.row(place, &[KIND]), Some(*expected), "{place}");
        }
        assert_eq!((block.row(rows.len(), &[KIND]), block.row(0, &[])), (None, None));
    }

    #[test]
    fn a_full_block_takes_no_row() {
        let mut block = Block::default();
        assert_eq!((0..2 * ROWS as u64).filter(|number| block.push(&row(*number), 0)).count(), ROWS);
        assert_eq!(block.row(ROWS - 1, &[KIND]), Some(row(ROWS as u64 - 1)));
        assert!(block.size() < ROWS * size_of::<Row>() / 3, "{}", block.size());
    }
}
