//! Single RPCs with all known details: packets, times, messages, arguments, and broken rules.

pub(super) mod diagram;
mod record;
mod text;

use std::collections::VecDeque;

use rpcrdma_dissector::{Event, Found, Message, PacketRun, Recovered, Steps, Transaction};

pub use record::ExplainedObject;
pub use text::lines;

/// The most RPCs that are kept.
const RPCS: usize = 20;
/// The most messages that wait for their RPC, and the most of one RPC.
const MESSAGES: usize = 64;
/// The most findings, and the most indications of loss after an RPC was over, that are kept.
const FINDINGS: usize = 1000;

/// An RPC, with the related messages, findings and retransmissions.
#[derive(Debug)]
#[non_exhaustive]
pub struct ExplainedRpc {
    /// The RPC.
    pub transaction: Transaction,
    /// Messages of the RPC, in the order of the capture.
    pub messages: Vec<Message>,
    /// Rules that the RPC breaks.
    pub findings: Vec<Found>,
    /// Retransmissions after the end of the RPC.
    pub after: Vec<Recovered>,
    /// Place among the tries of the RPC, if the RPC has several.
    pub try_of: Option<TryPlace>,
}

/// Place of a try among the tries of an RPC that are explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TryPlace {
    /// Number of the try, from 1.
    pub number: usize,
    /// Number of tries.
    pub count: usize,
}

impl ExplainedRpc {
    /// First known frame of the RPC.
    fn began(&self) -> u64 {
        let Transaction { began, call, reply, .. } = &self.transaction;
        let half = call.as_ref().or(reply.as_ref()).map(|half| half.stamp);
        began.or(half).unwrap_or_default().frame
    }

    /// Last frame of the RPC.
    fn ended(&self) -> u64 {
        let Transaction { call, reply, steps, .. } = &self.transaction;
        let halves = call.iter().chain(reply).map(|half| half.stamp.frame);
        let last = |steps: &Steps| steps.packets.last().map(|packet| packet.last.frame);
        halves.chain(steps.as_deref().and_then(last)).max().unwrap_or_default()
    }

    /// Returns true if a frame is between the first frame and the last frame of the RPC.
    fn spans(&self, frame: u64) -> bool {
        (self.began()..=self.ended()).contains(&frame)
    }

    /// Returns true if a frame holds a packet of the RPC. A run of packets may lie between packets of others.
    fn owns(&self, frame: u64) -> bool {
        let Transaction { call, reply, steps, .. } = &self.transaction;
        let mut halves = call.iter().chain(reply).map(|half| half.stamp.frame);
        let runs = steps.as_deref().map(|steps| steps.packets.as_slice()).unwrap_or_default();
        let is_in = |run: &PacketRun| match run.last.frame - run.first.frame < run.packets {
            true => (run.first.frame..=run.last.frame).contains(&frame),
            false => [run.first.frame, run.last.frame].contains(&frame),
        };
        halves.any(|half| half == frame) || runs.iter().any(is_in)
    }

    fn is_of(&self, connection: u32, xid: u32) -> bool {
        (self.transaction.connection, self.transaction.xid) == (connection, xid)
    }

    fn add_message(&mut self, message: Message) {
        if self.messages.len() < MESSAGES {
            self.messages.push(message);
        }
    }
}

/// Puts the tries of an RPC together, at the place of the first try, and numbers the tries.
fn number_tries(rpcs: &mut Vec<ExplainedRpc>) {
    rpcs.sort_by_key(ExplainedRpc::began);
    let mut rest: VecDeque<ExplainedRpc> = core::mem::take(rpcs).into();
    while let Some(first) = rest.pop_front() {
        let begin = rpcs.len();
        rpcs.push(first);
        while let Some(place) = rpcs.last().and_then(|last| next_try(last, &rest)) {
            rpcs.extend(rest.remove(place));
        }
        let tries = rpcs.get_mut(begin..).unwrap_or_default();
        let count = tries.len();
        for (one, number) in tries.iter_mut().zip(1..).filter(|_| count > 1) {
            one.try_of = Some(TryPlace { number, count });
        }
    }
}

/// The place of the next try after one.
fn next_try(earlier: &ExplainedRpc, rest: &VecDeque<ExplainedRpc>) -> Option<usize> {
    rest.iter().position(|rpc| rpc.transaction.is_retry_of(&earlier.transaction))
}

