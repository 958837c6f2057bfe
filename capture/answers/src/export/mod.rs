//! Writes rebuilt RPCs as RPC over TCP, so that any tool for NFS over TCP can read them.
//!
//! Each connection becomes a TCP connection from a reserved port of the client to port 2049 of the server, with the
//! addresses of the capture; RPCs in the reverse direction go over the same connection. A message takes as many segments as
//! needed, preceded by the record mark of RFC 5531 section 11. An InfiniBand local identifier, which is not an IP address,
//! becomes an address in 198.18.0.0/16 with the identifier in the last two octets.
//!
//! A call has the time of the first packet, and the reply follows after the latency of the RPC. If the latency is unknown,
//! the reply has the time of capture.
//!
//! An RPC is known only once the reply is, and the call is older. So messages are held, up to 4096 messages and 64 MiB, and
//! written in the order of time. A message that comes too late follows younger ones in the file; even then the time is
//! right, and so are the sequence numbers, which follow the order in the file.

pub(super) mod capture_file;
pub(super) mod tcp;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::io::{self, Write};

use rpcrdma::rpc::{RpcCall, RpcReply};
use rpcrdma_dissector::{Address, Half, MessageForm, NotRebuilt, Side, Sides, Time, Transaction};

use crate::name_counts::count;
use capture_file::{CaptureFile, ETHERNET, WrittenFrame};
use tcp::ExportedStream;

/// The port of the server (RFC 8881 section 2.9.3).
const NFS_PORT: u16 = 2049;
/// Maximum number of messages held for sorting.
const HELD_MESSAGES: usize = 4096;
/// Maximum octets of messages held for sorting.
const HELD_OCTETS: usize = 64 << 20;
/// Connections that are remembered; past that the oldest would start over, on another port.
const STREAMS: usize = 8192;
/// Reason for a message that parses as RPC-over-RDMA but carries no RPC message.
const NO_RPC: &str = "what the message carries is no RPC message";
/// The bit that marks the last fragment of a record (RFC 5531 section 11); the rest of the word is the length of the fragment.
const LAST_FRAGMENT: u32 = 0x8000_0000;

/// Takes transactions and writes a capture of RPC over TCP.
///
/// ```
/// use rpcrdma_answers::export::Exporter;
/// use rpcrdma_dissector::{Capture, Config, Events};
///
/// let capture = Capture::from_paths(["examples/nfs.pcap"]);
/// let mut file = Vec::new();
/// let mut exporter = Exporter::new(&mut file)?;
/// let mut config = Config::default();
/// config.joins_tries = false; // each try is exported
/// for transaction in Events::new(capture, config).transactions() {
///     exporter.transaction(&transaction?)?;
/// }
/// let exported = exporter.finish()?;
/// assert_eq!((exported.calls, exported.replies, exported.left_out), (3, 1, 0));
/// assert_eq!(file[..4], [0xa1, 0xb2, 0x3c, 0x4d], "pcap with nanoseconds");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Exporter<W: Write> {
    file: CaptureFile<W>,
    /// By connection number.
    streams: BTreeMap<u32, Open>,
    opened: u16,
    /// By time, then by order of arrival.
    held: BTreeMap<(Time, u64), HeldMessage>,
    octets: usize,
    arrivals: u64,
    exported: Exported,
}

/// Counts of what was written, and of what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exported {
    /// Calls that were written.
    pub calls: u64,
    /// Replies that were written.
    pub replies: u64,
    /// Replies written with the time of capture, because the capture does not show when the client had the reply.
    pub arrivals_unknown: u64,
    /// RPCs left out because the call could not be rebuilt: a reply cannot be read without the call.
    pub left_out: u64,
    /// RPCs of which only the call was written: the reply is in the capture but could not be rebuilt.
    pub replies_left_out: u64,
    /// The reasons, each with a count.
    pub reasons: Vec<(&'static str, u64)>,
}

/// A connection that has been opened.
#[derive(Debug)]
struct Open {
    stream: ExportedStream,
    client: Side,
}

