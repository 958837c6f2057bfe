//! A Responder whose Requester may send anything.

use std::collections::{HashMap, VecDeque};

use rpcrdma::endpoint::responder::{CallMessage, Input, Output, Reply};
use rpcrdma::endpoint::{CallId, Limits, Responder, Terms};
use rpcrdma_gen::{Choices, Format, Role};

use super::{EVENTS, LONGEST, OUTPUTS, RECEIVE, Receives, format, message, sent, terms};
use crate::reference;

/// With the octets as a source of choices: whatever the peer sends, every Receive is given back once, what is asked of the
/// driver can be done, what is sent can be read, each event has few consequences, and in the end nothing is left.
///
/// # Panics
/// If this does not hold.
pub fn responder(octets: &[u8]) {
    let mut choices = Choices::of_octets(octets);
    let format = format(&mut choices);
    let terms = terms(format, &mut choices);
    let mut driver = ResponderDriver::new(format, terms, &mut choices);
    for _ in 0..EVENTS.min(octets.len() / 8) {
        match choices.below(2) {
            0 => driver.receive_anything(&mut choices),
            _ => driver.event(&mut choices),
        }
        driver.poll();
        driver.sent.clear();
        driver.touched.clear();
    }
    driver.finish();
}

pub(super) struct ResponderDriver {
    format: Format,
    responder: Responder<4, 1024, 4>,
    receives: Receives,
    /// RDMA Reads that are not complete.
    reads: Vec<CallId>,
    delivered: Vec<CallId>,
    /// The replies that are not sent.
    replies: HashMap<CallId, Vec<u8>>,
    /// Messages that were sent and have yet to arrive, each with the handle to invalidate.
    pub(super) sent: VecDeque<(Vec<u8>, Option<u32>)>,
    /// The handles of the memory that was read or written.
    pub(super) touched: Vec<u32>,
    is_over: bool,
}

impl ResponderDriver {
    pub(super) fn new(format: Format, terms: Terms, choices: &mut Choices<'_>) -> Self {
        let limits = Limits::new().with_chunks(4, 4).with_segments(40).with_octets(100_000);
        let mut responder = Responder::new(terms, limits);
        responder.limit_reads(1 + choices.below(8));
        let (receives, reads, delivered, replies, sent, touched) = Default::default();
        Self { format, responder, receives, reads, delivered, replies, sent, touched, is_over: false }
    }

    /// Something that does not depend on the peer.
    pub(super) fn event(&mut self, choices: &mut Choices<'_>) {
        match choices.below(4) {
            0 => self.complete(),
            1 | 2 => self.reply(choices),
            _ => self.responder.permit(choices.below(4)),
        }
    }

    fn receive_anything(&mut self, choices: &mut Choices<'_>) {
        let xids: Vec<u32> = self.delivered.iter().filter_map(|call| self.responder.xid(*call)).collect();
        let role = if choices.below(8) == 0 { Role::Reply } else { Role::Call };
        let octets = message(choices, self.format, role, &xids);
        self.receive(&octets);
    }

    fn receive(&mut self, octets: &[u8]) {
        if self.receives.are_full() || self.is_over {
            return;
        }
        let receive = self.receives.take_receive(octets);
        self.responder.handle(Input::Received { receive, octets }).unwrap_or_else(|error| panic!("{error}"));
    }

    pub(super) fn receive_and_poll(&mut self, octets: &[u8]) {
        self.receive(octets);
        self.poll();
    }

    fn complete(&mut self) {
        if let Some(call) = self.reads.pop() {
            self.responder.handle(Input::Completed { call }).unwrap_or_else(|error| panic!("{error}"));
        }
    }

    /// Answers the call that has waited longest.
    fn reply(&mut self, choices: &mut Choices<'_>) {
        if self.delivered.is_empty() {
            return;
        }
        let call = self.delivered.remove(0);
        let xid = self.responder.xid(call).unwrap_or_else(|| panic!("what was delivered is known"));
        if choices.below(8) == 0 {
            return self.responder.refuse(call).unwrap_or_else(|fault| panic!("{fault}"));
        }
        let head: Vec<u8> = [xid, 1, 0, 0, 0, 0].iter().flat_map(|word| word.to_be_bytes()).collect();
        let length = 24 + 4 * choices.below(LONGEST / 4);
        let reply = Reply { head: &head, length, results: &[], protected: false };
        self.responder.reply(call, &reply).unwrap_or_else(|fault| panic!("{fault}"));
        let mut stream = head;
        stream.resize(length as usize, 0);
        self.replies.insert(call, stream);
    }

