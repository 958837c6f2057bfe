//! Losses by direction, and the side of the capture on which the packets were lost.
//!
//! A loss is a gap: a packet that the receiver lacks until another copy arrives. Indications of a loss are a negative
//! acknowledgement, a time-out, or a retransmission whose cause was not captured; several indications of one gap are one
//! loss. A sender of InfiniBand also retransmits the packets behind the lost packet, so retransmitted packets are no
//! measure of loss.

use core::cmp::Reverse;
use std::collections::VecDeque;

use rpcrdma_dissector::{Address, AgainFor, MissingPacket, OperationType, Recovered, RecoveryKind};

use crate::format::number::{counted, grouped};
use crate::small_map::SmallMap;

/// The most directions that are told apart, and the most connections whose losses are counted apart.
const KEYS: usize = 1000;

/// The most gaps of one sender that are told apart.
const OPEN: usize = 64;

/// A sender and a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FromTo {
    from: Address,
    to: Address,
}

/// Place of a packet in the data that an end sends on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PacketPlace {
    sender: Address,
    number: u64,
}

impl PacketPlace {
    /// The place of the packet that an indication of loss is about.
    const fn from_recovered(recovered: &Recovered) -> Self {
        let (sender, number) = recovered.place;
        Self { sender, number }
    }
}

/// Losses in one direction.
#[derive(Clone, Copy, Debug, Default)]
struct DirectionLosses {
    /// Losses of packets, or of their acknowledgements.
    losses: u64,
    /// Packets that were retransmitted.
    again: u64,
    /// Losses of a packet that the capture does not hold from before.
    before_capture: u64,
    /// Losses of a packet that the capture holds, and the receiver reported as missing.
    behind_capture: u64,
    /// Losses behind the capture, or of an acknowledgement.
    unacknowledged: u64,
    /// Packets that were out of order or lost, which are not among `losses`.
    disordered: u64,
}

/// Losses of one sender on one connection.
#[derive(Clone, Debug, Default)]
struct SenderLosses {
    /// Gaps that nothing has filled.
    open: VecDeque<OpenLoss>,
    /// Reported losses of packets of which the capture holds a copy that may have been thrown away.
    reported: u64,
    /// Time-outs after which a packet came again that the capture holds from before.
    timed_out: u64,
    /// The capture lacked a packet that was retransmitted.
    has_replaced: bool,
    /// The TCP segment that filled a gap last.
    filled: Option<LastFill>,
    /// The responses to RDMA Read requests that were retransmitted last, one after the other.
    responses: Option<Responses>,
    /// The place of the last RDMA Read request that the receiver of these packets retransmitted.
    asked: Option<PacketPlace>,
}

/// Responses to RDMA Read requests, one after the other.
#[derive(Clone, Copy, Debug)]
struct Responses {
    first: PacketPlace,
    /// The place after the last response.
    end: u64,
}

/// A TCP segment that was retransmitted, and filled a gap or a part of one.
#[derive(Clone, Copy, Debug)]
struct LastFill {
    place: PacketPlace,
    /// The place after the last octet.
    end: u64,
}

/// A packet that was retransmitted.
#[derive(Clone, Copy, Debug)]
struct SentAgainPacket {
    place: PacketPlace,
    /// The place after a TCP segment.
    end: Option<u64>,
    /// The capture does not hold the packet from before.
    is_replaced: bool,
    /// The packet is a response to an RDMA Read request.
    is_response: bool,
    /// True if the sender goes back to the first missing packet, as InfiniBand does.
    goes_back: bool,
}

impl SentAgainPacket {
    fn new(recovered: &Recovered) -> Self {
        let Recovered { end, kind, operation, .. } = *recovered;
        let place = PacketPlace::from_recovered(recovered);
        let is_response = operation == Some(OperationType::ReadResponse);
        Self { place, end, is_replaced: kind == RecoveryKind::Replaced, is_response, goes_back: operation.is_some() }
    }
}

