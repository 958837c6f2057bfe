//! Writes the frames of a capture as they are, with comments on those that matter, as pcapng: Wireshark shows them
//! beside each packet.
//!
//! What a frame is for becomes known later: a call's comment names its reply. So frames are held, up to 65,536 of them
//! and 64 MiB. A comment on a frame that was written before goes on the next one that is, and names the frame it is on.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Write};

use super::capture_file::{PcapngFile, WrittenFrame};
use super::operation_name::OperationName;
use super::stats::text::grouped;
use super::text::{called_within, ended, milliseconds};
use crate::carrier::operation::OperationType;
use crate::carrier::recovery::RecoveryKind;
use crate::check::Found;
use crate::event::Recovered;
use crate::file::OwnedFrame;
use crate::rpc::not_rebuilt::NotRebuilt;
use crate::rpc::phases::Phase;
use crate::rpc::steps::{PacketRun, Steps};
use crate::rpc::transaction::{Half, Transaction};
use crate::rpc::waiting::Step;

/// The most frames that are held until their comments are known.
const HELD_FRAMES: usize = 65_536;
/// The most octets of frames that are held until their comments are known.
const HELD_OCTETS: usize = 64 << 20;
/// Columns for what was called.
const CALLED: usize = 80;

/// Takes frames and what is known of them, and writes a pcapng file.
///
/// ```
/// use rpcrdma_capture::output::annotate::Annotator;
/// use rpcrdma_capture::{Capture, Config, Dissector, Event, OwnedFrame};
///
/// let mut capture = Capture::from_paths(["examples/nfs.pcap"]);
/// let (mut file, mut dissector) = (Vec::new(), Dissector::new(Config::default()));
/// let mut annotator = Annotator::new(&mut file)?;
/// while let Some(frame) = capture.next() {
///     let frame = frame?;
///     annotator.frame(OwnedFrame::from(&frame))?;
///     dissector.frame(&frame);
///     while let Some(event) = dissector.event() {
///         if let Event::Transaction(transaction) = event {
///             annotator.transaction(&transaction);
///         }
///     }
/// }
/// let annotated = annotator.finish()?;
/// assert_eq!((annotated.frames, annotated.comments), (41, 6));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Annotator<W: Write> {
    file: PcapngFile<W>,
    /// By number, none left out.
    held: VecDeque<HeldFrame>,
    octets: usize,
    /// Comments on frames that were written before.
    late: Vec<String>,
    annotated: Annotated,
}

/// A frame that waits for its comments.
#[derive(Debug)]
struct HeldFrame {
    frame: OwnedFrame,
    comments: Vec<String>,
}

/// Counts of what was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Annotated {
    /// Frames: all of them.
    pub frames: u64,
    /// Comments on them.
    pub comments: u64,
    /// Comments that became known after their frame had been written, and are on a later one.
    pub late: u64,
    /// Comments on RDMA Reads and RDMA Writes that became known after their frame had been written, and are left out.
    pub left_out: u64,
}

