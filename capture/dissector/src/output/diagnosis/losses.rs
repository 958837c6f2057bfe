//! Losses by direction, and the side of the capture on which they happened.
//!
//! A loss is a sign that a sender has to go back: a negative acknowledgement, a time-out, or a resend whose cause was not captured. A
//! sender of InfiniBand then also sends again what followed the lost packet, so packets that were sent again are no measure of loss.

use core::cmp::Reverse;
use std::collections::BTreeMap;

use crate::carrier::recovery::{AgainFor, RecoveryKind};
use crate::event::Recovered;
use crate::link::Address;
use crate::output::format::number::{counted, grouped};

/// The most directions that are told apart, and the most connections whose losses are counted apart.
const KEYS: usize = 1000;

/// A sender and a receiver.
type FromTo = (Address, Address);

/// Losses in one direction.
#[derive(Clone, Copy, Debug, Default)]
struct DirectionLosses {
    /// Losses of packets, or of their acknowledgements.
    losses: u64,
    /// Packets that were sent again.
    again: u64,
    /// Losses of a packet that the capture does not hold from before.
    before_capture: u64,
    /// Losses of a packet that the capture holds, and the receiver reported as missing.
    behind_capture: u64,
    /// Losses behind the capture, or of an acknowledgement.
    unacknowledged: u64,
}

/// Losses of one sender on one connection.
#[derive(Clone, Copy, Debug, Default)]
struct SenderLosses {
    losses: u64,
    /// The latest loss, until the lost packet comes again.
    latest: Option<LatestLoss>,
    /// Reported losses of packets that the capture holds from before.
    reported: u64,
    /// The first loss was one of these.
    is_first_reported: bool,
    /// Time-outs after which a packet came again that the capture holds from before.
    timed_out: u64,
    /// The capture lacked a packet that was sent again.
    has_replaced: bool,
}

/// A loss whose packet has not come again.
#[derive(Clone, Copy, Debug)]
struct LatestLoss {
    place: (Address, u64),
    /// The receiver said that it lacks the packet.
    is_reported: bool,
    /// Losses of the same packet, with those before.
    times: u64,
}

/// Signs of loss by their kind.
#[derive(Clone, Copy, Debug, Default)]
struct SignCounts {
    naks: u64,
    implied_naks: u64,
    timeouts: u64,
    causes_not_seen: u64,
}

/// Losses in all directions.
#[derive(Clone, Debug, Default)]
pub(super) struct Losses {
    directions: BTreeMap<FromTo, DirectionLosses>,
    /// Open connections.
    senders: BTreeMap<(u32, FromTo), SenderLosses>,
    signs: SignCounts,
}

impl Losses {
    pub(super) fn take(&mut self, recovered: &Recovered) {
        let Recovered { connection, from, to, place, kind, .. } = *recovered;
        let count = match kind {
            // Nothing was lost.
            _ if recovered.again_for == Some(AgainFor::NotReady) => return,
            RecoveryKind::SentAgain | RecoveryKind::Replaced => {
                return self.sent_again((connection, (from, to)), place, kind == RecoveryKind::Replaced);
            }
            RecoveryKind::SequenceError => &mut self.signs.naks,
            RecoveryKind::ImpliedNak => &mut self.signs.implied_naks,
            RecoveryKind::TimedOut { .. } => &mut self.signs.timeouts,
            RecoveryKind::CauseNotSeen => &mut self.signs.causes_not_seen,
            RecoveryKind::NotReady { .. } | RecoveryKind::Failed => return,
        };
        *count += 1;
        // A receiver reports what it lacks; a sender finds out by itself that nothing came back.
        let is_reported = matches!(kind, RecoveryKind::SequenceError | RecoveryKind::ImpliedNak);
        let direction = if is_reported { (to, from) } else { (from, to) };
        self.lost((connection, direction), LatestLoss { place, is_reported, times: 1 });
    }

    fn lost(&mut self, key: (u32, FromTo), loss: LatestLoss) {
        if let Some(losses) = self.direction(key.1) {
            losses.losses += 1;
        }
        if self.senders.len() < KEYS || self.senders.contains_key(&key) {
            let sender = self.senders.entry(key).or_default();
            sender.losses += 1;
            let before = sender.latest.filter(|latest| latest.place == loss.place).map_or(0, |latest| latest.times);
            sender.latest = Some(LatestLoss { times: before + loss.times, ..loss });
        }
    }