/// A lost packet that has not come again.
#[derive(Clone, Copy, Debug)]
struct OpenLoss {
    place: PacketPlace,
    /// The receiver reported the packet as missing.
    is_reported: bool,
    /// Copies of that packet that the capture held then, if that is known.
    missing: Option<MissingPacket>,
    /// Losses of the packet.
    times: u64,
    /// True if what follows the packet was retransmitted, and so the packet as well: the next indication is another loss.
    is_retransmission: bool,
    /// True if the packet was retransmitted just before: either that copy was lost, or the acknowledgement of that copy.
    is_again: bool,
}

impl OpenLoss {
    const fn new(place: PacketPlace, is_reported: bool, missing: Option<MissingPacket>) -> Self {
        Self { place, is_reported, missing, times: 1, is_retransmission: false, is_again: false }
    }
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
    directions: SmallMap<FromTo, DirectionLosses>,
    /// Open connections.
    senders: SmallMap<(u32, FromTo), SenderLosses>,
    signs: SignCounts,
}

impl Losses {
    pub(super) fn add_recovery(&mut self, recovered: &Recovered) {
        let Recovered { connection, from, to, kind, operation, .. } = *recovered;
        let place = PacketPlace::from_recovered(recovered);
        if operation == Some(OperationType::ReadRequest)
            && kind.is_retransmission()
            && let Some(responder) = self.senders.get_mut(&(connection, FromTo { from: to, to: from }))
        {
            responder.asked = Some(place);
        }
        let count = match kind {
            // Nothing was lost.
            _ if recovered.again_for == Some(AgainFor::NotReady) => return,
            RecoveryKind::Retransmitted | RecoveryKind::Replaced => {
                return self.sent_again(connection, FromTo { from, to }, SentAgainPacket::new(recovered));
            }
            RecoveryKind::SequenceError => &mut self.signs.naks,
            RecoveryKind::ImpliedNak => &mut self.signs.implied_naks,
            RecoveryKind::TimedOut { .. } => &mut self.signs.timeouts,
            RecoveryKind::CauseNotSeen => &mut self.signs.causes_not_seen,
            _ => return,
        };
        *count += 1;
        // A receiver reports what it lacks; a sender finds out by itself that nothing came back.
        let is_reported = matches!(kind, RecoveryKind::SequenceError | RecoveryKind::ImpliedNak);
        let direction = if is_reported { FromTo { from: to, to: from } } else { FromTo { from, to } };
        // An acknowledgement that overtakes responses which come again makes their requester ask once more.
        if kind == RecoveryKind::ImpliedNak
            && let Some(sender) = self.senders.get(&(connection, direction))
            && (sender.has_responded(place) || sender.has_yet_to_respond(place))
        {
            return;
        }
        self.lost(connection, direction, OpenLoss::new(place, is_reported, recovered.missing));
    }

    fn lost(&mut self, connection: u32, direction: FromTo, gap: OpenLoss) {
        let key = (connection, direction);
        if let Some(sender) = self.senders.value(key, KEYS)
            && !sender.lost(gap)
        {
            return;
        }
        if let Some(losses) = self.direction(direction) {
            losses.losses += 1;
        }
    }

    fn sent_again(&mut self, connection: u32, direction: FromTo, packet: SentAgainPacket) {
        let gap = self.senders.get_mut(&(connection, direction)).and_then(|sender| sender.sent_again(packet));
        if let Some(losses) = self.direction(direction) {
            losses.again += 1;
            if let Some(gap) = gap {
                losses.fill(gap, packet.is_replaced);
            }
        }
    }

    fn direction(&mut self, direction: FromTo) -> Option<&mut DirectionLosses> {
        self.directions.value(direction, KEYS)
    }

