//! Writes the frames of a capture unchanged, with comments on the important frames, as pcapng: Wireshark shows the comments beside each packet.
//!
//! The purpose of a frame becomes known later: the comment on a call names the reply. So frames are held, up to 65,536
//! frames and 64 MiB. A comment on a frame that is already written goes on the next frame, and names the frame concerned.

mod frame_buffers;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt::{self, Write as _};
use std::io::{self, Write};
use std::sync::Arc;

use rpcrdma_dissector::{
    Found, Frame, Half, NotRebuilt, OperationType, PacketRun, Phase, Recovered, RecoveryKind, Step, Steps, Transaction,
};

use crate::called::{called_within, ended, outcome};
use crate::export::capture_file::{PcapngFile, WrittenFrame};
use crate::format::number::{Milliseconds, push_grouped};
use crate::operation_name::OperationName;
use frame_buffers::FrameBuffers;
pub use frame_buffers::KeptFrame;

/// The most frames that are held until their comments are known.
const HELD_FRAMES: usize = 65_536;
/// The most octets of frames that are held until their comments are known.
const HELD_OCTETS: usize = 64 << 20;
/// Columns for what was called.
const CALLED: usize = 80;
/// Octets that most comments have at most.
const COMMENT: usize = 192;

/// Takes frames and their RPCs, and writes a pcapng file.
///
/// ```
/// use rpcrdma_answers::annotate::Annotator;
/// use rpcrdma_dissector::{Capture, Config, Dissector, Event};
///
/// let mut capture = Capture::from_paths(["examples/nfs.pcap"]);
/// let (mut file, mut dissector) = (Vec::new(), Dissector::new(Config::default()));
/// let mut annotator = Annotator::new(&mut file)?;
/// while let Some(frame) = capture.next() {
///     let frame = frame?;
///     annotator.frame(&frame)?;
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
    /// Octets of the held frames.
    buffers: FrameBuffers,
    /// Number of octets in `buffers`.
    octets: usize,
    /// Comments on frames that were written before.
    late: Vec<String>,
    /// Text of the comment that is written.
    text: String,
    annotated: Annotated,
}

/// Buffered frame that waits for comments.
#[derive(Debug)]
struct HeldFrame {
    frame: KeptFrame,
    /// Comment that most frames have. The comment becomes text when the frame is written.
    packet: Option<PacketComment>,
    comments: Vec<String>,
    /// Number of comments about RPCs, which come first: an RPC is known later than the other facts about a frame.
    rpcs: usize,
}

/// The packets of an RDMA Read or RDMA Write that begin in a frame.
#[derive(Debug)]
struct PacketComment {
    step: Step,
    /// First packet and last packet, counted from 1, and total number of packets; `None` if one of these is unknown.
    place: Option<(u64, u64, u64)>,
    /// Name of the call, and the XID.
    rpc: Arc<str>,
}