    fn sent_again(&mut self, key: (u32, FromTo), place: (Address, u64), is_replaced: bool) {
        let before = self.senders.get_mut(&key).map_or(0, |sender| sender.sent_again(place, is_replaced));
        if let Some(losses) = self.direction(key.1) {
            losses.again += 1;
            losses.before_capture += before;
        }
    }

    fn direction(&mut self, direction: FromTo) -> Option<&mut DirectionLosses> {
        let has_room = self.directions.len() < KEYS || self.directions.contains_key(&direction);
        has_room.then(|| self.directions.entry(direction).or_default())
    }

    /// Settles the losses of a connection that ended.
    pub(super) fn ended(&mut self, connection: u32, [one, other]: [Address; 2]) {
        for direction in [(one, other), (other, one)] {
            if let Some(sender) = self.senders.remove(&(connection, direction)) {
                self.settle(direction, sender);
            }
        }
    }

    fn settle(&mut self, direction: FromTo, sender: SenderLosses) {
        if let Some(losses) = self.direction(direction) {
            let (behind_capture, unacknowledged) = sender.behind_capture();
            losses.behind_capture += behind_capture;
            losses.unacknowledged += unacknowledged;
        }
    }

    /// The number of losses by their signs, and of the packets that were sent again because of them, as a sentence.
    pub(super) fn summary(&self) -> Option<String> {
        let SignCounts { naks, implied_naks, timeouts, causes_not_seen } = self.signs;
        let signs = [
            (naks, counted(naks, "NAK")),
            (implied_naks, counted(implied_naks, "implied NAK")),
            (timeouts, counted(timeouts, "time-out")),
            (causes_not_seen, format!("{} of unknown cause", grouped(causes_not_seen))),
        ];
        let losses = signs.iter().map(|(count, _)| count).sum();
        let again: u64 = self.directions.values().map(|direction| direction.again).sum();
        if losses == 0 && again == 0 {
            return None;
        }
        let signs: Vec<String> = signs.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text).collect();
        let (were, why) = match again {
            1 => ("was", ""),
            _ if again > losses && losses > 0 => ("were", ", also those that followed a lost one"),
            _ => ("were", ""),
        };
        let packets = counted(again, "packet");
        if losses == 0 {
            return Some(format!("{packets} {were} sent again, after losses that are not counted here."));
        }
        Some(format!("{} ({}); {packets} {were} sent again{why}.", losses_of(losses), signs.join(", ")))
    }

    /// The directions with the most losses, at most `most` of them, as sentences without sides of the capture: of a selection, the
    /// losses before it may be what packets in it were sent again for.
    pub(super) fn counts(&self, most: usize) -> Vec<String> {
        let mut directions: Vec<_> = self.directions.iter().collect();
        directions.sort_by_key(|(_, direction)| Reverse((direction.losses, direction.again)));
        directions.into_iter().take(most).map(|(ends, direction)| direction.count(*ends)).collect()
    }

    /// The directions with the most losses, at most `most` of them, as sentences.
    pub(super) fn sentences(&self, most: usize) -> Vec<String> {
        let mut settled = self.clone();
        while let Some(((_, direction), sender)) = settled.senders.pop_first() {
            settled.settle(direction, sender);
        }
        let mut directions: Vec<_> = settled.directions.into_iter().collect();
        directions.sort_by_key(|(_, direction)| Reverse((direction.losses, direction.again)));
        let losses: u64 = directions.iter().map(|(_, direction)| direction.losses).sum();
        directions.into_iter().take(most).map(|(ends, direction)| direction.sentence(ends, losses > 0)).collect()
    }
}

impl SenderLosses {
    /// Takes a packet that was sent again. Returns how many times it was lost before the capture.
    fn sent_again(&mut self, place: (Address, u64), is_replaced: bool) -> u64 {
        self.has_replaced |= is_replaced;
        let Some(loss) = self.latest.take_if(|loss| loss.place == place) else { return 0 };
        match (is_replaced, loss.is_reported) {
            (true, _) => return loss.times,
            (false, true) => {
                self.reported += 1;
                self.is_first_reported |= self.losses == 1;
            }
            (false, false) => self.timed_out += 1,
        }
        0
    }