    /// Settles the losses of a connection that ended.
    pub(super) fn ended(&mut self, connection: u32, [one, other]: [Address; 2]) {
        for direction in [FromTo { from: one, to: other }, FromTo { from: other, to: one }] {
            if let Some(sender) = self.senders.remove(&(connection, direction))
                && let Some(losses) = self.direction(direction)
            {
                losses.settle(&sender);
            }
        }
    }

    /// Losses by direction, with what open connections show so far.
    fn settled(&self) -> SmallMap<FromTo, DirectionLosses> {
        let mut directions = self.directions.clone();
        for ((_, direction), sender) in self.senders.iter() {
            if let Some(losses) = directions.value(*direction, KEYS) {
                losses.settle(sender);
            }
        }
        directions
    }

    /// The number of losses by indication, and of the packets retransmitted because of losses, as a sentence.
    pub(super) fn summary(&self) -> Option<String> {
        let SignCounts { naks, implied_naks, timeouts, causes_not_seen } = self.signs;
        let signs = [
            (naks, counted(naks, "NAK")),
            (implied_naks, counted(implied_naks, "implied NAK")),
            (timeouts, counted(timeouts, "time-out")),
            (causes_not_seen, format!("{} of unknown cause", grouped(causes_not_seen))),
        ];
        let settled = self.settled();
        let sum = |of: fn(&DirectionLosses) -> u64| settled.values().map(of).sum::<u64>();
        let [losses, disordered, again] = [sum(|all| all.losses), sum(|all| all.disordered), sum(|all| all.again)];
        if losses == 0 && disordered == 0 && again == 0 {
            return None;
        }
        let signs: Vec<String> = signs.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text).collect();
        let (were, why) = match again {
            1 => ("was", ""),
            _ if again > losses + disordered && losses > 0 => ("were", ", including packets that followed a lost one"),
            _ => ("were", ""),
        };
        let packets = counted(again, "packet");
        if losses == 0 && disordered == 0 {
            return Some(format!("{packets} {were} retransmitted, after losses that are not counted here."));
        }
        let signs = if signs.is_empty() { String::new() } else { format!(" ({})", signs.join(", ")) };
        Some(format!("{}{signs}; {packets} {were} retransmitted{why}.", both(losses, disordered)))
    }

    /// The directions with the most losses, at most `most`, as sentences without sides of the capture: packets in a selection
    /// may have been retransmitted for losses before the selection.
    pub(super) fn counts(&self, most: usize) -> Vec<String> {
        self.most(most).iter().map(|(ends, direction)| direction.count(*ends)).collect()
    }

    /// The directions with the most losses, at most `most`, as sentences.
    pub(super) fn sentences(&self, most: usize) -> Vec<String> {
        let directions = self.most(most);
        let losses: u64 = directions.iter().map(|(_, direction)| direction.losses + direction.disordered).sum();
        directions.into_iter().map(|(ends, direction)| direction.sentence(ends, losses > 0)).collect()
    }

    /// The directions with the most losses, at most `most`.
    fn most(&self, most: usize) -> Vec<(FromTo, DirectionLosses)> {
        let mut directions: Vec<_> = self.settled().into_iter().collect();
        directions.sort_by_key(|(_, all)| Reverse((all.losses + all.disordered, all.again)));
        directions.truncate(most);
        directions
    }
}

impl SenderLosses {
    /// Takes an indication that the packet at a place was lost, which the receiver may have reported. Returns false if an earlier indication is of the
    /// same loss.
    fn lost(&mut self, mut new: OpenLoss) -> bool {
        let filled = self.filled.filter(|filled| filled.place.sender == new.place.sender);
        // A segment may fill the beginning of a gap only.
        if filled.is_some_and(|filled| filled.end == new.place.number) {
            return false;
        }
        new.is_again = filled.is_some_and(|filled| filled.place == new.place);
        if let Some(gap) = self.open.iter_mut().find(|gap| gap.place == new.place) {
            let is_another = std::mem::take(&mut gap.is_retransmission);
            gap.is_reported |= new.is_reported;
            gap.missing = gap.missing.or(new.missing);
            gap.times += u64::from(is_another);
            return is_another;
        }
        if self.open.len() == OPEN {
            self.open.pop_front();
        }
        self.open.push_back(new);
        true
    }