impl<W: Write> Annotator<W> {
    /// Starts a pcapng file.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn new(write: W) -> io::Result<Self> {
        Ok(Self {
            file: PcapngFile::new(write)?,
            held: VecDeque::new(),
            octets: 0,
            late: Vec::new(),
            annotated: Annotated::default(),
        })
    }

    /// Takes the next frame of the capture. It has to come before what is known of it.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn frame(&mut self, frame: OwnedFrame) -> io::Result<()> {
        self.octets += frame.data.len();
        self.held.push_back(HeldFrame { frame, comments: Vec::new() });
        // One always stays, to take the last comments.
        while self.held.len() > HELD_FRAMES || (self.octets > HELD_OCTETS && self.held.len() > 1) {
            self.write_oldest()?;
        }
        Ok(())
    }

    /// Comments on the frames of the call and of the reply, and, if its [steps](Transaction::steps) are known, on those of
    /// RDMA Reads and RDMA Writes.
    pub fn transaction(&mut self, transaction: &Transaction) {
        let Transaction { call, reply, .. } = transaction;
        if let Some(half) = call {
            self.comment(half.stamp.frame, call_comment(transaction, half));
        }
        if let Some(half) = reply {
            self.comment(half.stamp.frame, reply_comment(transaction, half));
        }
        if let Some(steps) = &transaction.steps {
            self.steps(transaction, steps);
        }
    }

    /// Comments on the frame that shows that a packet was lost, or seemed to be.
    pub fn recovered(&mut self, recovered: &Recovered) {
        self.comment(recovered.stamp.frame, recovered_comment(recovered));
    }

    /// Comments on the packets of RDMA Reads and RDMA Writes. If a frame was written before, they are left out: there may be
    /// thousands.
    fn steps(&mut self, transaction: &Transaction, steps: &Steps) {
        let of = format!("of {}, XID {:#010x}", OperationName::of_transaction(transaction), transaction.xid);
        for step in [Step::ReadRequest, Step::ReadResponse, Step::Write] {
            let is_part = |packet: &&PacketRun| packet.step == Some(step) && packet.octets > 0;
            let total: u64 = steps.packets.iter().filter(is_part).map(|packet| packet.packets).sum();
            let mut before = 0;
            for packet in steps.packets.iter().filter(is_part) {
                let place = match steps.left_out {
                    None if packet.packets == 1 => format!(" {} of {}", grouped(before + 1), grouped(total)),
                    None => {
                        let last = before + packet.packets;
                        format!("s {} to {} of {}", grouped(before + 1), grouped(last), grouped(total))
                    }
                    Some(_) => String::new(),
                };
                before += packet.packets;
                self.comment_if_held(packet.first.frame, || format!("{}{place} {of}", step.name()));
            }
        }
        for packet in steps.packets.iter().filter(|packet| packet.is_discarded) {
            self.comment_if_held(packet.first.frame, || {
                format!("discarded: its receiver missed a packet before it; {of}")
            });
        }
    }

    fn comment_if_held(&mut self, frame: u64, text: impl FnOnce() -> String) {
        match self.held.front().is_some_and(|first| first.frame.number <= frame) {
            true => self.comment(frame, text()),
            false => self.annotated.left_out += 1,
        }
    }

    /// Comments on the frame that shows that a rule was broken.
    pub fn finding(&mut self, found: &Found) {
        let Found { rule, severity, stamp, message, .. } = found;
        let text = format!("{} {}, by {}: {message} ({})", severity.name(), rule.slug, found.broken_by(), rule.section);
        self.comment(stamp.frame, text);
    }

    /// Writes what is held, and ends the file.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn finish(mut self) -> io::Result<Annotated> {
        while !self.held.is_empty() {
            self.write_oldest()?;
        }
        self.file.finish()?;
        Ok(self.annotated)
    }

    fn comment(&mut self, frame: u64, text: String) {
        self.annotated.comments += 1;
        let first = self.held.front().map_or(0, |held| held.frame.number);
        let index = frame.checked_sub(first).and_then(|index| usize::try_from(index).ok());
        match index.and_then(|index| self.held.get_mut(index)) {
            Some(held) => held.comments.push(text),
            None => {
                self.annotated.late += 1;
                self.late.push(format!("frame {frame}: {text}"));
            }
        }
    }

    fn write_oldest(&mut self) -> io::Result<()> {
        let Some(HeldFrame { frame, comments }) = self.held.pop_front() else { return Ok(()) };
        self.octets = self.octets.saturating_sub(frame.data.len());
        self.annotated.frames += 1;
        let late = std::mem::take(&mut self.late);
        let OwnedFrame { time, link, data, length, .. } = frame;
        let frame = WrittenFrame { time, link, data: Cow::Owned(data), length };
        self.file.frame(frame, comments.into_iter().chain(late))
    }
}