/// Takes the RPCs to explain, and the related events, in bounded memory.
#[derive(Debug, Default)]
pub struct Explanations {
    /// Frames whose RPCs are asked for.
    frames: Vec<u64>,
    /// True if one of these RPCs was taken: others are left out.
    has_owner: bool,
    rpcs: Vec<ExplainedRpc>,
    /// RPCs that were left out because there were too many.
    pub left_out: u64,
    /// Messages whose RPC is not over.
    messages: VecDeque<Message>,
    findings: Vec<Found>,
    recovered: Vec<Recovered>,
    /// Findings and indications of loss that were left out because there were too many.
    pub unkept: u64,
}

impl Explanations {
    /// Explains the RPCs that these frames belong to. Of a frame that belongs to none, the RPCs in flight are explained; without frames, all.
    #[must_use]
    pub fn of_frames(frames: Vec<u64>) -> Self {
        Self { frames, ..Self::default() }
    }

    /// Takes an event about one of the RPCs.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Message(message) => self.message(message),
            Event::Transaction(transaction) => self.transaction(transaction),
            Event::Recovery(recovered) if self.recovered.len() < FINDINGS => self.recovered.push(*recovered),
            Event::Recovery(_) => self.unkept += 1,
            _ => {}
        }
    }

    /// Takes a finding about one of the RPCs.
    pub fn finding(&mut self, found: &Found) {
        match self.findings.len() < FINDINGS {
            true => self.findings.push(found.clone()),
            false => self.unkept += 1,
        }
    }

    /// Returns the RPCs in the order of their calls, with the tries of an RPC one after the other.
    #[must_use]
    pub fn into_rpcs(mut self) -> Vec<ExplainedRpc> {
        for found in core::mem::take(&mut self.findings) {
            let Found { connection, xid: Some(xid), stamp, .. } = found else { continue };
            self.rpc(connection, xid, stamp.frame).into_iter().for_each(|rpc| rpc.findings.push(found.clone()));
        }
        for recovered in core::mem::take(&mut self.recovered) {
            let Recovered { connection, xid: Some(xid), stamp, .. } = recovered else { continue };
            let rpc = self.rpc(connection, xid, stamp.frame).filter(|rpc| rpc.ended() < stamp.frame);
            rpc.into_iter().for_each(|rpc| rpc.after.push(recovered));
        }
        number_tries(&mut self.rpcs);
        self.rpcs
    }

    /// The last RPC of this name that began before a frame, or the first one.
    fn rpc(&mut self, connection: u32, xid: u32, frame: u64) -> Option<&mut ExplainedRpc> {
        let mut of = self.rpcs.iter().enumerate().filter(|(_, rpc)| rpc.is_of(connection, xid));
        let first = of.clone().next();
        let (index, _) = of.rfind(|(_, rpc)| rpc.began() <= frame).or(first)?;
        self.rpcs.get_mut(index)
    }

    /// Takes a message. The message that ends an RPC comes right after the RPC; the other messages come before. If only the end
    /// of an RPC shows that the RPC is to be explained, all messages come after.
    fn message(&mut self, message: &Message) {
        let (frame, xid) = (message.stamp.frame, message.xid());
        let is_its = |rpc: &&mut ExplainedRpc| rpc.is_of(message.connection, xid) && rpc.spans(frame);
        if let Some(rpc) = self.rpcs.iter_mut().rev().find(is_its) {
            return rpc.add_message(message.clone());
        }
        if self.messages.len() == MESSAGES {
            self.messages.pop_front();
        }
        self.messages.push_back(message.clone());
    }

    fn transaction(&mut self, transaction: &Transaction) {
        let mut rpc = ExplainedRpc {
            transaction: transaction.clone(),
            messages: Vec::new(),
            findings: Vec::new(),
            after: Vec::new(),
            try_of: None,
        };
        let (own, others): (VecDeque<_>, VecDeque<_>) = core::mem::take(&mut self.messages)
            .into_iter()
            .partition(|message| rpc.spans(message.stamp.frame) && rpc.is_of(message.connection, message.xid()));
        self.messages = others;
        let is_owner = self.frames.iter().any(|frame| rpc.owns(*frame));
        if is_owner && !self.has_owner {
            (self.has_owner, self.left_out) = (true, 0);
            self.rpcs.clear();
        }
        if self.has_owner && !is_owner {
            return;
        }
        own.into_iter().for_each(|message| rpc.add_message(message));
        match self.rpcs.len() < RPCS {
            true => self.rpcs.push(rpc),
            false => self.left_out += 1,
        }
    }
}