/// A message that waits for older ones.
#[derive(Debug)]
struct HeldMessage {
    connection: u32,
    sender: Side,
    client: Side,
    addresses: Sides<Address>,
    comment: HeldComment,
    /// The record: mark and message.
    record: Vec<u8>,
}

impl<W: Write> Exporter<W> {
    /// Starts a pcap file.
    ///
    /// # Errors
    /// Any error from writing to `write`.
    pub fn new(write: W) -> io::Result<Self> {
        Ok(Self::with_file(CaptureFile::of_ethernet(write)?))
    }

    /// Starts a pcapng file, in which the first frame of each message has a comment: which frame of the capture the message
    /// is from.
    ///
    /// # Errors
    /// Any error from writing to `write`.
    pub fn pcapng(write: W) -> io::Result<Self> {
        Ok(Self::with_file(CaptureFile::pcapng(write)?))
    }

    fn with_file(file: CaptureFile<W>) -> Self {
        Self {
            file,
            streams: BTreeMap::new(),
            opened: 0,
            held: BTreeMap::new(),
            octets: 0,
            arrivals: 0,
            exported: Exported::default(),
        }
    }

    /// Takes a transaction. The messages of a transaction are written after all earlier messages.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn transaction(&mut self, transaction: &Transaction) -> io::Result<()> {
        let (requester, began) = (transaction.requester, transaction.began);
        let is_call = |octets: &[u8]| RpcCall::decode(octets).is_ok();
        let called = match transaction.call.as_ref().map(|call| (call, record(call, is_call))) {
            Some((call, Ok(record))) => {
                let time = began.unwrap_or(call.stamp).time;
                self.hold(transaction, requester, call, time, record);
                time
            }
            Some((_, Err(reason))) => return self.leave_out(reason),
            None => return self.leave_out(NotRebuilt::CallMissing.kind()),
        };
        if let Some(reply) = &transaction.reply {
            match record(reply, |octets| RpcReply::decode(octets).is_ok()) {
                // Even if a capture has its frames out of order, a reply comes after its call.
                Ok(record) => {
                    let timed = began.zip(transaction.latency());
                    let ended = timed.map(|(began, latency)| Time(began.time.0.saturating_add(latency)));
                    self.exported.arrivals_unknown += u64::from(ended.is_none());
                    let time = ended.unwrap_or(reply.stamp.time).max(called);
                    self.hold(transaction, requester.other(), reply, time, record);
                }
                Err(reason) => {
                    self.exported.replies_left_out += 1;
                    count(&mut self.exported.reasons, reason);
                }
            }
        }
        while self.held.len() > HELD_MESSAGES || self.octets > HELD_OCTETS {
            self.write_oldest()?;
        }
        Ok(())
    }

    /// Writes what is held, and ends the file.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn finish(mut self) -> io::Result<Exported> {
        while !self.held.is_empty() {
            self.write_oldest()?;
        }
        self.file.finish()?;
        Ok(self.exported)
    }

    fn leave_out(&mut self, reason: &'static str) -> io::Result<()> {
        self.exported.left_out += 1;
        count(&mut self.exported.reasons, reason);
        Ok(())
    }

    /// Holds a message that gets this time.
    fn hold(&mut self, of: &Transaction, sender: Side, half: &Half, time: Time, record: Vec<u8>) {
        let requester = of.requester;
        let client = if of.reverse { requester.other() } else { requester };
        let addresses = match client {
            _ if client == requester => Sides { active: of.from, passive: of.to },
            _ => Sides { active: of.to, passive: of.from },
        };
        let written = if sender == requester { &mut self.exported.calls } else { &mut self.exported.replies };
        *written += 1;
        self.arrivals += 1;
        self.octets += record.len();
        let comment = HeldComment { xid: of.xid, frame: half.stamp.frame, form: half.form };
        let held = HeldMessage { connection: of.connection, sender, client, addresses, comment, record };
        self.held.insert((time, self.arrivals), held);
    }

    fn write_oldest(&mut self) -> io::Result<()> {
        let Some(((time, _), held)) = self.held.pop_first() else { return Ok(()) };
        let Self { file, streams, opened, .. } = self;
        self.octets = self.octets.saturating_sub(held.record.len());
        if streams.len() == STREAMS && !streams.contains_key(&held.connection) {
            streams.pop_first();
        }
        let open = match streams.entry(held.connection) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let ports = Sides { active: client_port(*opened), passive: NFS_PORT };
                *opened = opened.wrapping_add(1);
                let open =
                    entry.insert(Open { stream: ExportedStream::new(held.addresses, ports), client: held.client });
                for frame in open.stream.open() {
                    file.frame(ethernet(time, &frame), None::<&str>)?;
                }
                open
            }
        };
        let from = if held.sender == open.client { Side::Active } else { Side::Passive };
        // Only the first of its frames has the comment.
        let mut comment = Some(held.comment);
        open.stream.send(from, &held.record, |frame| file.frame(ethernet(time, frame), comment.take()))
    }
}

