//! Assembles a Send from parts.

use super::step_log::SendPart;
use crate::carrier::operation::{Places, Stamp, StreamProgress};
use crate::file::Time;
use crate::rpc::message::Captured;

/// The most octets of a Send that are kept: the largest possible inline threshold (RFC 8797 section 4.2).
const LARGEST: usize = 262_144;
/// The most packets of a Send that are kept apart.
const PARTS: usize = 1024;

/// The frames between which something was captured. A retransmitted packet may have been captured behind later packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Span {
    /// The first.
    pub(crate) began: Stamp,
    /// The last.
    pub(crate) ended: Stamp,
    /// If a part came with a later copy: the time when that part, or what follows the part, was first sent.
    pub(crate) first_sent: Option<Time>,
}

impl Span {
    fn add_part(&mut self, Part { stamp, began, first_sent, .. }: &Part<'_>) {
        self.first_sent = self.first_sent.or(*first_sent);
        for stamp in [*stamp, *began] {
            if stamp.frame < self.began.frame {
                self.began = stamp;
            }
            if stamp.frame > self.ended.frame {
                self.ended = stamp;
            }
        }
    }
}

/// The parts of a Send so far.
#[derive(Clone, Debug)]
pub(crate) struct Assembled {
    /// Frame of the last part.
    pub(crate) stamp: Stamp,
    pub(crate) span: Span,
    pub(crate) octets: Vec<u8>,
    pub(crate) length: usize,
    pub(crate) captured: Captured,
    pub(crate) invalidates: Option<u32>,
    pub(crate) progress: StreamProgress,
    pub(crate) retransmitted: u32,
    pub(crate) places: Places,
    /// Packets of the Send, if packets are kept.
    pub(super) parts: Vec<SendPart>,
}

/// The Send that one end is sending.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    /// True if the packets of a Send are kept apart.
    pub(super) keeps_parts: bool,
    current: Option<Assembled>,
}

/// A part of a Send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    pub(crate) stamp: Stamp,
    /// The frame that first held octets of the Send.
    pub(crate) began: Stamp,
    pub(crate) first: bool,
    pub(crate) last: bool,
    pub(crate) data: &'a [u8],
    pub(crate) length: usize,
    pub(crate) invalidates: Option<u32>,
    pub(crate) progress: StreamProgress,
    pub(crate) retransmitted: u32,
    pub(crate) first_sent: Option<Time>,
    pub(crate) places: Places,
}

impl Assembly {
    /// Takes the next part. Returns the Sends that this part finishes: a Send whose rest will not come, and the Send of
    /// the part.
    pub(crate) fn part(&mut self, part: &Part<'_>) -> (Option<Assembled>, Option<Assembled>) {
        let unfinished = if part.first { self.abandon() } else { None };
        let captured = if part.first { Captured::Whole } else { Captured::Tail };
        let mut send = self.current.take().unwrap_or(Assembled {
            stamp: part.stamp,
            span: Span { began: part.stamp, ended: part.stamp, first_sent: None },
            octets: Vec::new(),
            length: 0,
            captured,
            invalidates: None,
            progress: part.progress,
            retransmitted: 0,
            places: part.places,
            parts: Vec::new(),
        });
        send.append(part);
        if self.keeps_parts {
            send.keep(part);
        }
        if part.last {
            return (unfinished, Some(send));
        }
        self.current = Some(send);
        (unfinished, None)
    }

    /// Memory used by the current Send, in octets.
    pub(crate) fn memory_used(&self) -> usize {
        self.current.as_ref().map_or(0, |send| send.octets.len() + send.parts.capacity() * size_of::<SendPart>())
    }

    /// Gives up the current Send because the next part is missing from the capture.
    pub(crate) fn abandon(&mut self) -> Option<Assembled> {
        let mut send = self.current.take()?;
        if send.captured != Captured::Tail {
            send.captured = Captured::Head;
        }
        Some(send)
    }
}

impl Assembled {
    /// Keeps where a part is.
    fn keep(&mut self, part: &Part<'_>) {
        let Part { stamp, length: octets, places, .. } = *part;
        let is_full = self.parts.len() == PARTS;
        match self.parts.last_mut().filter(|_| is_full) {
            Some(last) => last.octets += octets,
            None => self.parts.push(SendPart { stamp, octets, place: places.first }),
        }
    }

