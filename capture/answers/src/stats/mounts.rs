//! Mounts: what the RPCs between a client and a server show of the options of both.

use rpcrdma::rpc::{AuthSys, Flavor};
use rpcrdma_dissector::nfs::{OperationCode, v2, v3};
use rpcrdma_dissector::{
    Address, CaptureEnd, OperationArguments, Promise, Report, Security, Side, Stamp, Transaction, WaitEnd,
};

use super::credits::{ConnectionCredits, CreditCounts, Inline, credits_of};
use super::sessions::{MountFlag, MountServer, MountSession, MountSessions};
use crate::file_names::FileNames;
use crate::format::number::{counted, grouped};
use crate::promises::{PromiseCounts, PromiseStatistics};
use crate::small_map::SmallMap;

/// The most mounts that are told apart.
const MOUNTS: usize = 1000;
/// The most RPCs of a mount whose arguments are read, besides those that create sessions or walk from the root.
const READ_RPCS: u64 = 256;
/// The most values of a kind that are kept of a mount: versions, users, paths.
const VALUES: usize = 8;
/// The most connections of a mount whose times are kept.
const CONNECTIONS: usize = 1000;

/// Options of a client and a server as their RPCs and connections show them, each option with a frame.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MountStatistics {
    /// Address of the client.
    pub client: String,
    /// Address of the server: of several addresses, the one that was used first.
    pub server: String,
    /// All addresses of the client. Several belong to one client if the server gave them one `clientid4`.
    pub client_addresses: Vec<String>,
    /// All addresses of the server. Several belong to one server if EXCHANGE_ID names the same owner and scope for them.
    pub server_addresses: Vec<String>,
    /// Versions of NFS and its side protocols, such as `NFSv4.1`.
    pub versions: Vec<MountText>,
    /// Security of the calls: `sys`, `none`, `krb5`, `krb5i`, `krb5p` (RPCSEC_GSS may use another mechanism), or a number.
    pub security: Vec<MountText>,
    /// Users that AUTH_SYS names.
    pub users: Vec<MountUser>,
    /// The largest count of a READ: rsize, if files were as long.
    pub read_octets: Option<MountNumber>,
    /// The largest count of a WRITE: wsize, if files were as long.
    pub write_octets: Option<MountNumber>,
    /// Maximum count of a READ that the server allows (FATTR4_MAXREAD, or rtmax of FSINFO).
    pub max_read_octets: Option<MountNumber>,
    /// Maximum count of a WRITE that the server allows (FATTR4_MAXWRITE, or wtmax of FSINFO).
    pub max_write_octets: Option<MountNumber>,
    /// Duration of leases in seconds.
    pub lease_seconds: Option<MountNumber>,
    /// The last session that was created (NFSv4.1).
    pub session: Option<MountSession>,
    /// The sessions that were created, the last eight.
    pub sessions: Vec<MountSession>,
    /// The server as EXCHANGE_ID names the server (NFSv4.1).
    pub server_owner: Option<MountServer>,
    /// Times in which a status flag of SEQUENCE was set, the first 64.
    pub status_flags: Vec<MountFlag>,
    /// Calls from the server: callbacks.
    pub callbacks: u64,
    /// Callbacks without a reply.
    pub callbacks_without_reply: u64,
    /// Paths that were mounted: those that MNT asked for, or for which the client asked about the file system.
    pub paths: Vec<MountText>,
    /// Number of connections.
    pub connections: u64,
    /// The most connections at a time: `nconnect`.
    pub connections_at_a_time: u64,
    /// The inline thresholds of the last connection whose setup was captured.
    pub inline: Option<Inline>,
    /// Path MTU of that connection (InfiniBand).
    pub path_mtu: Option<u32>,
    /// The frame that shows both: the answer to the request for that connection.
    pub setup_frame: Option<u64>,
    /// Credits of calls from the client, on all connections.
    pub credits: CreditCounts,
    /// Credits of calls from the server (RFC 8167 section 4.1).
    pub reverse_credits: CreditCounts,
    /// Promises above RPC: operations that the server refused for now, asynchronous COPYs, recalls, locks.
    pub promises: Vec<PromiseStatistics>,
}