/// An Ethernet frame to write, no longer than an IP packet.
fn ethernet(time: Time, frame: &[u8]) -> WrittenFrame<'_> {
    WrittenFrame { time, link: ETHERNET, data: Cow::Borrowed(frame), length: frame.len() as u32 }
}

/// Origin of a message.
#[derive(Clone, Copy, Debug)]
struct HeldComment {
    xid: u32,
    frame: u64,
    form: MessageForm,
}

impl fmt::Display for HeldComment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { xid, frame, form } = self;
        let how = match form {
            MessageForm::Short => "in one Send",
            MessageForm::Chunked => "in a Send and chunks",
            MessageForm::Long => "in a chunk",
            MessageForm::Continued => "in several Sends",
        };
        write!(f, "from frame {frame} of the capture: rdma_xid {xid:#010x}, {how}")
    }
}

/// The record of a message, or why there is none.
fn record(half: &Half, is_right: fn(&[u8]) -> bool) -> Result<Vec<u8>, &'static str> {
    let message = half.message.as_ref().map_err(NotRebuilt::kind)?;
    let length = u32::try_from(message.len()).ok().filter(|length| length & LAST_FRAGMENT == 0).ok_or(NO_RPC)?;
    let mut record = Vec::with_capacity(4 + message.len());
    record.extend((LAST_FRAGMENT | length).to_be_bytes());
    message.pieces().for_each(|piece| record.extend_from_slice(piece));
    if is_right(record.get(4..).unwrap_or_default()) { Ok(record) } else { Err(NO_RPC) }
}

/// Port of a client. Reserved ports come first, as with NFS clients, except the ports of well-known protocols, because a
/// tool might mistake the stream for one. Then come the dynamic ports.
const fn client_port(connection: u16) -> u16 {
    const RESERVED: u16 = 706;
    const RESERVED_COUNT: u16 = 96;
    const DYNAMIC: u16 = 49_152;
    const DYNAMIC_COUNT: u16 = 7_000;
    if connection < RESERVED_COUNT {
        RESERVED + connection
    } else {
        DYNAMIC + (connection - RESERVED_COUNT) % DYNAMIC_COUNT
    }
}

impl fmt::Display for Exported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.calls {
            0 => f.write_str("nothing to export: the output file has no packets")?,
            calls => {
                let (s, replies) =
                    (if calls == 1 { "" } else { "s" }, if self.replies == 1 { "reply" } else { "replies" });
                write!(f, "{calls} call{s} and {} {replies} written", self.replies)?;
            }
        }
        if self.arrivals_unknown > 0 {
            let count = self.arrivals_unknown;
            write!(f, "; replies with the time of their capture, because it is not known when they arrived: {count}")?;
        }
        if self.left_out > 0 {
            write!(f, "; RPCs left out: {}", self.left_out)?;
        }
        if self.replies_left_out > 0 {
            write!(f, "; calls exported without their reply: {}", self.replies_left_out)?;
        }
        for (reason, count) in &self.reasons {
            write!(f, "\n  {reason}: {count}")?;
        }
        Ok(())
    }
}
