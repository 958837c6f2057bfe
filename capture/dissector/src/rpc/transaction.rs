//! An RPC put back together: the call and the reply, their inline parts and their chunks.

use rpcrdma::reader::padding;

use super::both_ends::WitnessedRpc;
use super::credits::CreditWaitUnknown;
use super::data_times::DataTimes;
use super::joined_wait::JoinedWait;
use super::kernel_times::KernelTimes;
use super::not_rebuilt::NotRebuilt;
use super::phases::{NotTimed, Phase, Phases};
use super::pieces::Pieces;
use super::placement::{FramePlacement, Placements};
use super::promise::{Promise, PromiseKind};
use super::properties::{MessageDirection, Rpc, Security, Status};
use super::recovery::Recovery;
use super::slots::SlotWaitUnknown;
use super::steps::Steps;
use super::tries::Tries;
use super::waiting::Waiting;
use crate::carrier::operation::{Side, Stamp};
use crate::link::Address;
use crate::nfs::{Callback, CompoundOperation, DataItem, Procedure};

/// A call and the outcome of the call.
///
/// A reply in the capture need not have reached the requester. An RPC is answered by the copy of the reply that the
/// requester's adapter accepted. The call is still waiting if the adapter refused the reply, or an RDMA Write before
/// the reply, and the reply was not retransmitted. The call is also still waiting if the reply was sent more than once
/// and never acknowledged.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Transaction {
    /// Number of the connection.
    pub connection: u32,
    /// The end that called.
    pub requester: Side,
    /// Address of the requester.
    pub from: Address,
    /// Address of the responder.
    pub to: Address,
    /// True if the server called the client (RFC 8167).
    pub reverse: bool,
    /// Evidence that the program is that of NFSv4's callbacks.
    pub callback: Callback,
    /// `rdma_xid`.
    pub xid: u32,
    /// Call; `None` if the capture lacks the call.
    pub call: Option<Half>,
    /// Reply; `None` if the capture lacks the reply, or the reply did not arrive.
    pub reply: Option<Half>,
    /// `true` if the requester acknowledged the reply.
    pub is_acknowledged: bool,
    /// Called procedure.
    pub procedure: Option<Procedure>,
    /// The name of what was called.
    pub name: Option<&'static str>,
    /// Operations of an NFSv4 COMPOUND: first the reply's operations with status, then the call's operations that were
    /// not reached.
    pub operations: Vec<CompoundOperation>,
    /// RPCSEC_GSS protection.
    pub security: Option<Security>,
    /// Final status; `None` without a reply.
    pub status: Option<Status>,
    /// Octets of Read chunks that the responder read by RDMA Read.
    pub read_octets: u64,
    /// Octets that the responder wrote into Write chunks and the Reply chunk by RDMA Write.
    pub write_octets: u64,
    /// Frame that the call began with: the first packet of the call's Send, or of the first of several Sends (version
    /// 2).
    pub began: Option<Stamp>,
    /// Round trips through the network that acknowledgements show.
    pub round_trips: RoundTrips,
    /// Time of the RPC by phase; the sum is [`latency`](Self::latency).
    pub phases: Result<Phases, NotTimed>,
    /// Part of that time that was spent on lost packets.
    pub recovery: Result<Recovery, NotTimed>,
    /// Times of both ends in sending data by RDMA. The times mean something only if the [phases](Self::phases) are
    /// known.
    pub data_times: DataTimes,
    /// Packets of both ends, one by one, if [`Config::steps`](crate::Config::steps) asks for steps and the capture
    /// holds the call.
    pub steps: Option<Box<Steps>>,
    /// Nanoseconds before the call in which the requester had no credit: as many calls of the requester waited as
    /// credits were granted. The time ends with the reply that let the call go. Whether the requester wanted to call
    /// earlier is unknown. 0 if a credit was then available for longer than none had been, and for the second of two
    /// calls that were let go together: no stretch of time counts for two.
    pub credit_wait: Result<u64, CreditWaitUnknown>,
    /// Nanoseconds before the call in which all slots of the session were in use, as for `credit_wait`. `None` for an RPC in no
    /// session, and without `Config::transactions`.
    pub slot_wait: Option<Result<u64, SlotWaitUnknown>>,
    /// State of the wait for a reply, if the capture holds the call and no reply.
    pub waiting: Option<Waiting>,
    /// Minimum wait of the RPC, if the call was sent before the capture, and the reply was captured.
    pub joined: Option<Box<JoinedWait>>,
    /// Tries, if there were several, each on a separate connection. The RPC then begins with the first call and ends
    /// with the accepted reply; everything else is of the last try.
    pub tries: Option<Box<Tries>>,
    /// The RPC at both ends, if a second capture holds the RPC.
    pub witnessed: Option<Box<WitnessedRpc>>,
    /// Kind of the promise that the RPC opened, or that the RPC's failure left open.
    pub opens: Option<PromiseKind>,
    /// Promises of earlier RPCs that the RPC kept.
    pub keeps: Vec<Promise>,
    /// Times from kernel traces, if a trace shows the RPC.
    pub kernel: Option<Box<KernelTimes>>,
    /// Frames that carried the RPC's Payload streams by RDMA, if `Config::placements` asks for placements.
    pub(crate) placements: Placements,
}

