//! Results of a session for each step of the two ends. The tests stand for the carrier: they may give a step again when
//! another has come, and end a connection.

use std::collections::VecDeque;

use super::arrivals::Unacknowledged;
use super::call::{Call, CallSegment};
use super::recovery::WaitingIndication;
use super::sequence::{CurrentSend, Sequence};
use super::*;
use crate::carrier::acknowledgement::Acknowledgement;
use crate::carrier::connection::{Connection, Counts, Endpoint, RefusedAccess};
use crate::carrier::handler::Taken::{self, Done, Early};
use crate::carrier::operation::Side::{self, Active, Passive};
use crate::carrier::operation::{
    DISORDER, Operation, OperationKind, OperationType, Origin, Places, Sides, Stamp, StreamProgress,
};
use crate::carrier::recovery::{Indication, RecoveryKind};
use crate::event::{Event, MemoryUse, MemoryUseKind};
use crate::file::{SetBacks, Time};
use crate::link::{Address, Carrier};
use crate::rpc::credits::CreditLimit;
use crate::rpc::message::{Answered, Captured, Message};
use crate::rpc::not_rebuilt::{ChunkName, NotRebuilt};
use crate::rpc::phases::NotTimed;
use crate::rpc::placement::PlacedPart;
use crate::rpc::properties::{MessageDirection, Rpc};
use crate::rpc::steps::{PacketRun, StepsWanted};
use crate::rpc::transaction::Transaction;
use crate::rpc::waiting::{Delivery, LastStep, Owed, OwedUnknown, Step, WaitEnd, Waiting};

// --- Messages, word by word ----------------------------------------------------------------------------------------------

const MSG: u32 = 0;
const NOMSG: u32 = 1;
/// Three lists, all empty.
const NONE: [u32; 3] = [0; 3];
const NFS: u32 = 100_003;

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A message of version 1: its lists, its payload.
fn message(xid: u32, procedure: u32, lists: &[u32], payload: &[u32]) -> Vec<u8> {
    words(&[&[xid, 1, 32, procedure], lists, payload].concat())
}

fn call_of(xid: u32, program: u32) -> [u32; 10] {
    [xid, 0, 2, program, 3, 0, 0, 0, 0, 0]
}

/// A NULL of NFSv3, with these lists.
fn call(xid: u32, lists: &[u32]) -> Vec<u8> {
    message(xid, MSG, lists, &call_of(xid, NFS))
}

fn reply(xid: u32) -> Vec<u8> {
    message(xid, MSG, &NONE, &[xid, 1, 0, 0, 0, 0])
}

/// A Read chunk of one segment at offset 0.
fn read_chunk(position: u32, handle: u32, length: u32) -> [u32; 9] {
    [1, position, handle, length, 0, 0, 0, 0, 0]
}

/// A Read chunk with handle 7 and a Write chunk with handle 8, of four octets each.
const BOTH_CHUNKS: [u32; 15] = [1, 40, 7, 4, 0, 0, 0, 1, 1, 8, 4, 0, 0, 0, 0];

/// A Write chunk of one segment at offset 0.
fn write_chunk(handle: u32, length: u32) -> [u32; 9] {
    [0, 1, 1, handle, length, 0, 0, 0, 0]
}

/// A Reply chunk of one segment at offset 0.
fn reply_chunk(handle: u32, length: u32) -> [u32; 8] {
    [0, 0, 1, 1, handle, length, 0, 0]
}

/// A message of version 2, family A: no handle to invalidate, no chunks.
fn message_a(xid: u32, flags: u32, payload: &[u32]) -> Vec<u8> {
    words(&[&[xid, 2, 32, MSG, flags, 0, 0, 0, 0], payload].concat())
}

const RESPONSE: u32 = 1;
const MORE: u32 = 2;

// --- Steps ---------------------------------------------------------------------------------------------------------------

const fn send(data: &[u8]) -> OperationKind<'_> {
    part((true, true), data, data.len())
}

/// A Send of this length, as far as it was captured.
const fn cut(data: &[u8], length: usize) -> OperationKind<'_> {
    part((true, true), data, length)
}

/// The first part of a Send of several.
const fn begin(data: &[u8]) -> OperationKind<'_> {
    part((true, false), data, data.len())
}

/// The last one.
const fn end(data: &[u8]) -> OperationKind<'_> {
    part((false, true), data, data.len())
}

const fn part((first, last): (bool, bool), data: &[u8], length: usize) -> OperationKind<'_> {
    let progress = StreamProgress { sent: 0, received: None };
    OperationKind::Send { first, last, data, length, invalidates: None, progress }
}

const fn write(handle: u32, offset: u64, data: &[u8]) -> OperationKind<'_> {
    OperationKind::Write { handle, offset, data, length: data.len(), first: true }
}

const fn read(request: u64, handle: u32, length: u32) -> OperationKind<'static> {
    OperationKind::ReadRequest { request, handle, offset: 0, length }
}

const fn response(request: u64, data: &[u8]) -> OperationKind<'_> {
    OperationKind::ReadResponse { request, at: 0, data, length: data.len() }
}

const LOST: OperationKind<'static> = OperationKind::Lost;

/// A negative acknowledgement of this place in the data of an end.
const fn nak(of: Side, place: u64) -> OperationKind<'static> {
    OperationKind::Indication {
        of,
        place,
        sign: Indication::Recovery(RecoveryKind::SequenceError),
        operation: None,
        missing: None,
    }
}

/// A session, and what it has told.
struct Play {
    connection: Connection,
    session: Session,
    frame: u64,
    last_number: u32,
    steps: StepsWanted,
    placements: bool,
    events: VecDeque<Event>,
}

impl Play {
    /// A connection that is known to carry RPC-over-RDMA.
    fn new(set_up: bool) -> Self {
        let mut play = Self::unknown(set_up);
        play.with(|session, connection, context| session.recognise(connection, context));
        play.events.clear();
        play
    }

    /// A connection that may carry anything.
    fn unknown(set_up: bool) -> Self {
        let end = |host| Endpoint { address: Address::V4([192, 0, 2, host]), queue_pair: None, port: None };
        let ends = Sides { active: end(1), passive: end(2) };
        let connection = Connection { setup_captured: set_up, ..Connection::without_setup(1, Carrier::RoceV2, ends) };
        let (session, steps, events) = (Session::default(), StepsWanted::None, VecDeque::new());
        Self { connection, session, frame: 0, last_number: 0, steps, placements: false, events }
    }

