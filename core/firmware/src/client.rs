//! The end that calls: a Requester, and the memory that the calls expose.

use core::ops::Range;

use heapless::Vec;
use rpcrdma::endpoint::requester::{self, End, Memory};
use rpcrdma::endpoint::{CallId, Channel, RegisteredMemory, Requester, Terms, Version, Versions};
use rpcrdma::segment::Segment;
use rpcrdma::v2::Properties;

use crate::random::Random;
use crate::receives::{OCTETS, Receives};
use crate::stream::{MOST, Stream};

/// Calls at a time.
pub(crate) const CALLS: usize = 4;

/// The most octets of a memory region, so that most calls need several.
const REGION: u32 = 700;

/// Properties that either end of version 2 announces.
pub(crate) const PROPERTIES: Properties<'static> =
    Properties { maximum_send_size: OCTETS as u32, receive_buffer_size: OCTETS as u32, ..Properties::DEFAULT };

/// A call that is not done, with memory.
pub(crate) struct Called {
    pub(crate) id: Option<CallId>,
    pub(crate) xid: u32,
    pub(crate) call: Stream,
    /// Room for the result.
    result: [u8; MOST],
    has_room: bool,
    /// Room for a Long Reply.
    reply: [u8; MOST],
    /// The continued reply, as assembled so far.
    placed: [u8; MOST],
}

pub(crate) struct Client {
    pub(crate) requester: Requester<CALLS, 16>,
    pub(crate) channel: Channel,
    pub(crate) receives: Receives,
    pub(crate) calls: [Called; CALLS],
    /// Memory that the other end can reach, by handle.
    exposed: Vec<(u32, CallId, Memory), 64>,
    last_handle: u32,
}

/// Outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The right reply has come.
    Answered,
    /// The reply, or the result, is not what the other end has sent.
    Wrong,
    Error,
    Cancelled,
    Lost,
}

impl Client {
    pub(crate) fn new(version: Version) -> Self {
        let called = || Called {
            id: None,
            xid: 0,
            call: Stream::EMPTY,
            result: [0; MOST],
            has_room: false,
            reply: [0; MOST],
            placed: [0; MOST],
        };
        let mut requester =
            Requester::new(Terms { remote_invalidation: true, ..Terms::default() }, CALLS as u32, REGION);
        requester.continue_messages(1500);
        Self {
            requester,
            channel: Channel::client(Versions::from(version), PROPERTIES),
            receives: Receives::new(),
            calls: core::array::from_fn(|_| called()),
            exposed: Vec::new(),
            last_handle: 0,
        }
    }

    /// Messages that can be received, besides an asynchronous grant.
    pub(crate) fn room(&self) -> u32 {
        self.receives.posted().saturating_sub(1)
    }

    /// Begins a call. Returns false if the table of calls is full.
    pub(crate) fn call(&mut self, xid: u32, random: &mut Random) -> bool {
        let stream = Stream::call(xid);
        let (arguments, room) = ([stream.item()], [[0, 2000][random.below(2) as usize]]);
        let call = requester::Call {
            head: stream.head(),
            length: stream.length(),
            arguments: &arguments[..random.below(2) as usize],
            results: &room[..random.below(2) as usize],
            reply_length: [28, 2000][random.below(2) as usize],
            largest_capacity: 2000,
        };
        let has_room = call.results.first().is_some_and(|room| *room > 0);
        let Ok(id) = self.requester.call(&call) else { return false };
        let called = &mut self.calls[id.index()];
        (called.id, called.xid, called.has_room, called.call) = (Some(id), xid, has_room, stream);
        true
    }

    /// Exposes memory to the server. Returns `None` if no handle is left.
    pub(crate) fn expose(&mut self, call: CallId, memory: Memory) -> Option<RegisteredMemory> {
        self.last_handle += 1;
        self.exposed.push((self.last_handle, call, memory)).ok()?;
        Some(RegisteredMemory { handle: self.last_handle, offset: base(self.last_handle) })
    }

    /// Hides the memory of this handle. Returns true if the memory was exposed until now.
    pub(crate) fn hide(&mut self, handle: u32) -> bool {
        let before = self.exposed.len();
        self.exposed.retain(|(exposed, ..)| *exposed != handle);
        self.exposed.len() < before
    }

    /// Returns the octets that a segment reaches; `None` for memory that is not exposed.
    pub(crate) fn reach(&mut self, segment: &Segment) -> Option<&mut [u8]> {
        let (_, call, memory) = self.exposed.iter().find(|(handle, ..)| *handle == segment.handle)?;
        let called = &mut self.calls[call.index()];
        let (octets, range): (&mut [u8; MOST], _) = match memory {
            Memory::Argument(range) => (called.call.memory(), range),
            Memory::Result(_, range) => (&mut called.result, range),
            Memory::Reply(range) => (&mut called.reply, range),
        };
        let start = usize::try_from(segment.offset.checked_sub(base(segment.handle))?).ok()?;
        let region = octets.get_mut(range.start as usize..range.end as usize)?;
        region.get_mut(start..start.checked_add(segment.length as usize)?)
    }

    /// Copies a part of a continued reply to the right place.
    pub(crate) fn place(&mut self, call: CallId, receive: u32, from: Range<usize>, at: u32) {
        let octets = &self.receives.octets(receive)[from];
        self.calls[call.index()].placed[at as usize..at as usize + octets.len()].copy_from_slice(octets);
    }

    /// Compares what came with what was sent. Nothing of the call may be exposed any more.
    pub(crate) fn done(&mut self, call: CallId, end: &End, result: Option<u32>) -> Outcome {
        let called = &mut self.calls[call.index()];
        called.id = None;
        if self.exposed.iter().any(|(_, exposed, _)| *exposed == call) {
            return Outcome::Wrong;
        }
        let came = match end {
            End::Reply { receive, payload } => &self.receives.octets(*receive)[payload.clone()],
            End::LongReply(length) => &called.reply[..*length as usize],
            End::ContinuedReply(length) => &called.placed[..*length as usize],
            End::Cancelled => return Outcome::Cancelled,
            End::Lost => return Outcome::Lost,
            End::Sent | End::BadReply => return Outcome::Wrong,
            End::Error(_) | End::ErrorV2(_) | End::NoRoom(_) | End::NotRegistered => return Outcome::Error,
        };
        let sent = Stream::reply(called.xid);
        let right = if called.has_room && result.is_some_and(|length| length > 0) {
            let length = result.unwrap_or(0) as usize;
            sent.is_reduced(came) && called.result[..length] == *sent.data()
        } else {
            sent.octets() == came
        };
        if let End::Reply { receive, .. } = end {
            self.receives.post(*receive);
        }
        if right { Outcome::Answered } else { Outcome::Wrong }
    }

    /// Nothing can be reached after the end of the connection.
    pub(crate) fn hide_all(&mut self) {
        self.exposed.clear();
    }
}

/// The offset of the first octet under a handle.
fn base(handle: u32) -> u64 {
    u64::from(handle) << 16
}