    fn append(&mut self, part: &Part<'_>) {
        self.stamp = part.stamp;
        self.span.add_part(part);
        self.length += part.length;
        self.invalidates = part.invalidates;
        self.progress = part.progress;
        self.retransmitted = self.retransmitted.max(part.retransmitted);
        self.places.end = part.places.end;
        if self.captured != Captured::Cut {
            let room = LARGEST.saturating_sub(self.octets.len());
            self.octets.extend_from_slice(part.data.get(..room.min(part.data.len())).unwrap_or_default());
        }
        if self.captured == Captured::Whole && self.octets.len() < self.length {
            self.captured = Captured::Cut;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(first: bool, last: bool, data: &[u8], length: usize) -> Part<'_> {
        let (stamp, progress) = (Stamp::default(), StreamProgress::default());
        Part {
            stamp,
            began: stamp,
            first,
            last,
            data,
            length,
            invalidates: None,
            progress,
            retransmitted: 0,
            first_sent: None,
            places: Places::default(),
        }
    }

    #[test]
    fn parts_become_a_send() {
        let mut assembly = Assembly::default();
        assert!(assembly.part(&part(true, false, &[1, 2], 2)).1.is_none());
        let (unfinished, send) = assembly.part(&part(false, true, &[3], 1));
        let send = send.unwrap();
        assert!(unfinished.is_none());
        assert_eq!((send.octets, send.length, send.captured), (vec![1, 2, 3], 3, Captured::Whole));
    }

    #[test]
    fn a_send_lasts_until_its_last_frame_in_any_order() {
        let mut assembly = Assembly::default();
        for (first, last, frame) in [(true, false, 6), (false, false, 7), (false, true, 5)] {
            let stamp = Stamp { frame, ..Stamp::default() };
            if let Some(send) = assembly.part(&Part { stamp, began: stamp, ..part(first, last, &[1], 1) }).1 {
                assert_eq!((send.span.began.frame, send.span.ended.frame, send.stamp.frame), (5, 7, 5));
                return;
            }
        }
        panic!("the Send has an end");
    }

    #[test]
    fn what_is_missing_is_said() {
        let mut assembly = Assembly::default();
        let tail = assembly.part(&part(false, true, &[3], 1)).1.unwrap();
        assert_eq!(tail.captured, Captured::Tail);
        assembly.part(&part(true, false, &[1, 2], 4));
        let cut = assembly.part(&part(false, true, &[3], 1)).1.unwrap();
        assert_eq!((cut.octets, cut.length, cut.captured), (vec![1, 2], 5, Captured::Cut));
        assembly.part(&part(true, false, &[1, 2], 2));
        let (head, whole) = assembly.part(&part(true, true, &[9], 1));
        assert_eq!(head.unwrap().captured, Captured::Head);
        assert_eq!(whole.unwrap().octets, [9]);
        assert!(assembly.abandon().is_none());
    }

    #[test]
    fn past_the_bound_the_last_part_has_the_remaining_octets() {
        let mut assembly = Assembly { keeps_parts: true, current: None };
        for number in 0..PARTS + 4 {
            assembly.part(&part(number == 0, false, &[1], 3));
        }
        assert!(assembly.memory_used() >= PARTS * size_of::<SendPart>());
        let parts = assembly.abandon().unwrap().parts;
        assert_eq!((parts.len(), parts[PARTS - 2].octets, parts[PARTS - 1].octets), (PARTS, 3, 5 * 3));
    }

    #[test]
    fn a_send_without_an_end_is_not_kept_whole() {
        let mut assembly = Assembly::default();
        let data = [0; 65_536];
        assembly.part(&part(true, false, &data, data.len()));
        for _ in 0..10 {
            assembly.part(&part(false, false, &data, data.len()));
        }
        let send = assembly.part(&part(false, true, &data, data.len())).1.unwrap();
        assert_eq!((send.octets.len(), send.length, send.captured), (LARGEST, 12 * 65_536, Captured::Cut));
    }
}