    fn with<R>(&mut self, act: impl FnOnce(&mut Session, &Connection, &mut Context<'_>) -> R) -> R {
        let Self { connection, session, last_number, steps, placements, events, .. } = self;
        act(
            session,
            connection,
            &mut Context {
                transactions: true,
                operations: true,
                recovery: true,
                steps,
                placements: *placements,
                set_backs: &SetBacks::default(),
                port_pauses: 0,
                last_number,
                events,
            },
        )
    }

    fn give(&mut self, from: Side, kind: OperationKind<'_>, frame: u64, last: bool) -> Taken {
        self.give_again(from, kind, (frame, None), last)
    }

    /// The same; if this is a copy, what it holds was first sent at that time.
    fn give_again(
        &mut self,
        from: Side,
        kind: OperationKind<'_>,
        (frame, first_sent): (u64, Option<Time>),
        last: bool,
    ) -> Taken {
        let (stamp, places) = (Stamp { frame, time: Time(frame * 1000) }, Places::one(frame));
        let operation = Operation { from, stamp, began: stamp, retransmitted: 0, first_sent, places, kind };
        self.with(|session, connection, context| session.operation(connection, &operation, last, context))
    }

    /// The next frame, given for the first time.
    fn first(&mut self, from: Side, kind: OperationKind<'_>) -> Taken {
        self.frame += 1;
        self.give(from, kind, self.frame, false)
    }

    /// The next frame, given for the last time.
    fn step(&mut self, from: Side, kind: OperationKind<'_>) {
        self.frame += 1;
        assert_eq!(self.give(from, kind, self.frame, true), Done);
    }

    fn sends(&mut self, messages: &[(Side, Vec<u8>)]) {
        messages.iter().for_each(|(from, octets)| self.step(*from, send(octets)));
    }

    fn finish(&mut self) {
        self.with(|session, connection, context| session.finish(connection, WaitEnd::Capture, context));
    }

    fn let_go(&mut self, excess: usize) {
        self.with(|session, connection, context| session.let_go(connection, excess, context));
    }

    /// The connection ends, and one of the server's operations was refused.
    fn is_refused(&mut self) {
        let mut counts: Sides<Counts> = Sides::default();
        counts.active.refused = Some(RefusedAccess::Unknown);
        self.with(|session, connection, context| session.refused(connection, &counts, context));
    }

    fn told<'a, T>(&'a self, one: impl Fn(&'a Event) -> Option<T>) -> Vec<T> {
        self.events.iter().filter_map(one).collect()
    }

    fn messages(&self) -> Vec<&Message> {
        self.told(|event| if let Event::Message(message) = event { Some(message) } else { None })
    }

    fn transactions(&self) -> Vec<&Transaction> {
        self.told(|event| if let Event::Transaction(transaction) = event { Some(&**transaction) } else { None })
    }

    /// XIDs of the reported signs of loss.
    fn signs(&self) -> Vec<Option<u32>> {
        self.told(|event| if let Event::Recovery(recovered) = event { Some(recovered.xid) } else { None })
    }

    /// Uses of memory.
    fn uses(&self) -> Vec<MemoryUse> {
        self.told(|event| if let Event::Memory(told) = event { Some(**told) } else { None })
    }

    fn message(&self) -> &Message {
        self.messages().pop().unwrap()
    }

    /// Both ends acknowledge all that the other sent.
    fn acknowledge(&mut self) {
        [Active, Passive].into_iter().for_each(|by| self.accept(by, u64::MAX - 1));
    }

    /// An end acknowledges what the other sent, up to this place.
    fn accept(&mut self, by: Side, place: u64) {
        let by = Origin { from: by, stamp: Stamp::default() };
        let acknowledgement = Acknowledgement { place, is_bare: true };
        self.with(|session, _, context| session.acknowledged(by, acknowledgement, context));
    }

    /// The only RPC: whether its call and its reply are there.
    fn halves(&mut self) -> (bool, bool) {
        self.acknowledge();
        let [transaction] = self.transactions()[..] else { panic!("one") };
        (transaction.call.is_some(), transaction.reply.is_some())
    }

    /// Returns what the last message tells of the call that it answers.
    fn answered(&self) -> &Answered {
        self.message().detail.as_ref().unwrap().answers.as_ref().unwrap()
    }
}

#[test]
fn a_reply_counts_for_memory_until_it_is_acknowledged() {
    let mut play = Play::new(true);
    play.sends(&[(Active, call(1, &NONE))]);
    assert_eq!(play.session.arrivals.passive.memory_used(), 0);
    play.sends(&[(Passive, reply(1))]);
    let held = play.session.arrivals.passive.memory_used();
    assert!((size_of::<Transaction>()..4096).contains(&held), "{held}");
    // It is changed meanwhile.
    play.step(Active, nak(Passive, 2));
    assert_eq!(play.session.arrivals.passive.memory_used(), held);
    play.acknowledge();
    assert_eq!(play.session.arrivals.passive.memory_used(), 0);
}

// --- What has to wait for something that the capture holds later ---------------------------------------------------------

#[test]
fn only_what_speaks_of_something_not_seen_yet_is_early() {
    let null = |xid| (Active, call(xid, &NONE));
    let first_a = (Active, message_a(9, 0, &call_of(9, NFS)));
    let of_either = (Active, words(&[0, 2, 32, 6, 0]));
    let properties_a = |xid| (Active, words(&[xid, 2, 32, 5, 0, 0]));
    let properties_b = |xid| (Active, words(&[xid, 2, 32, 7, 0]));
    let provides = (Passive, message(1, NOMSG, &read_chunk(0, 7, 40), &[]));
    let refusal = |xid, version| words(&[xid, version, 32, 4, 1, 1, 1]);
    let error_a = |flags| words(&[1, 2, 32, 4, flags, 2]);
    let (call_a, reply_a) = ((Active, message_a(1, 0, &call_of(1, NFS))), message_a(1, RESPONSE, &[1, 1, 0, 0, 0, 0]));
    let part_a = (Active, message_a(1, MORE, &call_of(1, NFS)[..4]));
    let last_a = (Active, message_a(1, 0, &call_of(1, NFS)[4..]));
    let grant_a = (Active, words(&[0, 2, 32, 1, 0, 0, 0, 0, 0]));
    let rows = [
        ("a reply", vec![null(5)], Passive, reply(1), Early),
        ("a reply to a call", vec![null(1)], Passive, reply(1), Done),
        ("an error", vec![null(5)], Passive, words(&[1, 1, 32, 4, 2]), Early),
        ("a refusal of a version", vec![null(5)], Passive, refusal(1, 7), Early),
        ("such a refusal of a call", vec![null(1)], Passive, refusal(1, 7), Done),
        ("one of an XID alone", vec![(Active, words(&[1]))], Passive, refusal(1, 0), Done),
        ("an error for three words", vec![(Active, words(&[1, 1, 32]))], Passive, words(&[1, 1, 32, 4, 2]), Done),
        ("one for less than an XID", vec![(Active, vec![0, 0, 1])], Passive, words(&[1, 1, 32, 4, 2]), Early),
        ("such a refusal by the client", vec![], Active, refusal(1, 7), Done),
        ("a refusal of version 2", vec![], Passive, refusal(1, 2), Early),
        ("one of what may be no call", vec![of_either], Passive, refusal(1, 2), Done),
        ("a refusal of properties", vec![properties_b(0)], Passive, refusal(0, 2), Done),
        ("one of an older layout", vec![properties_a(0)], Passive, refusal(0, 2), Done),
        ("one with another XID", vec![properties_b(0)], Passive, refusal(1, 2), Early),
        ("what nobody can read", vec![null(5)], Passive, words(&[1, 1, 32, 9]), Done),
        ("RDMA_DONE for what was not asked for", vec![null(1), provides], Active, words(&[1, 1, 32, 3]), Done),
        ("an error of version 2", vec![first_a.clone()], Passive, error_a(RESPONSE), Early),
        ("one that does not say so", vec![first_a.clone()], Passive, error_a(0), Early),
        ("one of the client", vec![first_a.clone()], Active, error_a(RESPONSE), Done),
        ("a reply of version 2", vec![first_a.clone()], Passive, reply_a.clone(), Early),
        ("such a reply to a call", vec![first_a.clone(), call_a.clone()], Passive, reply_a, Done),
        ("an error for a call in parts", vec![first_a.clone(), part_a.clone()], Passive, error_a(RESPONSE), Early),
        (
            "one with a grant between the parts",
            vec![first_a.clone(), part_a.clone(), grant_a],
            Passive,
            error_a(RESPONSE),
            Early,
        ),
        (
            "one after a call in parts was answered",
            vec![first_a.clone(), part_a, last_a, (Passive, message_a(1, RESPONSE, &[1, 1, 0, 0, 0, 0]))],
            Passive,
            error_a(RESPONSE),
            Early,
        ),
        ("a grant", vec![first_a], Passive, words(&[0, 2, 32, 1, RESPONSE, 0, 0, 0, 0]), Done),
    ];
    for (name, before, from, octets, taken) in rows {
        let mut play = Play::new(true);
        play.sends(&before);
        assert_eq!(play.first(from, send(&octets)), taken, "{name}");
    }
}

/// Version 2: an error ends a Call before its last part, which may be on its way or not be sent at all.
#[test]
fn an_error_waits_for_the_rest_of_its_call() {
    let [null, other] = [9, 2].map(|xid| message_a(xid, 0, &call_of(xid, NFS)));
    let [first, second] = [4, 8].map(|end| message_a(1, MORE, &call_of(1, NFS)[end - 4..end]));
    for (name, next, taken) in [("another call", other, Done), ("the next part", second, Early)] {
        let mut play = Play::new(true);
        play.sends(&[(Active, null.clone()), (Active, first.clone())]);
        let error = words(&[1, 2, 32, 4, RESPONSE, 2]);
        assert_eq!(play.first(Passive, send(&error)), Early);
        play.sends(&[(Active, next)]);
        assert_eq!(play.first(Passive, send(&error)), taken, "{name}");
    }
}

#[test]
fn done_waits_for_what_was_asked_for() {
    let mut play = Play::new(true);
    play.sends(&[(Active, call(1, &NONE)), (Passive, message(1, NOMSG, &read_chunk(0, 7, 40), &[]))]);
    play.step(Active, read(1, 7, 40));
    let done = words(&[1, 1, 32, 3]);
    assert_eq!(play.first(Active, send(&done)), Early);
    play.step(Passive, response(1, &[0; 40]));
    assert_eq!(play.first(Active, send(&done)), Done);
}

#[test]
fn an_early_write_waits_only_where_no_call_was_missed() {
    for (set_up, loses, taken) in [(true, false, Done), (false, false, Early), (true, true, Early)] {
        let mut play = Play::new(set_up);
        assert_eq!(play.first(Passive, write(7, 0, &[1])), Early);
        if loses {
            play.step(Active, LOST);
        }
        let early = 1;
        play.sends(&[(Active, call(1, &write_chunk(7, 4)))]);
        assert_eq!(play.give(Passive, write(7, 0, &[1]), early, false), taken, "{set_up} {loses}");
        assert_eq!(play.first(Passive, write(7, 1, &[1])), Done, "behind its call");
    }
}

// --- Who asks and who answers --------------------------------------------------------------------------------------------

#[test]
fn a_long_reply_is_recognised_by_client_or_call() {
    let long_reply = message(1, NOMSG, &reply_chunk(7, 24), &[]);
    let mut play = Play::new(true);
    play.sends(&[(Passive, long_reply.clone())]);
    assert_eq!(play.halves(), (false, true), "its call was missed");
    // Nothing says which end is the client; the program is of no kind that would.
    let mut play = Play::new(false);
    let other_program = message(1, MSG, &reply_chunk(7, 24), &call_of(1, 400_000));
    play.sends(&[(Active, other_program), (Passive, long_reply)]);
    assert_eq!(play.halves(), (true, true));
}

#[test]
fn a_cut_message_of_the_client_is_a_call() {
    let mut play = Play::new(true);
    play.step(Active, cut(&words(&[1, 2, 32, MSG]), 80));
    play.sends(&[(Passive, words(&[1, 2, 32, 4, 1, 1, 1]))]);
    assert_eq!(play.halves(), (true, true));
}

#[test]
fn an_unreadable_reply_names_its_procedure_but_no_operations() {
    let mut play = Play::new(true);
    let put_root = [1, 0, 2, NFS, 4, 1, 0, 0, 0, 0, 0, 0, 1, 24];
    play.sends(&[(Active, message(1, MSG, &reply_chunk(7, 100), &put_root))]);
    assert_eq!(play.message().rpc.as_ref().unwrap().operations.len(), 1);
    play.sends(&[(Passive, message(1, NOMSG, &reply_chunk(7, 100), &[]))]);
    let Rpc { direction, name, operations, status, .. } = play.message().rpc.clone().unwrap();
    assert_eq!((direction, name, operations.len(), status), (MessageDirection::Reply, Some("NFSv4 COMPOUND"), 0, None));
}

/// Such a reply may return the Reply chunk of its call, which comes after the other chunks.
#[test]
fn a_responder_provided_reply_returns_the_reply_chunk() {
    let offered = [&BOTH_CHUNKS[..14], &[1, 1, 9, 100, 0, 0]].concat();
    for (handle, replies) in [(9, true), (8, false)] {
        let mut play = Play::new(true);
        play.sends(&[(Active, call(1, &offered))]);
        let lists = [&read_chunk(0, 5, 40)[..7], &[1, 1, 8, 0, 0, 0, 0, 1, 1, handle, 0, 0, 0]].concat();
        play.sends(&[(Passive, message(1, NOMSG, &lists, &[]))]);
        let direction = play.message().detail.as_ref().unwrap().direction;
        assert_eq!(direction == MessageDirection::Reply, replies, "{handle}");
    }
}

#[test]
fn an_unread_or_misplaced_position_zero_chunk_makes_no_reply() {
    let looks_like_a_reply = words(&[1, 1]);
    for (procedure, payload, pulled) in [(NOMSG, &[][..], &[][..]), (MSG, &[5, 5, 5], &looks_like_a_reply)] {
        let mut play = Play::new(true);
        play.sends(&[(Active, message(1, procedure, &read_chunk(0, 7, 8), payload))]);
        if !pulled.is_empty() {
            play.step(Passive, read(1, 7, 8));
            play.step(Active, response(1, pulled));
        }
        play.finish();
        assert_eq!(play.halves(), (true, false), "{procedure}");
    }
}

#[test]
fn an_unreadable_call_blames_its_header_or_the_capture() {
    for (octets, length, why) in
        [(words(&[1, 1, 32, 9]), 16, NotRebuilt::Header), (words(&[1, 1, 32, MSG]), 80, NotRebuilt::Send)]
    {
        let mut play = Play::new(true);
        play.step(Active, cut(&octets, length));
        play.finish();
        let [transaction] = play.transactions()[..] else { panic!("one") };
        assert_eq!(*transaction.call.as_ref().unwrap().message.as_ref().unwrap_err(), why);
    }
}

#[test]
fn the_arguments_of_a_long_call_alone_are_known_late() {
    let long = || (Active, message(1, NOMSG, &read_chunk(0, 7, 40), &[]));
    let null = words(&call_of(1, NFS));
    for (name, sent, pulled, late) in [
        ("a short call", (Active, call(1, &NONE)), None, false),
        ("a long call that was read", long(), Some(&null), true),
        ("one that was not", long(), None, false),
    ] {
        let mut play = Play::new(true);
        play.sends(&[sent]);
        if let Some(octets) = pulled {
            play.step(Passive, read(1, 7, 40));
            play.step(Active, response(1, octets));
        }
        play.sends(&[(Passive, reply(1))]);
        assert_eq!(play.answered().walked_late, late, "{name}");
    }
}

// --- How much is known of what was moved ---------------------------------------------------------------------------------

#[test]
fn what_is_moved_is_followed_where_the_responder_is_heard() {
    let asks = |from, xid| (from, call(xid, &write_chunk(7, 4)));
    let answers = |from, xid| (from, reply(xid));
    let rows = [
        ("set up, the server's first", true, vec![asks(Active, 1)], answers(Passive, 1), true),
        ("set up, the client's first", true, vec![asks(Passive, 1)], answers(Active, 1), true),
        ("not set up", false, vec![asks(Active, 1)], answers(Passive, 1), false),
        ("heard before", false, vec![answers(Passive, 5), asks(Active, 1)], answers(Passive, 1), true),
        (
            "the XID again, behind its reply",
            true,
            vec![asks(Active, 1), answers(Passive, 1), asks(Active, 1)],
            answers(Passive, 1),
            true,
        ),
        ("the XID again, without one", true, vec![asks(Active, 1), asks(Active, 1)], answers(Passive, 1), false),
    ];
    for (name, set_up, before, last, followed) in rows {
        let mut play = Play::new(set_up);
        play.sends(&before);
        play.sends(&[last]);
        assert_eq!(play.answered().moved.is_some(), followed, "{name}");
    }
}

#[test]
fn a_call_captured_after_its_reply_has_unknown_transfers() {
    for (frame, followed) in [(9, false), (11, true)] {
        let mut play = Play::new(true);
        for (from, octets, frame) in [(Active, call(1, &write_chunk(7, 4)), 10), (Passive, reply(1), frame)] {
            assert_eq!(play.give(from, send(&octets), frame, true), Done);
        }
        assert_eq!(play.answered().moved.is_some(), followed);
    }
}

/// A Send that the capture cuts may go on in another way than the one before it.
#[test]
fn an_identical_call_takes_over_the_transfers_of_the_first() {
    let octets = call(1, &write_chunk(7, 4));
    let (whole, longer) = (send(&octets), cut(&octets, octets.len() + 4));
    let other = call(1, &write_chunk(7, 8));
    for (name, first, second, moved) in [
        ("both whole", whole, whole, [0, 4]),
        ("the first one cut", longer, whole, [4, 0]),
        ("the second one cut", whole, longer, [4, 0]),
        ("another call", whole, send(&other), [4, 0]),
    ] {
        let mut play = Play::new(true);
        play.step(Active, first);
        play.step(Passive, write(7, 0, &[1; 4]));
        play.step(Active, second);
        play.finish();
        let octets: Vec<_> = play.transactions().iter().map(|rpc| rpc.write_octets).collect();
        assert_eq!(octets, moved, "{name}");
    }
}

/// Credits are those that the account counts.
#[test]
fn only_the_call_that_replaces_another_waits() {
    let mut play = Play::new(true);
    play.sends(&[(Active, call(1, &NONE)), (Active, call(1, &NONE))]);
    let (_, used) = play.message().credit_use.unwrap();
    assert_eq!((used.waiting, used.limit), (1, CreditLimit::Reached));
}

/// The rest of the call is missing, so it arrives with a place after those that are known.
#[test]
fn a_call_without_its_end_arrives_after_its_known_part() {
    for (place, delivery) in [(1, Delivery::Unknown), (2, Delivery::Accepted)] {
        let mut play = Play::new(true);
        play.step(Active, begin(&call(1, &NONE)));
        play.step(Active, LOST);
        play.accept(Passive, place);
        play.finish();
        assert_eq!(play.transactions()[0].waiting.unwrap().delivery, delivery, "{place}");
    }
}

/// An end of which nothing was captured may have done anything.
#[test]
fn who_owes_is_unknown_if_the_responder_was_unseen() {
    let missing = Owed::Unknown(OwedUnknown::DirectionMissing);
    let missed = Owed::Unknown(NotTimed::Missed.into());
    for (name, done, owed) in [
        ("nothing", None, missing),
        ("that packets were missed", Some(LOST), missing),
        ("an operation", Some(write(7, 0, &[1])), missed),
    ] {
        let mut play = Play::new(false);
        play.sends(&[(Active, call(1, &write_chunk(7, 4)))]);
        done.into_iter().for_each(|kind| play.step(Passive, kind));
        play.finish();
        assert_eq!(play.transactions()[0].waiting.unwrap().owed, owed, "{name}");
    }
}

/// A long call whose chunk is read in two halves.
#[test]
fn each_response_is_placed_behind_what_was_read_before_it() {
    let mut play = Play::unknown(true);
    play.placements = true;
    play.sends(&[(Active, message(1, NOMSG, &read_chunk(0, 7, 40), &[]))]);
    for (request, offset) in [(1, 0), (2, 20)] {
        play.step(Passive, OperationKind::ReadRequest { request, handle: 7, offset, length: 20 });
        play.step(Active, response(request, &words(&call_of(1, NFS))[offset as usize..][..20]));
    }
    play.sends(&[(Passive, reply(1))]);
    play.acknowledge();
    let placements = play.transactions()[0].placements.as_slice();
    let of_chunk = placements.iter().filter(|placement| placement.part == PlacedPart::Call);
    assert_eq!(of_chunk.map(|placement| (placement.frame, placement.at)).collect::<Vec<_>>(), [(3, 0), (5, 20)]);
}

/// InfiniBand throws away what follows a gap. The reply is in two packets, and the first of them came again after the second.
#[test]
fn a_reply_behind_a_gap_may_be_accepted_later() {
    let octets = reply(1);
    let (first, second) = octets.split_at(8);
    for (carrier, resent, is_known) in [
        (Carrier::RoceV2, Some(Time(4000)), false),
        (Carrier::RoceV2, None, true),
        (Carrier::Iwarp, Some(Time(4000)), true),
    ] {
        let mut play = Play::unknown(true);
        play.connection.carrier = carrier;
        play.sends(&[(Active, call(1, &NONE))]);
        assert_eq!(play.give_again(Passive, begin(first), (9, resent), true), Done);
        assert_eq!(play.give(Passive, end(second), 5, true), Done);
        play.acknowledge();
        let unknown = Some(NotTimed::ArrivalUnknown);
        assert_eq!(play.transactions()[0].phases.err() != unknown, is_known, "{carrier:?} {resent:?}");
    }
}

/// The first response is missing, so what is still to come is not known.
#[test]
fn nothing_is_owed_for_certain_if_a_response_was_missed() {
    for (answers, owed) in [(1, Owed::ReadResponse(2)), (2, Owed::Unknown(NotTimed::Missed.into()))] {
        let mut play = Play::new(true);
        // The responder is heard before, so that a reply would show.
        play.sends(&[(Active, call(5, &NONE)), (Passive, reply(5)), (Active, call(1, &read_chunk(40, 7, 4)))]);
        play.step(Passive, read(1, 7, 2));
        play.step(Passive, OperationKind::ReadRequest { request: 2, handle: 7, offset: 2, length: 2 });
        play.step(Active, response(answers, &[1; 2]));
        play.finish();
        let waiting = play.transactions().iter().find_map(|rpc| rpc.waiting).unwrap();
        assert_eq!(waiting.owed, owed, "{answers}");
    }
}

#[test]
fn an_unread_provided_reply_tells_both_last_steps() {
    let mut play = Play::new(true);
    play.sends(&[(Active, call(1, &NONE)), (Passive, message(1, NOMSG, &read_chunk(0, 7, 40), &[]))]);
    play.finish();
    let [transaction] = play.transactions()[..] else { panic!("one") };
    let Waiting { requester, responder, owed, .. } = transaction.waiting.unwrap();
    let frame = |last: LastStep| (last.step, last.stamp.frame);
    assert_eq!((frame(requester), responder.map(frame)), ((Step::Call, 1), Some((Step::Reply, 2))));
    assert_eq!(owed, Owed::ReadReply);
}

// --- Uses of memory ------------------------------------------------------------------------------------------------------

#[test]
fn an_unexplained_outside_operation_is_reported_once() {
    let mut play = Play::new(true);
    assert_eq!(play.first(Passive, write(7, 0, &[1])), Early);
    assert_eq!((play.uses().len(), play.session.unmatched_transfers), (0, 0));
    play.step(Passive, write(7, 0, &[1]));
    play.step(Passive, OperationKind::Write { handle: 7, offset: 1, data: &[1], length: 1, first: false });
    play.step(Passive, read(1, 8, 4));
    let handles: Vec<u32> = play.uses().iter().map(|told| told.handle).collect();
    assert_eq!((handles, play.session.unmatched_transfers), (vec![7, 8], 2));
}

#[test]
fn possible_capture_gaps_excuse_outside_operations() {
    let calls = |lists: &[&[u32]]| lists.iter().map(|lists| send_of(call(1, lists))).collect::<Vec<_>>();
    let (here, elsewhere) = (&write_chunk(7, 4)[..], &write_chunk(8, 4)[..]);
    let many: Vec<&[u32]> = core::iter::repeat_n(elsewhere, 66).collect();
    let (empty, null) = (message(1, MSG, here, &[]), call(1, &NONE));
    let lost = |from| vec![(from, None)];
    for (name, set_up, before, known) in [
        ("all is known", true, calls(&[&NONE]), true),
        ("the setup was missed", false, calls(&[&NONE]), false),
        ("a call of the same XID took the place of its call", true, calls(&[here, &NONE]), false),
        ("a call of the same XID took the place of another", true, calls(&[elsewhere, &NONE]), true),
        (
            "a call of the same XID took the place of one without an RPC",
            true,
            vec![send_of(empty), send_of(null)],
            true,
        ),
        ("the places of more calls were taken than are remembered", true, calls(&many), false),
        ("the client's packets were missed", true, lost(Active), false),
        ("the server's packets were missed", true, lost(Passive), false),
    ] {
        let mut play = Play::new(set_up);
        for (from, octets) in &before {
            play.step(*from, octets.as_ref().map_or(LOST, |octets| send(octets)));
        }
        play.step(Passive, write(7, 0, &[1]));
        let [told] = play.uses()[..] else { panic!("one") };
        assert_eq!(told.known, known, "{name}");
    }
}

/// A handle may be advertised again before the end of the call before it was seen.
#[test]
fn a_write_belongs_to_the_latest_call_that_contains_it() {
    for (octets, latest) in [(4, true), (8, false)] {
        let mut play = Play::new(true);
        play.sends(&[(Active, call(1, &write_chunk(7, 8))), (Active, call(2, &write_chunk(7, 4)))]);
        let held = [1, 2].map(|id| play.session.calls.get(id).unwrap().memory_used());
        play.step(Passive, write(7, 0, &[1; 8][..octets]));
        let outside = play.uses().iter().filter(|used| matches!(used.kind, MemoryUseKind::Outside { .. })).count();
        let grown: Vec<_> = [1, 2]
            .iter()
            .zip(held)
            .map(|(id, held)| play.session.calls.get(*id).unwrap().memory_used() > held)
            .collect();
        assert_eq!((outside, grown), (0, vec![!latest, latest]), "{octets}");
    }
}

#[test]
fn a_read_belongs_to_the_latest_call_that_contains_it() {
    for (octets, asked) in [(4, [0, 4]), (8, [8, 0])] {
        let mut play = Play::new(true);
        play.sends(&[(Active, call(1, &read_chunk(40, 7, 8))), (Active, call(2, &read_chunk(40, 7, 4)))]);
        play.step(Passive, read(1, 7, octets));
        assert_eq!([1, 2].map(|id| play.session.calls.get(id).unwrap().asked_octets), asked, "{octets}");
    }
}

/// A step of the client's: this Send.
fn send_of(octets: Vec<u8>) -> (Side, Option<Vec<u8>>) {
    (Active, Some(octets))
}

#[test]
fn an_outside_operation_names_the_answered_call_of_its_memory() {
    let mut play = Play::new(true);
    for xid in [1, 2] {
        play.sends(&[(Active, call(xid, &write_chunk(10 + xid, 8))), (Passive, reply(xid))]);
    }
    let places = [(11, 0), (11, 7), (11, 8), (12, 0), (13, 0)];
    places.iter().for_each(|(handle, offset)| play.step(Passive, write(*handle, *offset, &[1])));
    play.step(Passive, read(1, 11, 1));
    let answered = play.uses().into_iter().map(|told| {
        let MemoryUseKind::Outside { answered, .. } = told.kind else { panic!("{told:?}") };
        answered
    });
    assert_eq!(answered.collect::<Vec<_>>(), [Some(1), Some(1), None, Some(2), None, None]);
}

#[test]
fn only_a_reply_that_is_provided_is_pulled() {
    let mut play = Play::new(true);
    play.sends(&[(Active, call(1, &read_chunk(40, 7, 4)))]);
    play.step(Passive, read(1, 7, 4));
    play.step(Active, response(1, &[0; 4]));
    assert!(play.uses().is_empty(), "{:?}", play.uses());
    play.sends(&[(Passive, message(1, NOMSG, &read_chunk(0, 8, 40), &[]))]);
    assert_eq!(play.answered().call.xid(), 1);
    play.step(Active, read(2, 8, 40));
    let [told] = play.uses()[..] else { panic!("one") };
    assert_eq!((told.owner, told.kind), (Passive, MemoryUseKind::ReplyRead { xid: 1, length: 40 }));
}

#[test]
fn an_answered_read_was_not_the_one_refused() {
    let mut play = Play::new(true);
    play.sends(&[(Active, call(1, &BOTH_CHUNKS))]);
    play.step(Passive, read(1, 7, 4));
    play.step(Active, response(1, &[0; 4]));
    play.is_refused();
    assert!(play.uses().is_empty(), "{:?}", play.uses());
    play.step(Passive, write(8, 0, &[1]));
    play.is_refused();
    let [told] = play.uses()[..] else { panic!("one") };
    assert!(told.handle == 8 && told.known, "{told:?}");
}

#[test]
fn operations_before_the_first_message_may_belong_to_its_call() {
    let mut play = Play::unknown(false);
    play.step(Passive, write(8, 0, &[1; 4]));
    play.sends(&[(Active, call(1, &BOTH_CHUNKS)), (Passive, reply(1))]);
    assert_eq!(play.answered().moved, None);
}

/// Returns why a call with a Read chunk is not rebuilt whose requester's adapter refuses something after these steps of the two
/// ends.
fn refused_after(set_up: bool, steps: &[(Side, OperationKind<'_>)]) -> NotRebuilt {
    let mut play = Play::new(set_up);
    // The responder is heard before the call, so that it would show if the capture missed what it does next.
    play.sends(&[(Active, call(5, &NONE)), (Passive, reply(5)), (Active, call(1, &BOTH_CHUNKS))]);
    steps.iter().for_each(|(from, kind)| play.step(*from, *kind));
    play.is_refused();
    play.finish();
    let [_, transaction] = play.transactions()[..] else { panic!("two") };
    *transaction.call.as_ref().unwrap().message.as_ref().unwrap_err()
}

#[test]
fn requested_data_that_never_came_may_have_been_refused() {
    let chunk = ChunkName::Read(40);
    let refused = |first| NotRebuilt::Refused { chunk, first, length: 4 };
    let lacks = NotRebuilt::Chunk { chunk, captured: 0, length: 4 };
    let asked = (Passive, read(1, 7, 4));
    assert_eq!(refused_after(true, &[asked]), refused(0));
    assert_eq!(refused_after(true, &[asked, (Active, response(1, &[0; 3]))]), refused(3));
    let not_asked_for = NotRebuilt::NotMoved { chunk, first: 0, last: 3 };
    assert_eq!(refused_after(true, &[]), not_asked_for);
    assert_eq!(refused_after(true, &[(Active, LOST)]), not_asked_for, "the requester sends no RDMA Read request");
    assert_eq!(refused_after(true, &[(Passive, LOST)]), lacks, "the request may be in what was missed");
    assert_eq!(refused_after(false, &[asked]), lacks, "the refusal may belong to another connection");
    assert_eq!(refused_after(true, &[asked, (Active, LOST)]), lacks, "the data may be in what was missed");
    assert_eq!(refused_after(true, &[asked, (Passive, write(99, 0, &[1]))]), lacks, "that may be what was refused");
}

#[test]
fn what_was_refused_may_be_something_that_was_missed() {
    for (set_up, loses, known) in [(true, None, true), (false, None, false), (true, Some(Passive), false)] {
        let mut play = Play::new(set_up);
        play.sends(&[(Active, call(1, &write_chunk(7, 4)))]);
        play.step(Passive, write(7, 0, &[1]));
        loses.into_iter().for_each(|from| play.step(from, LOST));
        play.is_refused();
        let [told] = play.uses()[..] else { panic!("one") };
        assert_eq!(told.known, known, "{set_up} {loses:?}");
    }
}

// --- What was missed before a call -----------------------------------------------------------------------------------------

#[test]
fn a_call_with_possibly_missed_operations_is_not_timed() {
    let own = |frame| (frame, Passive, write(7, 0, &[1; 4]));
    let others = |first: u64| (first..first + 65).map(|frame| (frame, Passive, write(9, 0, &[1; 4])));
    let missed = Some(NotTimed::Missed);
    for (name, before, frame, not_timed) in [
        ("nothing", vec![], 10, None),
        ("an operation for its memory", vec![own(9)], 10, missed),
        ("one so long before that it cannot be", vec![own(1)], 1 + DISORDER + 1, None),
        ("one just as long before as it can be", vec![own(1)], 1 + DISORDER, missed),
        ("one just behind its memory", vec![(9, Passive, write(7, 4, &[1; 4]))], 10, None),
        ("one for other memory", others(9).take(1).collect(), 10, None),
        ("more operations than are remembered", others(1).collect(), 1 + DISORDER, missed),
        ("all of them long before", others(1).collect(), 1 + DISORDER + 1, None),
        ("a loss that was captured after it", vec![(11, Active, LOST)], 10, missed),
        ("a loss before it", vec![(9, Active, LOST)], 10, None),
    ] {
        let mut play = Play::new(true);
        before.iter().for_each(|(at, from, kind)| assert_eq!(play.give(*from, *kind, *at, true), Done));
        for (from, octets, frame) in [(Active, call(1, &write_chunk(7, 4)), frame), (Passive, reply(1), 9000)] {
            assert_eq!(play.give(from, send(&octets), frame, true), Done);
        }
        play.acknowledge();
        assert_eq!(play.transactions()[0].phases.err(), not_timed, "{name}");
    }
}

/// A reply that was missed would have ended the call that shares its memory with a later one.
#[test]
fn a_possibly_missed_reply_makes_handle_sharing_uncertain() {
    let asks = |xid| (Active, Some(call(xid, &write_chunk(7, 4))));
    let exchange = [(Active, Some(call(5, &NONE))), (Passive, Some(reply(5)))];
    for (name, steps, known) in [
        ("both are known", vec![asks(1), asks(2)], true),
        ("missed between them", vec![asks(1), (Passive, None), asks(2)], false),
        ("missed of the requester", vec![asks(1), (Active, None), asks(2)], false),
        ("missed before both", [&[(Passive, None)], &exchange[..], &[asks(1), asks(2)]].concat(), true),
        ("the responder not heard since", vec![(Passive, None), asks(1), asks(2)], false),
        (
            "its reply captured before it",
            [&exchange[..], &[(Passive, Some(reply(1))), asks(1), asks(2)]].concat(),
            false,
        ),
        ("another reply before it", [&exchange[..], &[(Passive, Some(reply(9))), asks(1), asks(2)]].concat(), true),
    ] {
        let mut play = Play::new(true);
        steps.iter().for_each(|(from, octets)| play.step(*from, octets.as_ref().map_or(LOST, |octets| send(octets))));
        let [told] = play.uses()[..] else { panic!("one") };
        assert!(matches!(told.kind, MemoryUseKind::Shared { xid: 2, with: 1, .. }), "{told:?}");
        assert_eq!(told.known, known, "{name}");
    }
}

/// A packet that was passed over may have been the reply to one of the first calls.
#[test]
fn handle_sharing_is_certain_long_after_a_skipped_packet() {
    for (before, known) in [(1, false), (4, true)] {
        let mut play = Play::unknown(true);
        play.step(Passive, write(7, 0, &[1]));
        for xid in 10..10 + before {
            play.step(Active, send(&call(xid, &NONE)));
            play.step(Passive, send(&reply(xid)));
        }
        (1..=2).for_each(|xid| play.step(Active, send(&call(xid, &write_chunk(7, 4)))));
        let uses = play.uses();
        let [.., told] = uses[..] else { panic!("one") };
        assert!(matches!(told.kind, MemoryUseKind::Shared { xid: 2, with: 1, .. }), "{told:?}");
        assert_eq!(told.known, known, "{before} calls before");
    }
}

/// An RDMA_NOMSG before it is known who calls may be a reply.
#[test]
fn a_message_without_direction_makes_handle_sharing_uncertain() {
    for (xid, known) in [(1, false), (9, true)] {
        let mut play = Play::unknown(false);
        play.step(Passive, send(&words(&[xid, 1, 32, 1, 0, 0, 1, 1, 9, 4, 0, 0])));
        for xid in 1..=2 {
            play.step(Active, send(&call(xid, &write_chunk(7, 4))));
        }
        let uses = play.uses();
        let [told] = uses[..] else { panic!("one") };
        assert!(matches!(told.kind, MemoryUseKind::Shared { xid: 2, with: 1, .. }), "{told:?}");
        assert_eq!(told.known, known, "{xid}");
    }
}

// --- Indications of loss -------------------------------------------------------------------------------------------------------

#[test]
fn an_indication_waits_for_the_call_at_its_position() {
    let mut play = Play::new(true);
    play.sends(&[(Active, call(1, &NONE))]);
    for place in [1, 2] {
        assert_eq!(play.give(Passive, nak(Active, place), 9, true), Done);
    }
    assert_eq!(play.signs(), [Some(1)], "the other one is for what comes next");
    play.sends(&[(Active, call(2, &NONE))]);
    assert_eq!(play.signs(), [Some(1), Some(2)]);
}

#[test]
fn an_indication_still_waiting_at_the_end_names_no_call() {
    let mut play = Play::new(true);
    play.sends(&[(Active, call(1, &NONE))]);
    play.step(Passive, nak(Active, 2));
    assert_eq!(play.signs(), []);
    assert_eq!(play.session.recoveries.memory_used(), size_of::<WaitingIndication>());
    play.finish();
    assert_eq!(play.signs(), [None]);
}

#[test]
fn an_indication_before_the_first_message_waits_for_one() {
    for (calls, expected) in [(&[][..], &[][..]), (&[(Active, call(1, &NONE))], &[Some(1)])] {
        let mut play = Play::unknown(true);
        play.step(Passive, nak(Active, 2));
        assert_eq!(play.session.recoveries.memory_used(), size_of::<WaitingIndication>());
        play.sends(calls);
        play.finish();
        assert_eq!(play.signs(), expected);
        assert_eq!(play.session.recoveries.memory_used(), 0);
    }
}

/// The server sends something between its two replies that the capture lacks.
#[test]
fn a_sign_for_what_was_missed_is_for_no_call() {
    let steps = [(Active, call(1, &NONE)), (Active, call(2, &NONE)), (Passive, reply(1))];
    for (place, xid) in [(3, Some(1)), (4, None), (7, None), (8, Some(2))] {
        let mut play = Play::new(true);
        play.sends(&steps);
        play.step(Passive, LOST);
        assert_eq!(play.give(Passive, send(&reply(2)), 8, true), Done);
        assert_eq!(play.give(Active, nak(Passive, place), 9, true), Done);
        assert_eq!(play.signs(), [xid], "{place}");
    }
}

/// Version 2: a call in three Sends, and a grant between them.
#[test]
fn an_indication_for_any_part_belongs_to_its_call() {
    let payload = call_of(1, NFS);
    let [first, second] = [&payload[..4], &payload[4..8]].map(|part| message_a(1, MORE, part));
    let (grant, last) = (words(&[0, 2, 32, 1, 0, 0, 0, 0, 0]), message_a(1, 0, &payload[8..]));
    let null = message_a(9, 0, &call_of(9, NFS));
    for (place, naks) in [(1, 0), (2, 1), (3, 1), (4, 0), (5, 1)] {
        let mut play = Play::new(true);
        play.sends(&[&null, &first, &second, &grant, &last].map(|octets| (Active, octets.clone())));
        play.step(Passive, nak(Active, place));
        play.sends(&[(Passive, message_a(1, RESPONSE, &[1, 1, 0, 0, 0, 0]))]);
        play.acknowledge();
        let told = play.transactions()[0].recovery.as_ref().map(|recovery| recovery.naks);
        assert_eq!(told, Ok(naks), "{place}");
    }
}

/// Responses have numbers of the other end over InfiniBand, and of their sender over iWARP.
#[test]
fn only_over_iwarp_has_a_response_its_own_position() {
    for (carrier, xid) in [(Carrier::RoceV2, Some(2)), (Carrier::Iwarp, Some(1))] {
        let mut play = Play::new(true);
        play.connection.carrier = carrier;
        play.sends(&[(Active, call(1, &read_chunk(40, 7, 4))), (Active, call(2, &NONE))]);
        play.step(Passive, read(1, 7, 4));
        play.step(Active, response(1, &[1; 4]));
        play.sends(&[(Active, call(3, &NONE))]);
        play.step(Passive, nak(Active, 4));
        assert_eq!(play.signs(), [xid], "{carrier:?}");
    }
}

/// A packet that was sent again, of a Send.
const fn again(from: Side, place: u64) -> OperationKind<'static> {
    let sign = Indication::Recovery(RecoveryKind::Retransmitted);
    OperationKind::Indication { of: from, place, sign, operation: Some(OperationType::Send), missing: None }
}

#[test]
fn a_retransmitted_packet_is_a_step_of_its_sender() {
    let mut play = Play::new(true);
    play.steps = StepsWanted::All;
    play.sends(&[(Active, call(1, &NONE))]);
    play.step(Active, again(Active, 1));
    assert_eq!(play.give(Passive, send(&reply(1)), 3, true), Done);
    assert_eq!(play.give(Passive, again(Passive, 3), 4, true), Done);
    play.acknowledge();
    let steps = play.transactions()[0].steps.as_ref().unwrap();
    let of_frame = |frame| steps.packets.iter().find(|packet| packet.first.frame == frame).unwrap().step;
    assert_eq!([2, 4].map(of_frame), [Some(Step::Call), Some(Step::Reply)]);
}

/// Two calls wait when the reply to the first is refused; the other end calls, too. Times are frames, in microseconds.
#[test]
fn a_credit_that_was_counted_too_early_is_counted_again() {
    let mut play = Play::new(true);
    play.sends(&[(Active, call(1, &NONE)), (Active, call(2, &NONE)), (Passive, reply(1)), (Passive, call(7, &NONE))]);
    assert_eq!(play.give(Active, nak(Passive, 3), 9, true), Done);
    let recounts = play.told(|event| if let Event::Recounted(recounted) = event { Some(*recounted) } else { None });
    let [recounted] = recounts[..] else { panic!("{recounts:?}") };
    assert_eq!((recounted.requester, recounted.since, recounted.waited_ns), (Active, Time(3000), 6000));
    assert_eq!(recounted.credit_use.waiting, 2);
}

/// Version 2: a grant may have the XID of a call.
#[test]
fn a_sign_for_a_grant_is_for_no_call() {
    for (place, naks) in [(2, 0), (3, 1)] {
        let mut play = Play::new(true);
        let grant = words(&[0, 2, 32, 1, 0, 0, 0, 0, 0]);
        let calls = [message_a(9, 0, &call_of(9, NFS)), grant, message_a(0, 0, &call_of(0, NFS))];
        play.sends(&calls.map(|octets| (Active, octets)));
        play.step(Passive, nak(Active, place));
        play.sends(&[(Passive, message_a(0, RESPONSE, &[0, 1, 0, 0, 0, 0]))]);
        play.acknowledge();
        assert_eq!(play.transactions()[0].recovery.as_ref().unwrap().naks, naks, "{place}");
    }
}

/// A sign that belongs to no known RPC may belong to each that waited at that time.
#[test]
fn an_uncertain_indication_leaves_the_certain_ones() {
    for (name, at, unassigned) in [
        ("before the call", 0, 0),
        ("between call and reply", 1, 1),
        ("between reply and acknowledgement", 2, 1),
        ("none", 9, 0),
    ] {
        let mut play = Play::new(true);
        // The client's packets before its first known place are unknown.
        play.frame = 4;
        play.sends(&[(Active, call(5, &NONE)), (Passive, reply(5))]);
        for (step, octets) in [(Active, call(1, &NONE)), (Passive, reply(1))].into_iter().enumerate() {
            if at == step {
                play.step(Passive, nak(Active, 2));
            }
            play.sends(&[octets]);
            if step == 0 {
                play.step(Active, again(Active, play.frame));
            }
        }
        if at == 2 {
            play.step(Passive, nak(Active, 2));
        }
        play.acknowledge();
        let [.., transaction] = &play.transactions()[..] else { panic!("two") };
        let recovery = transaction.recovery.as_ref().unwrap();
        assert_eq!((recovery.unassigned, recovery.retransmitted_packets), (unassigned, 1), "{name}");
    }
}

// --- Payload streams in several Sends ------------------------------------------------------------------------------------

/// The client sends these messages, then the end of a Call of family A, with these flags; the capture may miss its last
/// octets. How that is taken.
fn end_of_a_call(before: &[Vec<u8>], (flags, is_whole): (u32, bool)) -> Message {
    let (mut play, payload) = (Play::new(true), call_of(1, NFS));
    play.sends(&[(Active, message_a(9, 0, &call_of(9, NFS)))]);
    before.iter().for_each(|octets| play.step(Active, send(octets)));
    let octets = message_a(1, flags, &payload[4..]);
    if is_whole {
        play.step(Active, send(&octets));
    } else {
        play.step(Active, begin(&octets));
        play.step(Active, LOST);
    }
    play.message().clone()
}

#[test]
fn an_unreadable_message_does_not_separate_the_parts_around_it() {
    let first = message_a(1, MORE, &call_of(1, NFS)[..4]);
    let unreadable = words(&[1, 2, 32, 77, 0]);
    let last = end_of_a_call(&[first, unreadable], (0, true));
    assert_eq!((last.earlier_length(), last.earlier_missing()), (16, None));
    assert_eq!(last.rpc.unwrap().name, Some("NFSv3 NULL"));
}

#[test]
fn a_send_without_its_end_continues_an_open_stream() {
    let first = message_a(1, MORE, &call_of(1, NFS)[..4]);
    let last = end_of_a_call(std::slice::from_ref(&first), (0, false));
    assert_eq!((last.captured, last.earlier_missing()), (Captured::Head, Some(NotRebuilt::Earlier)));
    assert_eq!(end_of_a_call(&[], (0, false)).earlier, None, "none is open");
    assert_eq!(end_of_a_call(&[first], (MORE, false)).earlier, None, "it is no last part");
}

#[test]
fn at_most_16_mebibytes_of_a_stream_are_kept() {
    let keeps = |more: usize| {
        let (mut sequence, mut send) = (Sequence::default(), CurrentSend::default());
        let (start, rest) = (words(&call_of(1, NFS)), vec![0; (16 << 20) - 40 + more]);
        sequence.begin_payload(0, Stamp::default(), 1, &start);
        sequence.keep_part(0, &start, &send);
        sequence.keep_part(40, &rest, &send);
        sequence.finish((40 + rest.len()) as u64, &mut send).unwrap().missing
    };
    assert_eq!([keeps(0), keeps(1)], [None, Some(NotRebuilt::TooMuch)]);
}

#[test]
fn of_the_parts_behind_a_cut_one_nothing_is_kept() {
    let (mut sequence, mut send, start) = (Sequence::default(), CurrentSend::default(), words(&call_of(1, NFS)));
    sequence.begin_payload(0, Stamp::default(), 1, &start);
    sequence.keep_part(0, &start[..20], &send);
    sequence.keep_part(40, &[7; 8], &send);
    let earlier = sequence.finish(48, &mut send).unwrap();
    assert_eq!((&earlier.octets[..], earlier.length), (&start[..20], 48));
    assert_eq!(earlier.missing, Some(NotRebuilt::Earlier));
}

#[test]
fn packets_of_all_parts_are_steps_of_the_call() {
    let mut play = Play::unknown(true);
    play.steps = StepsWanted::All;
    let payload = call_of(1, NFS);
    let parts = [message_a(9, 0, &call_of(9, NFS)), message_a(1, MORE, &payload[..4]), message_a(1, 0, &payload[4..])];
    play.sends(&parts.map(|octets| (Active, octets)));
    play.sends(&[(Passive, message_a(1, RESPONSE, &[1, 1, 0, 0, 0, 0]))]);
    play.acknowledge();
    let packets = &play.transactions()[0].steps.as_ref().unwrap().packets;
    let frames: Vec<_> = packets.iter().map(|packet| (packet.step, packet.first.frame)).collect();
    assert_eq!(frames, [(Some(Step::Call), 2), (Some(Step::Call), 3), (Some(Step::Reply), 4)]);
}

// --- What a connection carries -------------------------------------------------------------------------------------------

#[test]
fn only_an_unmistakable_send_identifies_rpc_over_rdma() {
    let null = call(1, &NONE);
    let no_credit = words(&[&[1, 1, 0, NOMSG][..], &reply_chunk(7, 24)].concat());
    let rest = message(1, NOMSG, &reply_chunk(7, 24), &[5]);
    let external_b = |chunk: &[u32]| words(&[&[1, 2, 32, 8, 0], chunk, &NONE].concat());
    for (name, kind, is) in [
        ("a call", send(&null), true),
        ("the first part of what may be one", begin(&null), false),
        ("the last part", end(&null), false),
        ("a long reply", send(&message(1, NOMSG, &reply_chunk(7, 24), &[])), true),
        ("one without chunks", send(&message(1, NOMSG, &NONE, &[])), false),
        ("one that grants nothing", send(&no_credit), false),
        ("one with octets after it", send(&rest), false),
        ("a Call chunk", send(&external_b(&[1, 0, 7, 40, 0, 0, 0])), true),
        ("no Call chunk", send(&external_b(&[0])), false),
    ] {
        let mut play = Play::unknown(true);
        play.step(Active, kind);
        assert_eq!(play.session.number.is_some(), is, "{name}");
    }
}

#[test]
fn a_connection_is_whole_where_nothing_was_passed_over() {
    let null = call(1, &NONE);
    let passed_over = [send(&[1]), write(7, 0, &[1]), read(1, 7, 4), response(1, &[1]), LOST];
    let rows = [None].into_iter().chain(passed_over.map(Some));
    for before in rows {
        let mut play = Play::unknown(true);
        before.into_iter().for_each(|kind| play.step(Active, kind));
        play.step(Active, send(&null));
        let Some(Event::Opened(opened)) = play.events.front() else { panic!("{:?}", play.events) };
        assert_eq!(opened.whole, before.is_none(), "{before:?}");
    }
}

#[test]
fn only_messages_and_requests_show_that_an_end_is_heard() {
    for kind in [write(7, 0, &[1]), read(1, 7, 4), response(1, &[1]), LOST] {
        let mut play = Play::unknown(false);
        play.step(Passive, kind);
        assert!(!play.session.coverage.is_heard(Passive), "{kind:?}");
    }
    let mut play = Play::unknown(false);
    play.sends(&[(Active, call(1, &NONE))]);
    play.step(Passive, response(1, &[1]));
    assert_eq!([Active, Passive].map(|end| play.session.coverage.is_heard(end)), [true, false]);
}

// --- What is held --------------------------------------------------------------------------------------------------------

#[test]
fn a_send_without_its_end_is_told_at_the_end() {
    let mut play = Play::new(true);
    for from in [Active, Passive] {
        play.step(from, begin(&call(1, &NONE)));
    }
    assert!(play.messages().is_empty());
    play.finish();
    let told: Vec<_> = play.messages().iter().map(|message| (message.sender, message.captured)).collect();
    assert_eq!(told, [(Active, Captured::Head), (Passive, Captured::Head)]);
}

/// Two calls that wait, octets having moved for the second; then of each end a part of a Payload stream, and a Send without
/// its end.
fn full() -> Play {
    let mut play = Play::new(true);
    play.sends(&[(Active, call(1, &NONE)), (Active, call(2, &BOTH_CHUNKS))]);
    play.step(Passive, read(1, 7, 4));
    play.step(Passive, write(8, 0, &[1; 4]));
    for (from, xid) in [(Active, 3), (Passive, 4)] {
        play.step(from, send(&message_a(xid, MORE, &call_of(xid, NFS))));
        play.step(from, begin(&reply(5)));
    }
    play
}

#[test]
fn all_that_waits_is_counted_as_held() {
    let mut play = Play::new(true);
    let (part_of_a_stream, part_of_a_send) = (message_a(3, MORE, &call_of(3, NFS)), [0; 17]);
    let mut held = 0;
    for from in [Active, Passive] {
        for (kind, more) in [(send(&part_of_a_stream), 40), (begin(&part_of_a_send), 17)] {
            play.step(from, kind);
            held += more;
            assert_eq!(play.session.memory_used(), held);
        }
    }
}

#[test]
fn memory_of_a_call_counts_octets_segments_and_responses() {
    let mut play = Play::new(true);
    play.sends(&[(Active, call(1, &NONE)), (Active, call(2, &read_chunk(40, 8, 4)))]);
    let [one, two] = [1, 2].map(|id| play.session.calls.get(id).unwrap().memory_used());
    let timeline = play.session.calls.get(1).unwrap().timeline.memory_used();
    assert!(one - timeline >= size_of::<Call>() + size_of::<Unacknowledged>() + call(1, &NONE).len());
    let (header, segment) = (24, size_of::<CallSegment>());
    assert!((segment + header..2 * segment + header).contains(&(two - one)), "{}", two - one);
    let before = play.session.memory_used();
    play.step(Passive, read(1, 8, 1));
    play.step(Passive, read(2, 8, 1));
    assert!(play.session.memory_used() >= before + 2 * 24, "where the responses go");
    // A call in two parts: the payload of the first is beside the octets of the second.
    let (first, last) = (message_a(3, MORE, &call_of(3, NFS)[..4]), message_a(3, 0, &call_of(3, NFS)[4..]));
    let length = last.len();
    play.sends(&[(Active, first), (Active, last)]);
    assert_eq!(play.session.calls.get(3).unwrap().memory_used() - one, length + 16 - call(1, &NONE).len());
}

#[test]
fn what_is_answered_is_held_no_more() {
    let mut play = Play::new(true);
    play.sends(&[(Active, call(1, &write_chunk(7, 4))), (Active, call(2, &NONE))]);
    play.step(Passive, write(7, 0, &[1; 4]));
    assert!(play.session.memory_used() > 0);
    play.sends(&[(Passive, reply(2)), (Passive, reply(1))]);
    assert!(play.session.memory_used() > 0, "until the replies arrive");
    play.acknowledge();
    assert_eq!(play.session.memory_used(), 0);
}

/// Packets of an RPC take memory too, if they are kept.
#[test]
fn an_answered_call_keeps_no_packets() {
    let mut play = Play::new(true);
    play.steps = StepsWanted::All;
    play.sends(&[(Active, call(1, &write_chunk(7, 1000)))]);
    let before = play.session.memory_used();
    (0..100).for_each(|at| play.step(Passive, write(7, at * 4, &[1; 4])));
    assert!(play.session.memory_used() >= before + 100 * size_of::<PacketRun>());
    play.sends(&[(Passive, reply(1))]);
    play.acknowledge();
    assert_eq!(play.session.memory_used(), 0);
}

/// The memory is needed, and the capture goes on: a later copy of the reply would end the RPC.
#[test]
fn memory_pressure_ends_an_rpc_with_its_refused_reply() {
    for (excess, told) in [(0, 0), (1, 1)] {
        let mut play = Play::new(true);
        play.sends(&[(Active, call(1, &NONE)), (Passive, reply(1))]);
        play.step(Active, nak(Passive, 2));
        play.let_go(excess);
        let transactions = play.transactions();
        assert_eq!(transactions.len(), told, "no more than has to be");
        assert!(transactions.iter().all(|rpc| rpc.reply.is_some() && rpc.waiting.is_none()));
    }
}

#[test]
fn no_more_is_let_go_than_has_to_be() {
    let calls = |play: &Play| play.session.calls.range(..).count();
    let mut play = full();
    let all = play.session.memory_used();
    // First what was moved, then the oldest call.
    play.let_go(1);
    let overflowed = [1, 2].map(|id| play.session.calls.get(id).unwrap().overflowed);
    assert_eq!((calls(&play), overflowed), (2, [false, true]), "nothing was moved for the first");
    let data = all - play.session.memory_used();
    let oldest = play.session.calls.get(1).unwrap().memory_used();
    play.let_go(oldest);
    assert_eq!((calls(&play), play.session.memory_used()), (1, all - data - oldest), "just enough");
    let last = play.session.calls.get(2).unwrap().memory_used();
    play.let_go(last);
    assert_eq!((calls(&play), play.messages().len()), (0, 4), "the Sends go on");
    play.let_go(1);
    assert_eq!(play.session.memory_used(), 0, "in the end all of it");
    assert_eq!(play.messages().len(), 6);
}