    /// Losses behind the capture, and those behind it or of an acknowledgement.
    const fn behind_capture(&self) -> (u64, u64) {
        // A packet that was captured, and thrown away behind another one that was lost, may be lost before the capture when it
        // is sent again. Only before the first loss of a sender each packet is sent once.
        match self.has_replaced {
            true => (self.is_first_reported as u64, 0),
            false => (self.reported, self.timed_out),
        }
    }
}

impl DirectionLosses {
    fn count(&self, (from, to): FromTo) -> String {
        let (losses, again) = (losses_of(self.losses), counted(self.again, "packet"));
        match (self.losses, self.again) {
            (0, _) => format!("From {from} to {to}: {again} retransmitted."),
            (_, 0) => format!("From {from} to {to}: {losses}."),
            _ => format!("From {from} to {to}: {losses}, {again} retransmitted."),
        }
    }

    /// A sentence; `has_others` says that another direction has losses, if this one has none.
    fn sentence(&self, (from, to): FromTo, has_others: bool) -> String {
        let again = counted(self.again, "packet");
        match self.losses {
            0 if has_others => format!("From {from} to {to}: {again} sent again, after losses in the other direction."),
            0 => format!("From {from} to {to}: {again} sent again."),
            losses => {
                let (losses, sides) = (losses_of(losses), self.sides((from, to)));
                format!("From {from} to {to}: {again} sent again after {losses}{sides}.")
            }
        }
    }