/// Counts of what was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Annotated {
    /// Number of frames.
    pub frames: u64,
    /// Number of comments on the frames.
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
    /// Any error from writing to `write`.
    pub fn new(write: W) -> io::Result<Self> {
        Ok(Self {
            file: PcapngFile::new(write)?,
            // As large as it becomes: growing moved what is held a dozen times.
            held: VecDeque::with_capacity(HELD_FRAMES + 1),
            buffers: FrameBuffers::default(),
            octets: 0,
            late: Vec::new(),
            text: String::new(),
            annotated: Annotated::default(),
        })
    }

    /// Takes the next frame of the capture. Call this before the events of the frame.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn frame(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        self.octets += frame.data.len();
        let frame = self.buffers.keep(frame);
        self.held.push_back(HeldFrame { frame, packet: None, comments: Vec::new(), rpcs: 0 });
        // One always stays, to take the last comments.
        while self.held.len() > HELD_FRAMES || (self.octets > HELD_OCTETS && self.held.len() > 1) {
            self.write_oldest()?;
        }
        Ok(())
    }

    /// Comments on the frames of the call and of the reply. If the [steps](Transaction::steps) of the RPC are known, also
    /// comments on the frames of RDMA Reads and RDMA Writes.
    pub fn transaction(&mut self, transaction: &Transaction) {
        let Transaction { call, reply, .. } = transaction;
        let called = called_within(CALLED, transaction);
        if let Some(half) = call {
            self.comment_on_rpc(half.stamp.frame, |text| call_comment(text, &called, transaction, half));
        }
        if let Some(half) = reply {
            self.comment_on_rpc(half.stamp.frame, |text| reply_comment(text, &called, transaction, half));
        }
        if let Some(steps) = &transaction.steps {
            self.steps(transaction, steps);
        }
    }

    /// Comments on the frame that shows that a packet was lost, or seemed to be.
    pub fn recovered(&mut self, recovered: &Recovered) {
        self.comment(recovered.stamp.frame, |text| recovered_comment(text, recovered));
    }

    /// Comments on the packets of RDMA Reads and RDMA Writes. A frame that was written already gets no such comment: there may be thousands.
    fn steps(&mut self, transaction: &Transaction, steps: &Steps) {
        let rpc = format!("{}, XID {:#010x}", OperationName::of_transaction(transaction), transaction.xid);
        let rpc: Arc<str> = rpc.into();
        for step in [Step::ReadRequest, Step::ReadResponse, Step::Write] {
            let is_part = |packet: &&PacketRun| packet.step == Some(step) && packet.octets > 0;
            let total: u64 = steps.packets.iter().filter(is_part).map(|packet| packet.packets).sum();
            let mut before = 0;
            for packet in steps.packets.iter().filter(is_part) {
                let last = before + packet.packets;
                let place = steps.left_out.is_none().then_some((before + 1, last, total));
                before = last;
                self.packet(packet.first.frame, PacketComment { step, place, rpc: Arc::clone(&rpc) });
            }
        }
        for packet in steps.packets.iter().filter(|packet| packet.is_discarded) {
            if self.find_buffered(packet.first.frame).is_none() {
                self.annotated.left_out += 1;
                continue;
            }
            self.comment(packet.first.frame, |text| {
                write!(text, "discarded: its receiver missed a packet before it; of {rpc}")
            });
        }
    }

    fn packet(&mut self, frame: u64, comment: PacketComment) {
        let Some(held) = self.find_buffered(frame) else {
            self.annotated.left_out += 1;
            return;
        };
        match &held.packet {
            None => held.packet = Some(comment),
            Some(_) => {
                let mut text = String::with_capacity(COMMENT);
                comment.push(&mut text);
                held.comments.push(text);
            }
        }
        self.annotated.comments += 1;
    }

    /// A frame that was not written yet.
    fn find_buffered(&mut self, frame: u64) -> Option<&mut HeldFrame> {
        let first = self.held.front()?.frame.number;
        self.held.get_mut(usize::try_from(frame.checked_sub(first)?).ok()?)
    }

    /// Comments on the frame that shows that a rule was broken.
    pub fn finding(&mut self, found: &Found) {
        let Found { rule, severity, stamp, message, .. } = found;
        let (severity, by) = (severity.name(), found.broken_by());
        self.comment(stamp.frame, |text| {
            write!(text, "{severity} {}, by {by}: {message} ({})", rule.slug, rule.section)
        });
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

    /// Comments on a frame of an RPC, before all other comments on the frame.
    fn comment_on_rpc(&mut self, frame: u64, write: impl FnOnce(&mut String) -> fmt::Result) {
        self.comment(frame, write);
        if let Some(held) = self.find_buffered(frame)
            && let Some(text) = held.comments.pop()
        {
            held.comments.insert(held.rpcs.min(held.comments.len()), text);
            held.rpcs += 1;
        }
    }

    fn comment(&mut self, frame: u64, write: impl FnOnce(&mut String) -> fmt::Result) {
        self.annotated.comments += 1;
        let mut text = String::with_capacity(COMMENT);
        // Writing to a String does not fail.
        match self.find_buffered(frame) {
            Some(held) => {
                let _ = write(&mut text);
                held.comments.push(text);
            }
            None => {
                let _ = write!(text, "frame {frame}: ").and_then(|()| write(&mut text));
                self.annotated.late += 1;
                self.late.push(text);
            }
        }
    }

    fn write_oldest(&mut self) -> io::Result<()> {
        let Some(HeldFrame { frame, packet, comments, .. }) = self.held.pop_front() else { return Ok(()) };
        self.octets = self.octets.saturating_sub(frame.size());
        self.annotated.frames += 1;
        self.text.clear();
        let packet = packet.map(|packet| {
            packet.push(&mut self.text);
            self.text.as_str()
        });
        let Frame { time, link, data, length, .. } = frame.frame(self.buffers.oldest());
        let frame = WrittenFrame { time, link, data: Cow::Borrowed(data), length };
        let others = comments.iter().chain(&self.late).map(String::as_str);
        self.file.frame(frame, packet.into_iter().chain(others).map(Cow::Borrowed))?;
        self.buffers.let_go();
        self.late.clear();
        Ok(())
    }
}