impl Transaction {
    /// Returns the frames that carried the Payload streams of the RPC by RDMA, if
    /// [`Config::placements`](crate::Config::placements) asks for placements.
    #[must_use]
    pub fn placements(&self) -> &[FramePlacement] {
        self.placements.as_slice()
    }

    /// Returns true if the RPC is known from kernel traces only: the capture holds no packets of the RPC.
    #[must_use]
    pub fn is_traced_only(&self) -> bool {
        self.kernel.as_ref().is_some_and(|kernel| kernel.is_without_packets)
    }

    /// Returns the known properties of the call.
    #[must_use]
    pub fn called(&self) -> Rpc {
        let Self { reverse, callback, procedure, name, ref operations, security, .. } = *self;
        let operations = operations.clone();
        Rpc { reverse, callback, procedure, name, operations, security, ..Rpc::unknown(MessageDirection::Call) }
    }

    /// Returns the role of the end that calls: `client`, or `server` for a callback.
    #[must_use]
    pub const fn calling_end(&self) -> &'static str {
        if self.reverse { "server" } else { "client" }
    }

    /// Returns the role of the end that answers: `server`, or `client` for a callback.
    #[must_use]
    pub const fn answering_end(&self) -> &'static str {
        if self.reverse { "client" } else { "server" }
    }

    /// Returns the name of a phase for people, who read client and server.
    #[must_use]
    pub const fn phase_title(&self, phase: Phase) -> &'static str {
        match phase {
            Phase::Responder => self.answering_end(),
            Phase::Requester => self.calling_end(),
            other => other.title(),
        }
    }

    /// Forgets the times of an RPC whose call and reply were captured by two clocks.
    pub(crate) fn forget_times(&mut self) {
        if !matches!(self.phases, Err(NotTimed::CallMissing | NotTimed::ReplyMissing)) {
            (self.phases, self.recovery) = (Err(NotTimed::TwoClocks), Err(NotTimed::TwoClocks));
        }
        if self.credit_wait.is_ok() {
            self.credit_wait = Err(CreditWaitUnknown::TwoClocks);
        }
        (self.round_trips, self.joined) = (RoundTrips::default(), None);
    }

    /// Returns the nanoseconds from the first packet of the call's Send to the last packet of the reply's, in the copy
    /// that the requester accepted, or to the last packet of a reply that the responder provides in memory. An RDMA
    /// Write after the reply does not count: by then the requester has the answer.
    #[must_use]
    pub fn latency(&self) -> Option<u64> {
        match self.phases {
            Ok(phases) => Some(phases.total()),
            Err(reason) if reason.leaves_latency() => {
                let (began, reply) = (self.began?, self.reply.as_ref()?);
                reply.stamp.time.0.checked_sub(began.time.0)
            }
            Err(_) => None,
        }
    }
}

/// Round trips between the place of the capture and the two ends of an RPC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTrips {
    /// Nanoseconds in which the requester's adapter usually acknowledges packets of this connection. Adapters (over
    /// TCP: hosts) acknowledge at once, so most of that time is the way to the adapter and back.
    pub requester: Option<u64>,
    /// Nanoseconds in which the responder's adapter does.
    pub responder: Option<u64>,
}

/// A call or a reply.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Half {
    /// Frame that completed the message's Send; of a reply, in the copy that the requester accepted, if the capture
    /// shows which.
    pub stamp: Stamp,
    /// Form in which the message was sent.
    pub form: MessageForm,
    /// Octets of the Payload stream that were in the Send.
    pub inline: usize,
    /// Whole RPC message, beginning with the XID; an RDMA_ERROR has none.
    pub message: Result<Rebuilt, NotRebuilt>,
}

/// An RPC message as before reduction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rebuilt {
    pub(crate) pieces: Pieces,
    /// DDP-eligible data items in the message, reduced or not; [`DataItem::at`] counts from the start of
    /// [`octets`](Self::octets).
    pub items: Vec<DataItem>,
}

impl Rebuilt {
    /// Returns the octets of the message, XDR padding restored. If chunks carried some octets, the first call copies
    /// all into one piece.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        self.pieces.octets()
    }

    /// Returns the octets of the message in the pieces in which the octets came: one after the other, the pieces are
    /// [`octets`](Self::octets).
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        self.pieces.iter()
    }

    /// Length of the message in octets.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Returns true if the message has no octets.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Returns the octets of the message without the data items that came in chunks, in one piece. If the message was
    /// rebuilt from several pieces, the first call copies the octets.
    pub(crate) fn reduced(&self) -> &[u8] {
        let mut moved = self.items.iter().filter(|item| item.chunk.is_some()).peekable();
        if moved.peek().is_none() {
            return self.octets();
        }
        self.pieces.reduced(moved.map(|item| {
            let length = item.length as usize;
            item.at..item.at.saturating_add(length).saturating_add(padding(length))
        }))
    }

    /// The data of an item.
    #[must_use]
    pub fn data(&self, item: &DataItem) -> &[u8] {
        self.octets().get(item.at..).and_then(|rest| rest.get(..item.length as usize)).unwrap_or_default()
    }
}

/// Form in which an RPC message was sent (RFC 8166 section 3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MessageForm {
    /// In one Send.
    Short,
    /// In a Send and chunks.
    Chunked,
    /// In a Position Zero Read chunk or the Reply chunk.
    Long,
    /// In several Sends (version 2).
    Continued,
}