    /// The sides of the capture on which packets were lost, as far as the capture shows them.
    fn sides(&self, (from, to): FromTo) -> String {
        let Self { losses, before_capture, behind_capture, unacknowledged, .. } = *self;
        let sides = [
            (before_capture, format!("between {from} and the capture")),
            (behind_capture, format!("between the capture and {to}")),
            (unacknowledged, format!("between the capture and {to} or of an acknowledgement")),
            (
                losses.saturating_sub(before_capture + behind_capture + unacknowledged),
                "on an unknown side of the capture".to_owned(),
            ),
        ];
        let sides: Vec<_> = sides.iter().filter(|(count, _)| *count > 0).collect();
        match &sides[..] {
            [(_, side)] => format!(" {side}"),
            sides => {
                let sides = sides.iter().map(|(count, side)| format!("{} {side}", grouped(*count)));
                format!(": {}", sides.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

fn losses_of(count: u64) -> String {
    counted(count, "loss")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::carrier::operation::Stamp;

    const CLIENT: Address = Address::Lid(1);
    const SERVER: Address = Address::Lid(2);

    /// Losses of a connection, each event with its sender and its place in what the server sends. The connection ends if `is_over`.
    fn losses(events: &[(Address, u64, RecoveryKind)], is_over: bool) -> Vec<String> {
        let mut losses = Losses::default();
        for (from, place, kind) in events {
            losses.take(&Recovered {
                stamp: Stamp::default(),
                connection: 1,
                from: *from,
                to: if *from == CLIENT { SERVER } else { CLIENT },
                kind: *kind,
                place: (SERVER, *place),
                operation: None,
                times: None,
                again_for: None,
                refused: None,
                xid: None,
                requester: None,
                client: None,
            });
        }
        if is_over {
            losses.ended(1, [CLIENT, SERVER]);
        }
        losses.summary().into_iter().chain(losses.sentences(3)).collect()
    }

    const NAK: RecoveryKind = RecoveryKind::SequenceError;
    const TIMED_OUT: RecoveryKind = RecoveryKind::TimedOut { silence: 1 };
    const AGAIN: RecoveryKind = RecoveryKind::SentAgain;
    const REPLACED: RecoveryKind = RecoveryKind::Replaced;

    #[test]
    fn the_packet_that_was_asked_for_shows_the_side_and_those_behind_it_do_not() {
        let again = |kind| [(CLIENT, 5, NAK), (SERVER, 5, kind), (SERVER, 6, AGAIN), (SERVER, 7, AGAIN)];
        for (kind, side) in [(AGAIN, "between the capture and LID 1"), (REPLACED, "between LID 2 and the capture")] {
            let expected = [
                "1 loss (1 NAK); 3 packets were sent again, also those that followed a lost one.".to_owned(),
                format!("From LID 2 to LID 1: 3 packets sent again after 1 loss {side}."),
            ];
            assert_eq!(losses(&again(kind), true), expected);
            assert_eq!(losses(&again(kind), false), expected);
        }
        // The packet that was asked for is lost once more, and those behind it are there.
        let unknown = losses(&[(CLIENT, 5, NAK), (SERVER, 6, AGAIN)], true);
        assert_eq!(
            unknown[1],
            "From LID 2 to LID 1: 1 packet sent again after 1 loss on an unknown side of the capture."
        );
    }

    #[test]
    fn packets_without_a_loss_of_their_own_are_no_losses() {
        let again = losses(&[(SERVER, 5, AGAIN), (SERVER, 6, AGAIN)], true);
        let expected = [
            "2 packets were sent again, after losses that are not counted here.",
            "From LID 2 to LID 1: 2 packets sent again.",
        ];
        assert_eq!(again, expected);
        for count in [0, 1, 2] {
            assert!(!losses_of(count).contains("losss"));
        }
    }

    /// The second packet that is asked for may have been lost before the capture, after it was thrown away.
    #[test]
    fn a_loss_after_another_one_is_on_an_unknown_side_if_the_capture_lacked_packets() {
        let first = [(CLIENT, 5, NAK), (SERVER, 5, REPLACED), (SERVER, 6, AGAIN), (SERVER, 8, AGAIN)];
        let second = [(CLIENT, 7, NAK), (SERVER, 7, AGAIN), (SERVER, 8, AGAIN)];
        let sides = "2 losses: 1 between LID 2 and the capture, 1 on an unknown side of the capture.";
        assert!(losses(&[first.as_slice(), &second].concat(), true)[1].ends_with(sides));
        let sides = "2 losses: 1 between LID 2 and the capture, 1 between the capture and LID 1.";
        assert!(losses(&[second.as_slice(), &first].concat(), true)[1].ends_with(sides));
        assert!(losses(&[second, second].concat(), true)[1].ends_with("2 losses between the capture and LID 1."));
    }

    #[test]
    fn a_packet_that_is_lost_twice_before_it_comes_again_is_two_losses() {
        let events = [(CLIENT, 5, NAK), (SERVER, 6, AGAIN), (SERVER, 5, TIMED_OUT), (SERVER, 5, REPLACED)];
        assert!(
            losses(&events, true)[1].ends_with("2 losses between LID 2 and the capture."),
            "{:?}",
            losses(&events, true)
        );
    }

    #[test]
    fn a_time_out_shows_the_side_only_if_the_capture_lacked_nothing() {
        let timed_out = [(SERVER, 5, TIMED_OUT), (SERVER, 5, AGAIN)];
        let side = "1 loss between the capture and LID 1 or of an acknowledgement.";
        assert!(losses(&timed_out, true)[1].ends_with(side) && losses(&timed_out, false)[1].ends_with(side));
        let both = losses(&[timed_out, [(SERVER, 9, TIMED_OUT), (SERVER, 9, REPLACED)]].concat(), true);
        let sides = "2 losses: 1 between LID 2 and the capture, 1 on an unknown side of the capture.";
        assert_eq!(both[1], format!("From LID 2 to LID 1: 2 packets sent again after {sides}"));
    }

    #[test]
    fn connections_beyond_the_bound_have_losses_on_an_unknown_side() {
        let mut losses = Losses::default();
        for connection in 0..2 * KEYS as u32 {
            losses.lost((connection, (CLIENT, SERVER)), LatestLoss { place: (CLIENT, 1), is_reported: true, times: 1 });
            losses.sent_again((connection, (CLIENT, SERVER)), (CLIENT, 1), true);
        }
        assert_eq!(losses.senders.len(), KEYS);
        let sides = "1,000 between LID 1 and the capture, 1,000 on an unknown side of the capture.";
        assert!(losses.sentences(1)[0].ends_with(sides), "{:?}", losses.sentences(1));
    }
}
