//! Which one of many: a server, client, user or file whose RPCs take far longer than the same RPCs of the others.
//!
//! RPCs of different operations do different work, so an RPC is compared with RPCs of the same operation that ask for as many octets; an
//! operation is never compared with another one. RPCs of clients are compared with RPCs of other clients of the same server, and RPCs of
//! users and files with RPCs of others between the same client and server: what a slow end does to all files is no property of one file.
//!
//! - `members`: servers, clients, users or files, each with the times of RPCs;
//! - `rank`: the members that are far from the others.

mod members;
mod rank;

use core::fmt;
use std::collections::HashMap;

use foldhash::fast::RandomState;
use rpcrdma::rpc::{AuthSys, Flavor};
use rpcrdma_dissector::{Address, CaptureEnd, OperationArguments, RoundTrips, Transaction};

use crate::file_names::{FileNames, client, hash, main_arguments, server};
use crate::operation_name::OperationName;
use crate::stats::part;
use crate::unanswered::UnansweredWaits;
use crate::user::RpcUser;
use members::{DividedTime, EndPair, MemberTimes, Members, TimedRpc};
use rank::{Comparable, ComparedTimes, FarMember, find_far};

/// The most operations and sizes that are told apart.
const OPERATIONS: usize = 1000;

/// Kind of what is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemberKind {
    Server,
    Client,
    User,
    File,
}

impl MemberKind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
            Self::User => "user",
            Self::File => "file",
        }
    }
}

/// An operation, and the power of two that the requested octets are less than; 0 without any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct SizedOperation {
    operation: OperationName,
    power: u32,
}

impl fmt::Display for SizedOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.power {
            0 => write!(f, "{}", self.operation),
            power => {
                write!(f, "{} of {} octets or more", self.operation, crate::format::number::grouped(1 << (power - 1)))
            }
        }
    }
}

/// Handle of a file of a server.
#[derive(Clone, Debug)]
struct FileHandle {
    server: Address,
    handle: Box<[u8]>,
}

/// The numbers of the members that an RPC belongs to.
#[derive(Clone, Copy, Debug)]
struct MembersOfRpc {
    operation: u16,
    ends: EndPair,
    user: Option<u16>,
    file: Option<u16>,
    frame: u64,
}

/// The end that most of the time of a member was spent at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlowEnd {
    Requester,
    Responder,
}

/// A server, client, user or file far from the others.
#[derive(Clone, Debug)]
pub(crate) struct Outlier {
    pub(crate) kind: MemberKind,
    /// Address or name.
    pub(crate) name: String,
    /// The server of a file.
    pub(crate) server: Option<Address>,
    /// Median, as a multiple of the median of the others.
    pub(crate) ratio: f64,
    /// Number of the others.
    pub(crate) others: usize,
    /// The operation of most RPCs, the median of these, and the median of others.
    pub(crate) example: String,
    pub(crate) median: u64,
    pub(crate) median_of_others: u64,
    pub(crate) rpcs: u64,
    pub(crate) unanswered: u64,
    /// Nanoseconds beyond what the same RPCs would take at the median of the others.
    pub(crate) excess: u64,
    /// Beginning of the first RPC, in nanoseconds since 1970.
    pub(crate) since: u64,
    /// Frames with the longest times, the longest first.
    pub(crate) slowest: Vec<(u64, u64)>,
    /// The end that the time was spent at, if one end had the most.
    pub(crate) end: Option<SlowEnd>,
    /// The only client of a server that has no other server.
    pub(crate) only_client: Option<Address>,
}

/// Times of RPCs by server, client, user and file, in bounded memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outliers {
    numbers: HashMap<SizedOperation, u16, RandomState>,
    operations: Vec<SizedOperation>,
    servers: Members<Address>,
    clients: Members<Address>,
    users: Members<RpcUser>,
    files: Members<FileHandle>,
    waits: UnansweredWaits<MembersOfRpc>,
}

