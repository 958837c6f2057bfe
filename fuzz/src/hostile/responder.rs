//! A Responder whose Requester may send anything.

use std::collections::HashMap;

use rpcrdma::endpoint::responder::{CallMessage, Input, Output, Reply};
use rpcrdma::endpoint::{CallId, Limits, Responder};
use rpcrdma_gen::{Choices, Format, Role};

use super::{EVENTS, LONGEST, OUTPUTS, RECEIVE, Receives, format, message, terms};
use crate::reference;

/// With the octets as a source of choices: whatever the peer sends, every Receive is given back once, what is asked of the
/// driver can be done, what is sent can be read, each event has few consequences, and in the end nothing is left.
///
/// # Panics
/// If this does not hold.
pub fn responder(octets: &[u8]) {
    let mut choices = Choices::of_octets(octets);
    let mut driver = ResponderDriver::new(&mut choices);
    for _ in 0..EVENTS.min(octets.len() / 8) {
        driver.event(&mut choices);
        driver.poll();
    }
    driver.finish();
}

struct ResponderDriver {
    format: Format,
    responder: Responder<4, 1024, 4>,
    receives: Receives,
    /// RDMA Reads that are not complete.
    reads: Vec<CallId>,
    delivered: Vec<CallId>,
    /// Octets of the replies that are not sent.
    replies: HashMap<CallId, u32>,
    is_over: bool,
}

impl ResponderDriver {
    fn new(choices: &mut Choices<'_>) -> Self {
        let format = format(choices);
        let limits = Limits::new().with_chunks(4, 4).with_segments(40).with_octets(100_000);
        let mut responder = Responder::new(terms(format, choices), limits);
        responder.limit_reads(1 + choices.below(8));
        let (receives, replies) = (Receives::default(), HashMap::new());
        Self { format, responder, receives, reads: Vec::new(), delivered: Vec::new(), replies, is_over: false }
    }

    fn event(&mut self, choices: &mut Choices<'_>) {
        match choices.below(8) {
            0..4 => self.receive(choices),
            4 => self.complete(),
            5 | 6 => self.reply(choices),
            _ => self.responder.permit(choices.below(4)),
        }
    }

    fn receive(&mut self, choices: &mut Choices<'_>) {
        if self.receives.are_full() || self.is_over {
            return;
        }
        let xids: Vec<u32> = self.delivered.iter().filter_map(|call| self.responder.xid(*call)).collect();
        let role = if choices.below(8) == 0 { Role::Reply } else { Role::Call };
        let octets = message(choices, self.format, role, &xids);
        let receive = self.receives.take(&octets);
        self.responder.handle(Input::Received { receive, octets: &octets }).unwrap_or_else(|error| panic!("{error}"));
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
        self.replies.insert(call, length);
    }

    fn poll(&mut self) {
        let mut buffer = [0xa5; RECEIVE];
        for _ in 0..OUTPUTS {
            let output = self.responder.poll(&mut buffer).unwrap_or_else(|error| panic!("{error}"));
            match output {
                None => return,
                Some(Output::Send { call, header, payload, is_last, .. }) => {
                    let length = self.replies.get(&call).copied().unwrap_or_default();
                    assert!(payload.clone().all(|range| range.end <= length), "only what is in the reply is sent");
                    let inline: u32 = payload.map(|range| range.len() as u32).sum();
                    is_readable(self.format, buffer.get(..header).unwrap_or_default(), inline);
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
                    self.reads.push(call);
                }
                Some(Output::Deliver { call, message }) => {
                    if let CallMessage::Inline { receive, from, length } = message {
                        _ = self.receives.part(receive, from, length);
                    }
                    assert!(!self.reads.contains(&call), "it is not delivered before it has been pulled");
                    self.delivered.push(call);
                }
                Some(Output::Write { call, from, target }) => {
                    let length = self.replies.get(&call).copied().unwrap_or_default();
                    assert!(from.checked_add(target.length).is_some_and(|end| end <= length), "it is in the reply");
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
    fn finish(mut self) {
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

/// Whether the reference decoder can read what was sent.
fn is_readable(format: Format, header: &[u8], inline: u32) {
    let mut whole = [header, &vec![0; inline as usize]].concat();
    if let (true, Some(version)) = (format != Format::V1, whole.get_mut(4..8)) {
        // An error has the version that it refuses.
        version.copy_from_slice(&format.version().to_be_bytes());
    }
    let rest = match format {
        Format::V1 => reference::header(&whole)
            .map(|(_, rest)| rest)
            .or_else(|_| reference::error_reply(&whole).map(|(_, rest)| rest)),
        Format::V2a => reference::v2::family_a(&whole).map(|(_, rest)| rest),
        Format::V2b => reference::v2::family_b(&whole).map(|(_, rest)| rest),
    };
    assert_eq!(rest, Ok(inline as usize), "what follows the header is the Payload stream: {header:02x?}");
}