impl fmt::Display for Annotated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { frames, comments, late, left_out } = self;
        write!(f, "frames written: {frames}; comments: {comments}")?;
        if *late > 0 {
            write!(f, ", {late} of them on a later frame than the one that they are about")?;
        }
        if *left_out > 0 {
            write!(f, "; {left_out} on RDMA Reads and RDMA Writes left out: they became known too late")?;
        }
        Ok(())
    }
}

fn call_comment(transaction: &Transaction, call: &Half) -> String {
    let mut text = format!("call {:#010x}: {}", transaction.xid, called_within(CALLED, transaction));
    match &transaction.reply {
        Some(reply) => text.push_str(&format!("; reply in frame {}", reply.stamp.frame)),
        None => text.push_str("; no reply in this capture"),
    }
    push_latency(&mut text, transaction);
    push_moved(&mut text, "Read", transaction.read_octets);
    push_reason(&mut text, call);
    text
}

fn reply_comment(transaction: &Transaction, reply: &Half) -> String {
    let mut text = format!("reply {:#010x}: {}", transaction.xid, called_within(CALLED, transaction));
    match &transaction.call {
        Some(call) => text.push_str(&format!("; call in frame {}", call.stamp.frame)),
        None => text.push_str("; the call is not in this capture"),
    }
    push_latency(&mut text, transaction);
    push_moved(&mut text, "Write", transaction.write_octets);
    for (_, note) in ended(transaction) {
        text.push_str(&format!("; {note}"));
    }
    if let Ok(phases) = &transaction.phases {
        let parts = Phase::ALL.into_iter().filter(|phase| phases.of(*phase) > 0);
        let parts: Vec<_> = parts.map(|phase| format!("{} {}", phase.name(), milliseconds(phases.of(phase)))).collect();
        if parts.len() > 1 {
            text.push_str(&format!("; ms by phase: {}", parts.join(", ")));
        }
    }
    push_reason(&mut text, reply);
    text
}

fn recovered_comment(recovered: &Recovered) -> String {
    let Recovered { kind, operation, times, xid, .. } = *recovered;
    let what = operation.map_or("segment", OperationType::name);
    let text = match kind {
        RecoveryKind::SentAgain => format!("{what} sent again{}", nth(times)),
        RecoveryKind::Replaced => format!("{what} sent again{}; the capture lacks the first", nth(times)),
        RecoveryKind::Duplicate => "duplicate: the network or the capture doubled this packet".to_owned(),
        RecoveryKind::TimedOut { silence } => {
            format!("time-out: its sender had sent nothing for {} ms", milliseconds(silence))
        }
        RecoveryKind::SequenceError => "NAK: a packet is missing".to_owned(),
        RecoveryKind::NotReady { wait } => format!("RNR NAK: not ready, wait {} ms", milliseconds(wait)),
        RecoveryKind::Failed => "refused for good".to_owned(),
    };
    match xid {
        Some(xid) => format!("{text}, XID {xid:#010x}"),
        None => format!("{text}; it is not known of which RPC"),
    }
}

/// How many times a packet was sent.
fn nth(times: Option<u32>) -> String {
    let Some(times) = times else { return String::new() };
    let ending = match (times % 10, times % 100) {
        (1, hundreds) if hundreds != 11 => "st",
        (2, hundreds) if hundreds != 12 => "nd",
        (3, hundreds) if hundreds != 13 => "rd",
        _ => "th",
    };
    format!(", {times}{ending} time")
}

fn push_latency(text: &mut String, transaction: &Transaction) {
    if let Some(latency) = transaction.latency() {
        text.push_str(&format!(", latency {} ms", milliseconds(latency)));
    }
}

fn push_moved(text: &mut String, operation: &str, octets: u64) {
    if octets > 0 {
        text.push_str(&format!("; RDMA {operation} of {octets} octets"));
    }
}

fn push_reason(text: &mut String, half: &Half) {
    if let Err(reason) = &half.message
        && !matches!(reason, NotRebuilt::Error(_))
    {
        text.push_str(&format!("; not rebuilt: {reason}"));
    }
}