impl Outliers {
    /// Takes an RPC. A callback is the client's work for the server, and does not count.
    pub(crate) fn add_rpc(&mut self, transaction: &Transaction, arguments: &[OperationArguments<'_>]) {
        let Some(call) = transaction.call.as_ref().filter(|_| !transaction.reverse) else { return };
        let about = main_arguments(transaction, arguments);
        let octets = about.and_then(|about| about.count).unwrap_or_default();
        let Some(operation) = self.number_operation(OperationName::of_transaction(transaction), octets) else { return };
        let [client, server] = [client(transaction), server(transaction)];
        let numbers = self.clients.number(&client, || client).zip(self.servers.number(&server, || server));
        let Some((client, server_number)) = numbers else { return };
        let handle = about.and_then(|about| about.named_handle.or(about.handle));
        let file = handle.and_then(|handle| {
            self.files.number(&(server_number, handle), || FileHandle { server, handle: handle.into() })
        });
        let ends = EndPair { client, server: server_number };
        let user = self.number_user(transaction);
        let rpc = MembersOfRpc { operation, ends, user, file, frame: call.stamp.frame };
        match (transaction.latency(), transaction.began) {
            (Some(latency), Some(began)) => self.record(rpc, began.time.0, &divided(transaction, latency)),
            _ => self.waits.add_rpc(transaction, || rpc),
        }
    }

    /// Number of the user that AUTH_SYS names.
    fn number_user(&mut self, transaction: &Transaction) -> Option<u16> {
        let credential = transaction.credential().filter(|credential| credential.flavor == Flavor::SYS)?;
        let sys = AuthSys::decode(credential.body).ok()?;
        let own = || RpcUser::from_transaction(transaction);
        self.users.number_of(&(sys.uid, sys.gid, sys.machine_name()), own)
    }

    fn number_operation(&mut self, operation: OperationName, octets: u32) -> Option<u16> {
        let sized = SizedOperation { operation, power: u32::BITS - octets.leading_zeros() };
        if let Some(number) = self.numbers.get(&sized) {
            return Some(*number);
        }
        let number = u16::try_from(self.operations.len()).ok().filter(|number| usize::from(*number) < OPERATIONS)?;
        self.operations.push(sized);
        self.numbers.insert(sized, number);
        Some(number)
    }

    fn record(&mut self, rpc: MembersOfRpc, began: u64, time: &DividedTime) {
        let MembersOfRpc { operation, ends, user, file, frame } = rpc;
        let timed = TimedRpc { began, operation, part: part(time.all), ends };
        self.servers.record(ends.server, timed, time, frame);
        self.clients.record(ends.client, timed, time, frame);
        if let Some(user) = user {
            self.users.record(user, timed, time, frame);
        }
        if let Some(file) = file {
            self.files.record(file, timed, time, frame);
        }
    }

    fn count_unanswered(&mut self, rpc: &MembersOfRpc) {
        let ends = [(&mut self.servers.times, rpc.ends.server), (&mut self.clients.times, rpc.ends.client)];
        let user = rpc.user.map(|user| (&mut self.users.times, user));
        let file = rpc.file.map(|file| (&mut self.files.times, file));
        for (times, number) in ends.into_iter().chain(user).chain(file) {
            times.get_mut(usize::from(number)).into_iter().for_each(|times| times.unanswered += 1);
        }
    }

    /// The servers, clients, users and files that are far from the others, the farthest first. A call without a reply counts with
    /// the time of the wait, to the end of the connection or of the capture.
    pub(crate) fn finish(mut self, end: CaptureEnd, names: &FileNames) -> Vec<Outlier> {
        for (rpc, wait) in core::mem::take(&mut self.waits).into_waits() {
            let time = DividedTime { all: wait.time(end), ..DividedTime::default() };
            self.record(rpc, wait.began.time.0, &time);
            self.count_unanswered(&rpc);
        }
        let pair = |ends: EndPair| u32::from(ends.client) << 16 | u32::from(ends.server);
        let by_operation = |rpc: &TimedRpc| Comparable { operation: rpc.operation, ends: 0 };
        let by_server = |rpc: &TimedRpc| Comparable { operation: rpc.operation, ends: rpc.ends.server.into() };
        let by_ends = |rpc: &TimedRpc| Comparable { operation: rpc.operation, ends: pair(rpc.ends) };
        let servers = find_far(&self.servers.times, by_operation).into_iter();
        let servers = servers.filter_map(|far| self.server(&far));
        let clients = find_far(&self.clients.times, by_server).into_iter();
        let clients = clients.filter_map(|far| self.far_end(MemberKind::Client, &self.clients, &far));
        let users = find_far(&self.users.times, by_ends).into_iter();
        let users = users.filter_map(|far| self.user_named(&far));
        let files = find_far(&self.files.times, by_ends).into_iter();
        let files = files.filter_map(|far| self.file(&far, names));
        let mut all: Vec<Outlier> = servers.chain(clients).chain(users).chain(files).collect();
        all.sort_by(|one, other| other.ratio.total_cmp(&one.ratio));
        all
    }

    fn server(&self, far: &FarMember) -> Option<Outlier> {
        let server = self.far_end(MemberKind::Server, &self.servers, far)?;
        let rpcs = self.servers.times.get(far.number)?.sample.kept();
        let client = rpcs.first()?.ends.client;
        let is_only = rpcs.iter().all(|rpc| rpc.ends.client == client);
        let of_client = self.clients.times.get(usize::from(client))?.sample.kept();
        let has_no_other = of_client.iter().all(|rpc| usize::from(rpc.ends.server) == far.number);
        let only_client = self.clients.key(client.into()).filter(|_| is_only && has_no_other).copied();
        Some(Outlier { only_client, ..server })
    }

    fn far_end(&self, kind: MemberKind, members: &Members<Address>, far: &FarMember) -> Option<Outlier> {
        let (address, times) = (members.key(far.number)?, members.times.get(far.number)?);
        Some(self.outlier(kind, address.to_string(), far, times))
    }

    fn user_named(&self, far: &FarMember) -> Option<Outlier> {
        let (user, times) = (self.users.key(far.number)?, self.users.times.get(far.number)?);
        Some(self.outlier(MemberKind::User, user.to_string(), far, times))
    }

    fn file(&self, far: &FarMember, names: &FileNames) -> Option<Outlier> {
        let FileHandle { server, handle } = self.files.key(far.number)?;
        let name = names.shown(*server, handle);
        let name = name.unwrap_or_else(|| format!("with the handle {:#010x}", hash(handle)));
        let outlier = self.outlier(MemberKind::File, name, far, self.files.times.get(far.number)?);
        Some(Outlier { server: Some(*server), ..outlier })
    }

    fn outlier(&self, kind: MemberKind, name: String, far: &FarMember, times: &MemberTimes) -> Outlier {
        let ComparedTimes { operation, median, others } = far.example;
        let DividedTime { all, requester, responder, .. } = times.time;
        let end = match (requester.saturating_mul(2) > all, responder.saturating_mul(2) > all) {
            (true, _) => Some(SlowEnd::Requester),
            (_, true) => Some(SlowEnd::Responder),
            _ => None,
        };
        Outlier {
            kind,
            name,
            server: None,
            ratio: far.ratio,
            others: far.others,
            example: self.operations.get(usize::from(operation)).map(ToString::to_string).unwrap_or_default(),
            median,
            median_of_others: others,
            rpcs: times.rpcs,
            unanswered: times.unanswered,
            excess: (all as f64 * (1.0 - 1.0 / far.ratio)) as u64,
            since: times.since,
            slowest: times.slowest.iter().map(|shown| (shown.time, shown.frame)).collect(),
            end,
            only_client: None,
        }
    }
}

/// Divides the time of an RPC between the ends, as far as the capture shows that.
fn divided(transaction: &Transaction, all: u64) -> DividedTime {
    let (Ok(phases), Ok(recovery)) = (&transaction.phases, &transaction.recovery) else {
        return DividedTime { all, ..DividedTime::default() };
    };
    let RoundTrips { requester, responder } = transaction.round_trips;
    let of =
        |time: u64, lost: u64, away: Option<u64>| time.saturating_sub(lost).saturating_sub(away.unwrap_or_default());
    DividedTime {
        all,
        requester: of(phases.requester, recovery.phases.requester, requester),
        responder: of(phases.responder, recovery.phases.responder, responder),
        recovery: recovery.phases.total(),
    }
}