/// A text and a frame.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MountText {
    /// The text.
    pub value: String,
    /// The first frame that shows the text.
    pub frame: u64,
}

/// A number and a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MountNumber {
    /// The number.
    pub value: u64,
    /// The first frame that shows the number.
    pub frame: u64,
}

/// A user that AUTH_SYS names.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MountUser {
    /// User ID.
    pub uid: u32,
    /// Group ID.
    pub gid: u32,
    /// Name of the machine.
    pub machine: String,
    /// The first frame that shows the user.
    pub frame: u64,
}

/// Mounts of a capture.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mounts {
    mounts: SmallMap<(Address, Address), Mount>,
    /// Names in the RPCs whose arguments are read.
    names: FileNames,
}

/// State of a mount.
#[derive(Clone, Debug)]
struct Mount {
    shown: MountStatistics,
    rpcs: u64,
    /// Body of the last AUTH_SYS credential, which most calls share.
    last_sys: Box<[u8]>,
    sessions: MountSessions,
    spans: Vec<ConnectionSpan>,
    promises: PromiseCounts,
}

/// Time of a connection, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug)]
struct ConnectionSpan {
    from: u64,
    until: u64,
}

impl Mounts {
    /// Takes an RPC, with the arguments if a caller has read them already.
    pub(crate) fn transaction(&mut self, transaction: &Transaction, arguments: Option<&[OperationArguments<'_>]>) {
        transaction.keeps.iter().for_each(|promise| self.promise(promise));
        // The client of a callback is its responder.
        if transaction.reverse {
            let mount = self.mounts.get_mut(&(transaction.to, transaction.from));
            return mount.into_iter().for_each(|mount| mount.callback(transaction));
        }
        let Some(mount) = self.mount(transaction.from, transaction.to) else { return };
        mount.rpcs += 1;
        mount.sessions.note_sequence(transaction, arguments);
        // NULL shows that a server is there, and nothing of the mount: its credential is usually AUTH_NONE.
        let is_null = transaction.procedure.is_none_or(|procedure| procedure.procedure == 0);
        let Some(call) = transaction.call.as_ref().map(|call| call.stamp).filter(|_| !is_null) else { return };
        mount.credential(transaction, call);
        let is_control = matches!(transaction.security, Some(Security::Control(_)));
        if is_control || !mount.is_read(transaction) {
            return;
        }
        mount.version(transaction, call);
        match arguments {
            Some(arguments) => self.operations(transaction, arguments, call),
            None => self.operations(transaction, &transaction.arguments(), call),
        }
    }

    fn operations(&mut self, transaction: &Transaction, arguments: &[OperationArguments<'_>], call: Stamp) {
        if let Some(mount) = self.mounts.get_mut(&(transaction.from, transaction.to)) {
            mount.operations(transaction, arguments, call, &self.names);
        }
        self.names.learn(transaction, arguments);
    }

    /// Takes a promise that an RPC kept, or one without an end.
    pub(crate) fn promise(&mut self, promise: &Promise) {
        self.mount(promise.client, promise.server).into_iter().for_each(|mount| mount.promises.take_promise(promise));
    }

    /// Returns true if the ends of a connection have a mount.
    pub(crate) fn knows(&self, report: &Report) -> bool {
        let ends = report.connection.ends;
        let (one, other) = (ends.active.address, ends.passive.address);
        self.mounts.get(&(one, other)).is_some() || self.mounts.get(&(other, one)).is_some()
    }

    /// Takes a connection that has ended.
    pub(crate) fn connection(&mut self, report: &Report, credits: &ConnectionCredits) {
        let Report { connection, activity, end, .. } = report;
        let ends = connection.ends;
        // An end that was seen first is the client only if the setup was captured, or if it called.
        let known = (ends.active.address, ends.passive.address);
        let pair = if self.mounts.get(&(known.1, known.0)).is_some() { (known.1, known.0) } else { known };
        let Some(mount) = self.mount(pair.0, pair.1) else { return };
        let shown = &mut mount.shown;
        shown.connections += 1;
        shown.credits.add_later(&credits.forward);
        shown.reverse_credits.add_later(&credits.reverse);
        if let Some(answer) = connection.announced.get(Side::Passive) {
            shown.setup_frame = Some(answer.stamp.frame);
            shown.path_mtu = connection.path_mtu;
            shown.inline = connection.agreement().map(Inline::from);
        }
        let seen = connection.announced.passive.map(|answer| answer.stamp).or(activity.first);
        let until = match end {
            WaitEnd::Capture => u64::MAX,
            WaitEnd::Disconnected { stamp, .. } => stamp.time.0,
            _ => activity.last.map_or(0, |last| last.time.0),
        };
        if let Some(seen) = seen.filter(|_| mount.spans.len() < CONNECTIONS) {
            mount.spans.push(ConnectionSpan { from: seen.time.0, until });
        }
    }

    fn mount(&mut self, client: Address, server: Address) -> Option<&mut Mount> {
        self.mounts.value_or((client, server), MOUNTS, || Mount::new(client, server))
    }

    /// The mounts, in the order of their first RPCs. Ends with other programs alone have none. Pairs of addresses of one client and one server
    /// are one mount (RFC 8881 section 2.10.5).
    pub(crate) fn finish(self, end: CaptureEnd) -> Vec<MountStatistics> {
        let is_mount = |mount: &MountStatistics| {
            let versions = &mount.versions;
            versions.is_empty() || versions.iter().any(|version| version.value.starts_with("NFS"))
        };
        let mut pairs: Vec<_> = self.mounts.into_iter().map(|(_, mount)| mount).collect();
        pairs.sort_by_key(|mount| mount.shown.versions.first().map(|version| version.frame));
        let mut mounts: Vec<Mount> = Vec::new();
        for pair in pairs {
            match mounts.iter_mut().find(|mount| mount.is_same(&pair)) {
                Some(mount) => mount.add_addresses(pair),
                None => mounts.push(pair),
            }
        }
        mounts.into_iter().map(|mount| mount.finish(end)).filter(is_mount).collect()
    }
}

impl Mount {
    fn new(client: Address, server: Address) -> Self {
        let shown = MountStatistics {
            client: client.to_string(),
            server: server.to_string(),
            client_addresses: vec![client.to_string()],
            server_addresses: vec![server.to_string()],
            versions: Vec::new(),
            security: Vec::new(),
            users: Vec::new(),
            read_octets: None,
            write_octets: None,
            max_read_octets: None,
            max_write_octets: None,
            lease_seconds: None,
            session: None,
            sessions: Vec::new(),
            server_owner: None,
            status_flags: Vec::new(),
            callbacks: 0,
            callbacks_without_reply: 0,
            paths: Vec::new(),
            connections: 0,
            connections_at_a_time: 0,
            inline: None,
            path_mtu: None,
            setup_frame: None,
            credits: CreditCounts::default(),
            reverse_credits: CreditCounts::default(),
            promises: Vec::new(),
        };
        let (sessions, promises) = (MountSessions::default(), PromiseCounts::default());
        Self { shown, rpcs: 0, last_sys: Box::default(), sessions, spans: Vec::new(), promises }
    }

    /// Returns true if the server is the same, and the client too.
    fn is_same(&self, other: &Self) -> bool {
        let is_server = self.sessions.server.as_ref().zip(other.sessions.server.as_ref());
        let is_server = is_server.is_some_and(|(server, other)| server.is_same(other));
        let is_client = self.sessions.client.is_some() && self.sessions.client == other.sessions.client;
        is_server && (is_client || self.shown.client == other.shown.client)
    }

    /// Adds what other addresses of the client and the server show.
    fn add_addresses(&mut self, later: Self) {
        let MountStatistics { versions, security, users, paths, .. } = later.shown;
        let shown = &mut self.shown;
        add_new(&mut shown.client_addresses, later.shown.client_addresses, |one, other| one == other);
        add_new(&mut shown.server_addresses, later.shown.server_addresses, |one, other| one == other);
        add_new(&mut shown.versions, versions, |one, other| one.value == other.value);
        add_new(&mut shown.security, security, |one, other| one.value == other.value);
        add_new(&mut shown.paths, paths, |one, other| one.value == other.value);
        add_new(&mut shown.users, users, |one, other| (one.uid, one.gid) == (other.uid, other.gid));
        for (number, later) in
            [(&mut shown.read_octets, later.shown.read_octets), (&mut shown.write_octets, later.shown.write_octets)]
        {
            let is_greater = later.is_some_and(|later| number.is_none_or(|number| number.value < later.value));
            *number = if is_greater { later } else { *number };
        }
        shown.max_read_octets = shown.max_read_octets.or(later.shown.max_read_octets);
        shown.max_write_octets = shown.max_write_octets.or(later.shown.max_write_octets);
        shown.lease_seconds = shown.lease_seconds.or(later.shown.lease_seconds);
        shown.callbacks += later.shown.callbacks;
        shown.callbacks_without_reply += later.shown.callbacks_without_reply;
        shown.connections += later.shown.connections;
        if later.shown.setup_frame > shown.setup_frame {
            let MountStatistics { inline, path_mtu, setup_frame, .. } = later.shown;
            (shown.inline, shown.path_mtu, shown.setup_frame) = (inline, path_mtu, setup_frame);
        }
        shown.credits.add_later(&later.shown.credits);
        shown.reverse_credits.add_later(&later.shown.reverse_credits);
        self.spans.extend(later.spans);
        self.sessions.add_addresses(later.sessions);
        self.promises.add_counts(later.promises);
    }

    fn finish(mut self, end: CaptureEnd) -> MountStatistics {
        self.shown.promises = core::mem::take(&mut self.promises).count_kinds(end);
        // Of connections that begin and end at the same time, the ended one comes first.
        let mut changes: Vec<(u64, i64)> =
            self.spans.iter().flat_map(|span| [(span.from, 1), (span.until, -1)]).collect();
        changes.sort_unstable();
        let (mut now, mut most) = (0_i64, 0);
        for (_, change) in changes {
            now += change;
            most = most.max(now);
        }
        self.shown.connections_at_a_time = most.unsigned_abs();
        let MountSessions { server, sessions, flags, .. } = self.sessions;
        self.shown.session = sessions.last().cloned();
        (self.shown.server_owner, self.shown.sessions, self.shown.status_flags) = (server, sessions, flags);
        self.shown
    }

    fn callback(&mut self, transaction: &Transaction) {
        self.shown.callbacks += 1;
        self.shown.callbacks_without_reply += u64::from(transaction.reply.is_none());
    }

    /// Returns true if the arguments of an RPC may show something new: one of the first RPCs, one that mounts, or one that moves more data than all
    /// earlier RPCs.
    fn is_read(&self, transaction: &Transaction) -> bool {
        let largest = |number: &Option<MountNumber>| number.map_or(0, |number| number.value);
        let mounts = |code| {
            matches!(code, OperationCode::PUTROOTFH | OperationCode::CREATE_SESSION | OperationCode::EXCHANGE_ID)
        };
        self.rpcs <= READ_RPCS
            || transaction.operations.iter().any(|operation| mounts(operation.code))
            || transaction.write_octets > largest(&self.shown.read_octets)
            || transaction.read_octets > largest(&self.shown.write_octets)
    }

    fn credential(&mut self, transaction: &Transaction, call: Stamp) {
        let Some(credential) = transaction.credential() else { return };
        let is_sys = credential.flavor == Flavor::SYS;
        if is_sys && *credential.body == *self.last_sys {
            return;
        }
        let security = &mut self.shown.security;
        match (credential.flavor, transaction.security) {
            (Flavor::NONE, _) => note(security, "none", call),
            (Flavor::SYS, _) => note(security, "sys", call),
            (Flavor::RPCSEC_GSS, Some(Security::Authentication)) => note(security, "krb5", call),
            (Flavor::RPCSEC_GSS, Some(Security::Integrity)) => note(security, "krb5i", call),
            (Flavor::RPCSEC_GSS, Some(Security::Privacy)) => note(security, "krb5p", call),
            (Flavor::RPCSEC_GSS, _) => return,
            (flavor, _) => match flavor.name() {
                Some(name) => note(security, name, call),
                None => note(security, &format!("flavor {}", flavor.0), call),
            },
        }
        if !is_sys {
            return;
        }
        self.last_sys = credential.body.into();
        let Ok(sys) = AuthSys::decode(credential.body) else { return };
        let users = &mut self.shown.users;
        let is_known = |user: &MountUser| (user.uid, user.gid) == (sys.uid, sys.gid);
        if users.len() < VALUES && !users.iter().any(is_known) {
            let machine = sys.machine_name().escape_ascii().to_string();
            users.push(MountUser { uid: sys.uid, gid: sys.gid, machine, frame: call.frame });
        }
    }

    fn version(&mut self, transaction: &Transaction, call: Stamp) {
        let Some(name) = transaction.name else { return };
        // The name of a procedure begins with that of its program and version.
        let Some(program) = name.split(' ').next() else { return };
        match transaction.minor_version() {
            Some(minor) => note(&mut self.shown.versions, &format!("{program}.{minor}"), call),
            None => note(&mut self.shown.versions, program, call),
        }
    }

    fn operations(
        &mut self,
        transaction: &Transaction,
        arguments: &[OperationArguments<'_>],
        call: Stamp,
        names: &FileNames,
    ) {
        let reply = transaction.reply.as_ref().map_or(call, |reply| reply.stamp);
        for arguments in arguments {
            let number = match (arguments.operation, transaction.procedure) {
                (Some(OperationCode::READ), _) | (None, Some(v2::READ | v3::READ)) => Some(&mut self.shown.read_octets),
                (Some(OperationCode::WRITE), _) | (None, Some(v2::WRITE | v3::WRITE)) => {
                    Some(&mut self.shown.write_octets)
                }
                _ => None,
            };
            if let Some((number, count)) = number.zip(arguments.count) {
                greatest(number, count.into(), call);
            }
            if let Some(path) = arguments.path.filter(|_| arguments.status == Some(0)) {
                note(&mut self.shown.paths, &path.escape_ascii().to_string(), call);
            }
            self.limits(arguments, reply);
            if let Some(path) = mounted_path(transaction.to, arguments, names) {
                note(&mut self.shown.paths, &path, reply);
            }
        }
        self.sessions.operations(arguments, reply);
    }

    fn limits(&mut self, arguments: &OperationArguments<'_>, reply: Stamp) {
        let Some(limits) = arguments.server_limits() else { return };
        let shown = &mut self.shown;
        for (number, value) in [
            (&mut shown.max_read_octets, limits.max_read),
            (&mut shown.max_write_octets, limits.max_write),
            (&mut shown.lease_seconds, limits.lease_seconds.map(u64::from)),
        ] {
            if let Some(value) = value {
                number.get_or_insert(MountNumber { value, frame: reply.frame });
            }
        }
    }
}

/// The path of a file system that the client asks about, from the root.
fn mounted_path(server: Address, arguments: &OperationArguments<'_>, names: &FileNames) -> Option<String> {
    arguments.server_limits()?.max_read?;
    names.path(server, arguments.handle?).filter(|path| path.starts_with('/'))
}

/// Adds values that are not there.
fn add_new<T>(known: &mut Vec<T>, later: Vec<T>, is_same: impl Fn(&T, &T) -> bool) {
    for value in later {
        if known.len() < VALUES && !known.iter().any(|known| is_same(known, &value)) {
            known.push(value);
        }
    }
}

/// Keeps a text with the first frame that shows the text.
fn note(texts: &mut Vec<MountText>, value: &str, stamp: Stamp) {
    if texts.len() < VALUES && !texts.iter().any(|text| text.value == value) {
        texts.push(MountText { value: value.to_owned(), frame: stamp.frame });
    }
}

/// Keeps the greatest number with the first frame that shows the number.
fn greatest(number: &mut Option<MountNumber>, value: u64, stamp: Stamp) {
    if number.is_none_or(|number| number.value < value) {
        *number = Some(MountNumber { value, frame: stamp.frame });
    }
}

/// Texts with their frames, joined.
fn joined(texts: &[MountText]) -> Option<String> {
    let texts: Vec<_> = texts.iter().map(|text| format!("{} (frame {})", text.value, text.frame)).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

impl MountStatistics {
    /// The client and the server, with all addresses.
    #[must_use]
    pub fn ends(&self) -> String {
        format!("{} → {}", self.client_addresses.join(", "), self.server_addresses.join(", "))
    }

    /// The mount in lines, each with the frames that show it.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let at_a_time = match self.connections_at_a_time {
            most if most < self.connections => format!(", {} at a time", grouped(most)),
            _ => String::new(),
        };
        let connections = format!("{}{at_a_time}", counted(self.connections, "connection"));
        let parts = [joined(&self.versions), joined(&self.security), Some(connections)];
        let mut lines = vec![parts.into_iter().flatten().collect::<Vec<_>>().join("; ")];
        lines.extend(self.users.iter().map(|user| {
            format!("uid {}, gid {} of machine {} (frame {})", user.uid, user.gid, user.machine, user.frame)
        }));
        lines.extend(self.sizes());
        lines.extend(self.server_owner.as_ref().map(MountServer::line));
        lines.extend(self.sessions.iter().flat_map(|session| [Some(session.line()), session.slots_line()]).flatten());
        lines.extend(self.back_channel());
        lines.extend(
            self.status_flags
                .iter()
                .map(|flag| format!("status {} {}", flag.flag.trim_start_matches("SEQ4_STATUS_"), flag.when())),
        );
        lines.extend(self.lease_seconds.map(|lease| format!("lease of {} s (frame {})", lease.value, lease.frame)));
        lines.extend(self.set_up());
        if self.credits != CreditCounts::default() || self.reverse_credits != CreditCounts::default() {
            lines.push(format!("credits {}", credits_of(&self.credits, &self.reverse_credits)));
        }
        lines.extend(joined(&self.paths).map(|paths| format!("mounted: {paths}")));
        lines.extend(self.promises.iter().map(PromiseStatistics::line));
        lines
    }

    /// The largest READs and WRITEs.
    fn sizes(&self) -> impl Iterator<Item = String> {
        let size = |what, asked: Option<MountNumber>, allowed: Option<MountNumber>| {
            let asked = asked.map(|asked| format!("{} bytes (frame {})", grouped(asked.value), asked.frame));
            let allowed =
                allowed.map(|most| format!("the server allows {} (frame {})", grouped(most.value), most.frame));
            let parts: Vec<_> = [asked, allowed].into_iter().flatten().collect();
            (!parts.is_empty()).then(|| format!("largest {what}: {}", parts.join(", ")))
        };
        let read = size("READ", self.read_octets, self.max_read_octets);
        let write = size("WRITE", self.write_octets, self.max_write_octets);
        [read, write].into_iter().flatten()
    }

    /// Callbacks, of a mount that has sessions or got callbacks.
    fn back_channel(&self) -> Option<String> {
        let unanswered = match self.callbacks_without_reply {
            0 => String::new(),
            unanswered => format!(", {} without a reply", grouped(unanswered)),
        };
        (self.callbacks > 0).then(|| format!("{} from the server{unanswered}", counted(self.callbacks, "callback")))
    }

    /// The terms of the last connection.
    fn set_up(&self) -> Option<String> {
        let inline = self.inline.map(|inline| inline.to_string());
        let mtu = self.path_mtu.map(|mtu| format!("path MTU {mtu}"));
        let terms: Vec<_> = [inline, mtu].into_iter().flatten().collect();
        let frame = self.setup_frame.filter(|_| !terms.is_empty())?;
        Some(format!("{} (frame {frame})", terms.join("; ")))
    }

    /// The mount in a few words.
    #[must_use]
    pub fn summary(&self) -> String {
        let values =
            |texts: &[MountText]| texts.iter().map(|text| text.value.as_str()).collect::<Vec<_>>().join(" and ");
        let size = |name, octets: Option<MountNumber>| {
            octets.map(|octets| format!("{name} of up to {} bytes", grouped(octets.value)))
        };
        let slots = self.session.as_ref().map(|session| counted(session.slots.into(), "slot"));
        let parts = [
            (!self.versions.is_empty()).then(|| values(&self.versions)),
            (!self.security.is_empty()).then(|| format!("sec={}", values(&self.security))),
            size("READs", self.read_octets),
            size("WRITEs", self.write_octets),
            slots,
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}