    /// A response is retransmitted.
    fn respond(&mut self, place: PacketPlace) {
        let end = place.number + 1;
        match self.responses.as_mut().filter(|last| last.first.sender == place.sender && last.end == place.number) {
            Some(last) => last.end = end,
            None => self.responses = Some(Responses { first: place, end }),
        }
    }

    /// Returns true if the response at a place is one of the last retransmitted responses: the requester may have asked again just before the response came.
    fn has_responded(&self, place: PacketPlace) -> bool {
        let is_among = |last: Responses| {
            last.first.sender == place.sender && (last.first.number..last.end).contains(&place.number)
        };
        self.responses.is_some_and(is_among)
    }

    /// Returns true if the response at a place follows the last retransmitted responses, and was requested together with these
    /// responses: the requester threw away a response behind a missing one, and asks once more before the response is
    /// retransmitted.
    fn has_yet_to_respond(&self, place: PacketPlace) -> bool {
        let is_due = |(last, asked): (Responses, PacketPlace)| {
            let is_of_sender = last.first.sender == place.sender && asked.sender == place.sender;
            is_of_sender && (last.end..=asked.number).contains(&place.number)
        };
        self.responses.zip(self.asked).is_some_and(is_due)
    }

    /// Takes a retransmitted packet: all gaps before the packet were retransmitted, too.
    fn go_on(&mut self, place: PacketPlace) {
        let is_before = |gap: &&mut OpenLoss| gap.place.sender == place.sender && gap.place.number < place.number;
        self.open.iter_mut().filter(is_before).for_each(|gap| gap.is_retransmission = true);
    }

    /// Takes a retransmitted packet. Returns the gap filled by the packet.
    fn sent_again(&mut self, packet: SentAgainPacket) -> Option<OpenLoss> {
        let SentAgainPacket { place, end, is_replaced, is_response, goes_back } = packet;
        if goes_back {
            self.go_on(place);
        }
        self.has_replaced |= is_replaced;
        if is_response {
            self.respond(place);
        }
        self.filled = end.map(|end| LastFill { place, end });
        let index = self.open.iter().position(|gap| gap.place == place)?;
        let gap = self.open.remove(index)?;
        if !is_replaced && gap.missing.is_none() {
            let count = if gap.is_reported { &mut self.reported } else { &mut self.timed_out };
            *count += 1;
        }
        Some(gap)
    }
}

impl DirectionLosses {
    /// Adds the losses of a connection that nothing more is said of.
    fn settle(&mut self, sender: &SenderLosses) {
        // A packet that was captured, and thrown away behind another one that was lost, may be lost before the capture when it is sent
        // again.
        if !sender.has_replaced {
            self.unacknowledged += sender.timed_out;
        }
        // Of several, the packet that asked for one again may be the lost one.
        if !sender.has_replaced && sender.reported == 1 {
            self.behind_capture += 1;
        }
        sender.open.iter().for_each(|gap| self.leave(*gap));
    }

    /// Counts the side of a loss whose packet came again; `is_replaced` is true if the capture lacked the packet.
    fn fill(&mut self, gap: OpenLoss, is_replaced: bool) {
        match (is_replaced, gap.missing) {
            (true, _) if gap.is_again => {}
            (true, _) => self.before_capture += gap.times,
            // Another copy may be lost on another side.
            (false, Some(MissingPacket::ThrownAway)) => self.before_capture += 1,
            (false, Some(MissingPacket::Captured)) => self.behind_capture += 1,
            // The first copy came after the report.
            (false, Some(MissingPacket::Late | MissingPacket::NotCaptured)) => self.disorder(),
            (false, _) => {}
        }
    }

