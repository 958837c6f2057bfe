//! Reads packet captures of RPC-over-RDMA (RFC 8166), such as NFS over RDMA, and puts the RPCs back together: calls, replies,
//! and the data that RDMA moved for both. Judges both ends by the rules of the protocol.
//!
//! ```text
//! capture files ── Capture ── Frame ──→ Dissector ── Event ──┬─→ Message        one per Send
//! one stream    ── Reader  ───┘                              ├─→ Transaction    one per RPC: call, reply, data
//!                                                            └─→ Checker ─→ Found      one per broken rule
//! ```
//!
//! Input is pcap and pcapng, also compressed, from files and pipes; RoCEv2, RoCEv1, InfiniBand and iWARP; versions 1 and 2
//! of RPC-over-RDMA. One pass is enough, through retransmission, disorder and loss, in memory that does not grow with the
//! capture. What a capture lacks is reported as missing, and never guessed.
//!
//! This crate is not a general dissector: other traffic is counted and passed over, and NFS is decoded only as far as
//! needed to name a call and to put the data of a call in place. This crate neither captures packets nor sends any.
//!
//! # Which type to begin with
//! - [`Events`]: an iterator over what files hold; [`Events::messages`] and [`Events::transactions`] are the most common
//!   choices. [`Capture`] opens the files, [`Config`] says what to look for.
//! - [`Dissector`]: the same for frames that the caller reads, with a [`Reader`] or otherwise.
//! - [`Transaction`]: an RPC, with procedure, status, latency and, in each [`Half`], the whole RPC message or the reason
//!   why the message is missing ([`NotRebuilt`]).
//! - [`Message`]: a Send, with the known parts of the header and of the RPC message.
//! - [`Checker`]: takes events, gives [findings](Found). [`check`] has the rules.
//! - [`packets`]: headers of packets and FPDUs, for programs that write changed copies of packets.
//!
//! ```
//! use rpcrdma_dissector::{Capture, Config, Events};
//!
//! let capture = Capture::from_paths(["examples/nfs.pcap"]);
//! let mut names = Vec::new();
//! for transaction in Events::new(capture, Config::default()).transactions() {
//!     let transaction = transaction?;
//!     if let (Some(name), Some(latency)) = (transaction.name, transaction.latency()) {
//!         names.push(format!("{name} in {} us", latency / 1000));
//!     }
//! }
//! assert_eq!(names[1], "NFSv4 COMPOUND in 2461 us");
//! # Ok::<(), rpcrdma_dissector::FileError>(())
//! ```
//!
//! Answers to questions about a capture, as text, JSON, CSV or a report, are in the package `rpcrdma-answers`. The
//! program `rpcrdma`, which prints all of these answers, is installed by `cargo install rpcrdma-capture`.
#![forbid(unsafe_code)]

mod capture_end;
mod carrier;
pub mod check;
mod dissector;
mod event;
mod events;
mod file;
mod input;
pub mod link;
mod mount;
pub mod nfs;
pub mod packets;
mod rpc;
mod session;
mod trace;
mod witness;

pub use capture_end::CaptureEnd;
pub use carrier::acknowledgement::{AcknowledgementOrder, Acknowledgements};
pub use carrier::connection::{
    Announced, CarrierTerms, Checksums, Connection, Counts, Disconnection, DisconnectionKind, Endpoint, MpaTerms,
    RefusedAccess, RequestTimes, Shown, service_port,
};
pub use carrier::infiniband::crc::{CrcVerdict, verify_crc};
pub use carrier::nfs_over_tcp::NfsOverTcp;
pub use carrier::operation::{MemoryAddress, OperationType, Side, Sides, Stamp, StreamProgress};
pub use carrier::recovery::{AgainFor, MissingPacket, RecoveryKind};
pub use carrier::rejection::{Rejected, RejectionKind, UnansweredRequest};
pub use carrier::terminate::Terminate;
pub use check::{Checker, Found};
pub use dissector::{Config, Dissector, NFS_RDMA_PORT, Summary, WitnessSummary};
pub use event::{
    AddressMoved, EndedConnection, Event, FramedPart, Lost, LostBetween, MemoryUse, MemoryUseKind, Opened, Recounted,
    Recovered, RefusedCall, RefusedReply, RefusedReplyEnd, ReplyRead, Report, Terminated, WitnessedCopies,
};
pub use events::Events;
pub use file::{
    Capture, ClockBounds, ClockSteps, FileError, Files, FirstFrame, Frame, LinkType, Problem, RECORD_EVENTS, Reader,
    Time, TimeBase, first_frame, in_order,
};
pub use input::calendar::CalendarDate;
pub use input::hexdump::{HexDump, HexError};
pub use input::send::lone_message;
pub use input::values;
pub use link::{Address, Carrier, MacAddress, MirrorEncapsulation, MirrorSession, Other};

pub use rpc::activity::{IdleTime, MessageTimes};
pub use rpc::arguments::{CopyResults, OffloadProgress, Offloaded, OperationArguments};
pub use rpc::both_ends::{BothEnds, EndLatencies, RpcParts, WayBounds, WitnessedRpc};
pub use rpc::capture_point::{CapturePoint, CapturePointSource};
pub use rpc::credits::{CreditLimit, CreditTimes, CreditUse, CreditWaitUnknown};
pub use rpc::data_times::{CongestionSigns, DataTimes, SenderTimes};
pub use rpc::header::{AnyErrorBody, Decoded, Dialect, Header, PayloadPlace, Reaction};
pub use rpc::joined_wait::JoinedWait;
pub use rpc::kernel_fault::{CompletionStatus, KernelFault, KernelFaultKind, TracedMachine};
pub use rpc::kernel_times::KernelTimes;
pub use rpc::message::{Answered, Beginning, Captured, Detail, Dropped, Earlier, Message, Permitted};
pub use rpc::not_rebuilt::{ChunkName, NotRebuilt};
pub use rpc::phases::{NotTimed, Phase, Phases};
pub use rpc::promise::{DelegationHolder, Promise, PromiseEnd, PromiseKind, PromiseUnknown};
pub use rpc::properties::{MessageDirection, Rpc, Security, Status, Walked};
pub use rpc::ranges::Ranges;
pub use rpc::recovery::{Recovery, TimeOut};
pub use rpc::retry::RetryFailure;
pub use rpc::slots::SlotWaitUnknown;
pub use rpc::steps::{PacketRun, PhaseStretch, Steps, StepsLeftOut, StepsWanted};
pub use rpc::transaction::{Half, MessageForm, Rebuilt, RoundTrips, Transaction};
pub use rpc::tries::{Execution, Tries, Try, TryDisconnection, TryEnd};
pub use rpc::waiting::{Delivery, LastStep, Owed, OwedUnknown, PacketRefusal, Step, WaitEnd, Waiting};
/// Types of the codec appear in signatures here.
pub use rpcrdma;
pub use trace::{TraceClock, TraceClocks, TraceCounts};
pub use witness::{SamePackets, SecondFile, SecondWitness, recognise};
