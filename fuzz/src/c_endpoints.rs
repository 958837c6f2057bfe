//! Both endpoints through the C interface, with a driver and a network that may do anything.

use std::collections::{HashMap, VecDeque};
use std::mem::zeroed;
use std::{iter, slice};

use rpcrdma_capi::rpcrdma_status::{
    RPCRDMA_NO_ROOM, RPCRDMA_NOT_FOUND, RPCRDMA_NULL, RPCRDMA_OK, RPCRDMA_OTHER_BUILD, RPCRDMA_OVERLAP,
    RPCRDMA_TOO_LONG, RPCRDMA_UNALIGNED,
};
use rpcrdma_capi::*;
use rpcrdma_gen::{Choices, Format, Role, random};

/// Maximum number of events of a connection.
const EVENTS: usize = 300;
/// Maximum number of outputs that follow from one event.
const OUTPUTS: usize = 4096;
/// Octets of a Receive.
const RECEIVE: usize = 4096;
/// Maximum length of a message.
const LONGEST: u32 = 12_000;
/// Receives that either end has in version 2.
const ROOM: u32 = 8;

/// With the octets as a source of choices: whatever the driver reports and the network delivers, each output names
/// existing memory, a Receive is given back once, a buffer that is too small is not written, and each event has few
/// consequences.
///
/// # Panics
/// If this does not hold.
pub fn c_endpoints(octets: &[u8]) {
    let mut choices = Choices::of_octets(octets);
    let mut ends = Ends::new(&mut choices);
    // In version 2, each end first says what it is like.
    for side in [Side::Responder, Side::Requester] {
        ends.poll_channels();
        while let Some(octets) = ends.side_end(side).wire.pop_front() {
            ends.arrive(side, &octets, &mut Choices::of_octets(&[]));
        }
    }
    for _ in 0..EVENTS.min(octets.len() / 8) {
        if ends.is_over {
            // Whatever is reported now is refused, or changes nothing.
            ends.event(&mut choices);
            break;
        }
        ends.event(&mut choices);
        ends.poll_channels();
        ends.poll(&mut choices, Side::Requester);
        ends.poll(&mut choices, Side::Responder);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Requester,
    Responder,
}

/// State of one end. The endpoint and the channel are in memory of exactly their size, so that a sanitiser sees other
/// accesses.
#[derive(Default)]
struct End {
    endpoint: Vec<u64>,
    channel: Vec<u64>,
    /// Sends on their way to this end.
    wire: VecDeque<Vec<u8>>,
    /// The Receives that the endpoint has.
    receives: HashMap<u32, Box<[u8]>>,
    /// The Payload streams of Calls, or of replies, by the number of the call.
    streams: HashMap<u64, Stream>,
    /// Reports that the driver still has to make.
    begun: Vec<rpcrdma_input>,
}

/// A Payload stream: the start, and the length. The rest is zeros.
#[derive(Clone, Default)]
struct Stream {
    head: Vec<u8>,
    length: u64,
}

impl Stream {
    fn part(&self, range: rpcrdma_range) -> impl Iterator<Item = u8> {
        let (from, length) = (range.from as usize, range.length as usize);
        assert!(u64::from(range.from) + u64::from(range.length) <= self.length, "{range:?} of {} octets", self.length);
        // No Send is that long.
        self.head.iter().copied().chain(iter::repeat(0)).skip(from).take(length.min(RECEIVE))
    }
}

struct Ends {
    version: u32,
    requester: End,
    responder: End,
    /// Names of calls, from either end.
    calls: Vec<u64>,
    delivered: Vec<u64>,
    /// Numbers that were not used before: XIDs, Receives and handles.
    last: u32,
    /// True if an endpoint has ended the connection.
    is_over: bool,
}

/// Returns the status, which is never about pointers or the build: both are sound here.
fn sound(status: rpcrdma_status) -> rpcrdma_status {
    let faults = [RPCRDMA_NULL, RPCRDMA_UNALIGNED, RPCRDMA_OVERLAP, RPCRDMA_TOO_LONG, RPCRDMA_OTHER_BUILD];
    assert!(!faults.contains(&status), "{status:?}");
    status
}

/// Memory of this many octets, which has to be a multiple of eight.
fn memory(octets: usize) -> Vec<u64> {
    assert_eq!(octets % 8, 0);
    vec![0xa5a5_a5a5_a5a5_a5a5; octets / 8]
}

fn input(kind: u32, call: u64) -> rpcrdma_input {
    // SAFETY: zeros are numbers and null pointers.
    rpcrdma_input { kind, call, ..unsafe { zeroed() } }
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A number that is often at a limit.
fn any(choices: &mut Choices<'_>) -> u32 {
    match choices.below(4) {
        0 => choices.below(9),
        1 => u32::MAX - choices.below(3),
        2 => choices.below(LONGEST),
        _ => choices.word(),
    }
}

impl Ends {
    fn new(choices: &mut Choices<'_>) -> Self {
        let version = *choices.one_of(&[RPCRDMA_VERSION_1, RPCRDMA_VERSION_2A, RPCRDMA_VERSION_2B]).unwrap_or(&1);
        let threshold = if choices.below(2) == 0 { 1024 } else { 4096 };
        let terms = rpcrdma_terms {
            call_threshold: threshold,
            reply_threshold: threshold,
            flags: choices.below(2),
            version,
            formats: RPCRDMA_FORMATS_ALL,
        };
        let limits =
            rpcrdma_limits { read_chunks: 2, write_chunks: 2, segments: 64, octets: 1 << 20, collected: 1 << 20 };
        let mut requester =
            End { endpoint: memory(rpcrdma_requester_size(RPCRDMA_CALLS, RPCRDMA_SEGMENTS)), ..End::default() };
        let mut responder = End { endpoint: memory(rpcrdma_responder_size(RPCRDMA_CALLS)), ..End::default() };
        let segment = 4 * (1 + choices.below(2000));
        // SAFETY: memory of the length that is said, and structures that live on.
        unsafe {
            let (pointer, length) = (requester.endpoint.as_mut_ptr(), requester.endpoint.len() * 8);
            let status = rpcrdma_requester_init(pointer.cast(), length, &terms, 4, segment, RPCRDMA_BUILD);
            assert_eq!(status, RPCRDMA_OK);
            let (pointer, length) = (responder.endpoint.as_mut_ptr(), responder.endpoint.len() * 8);
            let status = rpcrdma_responder_init(pointer.cast(), length, &terms, &limits, 4, RPCRDMA_BUILD);
            assert_eq!(status, RPCRDMA_OK);
            let mut properties: rpcrdma_properties = zeroed();
            assert_eq!(rpcrdma_default_properties(&mut properties), RPCRDMA_OK);
            for (end, side) in [(&mut requester, RPCRDMA_CLIENT), (&mut responder, RPCRDMA_SERVER)] {
                end.channel = memory(rpcrdma_channel_size());
                let (pointer, length) = (end.channel.as_mut_ptr().cast(), end.channel.len() * 8);
                let status = rpcrdma_channel_init(pointer, length, side, version, &properties, RPCRDMA_BUILD);
                assert_eq!(status, RPCRDMA_OK);
            }
        }
        Self { version, requester, responder, calls: Vec::new(), delivered: Vec::new(), last: 0, is_over: false }
    }

    fn side_end(&mut self, side: Side) -> &mut End {
        match side {
            Side::Requester => &mut self.requester,
            Side::Responder => &mut self.responder,
        }
    }

    fn next_number(&mut self) -> u32 {
        self.last += 1;
        self.last
    }

    /// The number of a call, most often of one that there was.
    fn any_call(&self, choices: &mut Choices<'_>) -> u64 {
        if choices.below(8) == 0 {
            return choices.number();
        }
        self.calls.iter().rev().nth(choices.below(6) as usize).copied().unwrap_or_default()
    }

    fn event(&mut self, choices: &mut Choices<'_>) {
        let side = if choices.below(2) == 0 { Side::Requester } else { Side::Responder };
        match choices.below(12) {
            0 | 1 => self.call(choices),
            2 | 3 => {
                if let Some(octets) = self.side_end(side).wire.pop_front() {
                    self.arrive(side, &octets, choices);
                }
            }
            4 => self.report(side, choices),
            5 => {
                // All that was begun comes to its end.
                for _ in 0..self.side_end(side).begun.len() {
                    self.report(side, choices);
                }
            }
            6 | 7 => self.answer(choices),
            8 => self.arrive_anything(side, choices),
            9 => self.change_settings(choices),
            10 => {
                let kinds = [3, 4, 5, 6, 7, 8, 11, 12, 13, 14, choices.below(16)];
                let mut input = input(*choices.one_of(&kinds).unwrap_or(&0), self.any_call(choices));
                (input.region, input.handle, input.xid) = (choices.below(5), choices.below(40), choices.below(40));
                (input.error, input.words) = (choices.below(14), [any(choices), any(choices)]);
                if ![RPCRDMA_IN_RECEIVED, RPCRDMA_IN_RECEIVED_INVALIDATING].contains(&input.kind) {
                    self.handle(side, &input);
                }
            }
            _ => self.withdraw(choices),
        }
    }

    fn handle(&mut self, side: Side, input: &rpcrdma_input) -> rpcrdma_status {
        let endpoint = self.side_end(side).endpoint.as_mut_ptr();
        // SAFETY: an endpoint that was initialised, and octets that live as long as the call.
        sound(match side {
            Side::Requester => unsafe { rpcrdma_requester_handle(endpoint.cast(), input) },
            Side::Responder => unsafe { rpcrdma_responder_handle(endpoint.cast(), input) },
        })
    }

    fn call(&mut self, choices: &mut Choices<'_>) {
        let xid = self.next_number();
        let mut stream = words(&[xid, 0, 2, 400_000, 1, 1, 0, 0, 0, 0]);
        let head = stream.len() as u32;
        let sizes = [(1, 1), (200, 200), (LONGEST / 4, 200), (200, LONGEST / 4)];
        let (longest, reply) = *choices.one_of(&sizes).unwrap_or(&(1, 1));
        stream.resize((head + 4 * choices.below(longest)) as usize, 0);
        let most = *choices.one_of(&[0, 0, 1, 3]).unwrap_or(&0);
        let mut items = Vec::new();
        for _ in 0..choices.below(most) {
            let whole = choices.below(8) > 0;
            let (position, length) = if whole { (44, 4 * choices.below(900)) } else { (any(choices), any(choices)) };
            items.push(rpcrdma_item { position, length });
        }
        let results: Vec<u32> = (0..choices.below(most)).map(|_| choices.below(LONGEST)).collect();
        let call = rpcrdma_call {
            head: stream.as_ptr(),
            head_length: stream.len(),
            length: if choices.below(16) == 0 { any(choices) } else { stream.len() as u32 },
            reply_length: if choices.below(16) == 0 { any(choices) } else { 24 + 4 * choices.below(reply) },
            arguments: items.as_ptr(),
            arguments_count: items.len(),
            results: results.as_ptr(),
            results_count: results.len(),
            largest_capacity: choices.below(2 * LONGEST),
        };
        let (requester, mut id) = (self.requester.endpoint.as_mut_ptr().cast(), 0);
        // SAFETY: an endpoint that was initialised; lists of the lengths that are said.
        let status = sound(unsafe {
            if choices.below(8) == 0 {
                rpcrdma_requester_call_one_way(requester, call.head, call.head_length, call.length, &mut id)
            } else {
                rpcrdma_requester_call(requester, &call, &mut id)
            }
        });
        if status == RPCRDMA_OK {
            self.calls.push(id);
            self.requester.streams.insert(id, Stream { head: stream, length: call.length.into() });
        }
    }

    /// A Send arrives, cut or changed now and then. In version 2, the channel finds the receiver.
    fn arrive(&mut self, side: Side, octets: &[u8], choices: &mut Choices<'_>) {
        let mut octets = octets.to_vec();
        match choices.below(40) {
            39 => octets.truncate(choices.below(octets.len() as u32) as usize),
            38 => {
                let (word, value) = (choices.below(octets.len() as u32 / 4) as usize, any(choices));
                octets
                    .chunks_exact_mut(4)
                    .skip(word)
                    .take(1)
                    .for_each(|word| word.copy_from_slice(&value.to_be_bytes()));
            }
            _ => {}
        }
        octets.truncate(RECEIVE);
        let (octets, channel) = (octets.into_boxed_slice(), self.side_end(side).channel.as_mut_ptr().cast());
        if self.version != RPCRDMA_VERSION_1 {
            // SAFETY: zeros are numbers. A channel that was initialised; octets that are there.
            let arrival = unsafe {
                let mut arrival: rpcrdma_arrival = zeroed();
                let status = rpcrdma_channel_received(channel, octets.as_ptr(), octets.len(), &mut arrival);
                assert_eq!(sound(status), RPCRDMA_OK);
                arrival
            };
            match arrival.kind {
                RPCRDMA_ARRIVED_REPLY | RPCRDMA_ARRIVED_CALL | RPCRDMA_ARRIVED_CALL_PART => {}
                RPCRDMA_ARRIVED_BROKEN_REPLY | RPCRDMA_ARRIVED_BROKEN_CALL => {
                    let mut input = input(RPCRDMA_IN_BROKEN, 0);
                    (input.xid, input.error, input.words) = (arrival.xid, arrival.error, arrival.words);
                    self.handle(side, &input);
                    return;
                }
                RPCRDMA_ARRIVED_PROPERTIES => return self.agree(side),
                _ => return,
            }
        }
        let receive = self.next_number();
        let mut input = input(RPCRDMA_IN_RECEIVED, 0);
        if side == Side::Requester && choices.below(64) == 0 {
            (input.kind, input.handle) = (RPCRDMA_IN_RECEIVED_INVALIDATING, choices.below(40));
        }
        (input.receive, input.octets, input.length) = (receive, octets.as_ptr(), octets.len());
        if self.handle(side, &input) == RPCRDMA_OK {
            self.side_end(side).receives.insert(receive, octets);
        }
    }

    fn arrive_anything(&mut self, side: Side, choices: &mut Choices<'_>) {
        let format = match self.version {
            RPCRDMA_VERSION_2A => Format::V2a,
            RPCRDMA_VERSION_2B => Format::V2b,
            _ => Format::V1,
        };
        let role = if side == Side::Requester { Role::Reply } else { Role::Call };
        let octets = random(choices, format, role).octets;
        self.arrive(side, &octets, choices);
    }

    fn agree(&mut self, side: Side) {
        let (channel, endpoint) =
            (self.side_end(side).channel.as_mut_ptr().cast(), self.side_end(side).endpoint.as_mut_ptr());
        // SAFETY: zeros are numbers. A channel and an endpoint that were initialised.
        unsafe {
            let (mut calls, mut answers): (rpcrdma_terms, rpcrdma_terms) = zeroed();
            if sound(rpcrdma_channel_terms(channel, RPCRDMA_REMOTE_INVALIDATION, &mut calls, &mut answers))
                != RPCRDMA_OK
            {
                return;
            }
            sound(match side {
                Side::Requester => rpcrdma_requester_agree(endpoint.cast(), &calls),
                Side::Responder => rpcrdma_responder_agree(endpoint.cast(), &answers),
            });
        }
    }

    /// Reports something that was asked for: as done, or as what cannot be done.
    fn report(&mut self, side: Side, choices: &mut Choices<'_>) {
        let begun = &mut self.side_end(side).begun;
        if begun.is_empty() {
            return;
        }
        let mut input = begun.swap_remove(choices.below(begun.len() as u32) as usize);
        input.kind = match (input.kind, choices.below(8)) {
            (RPCRDMA_IN_REGISTERED, 0) => RPCRDMA_IN_NOT_REGISTERED,
            (RPCRDMA_IN_COMPLETED, 0) => RPCRDMA_IN_NOT_POSTED,
            (RPCRDMA_IN_COMPLETED, 1) => RPCRDMA_IN_POSTPONED,
            (kind, _) => kind,
        };
        self.handle(side, &input);
        if input.kind == RPCRDMA_IN_POSTPONED {
            input.kind = RPCRDMA_IN_RESUMED;
            self.side_end(side).begun.push(input);
        }
    }

    fn answer(&mut self, choices: &mut Choices<'_>) {
        let Some(call) = self.delivered.pop() else { return };
        let responder = self.responder.endpoint.as_mut_ptr().cast();
        let (mut xid, mut length, mut padding) = (0, 0, [rpcrdma_range { from: 0, length: 0 }; RPCRDMA_CALL_CHUNKS]);
        // SAFETY: an endpoint that was initialised, and memory that can be written.
        let status = sound(unsafe { rpcrdma_responder_find(responder, call, &mut xid, &mut length, &mut padding) });
        if status == RPCRDMA_OK {
            for range in padding {
                assert!(range.length <= 3 && range.from + range.length <= length);
            }
        }
        let mut stream = words(&[xid, 1, 0, 0, 0, 0]);
        let longest = *choices.one_of(&[1, 50, LONGEST / 4]).unwrap_or(&1);
        stream.resize(24 + 4 * choices.below(longest) as usize, 0);
        let mut items = Vec::new();
        for _ in 0..choices.below(3) {
            let whole = choices.below(4) > 0;
            let (position, length) = if whole { (28, 4 * choices.below(900)) } else { (any(choices), any(choices)) };
            items.push(rpcrdma_item { position, length });
        }
        let reply = rpcrdma_reply {
            head: stream.as_ptr(),
            head_length: stream.len(),
            length: if choices.below(16) == 0 { any(choices) } else { stream.len() as u32 },
            flags: choices.below(2),
            results: items.as_ptr(),
            results_count: items.len(),
        };
        let (mut form, how) = (0, choices.below(8));
        // SAFETY: the same, and lists of the lengths that are said.
        let status = sound(unsafe {
            match how {
                0 => rpcrdma_responder_refuse(responder, call),
                1 => rpcrdma_responder_forget(responder, call),
                _ => rpcrdma_responder_reply(responder, call, &reply, &mut form),
            }
        });
        if status != RPCRDMA_OK {
            // It has to be answered in some other way.
            self.delivered.push(call);
        } else if how > 1 && form != RPCRDMA_FORM_REFUSED {
            self.responder.streams.insert(call, Stream { head: stream, length: reply.length.into() });
        }
    }

    /// Settings that a driver changes, and questions that a driver asks.
    fn change_settings(&mut self, choices: &mut Choices<'_>) {
        let (requester, responder) =
            (self.requester.endpoint.as_mut_ptr().cast(), self.responder.endpoint.as_mut_ptr().cast());
        let limits = rpcrdma_segment_limits { octets: any(choices), count: any(choices) };
        // SAFETY: zeros are numbers. Endpoints that were initialised, and memory that can be written.
        unsafe {
            sound(match choices.below(10) {
                0 => rpcrdma_requester_limit_segments(requester, &limits),
                1 => rpcrdma_requester_limit(requester, any(choices), any(choices)),
                2 => rpcrdma_requester_continue(requester, any(choices)),
                3 => rpcrdma_requester_read_provided_replies(requester),
                4 => rpcrdma_requester_count(requester, &mut zeroed()),
                5 => rpcrdma_responder_limit(responder, choices.below(5), any(choices).max(512)),
                6 => rpcrdma_responder_grant(responder, choices.below(40)),
                7 => rpcrdma_responder_provide_replies(responder, choices.below(40)),
                8 => rpcrdma_responder_refuse_xid(responder, choices.below(40)),
                _ => rpcrdma_responder_count(responder, &mut zeroed()),
            });
        }
    }

    /// Ends something that was begun; now and then the connection.
    fn withdraw(&mut self, choices: &mut Choices<'_>) {
        let call = self.any_call(choices);
        let (requester, responder) =
            (self.requester.endpoint.as_mut_ptr().cast(), self.responder.endpoint.as_mut_ptr().cast());
        match choices.below(100) {
            // SAFETY: endpoints that were initialised.
            0..50 => _ = sound(unsafe { rpcrdma_requester_cancel(requester, call) }),
            // SAFETY: the same.
            50..98 => _ = sound(unsafe { rpcrdma_responder_expire(responder, call) }),
            98 => _ = self.handle(Side::Requester, &input(RPCRDMA_IN_FAILED, 0)),
            _ => _ = self.handle(Side::Responder, &input(RPCRDMA_IN_FAILED, 0)),
        }
    }

    fn poll_channels(&mut self) {
        if self.version == RPCRDMA_VERSION_1 {
            return;
        }
        for (side, other) in [(Side::Requester, Side::Responder), (Side::Responder, Side::Requester)] {
            // Errors, properties and grants: there are few.
            for polled in 0..16 {
                let (mut octets, mut length) = (vec![0xa5; RECEIVE], 0);
                let channel = self.side_end(side).channel.as_mut_ptr().cast();
                // SAFETY: a channel that was initialised, and a buffer of the length that is said.
                let status = sound(unsafe {
                    rpcrdma_channel_poll(channel, ROOM, octets.as_mut_ptr(), octets.len(), &mut length)
                });
                if status == RPCRDMA_NOT_FOUND {
                    break;
                }
                assert!(status == RPCRDMA_OK && polled < 15, "{status:?}");
                octets.truncate(length);
                self.side_end(other).wire.push_back(octets);
            }
        }
    }

    /// In version 2, the channel says how many messages may be sent.
    fn permit(&mut self, side: Side) {
        if self.version == RPCRDMA_VERSION_1 {
            return;
        }
        let (channel, endpoint) =
            (self.side_end(side).channel.as_mut_ptr().cast(), self.side_end(side).endpoint.as_mut_ptr());
        // SAFETY: zeros are numbers. A channel and an endpoint that were initialised.
        let status = unsafe {
            let mut available: rpcrdma_available = zeroed();
            assert_eq!(sound(rpcrdma_channel_available(channel, ROOM, 0, 0, &mut available)), RPCRDMA_OK);
            match side {
                Side::Requester => rpcrdma_requester_permit(endpoint.cast(), available.messages),
                Side::Responder => rpcrdma_responder_permit(endpoint.cast(), available.messages),
            }
        };
        assert_eq!(sound(status), RPCRDMA_OK);
    }

    /// Carries out what an endpoint asks for.
    fn poll(&mut self, choices: &mut Choices<'_>, side: Side) {
        let mut capacity = if choices.below(16) == 0 { choices.below(100) as usize } else { RECEIVE };
        for _ in 0..OUTPUTS {
            self.permit(side);
            let mut buffer = vec![0xa5; capacity].into_boxed_slice();
            let endpoint = self.side_end(side).endpoint.as_mut_ptr();
            // SAFETY: zeros are numbers and null pointers.
            let mut output: rpcrdma_output = unsafe { zeroed() };
            // SAFETY: an endpoint that was initialised, and a buffer of the length that is said.
            let status = sound(unsafe {
                match side {
                    Side::Requester => {
                        rpcrdma_requester_poll(endpoint.cast(), buffer.as_mut_ptr(), buffer.len(), &mut output)
                    }
                    Side::Responder => {
                        rpcrdma_responder_poll(endpoint.cast(), buffer.as_mut_ptr(), buffer.len(), &mut output)
                    }
                }
            });
            if status == RPCRDMA_NO_ROOM {
                assert!(output.header_length > capacity && buffer.iter().all(|octet| *octet == 0xa5));
                capacity = RECEIVE;
                continue;
            }
            assert_eq!(status, RPCRDMA_OK);
            assert!(output.header_length <= capacity && (output.call & 0xffff) < RPCRDMA_CALLS as u64);
            match output.kind {
                RPCRDMA_DO_NOTHING => return,
                RPCRDMA_DO_DISCONNECT => {
                    self.is_over = true;
                    self.handle(side, &input(RPCRDMA_IN_DISCONNECTED, 0));
                }
                _ => self.carry_out(side, &output, &buffer),
            }
        }
        panic!("{side:?} asks for more than {OUTPUTS} things");
    }

    fn carry_out(&mut self, side: Side, output: &rpcrdma_output, buffer: &[u8]) {
        let call = output.call;
        match output.kind {
            RPCRDMA_DO_SEND | RPCRDMA_DO_SEND_INVALIDATING => self.send(side, output, buffer),
            RPCRDMA_DO_RELEASE => assert!(self.side_end(side).receives.remove(&output.receive).is_some()),
            RPCRDMA_DO_REGISTER_ARGUMENT
            | RPCRDMA_DO_REGISTER_RESULT
            | RPCRDMA_DO_REGISTER_REPLY
            | RPCRDMA_DO_PROVIDE_REPLY => {
                assert_eq!(output.ranges_count, 1);
                let handle = self.next_number();
                let reported = rpcrdma_input { region: output.region, handle, ..input(RPCRDMA_IN_REGISTERED, call) };
                self.side_end(side).begun.push(reported);
            }
            RPCRDMA_DO_INVALIDATE => {
                let reported = rpcrdma_input { region: output.region, ..input(RPCRDMA_IN_INVALIDATED, call) };
                self.side_end(side).begun.push(reported);
            }
            RPCRDMA_DO_PLACE => {
                let length = self.within(side, output);
                assert!(u64::from(output.at) + length <= u64::from(u32::MAX));
            }
            RPCRDMA_DO_READ => self.side_end(side).begun.push(input(RPCRDMA_IN_COMPLETED, call)),
            RPCRDMA_DO_WRITE => {
                let reply = self.responder.streams.get(&call).map_or(0, |stream| stream.length);
                assert!(u64::from(output.at) + output.length <= reply && reply > 0);
                self.responder.begun.push(input(RPCRDMA_IN_NOT_POSTED, call));
            }
            RPCRDMA_DO_DELIVER => {
                self.within(side, output);
                self.deliver(call);
            }
            RPCRDMA_DO_DELIVER_ASSEMBLED => self.deliver(call),
            RPCRDMA_DO_DONE => self.done(output),
            kind => panic!("{kind}"),
        }
    }

    /// Checks that a Receive has the octets that an output names, and returns their number.
    fn within(&mut self, side: Side, output: &rpcrdma_output) -> u64 {
        let receive = self.side_end(side).receives.get(&output.receive).map_or(0, |octets| octets.len());
        assert!(output.from as u64 + output.length <= receive as u64, "{} of {receive}", output.length);
        output.length
    }

    fn deliver(&mut self, call: u64) {
        self.calls.push(call);
        self.delivered.push(call);
    }

    fn send(&mut self, side: Side, output: &rpcrdma_output, buffer: &[u8]) {
        let version = self.version;
        let end = self.side_end(side);
        let mut octets = buffer.get(..output.header_length).unwrap_or_default().to_vec();
        let stream = end.streams.get(&output.call).cloned().unwrap_or_default();
        assert!(output.ranges_count <= RPCRDMA_RANGES);
        if version != RPCRDMA_VERSION_1 {
            let channel = end.channel.as_mut_ptr().cast();
            // SAFETY: a channel that was initialised, and the header.
            let status = unsafe { rpcrdma_channel_send(channel, ROOM, octets.as_mut_ptr(), octets.len()) };
            assert_eq!(sound(status), RPCRDMA_OK);
        }
        for range in output.ranges.iter().take(output.ranges_count) {
            octets.extend(stream.part(*range));
        }
        match side {
            Side::Requester => {
                self.requester.begun.push(input(RPCRDMA_IN_SENT, output.call));
                self.responder.wire.push_back(octets);
            }
            Side::Responder => self.requester.wire.push_back(octets),
        }
    }

    fn done(&mut self, output: &rpcrdma_output) {
        if output.results_count > 0 {
            // SAFETY: as many numbers as there are said to be, until the Requester is used again.
            let results = unsafe { slice::from_raw_parts(output.results, output.results_count) };
            assert!(results.len() <= RPCRDMA_SEGMENTS && results.iter().all(|octets| *octets <= LONGEST * 2));
        }
        if output.end == RPCRDMA_END_REPLY {
            self.within(Side::Requester, output);
            assert!(self.requester.receives.remove(&output.receive).is_some());
        }
        assert!(self.requester.streams.remove(&output.call).is_some(), "it is done once");
    }
}