impl PacketComment {
    /// Appends the comment. Most comments are of this kind, so the function avoids formatting.
    fn push(&self, text: &mut String) {
        text.push_str(self.step.name());
        if let Some((first, last, total)) = self.place {
            if first == last {
                text.push(' ');
            } else {
                text.push_str("s ");
                push_grouped(text, first);
                text.push_str(" to ");
            }
            push_grouped(text, last);
            text.push_str(" of ");
            push_grouped(text, total);
        }
        text.push_str(" of ");
        text.push_str(&self.rpc);
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

fn call_comment(text: &mut String, called: &str, transaction: &Transaction, call: &Half) -> fmt::Result {
    write!(text, "call {:#010x}: {called}; ", transaction.xid)?;
    match &transaction.reply {
        Some(reply) => write!(text, "reply in frame {}", reply.stamp.frame)?,
        None => text.push_str(outcome(transaction)),
    }
    latency(text, transaction)?;
    moved(text, "Read", transaction.read_octets)?;
    reason(text, call)
}

fn reply_comment(text: &mut String, called: &str, transaction: &Transaction, reply: &Half) -> fmt::Result {
    write!(text, "reply {:#010x}: {called}; ", transaction.xid)?;
    match &transaction.call {
        Some(call) => write!(text, "call in frame {}", call.stamp.frame)?,
        None => text.push_str("the call is not in this capture"),
    }
    latency(text, transaction)?;
    moved(text, "Write", transaction.write_octets)?;
    for (_, note) in ended(transaction) {
        write!(text, "; {note}")?;
    }
    phases(text, transaction)?;
    reason(text, reply)
}

fn recovered_comment(text: &mut String, recovered: &Recovered) -> fmt::Result {
    let Recovered { kind, operation, times, xid, .. } = *recovered;
    let what = operation.map_or("segment", OperationType::name);
    match kind {
        RecoveryKind::Retransmitted => write!(text, "{what} retransmitted{}", Nth(times))?,
        RecoveryKind::Replaced => write!(text, "{what} retransmitted{}; the capture lacks the first", Nth(times))?,
        RecoveryKind::TimedOut { silence } => {
            write!(text, "time-out: its sender had waited for {} ms", Milliseconds(silence))?;
        }
        RecoveryKind::ImpliedNak => text.push_str("implied NAK: a response to this RDMA Read request was missing"),
        RecoveryKind::CauseNotSeen => text.push_str("cause not seen: nothing in the capture asked for this packet"),
        RecoveryKind::SequenceError => text.push_str("NAK: a packet was lost"),
        RecoveryKind::NotReady { wait } => write!(text, "RNR NAK: not ready, wait {} ms", Milliseconds(wait))?,
        RecoveryKind::Failed => text.push_str("refused for good"),
        _ => text.push_str(kind.name()),
    }
    match xid {
        Some(xid) => write!(text, ", XID {xid:#010x}"),
        None => text.write_str("; it is not known of which RPC"),
    }
}

/// Number of copies of a packet that were sent.
struct Nth(Option<u32>);

impl fmt::Display for Nth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(times) = self.0 else { return Ok(()) };
        let ending = match (times % 10, times % 100) {
            (1, hundreds) if hundreds != 11 => "st",
            (2, hundreds) if hundreds != 12 => "nd",
            (3, hundreds) if hundreds != 13 => "rd",
            _ => "th",
        };
        write!(f, ", {times}{ending} time")
    }
}

fn latency(text: &mut String, transaction: &Transaction) -> fmt::Result {
    match transaction.latency() {
        Some(latency) => write!(text, ", latency {} ms", Milliseconds(latency)),
        None => Ok(()),
    }
}

fn moved(text: &mut String, operation: &str, octets: u64) -> fmt::Result {
    if octets == 0 { Ok(()) } else { write!(text, "; RDMA {operation} of {octets} bytes") }
}

/// The phases that took time, if there are several.
fn phases(text: &mut String, transaction: &Transaction) -> fmt::Result {
    let Ok(phases) = &transaction.phases else { return Ok(()) };
    let parts = Phase::ALL.into_iter().filter(|phase| phases.phase_time(*phase) > 0);
    if parts.clone().count() < 2 {
        return Ok(());
    }
    for (index, phase) in parts.enumerate() {
        text.push_str(if index == 0 { "; ms by phase: " } else { ", " });
        write!(text, "{} {}", transaction.phase_title(phase), Milliseconds(phases.phase_time(phase)))?;
    }
    Ok(())
}

fn reason(text: &mut String, half: &Half) -> fmt::Result {
    match &half.message {
        Err(reason) if !matches!(reason, NotRebuilt::Error(_)) => write!(text, "; not rebuilt: {reason}"),
        _ => Ok(()),
    }
}