    /// Counts a gap that the receiver had reported and nothing filled. If the packets behind the gap did not come again, the
    /// missing packet may have been late.
    fn leave(&mut self, gap: OpenLoss) {
        if gap.missing.is_some() && !gap.is_retransmission && gap.times == 1 {
            self.disorder();
        }
    }

    /// A packet that counts as a loss was out of order or lost.
    const fn disorder(&mut self) {
        self.losses = self.losses.saturating_sub(1);
        self.disordered += 1;
    }

    fn count(&self, FromTo { from, to }: FromTo) -> String {
        let (losses, again) = (both(self.losses, self.disordered), counted(self.again, "packet"));
        match (self.losses + self.disordered, self.again) {
            (0, _) => format!("From {from} to {to}: {again} retransmitted."),
            (_, 0) => format!("From {from} to {to}: {losses}."),
            _ => format!("From {from} to {to}: {losses}, {again} retransmitted."),
        }
    }

    /// A sentence; `has_others` says that another direction has losses, if this one has none.
    fn sentence(&self, FromTo { from, to }: FromTo, has_others: bool) -> String {
        let again = counted(self.again, "packet");
        match (self.losses, self.disordered) {
            (0, 0) if has_others => {
                format!("From {from} to {to}: {again} retransmitted, after losses in the other direction.")
            }
            (0, 0) => format!("From {from} to {to}: {again} retransmitted."),
            (0, disordered) => {
                format!("From {from} to {to}: {again} retransmitted after {}.", disordered_of(disordered))
            }
            (losses, disordered) => {
                let (losses, sides) = (losses_of(losses), self.sides(FromTo { from, to }));
                let disordered = match disordered {
                    0 => String::new(),
                    count => format!("; {}", disordered_of(count)),
                };
                format!("From {from} to {to}: {again} retransmitted after {losses}{sides}{disordered}.")
            }
        }
    }