    pub(super) fn poll(&mut self) {
        let mut buffer = [0xa5; RECEIVE];
        for _ in 0..OUTPUTS {
            let output = self.responder.poll(&mut buffer).unwrap_or_else(|error| panic!("{error}"));
            match output {
                None => return,
                Some(Output::Send { call, header, payload, invalidate, is_last }) => {
                    let reply = self.replies.get(&call).map(Vec::as_slice).unwrap_or_default();
                    let octets = sent(buffer.get(..header), reply, payload);
                    is_readable(self.format, &octets, octets.len() - header);
                    self.sent.push_back((octets, invalidate));
                    if is_last {
                        self.replies.remove(&call);
                    }
                }
                Some(Output::Release { receive }) => _ = self.receives.give_back(receive),
                Some(Output::Place { call, receive, from, length, at }) => {
                    _ = self.receives.part(receive, from, length);
                    self.is_in_call(call, at, length);
                }
                Some(Output::Read { call, source, at }) => {
                    self.is_in_call(call, at, source.length);
                    self.touched.push(source.handle);
                    self.reads.push(call);
                }
                Some(Output::Deliver { call, message }) => {
                    if let CallMessage::Inline { receive, from, length } = message {
                        _ = self.receives.part(receive, from, length);
                    }
                    assert!(!self.reads.contains(&call), "it is not delivered before it has been read");
                    self.delivered.push(call);
                }
                Some(Output::Write { call, from, target }) => {
                    let length = self.replies.get(&call).map_or(0, Vec::len) as u64;
                    assert!(u64::from(from) + u64::from(target.length) <= length, "it is in the reply");
                    self.touched.push(target.handle);
                }
                Some(Output::Disconnect) => self.is_over = true,
                Some(Output::Register { .. } | Output::Invalidate { .. }) => panic!("no reply is provided"),
            }
        }
        panic!("{OUTPUTS} outputs after one event");
    }

    fn is_in_call(&self, call: CallId, at: u32, length: u32) {
        let whole = self.responder.length(call).unwrap_or_default();
        assert!(at.checked_add(length).is_some_and(|end| end <= whole), "{length} octets at {at} of {whole}");
    }

    /// Everything that waits happens; then nothing may be left.
    pub(super) fn finish(mut self) {
        for _ in 0..EVENTS {
            self.complete();
            self.reply(&mut Choices::of_octets(&[]));
            self.responder.permit(4);
            self.poll();
        }
        if !self.is_over {
            assert!(self.reads.is_empty() && self.delivered.is_empty(), "nothing waits for anything");
            assert!(self.replies.is_empty(), "{} replies were not sent", self.replies.len());
            assert!(self.receives.posted.is_empty(), "{} Receives were kept", self.receives.posted.len());
        }
        self.responder.handle(Input::Disconnected).unwrap_or_else(|error| panic!("{error}"));
        self.poll();
        assert_eq!(self.responder.occupied(), 0, "calls after the end");
    }
}

/// Checks that the reference decoder can read the message, with `length` octets behind the header.
fn is_readable(format: Format, octets: &[u8], inline: usize) {
    let mut octets = octets.to_vec();
    if let (true, Some(version)) = (format != Format::V1, octets.get_mut(4..8)) {
        // An error has the version that it refuses.
        version.copy_from_slice(&format.version().to_be_bytes());
    }
    let rest = match format {
        Format::V1 => reference::header(&octets)
            .map(|(_, rest)| rest)
            .or_else(|_| reference::error_reply(&octets).map(|(_, rest)| rest)),
        Format::V2a => reference::v2::family_a(&octets).map(|(_, rest)| rest),
        Format::V2b => reference::v2::family_b(&octets).map(|(_, rest)| rest),
    };
    // The answer to a Call whose Read chunks fit nowhere is all in the buffer: GARBAGE_ARGS.
    let xid = octets.get(..4).unwrap_or_default();
    let garbage = [xid, &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4]].concat();
    let inline = if inline == 0 && octets.ends_with(&garbage) { garbage.len() } else { inline };
    assert_eq!(rest, Ok(inline), "what follows the header is the Payload stream: {octets:02x?}");
}