    /// The sides of the capture on which packets were lost, if the capture shows the side.
    fn sides(&self, FromTo { from, to }: FromTo) -> String {
        let Self { losses, before_capture, behind_capture, unacknowledged, .. } = *self;
        // The other sides name the capture.
        let is_alone = before_capture + behind_capture + unacknowledged == 0;
        let unknown = if is_alone { "on an unknown side of the capture point" } else { "on an unknown side" };
        let sides = [
            (before_capture, format!("between {from} and the capture point")),
            (behind_capture, format!("between the capture point and {to}")),
            (unacknowledged, format!("between the capture point and {to} (or only the acknowledgement was lost)")),
            (losses.saturating_sub(before_capture + behind_capture + unacknowledged), unknown.to_owned()),
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

fn disordered_of(count: u64) -> String {
    format!("{} out of order or lost", counted(count, "packet"))
}

/// Losses, and packets that were out of order or lost, in words; a count of 0 is omitted.
fn both(losses: u64, disordered: u64) -> String {
    match (losses, disordered) {
        (_, 0) => losses_of(losses),
        (0, _) => disordered_of(disordered),
        _ => format!("{}, and {}", losses_of(losses), disordered_of(disordered)),
    }
}

#[cfg(test)]
mod tests {
    use rpcrdma_dissector::{Capture, Config, Event, Events, Stamp};

    use super::*;

    const CLIENT: Address = Address::Lid(1);
    const SERVER: Address = Address::Lid(2);

    /// An event of a capture, with another sender, kind and place.
    fn event(from: Address, place: u64, kind: RecoveryKind) -> Recovered {
        let capture = Capture::from_paths(["../../testdata/captures/situations/reply_not_ready.pcap"]);
        let mut config = Config::default();
        config.recovery = true;
        let mut events = Events::new(capture, config);
        let recovered = events.find_map(|event| match event.unwrap() {
            Event::Recovery(recovered) => Some(recovered),
            _ => None,
        });
        let mut event = recovered.unwrap();
        (event.stamp, event.connection) = (Stamp::default(), 1);
        (event.from, event.to) = (from, if from == CLIENT { SERVER } else { CLIENT });
        (event.kind, event.place) = (kind, (SERVER, place));
        (event.end, event.operation, event.times, event.again_for) = (None, None, None, None);
        (event.missing, event.refused) = (None, None);
        event
    }

    /// Losses of a connection, each event with a sender and a place in the server's packets. The connection ends if `is_over`.
    fn losses(events: &[(Address, u64, RecoveryKind)], is_over: bool) -> Vec<String> {
        // The capture holds what was reported, unless it comes later.
        let missing = |(_, place, kind): &(Address, u64, RecoveryKind)| {
            let is_replaced = events.iter().any(|(_, again, kind)| again == place && *kind == REPLACED);
            let missing = if is_replaced { MissingPacket::NotCaptured } else { MissingPacket::Captured };
            (*kind == NAK).then_some(missing)
        };
        let events = events.iter().map(|event| (event.0, event.1, event.2, missing(event)));
        losses_of_reports(&events.collect::<Vec<_>>(), is_over)
    }

    /// The same, with what the capture holds of a packet that is reported.
    fn losses_of_reports(events: &[(Address, u64, RecoveryKind, Option<MissingPacket>)], is_over: bool) -> Vec<String> {
        let mut losses = Losses::default();
        for (from, place, kind, missing) in events {
            let mut recovered = event(*from, *place, *kind);
            recovered.operation = kind.is_retransmission().then_some(OperationType::Send);
            recovered.missing = *missing;
            losses.add_recovery(&recovered);
        }
        if is_over {
            losses.ended(1, [CLIENT, SERVER]);
        }
        losses.summary().into_iter().chain(losses.sentences(3)).collect()
    }

    /// The server throws away the response 8 to RDMA Reads behind the missing response 5, and an acknowledgement makes the server ask for
    /// 8 once more before the client retransmits the response.
    #[test]
    fn responses_discarded_behind_a_missing_one_are_not_lost() {
        let request = Some(OperationType::ReadRequest);
        for (asked_again, expected) in [(8, "1 loss (2 implied NAKs)"), (7, "2 losses (2 implied NAKs)")] {
            let mut losses = Losses::default();
            let mut take = |from, place, kind, operation| {
                let mut recovered = event(from, place, kind);
                recovered.operation = operation;
                losses.add_recovery(&recovered);
            };
            take(SERVER, 5, RecoveryKind::ImpliedNak, request);
            (5..=asked_again).for_each(|place| take(SERVER, place, AGAIN, request));
            take(CLIENT, 5, AGAIN, Some(OperationType::ReadResponse));
            take(SERVER, 8, RecoveryKind::ImpliedNak, request);
            let said = losses.summary().unwrap();
            assert!(said.starts_with(expected), "{said}");
        }
    }

    const NAK: RecoveryKind = RecoveryKind::SequenceError;
    const TIMED_OUT: RecoveryKind = RecoveryKind::TimedOut { silence: 1 };
    const AGAIN: RecoveryKind = RecoveryKind::Retransmitted;
    const REPLACED: RecoveryKind = RecoveryKind::Replaced;

    #[test]
    fn only_the_requested_packet_shows_the_side_of_a_loss() {
        let again = |kind| [(CLIENT, 5, NAK), (SERVER, 5, kind), (SERVER, 6, AGAIN), (SERVER, 7, AGAIN)];
        for (kind, side) in
            [(AGAIN, "between the capture point and LID 1"), (REPLACED, "between LID 2 and the capture point")]
        {
            let expected = [
                "1 loss (1 NAK); 3 packets were retransmitted, including packets that followed a lost one.".to_owned(),
                format!("From LID 2 to LID 1: 3 packets retransmitted after 1 loss {side}."),
            ];
            assert_eq!(losses(&again(kind), true), expected);
            assert_eq!(losses(&again(kind), false), expected);
        }
        // The packet that was asked for is lost once more, and those behind it are there.
        let unknown = losses(&[(CLIENT, 5, NAK), (SERVER, 6, AGAIN)], true);
        assert_eq!(
            unknown[1],
            "From LID 2 to LID 1: 1 packet retransmitted after 1 loss on an unknown side of the capture point."
        );
    }

    #[test]
    fn packets_without_a_loss_of_their_own_are_no_losses() {
        let again = losses(&[(SERVER, 5, AGAIN), (SERVER, 6, AGAIN)], true);
        let expected = [
            "2 packets were retransmitted, after losses that are not counted here.",
            "From LID 2 to LID 1: 2 packets retransmitted.",
        ];
        assert_eq!(again, expected);
        for count in [0, 1, 2] {
            assert!(!losses_of(count).contains("losss"));
        }
    }

    /// Copies of a reported packet show the side, or that the packet was late.
    #[test]
    fn a_reported_packet_was_lost_beyond_where_it_was_seen() {
        use MissingPacket::{Captured, Late, NotCaptured, ThrownAway};
        for (missing, kind, expected) in [
            (Some(NotCaptured), REPLACED, "1 loss between LID 2 and the capture point."),
            (Some(ThrownAway), AGAIN, "1 loss between LID 2 and the capture point."),
            (Some(Captured), AGAIN, "1 loss between the capture point and LID 1."),
            (Some(Late), AGAIN, "1 packet out of order or lost."),
            // It came between the report and the retransmission.
            (Some(NotCaptured), AGAIN, "1 packet out of order or lost."),
            (None, AGAIN, "1 loss between the capture point and LID 1."),
        ] {
            let events = [(CLIENT, 7, NAK, missing), (SERVER, 7, kind, None), (SERVER, 8, AGAIN, None)];
            let found = losses_of_reports(&events, true);
            assert_eq!(
                found[1],
                format!("From LID 2 to LID 1: 2 packets retransmitted after {expected}"),
                "{missing:?}"
            );
            assert_eq!(losses_of_reports(&events, false), found);
        }
        let late = [Some(Late), None].map(|missing| [(CLIENT, 7, NAK, missing), (SERVER, 7, AGAIN, None)]);
        assert_eq!(
            losses_of_reports(&late.concat(), true),
            [
                "1 loss, and 1 packet out of order or lost (2 NAKs); 2 packets were retransmitted.",
                "From LID 2 to LID 1: 2 packets retransmitted after 1 loss between the capture point and LID 1; 1 packet out of order or lost.",
            ]
        );
    }

    /// The packet was not lost at all if the sender need not retransmit.
    #[test]
    fn a_reported_packet_not_retransmitted_may_be_out_of_order() {
        let found = losses(&[(CLIENT, 5, NAK)], true);
        assert_eq!(found[0], "1 packet out of order or lost (1 NAK); 0 packets were retransmitted.");
    }

    #[test]
    fn a_packet_lost_twice_before_it_returns_is_two_losses() {
        let events = [(CLIENT, 5, NAK), (SERVER, 6, AGAIN), (SERVER, 5, TIMED_OUT), (SERVER, 5, REPLACED)];
        assert!(
            losses(&events, true)[1].ends_with("2 losses between LID 2 and the capture point."),
            "{:?}",
            losses(&events, true)
        );
    }

    /// The receiver reports the gap, and no answer to that comes in time.
    #[test]
    fn several_signs_of_one_gap_are_one_loss() {
        for events in [
            &[(CLIENT, 5, NAK), (SERVER, 5, TIMED_OUT), (SERVER, 5, AGAIN)][..],
            &[(CLIENT, 5, NAK), (CLIENT, 5, NAK), (SERVER, 5, TIMED_OUT), (SERVER, 5, AGAIN)],
            // Another gap is reported meanwhile, and filled first.
            &[(CLIENT, 5, NAK), (CLIENT, 9, NAK), (SERVER, 5, TIMED_OUT), (SERVER, 5, AGAIN), (SERVER, 9, AGAIN)],
        ] {
            let gaps = events.iter().filter(|(.., kind)| *kind == AGAIN).count() as u64;
            let found = losses(events, true);
            assert!(found[0].starts_with(&format!("{} (", losses_of(gaps))), "{found:?}");
            assert!(
                found[1].ends_with(&format!("{} between the capture point and LID 1.", losses_of(gaps))),
                "{found:?}"
            );
        }
    }

    /// The response that is missing comes again after an acknowledgement, which makes the requester ask twice.
    #[test]
    fn an_implied_nak_during_a_retransmission_is_no_second_loss() {
        for (response, expected) in [(9, "1 loss ("), (10, "2 losses (")] {
            let mut losses = Losses::default();
            losses.add_recovery(&event(SERVER, 7, RecoveryKind::ImpliedNak));
            let mut again = event(CLIENT, response, AGAIN);
            again.operation = Some(OperationType::ReadResponse);
            losses.add_recovery(&again);
            losses.add_recovery(&event(SERVER, 9, RecoveryKind::ImpliedNak));
            let summary = losses.summary().unwrap();
            assert!(summary.starts_with(expected), "{summary}");
        }
    }

    /// A segment may fill only the beginning of a gap. If the segment is retransmitted once more, either that copy was lost or the acknowledgement.
    #[test]
    fn a_gap_that_tcp_fills_in_parts_is_one_loss() {
        let mut sender = SenderLosses::default();
        let gap = |place, is_reported| OpenLoss::new(PacketPlace { sender: SERVER, number: place }, is_reported, None);
        let again = |end| SentAgainPacket {
            place: PacketPlace { sender: SERVER, number: 100 },
            end: Some(end),
            is_replaced: true,
            is_response: false,
            goes_back: false,
        };
        assert!(sender.lost(gap(100, true)));
        assert!(sender.sent_again(again(180)).is_some_and(|gap| !gap.is_again));
        assert!(!sender.lost(gap(180, true)), "the rest of it");
        assert!(sender.lost(gap(100, false)));
        let mut losses = DirectionLosses::default();
        losses.fill(sender.sent_again(again(300)).unwrap(), true);
        assert_eq!((losses.before_capture, losses.behind_capture), (0, 0), "on an unknown side");
    }

    #[test]
    fn time_outs_show_the_side_only_in_complete_captures() {
        let timed_out = [(SERVER, 5, TIMED_OUT), (SERVER, 5, AGAIN)];
        let side = "1 loss between the capture point and LID 1 (or only the acknowledgement was lost).";
        assert!(losses(&timed_out, true)[1].ends_with(side) && losses(&timed_out, false)[1].ends_with(side));
        let both = losses(&[timed_out, [(SERVER, 9, TIMED_OUT), (SERVER, 9, REPLACED)]].concat(), true);
        let sides = "2 losses: 1 between LID 2 and the capture point, 1 on an unknown side.";
        assert_eq!(both[1], format!("From LID 2 to LID 1: 2 packets retransmitted after {sides}"));
    }

    #[test]
    fn connections_beyond_the_bound_have_losses_on_an_unknown_side() {
        let mut losses = Losses::default();
        let direction = FromTo { from: CLIENT, to: SERVER };
        let place = PacketPlace { sender: CLIENT, number: 1 };
        for connection in 0..2 * KEYS as u32 {
            losses.lost(connection, direction, OpenLoss::new(place, true, None));
            let packet = SentAgainPacket { place, end: None, is_replaced: true, is_response: false, goes_back: false };
            losses.sent_again(connection, direction, packet);
        }
        assert_eq!(losses.senders.len(), KEYS);
        let sides = "1,000 between LID 1 and the capture point, 1,000 on an unknown side.";
        assert!(losses.sentences(1)[0].ends_with(sides), "{:?}", losses.sentences(1));
    }
}
