//! Sessions of a mount: the server of EXCHANGE_ID, the slots of CREATE_SESSION, and the status flags in the replies to SEQUENCE.

use rpcrdma_dissector::nfs::{SequenceFlag, SequenceFlags, SequenceResults, SessionCreation, SessionId};
use rpcrdma_dissector::{OperationArguments, Stamp, Transaction};

use crate::format::date::time_of_day;
use crate::format::number::{counted, duration, grouped};
use crate::operation_text::hexadecimal;

/// The most sessions of a mount that are kept, the last ones.
const SESSIONS: usize = 8;
/// The most times of a mount in which a flag was set that are kept.
const FLAGS: usize = 64;

/// Limits of a session (RFC 8881 section 18.36), in both directions.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MountSession {
    /// The session, in hexadecimal digits.
    pub session_id: String,
    /// The NFSv4 client of the session, in hexadecimal digits.
    pub client_id: Option<String>,
    /// Slots: the most calls of the client in flight.
    pub slots: u32,
    /// Slots that the client asked for.
    pub slots_asked: Option<u32>,
    /// Number of slots that calls used, up to the highest one.
    pub slots_used: u32,
    /// The least number of slots that the server wanted to be used (`sr_target_highest_slotid`); null without a reply to SEQUENCE.
    pub slots_wanted: Option<u64>,
    /// Slots of callbacks.
    pub callback_slots: u32,
    /// Maximum length of a call in octets.
    pub call_octets: u32,
    /// Maximum length of a reply in octets.
    pub reply_octets: u32,
    /// The frame of the reply to CREATE_SESSION.
    pub frame: u64,
}

/// A server as EXCHANGE_ID names the server (RFC 8881 section 18.35). Octets that are no ASCII are written as `\xff`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MountServer {
    /// `so_major_id`: servers with the same major ID and scope are one.
    pub major_id: String,
    /// `so_minor_id`: addresses with the same minor ID, too, may share a session.
    pub minor_id: u64,
    /// `eir_server_scope`.
    pub scope: String,
    /// The frame of the reply to EXCHANGE_ID.
    pub frame: u64,
}

/// Time in which a status flag of SEQUENCE was set (RFC 8881 section 18.46.3).
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MountFlag {
    /// Name of the flag.
    pub flag: &'static str,
    /// The session, in hexadecimal digits.
    pub session_id: String,
    /// Number of replies with the flag.
    pub replies: u64,
    /// The frame of the first reply with the flag.
    pub since_frame: u64,
    /// Time of that frame, in nanoseconds since 1970-01-01 00:00 UTC.
    pub since_ns: u64,
    /// The frame of the last reply with the flag.
    pub last_frame: u64,
    /// Time of that frame.
    pub last_ns: u64,
    /// The frame of the first reply without the flag; null if the flag was set to the end of the capture.
    pub cleared_frame: Option<u64>,
    /// Time of that frame.
    pub cleared_ns: Option<u64>,
}

impl MountFlag {
    fn new(flag: &SequenceFlag, session: SessionId, reply: Stamp) -> Self {
        Self {
            flag: flag.name,
            session_id: hexadecimal(&session),
            replies: 0,
            since_frame: reply.frame,
            since_ns: reply.time.0,
            last_frame: reply.frame,
            last_ns: reply.time.0,
            cleared_frame: None,
            cleared_ns: None,
        }
    }

    /// State that the server reports, as the end of a sentence.
    pub(crate) fn meaning(&self) -> &'static str {
        self.flag().map_or("sets a flag", |flag| flag.meaning)
    }

    pub(crate) fn flag(&self) -> Option<&'static SequenceFlag> {
        SequenceFlags::ALL.iter().find(|flag| flag.name == self.flag)
    }

    /// Nanoseconds for which the flag was set; without a reply that clears the flag, up to the last reply with the flag.
    pub(crate) fn length(&self) -> u64 {
        self.cleared_ns.unwrap_or(self.last_ns).saturating_sub(self.since_ns)
    }

    /// The time in words, such as `since 10:00:03 (frame 40), in 12 replies up to frame 80 (5.2 s later)`.
    pub(crate) fn when(&self) -> String {
        let (since, frame, replies) = (time_of_day(self.since_ns), self.since_frame, counted(self.replies, "reply"));
        match (self.cleared_ns.zip(self.cleared_frame), self.replies) {
            (Some((cleared, last)), _) => format!(
                "from {since} (frame {frame}) to {} (frame {last}), for {}, in {replies}",
                time_of_day(cleared),
                duration(self.length())
            ),
            (None, 1) => format!("since {since} (frame {frame}), in the last reply"),
            (None, _) => format!(
                "since {since} (frame {frame}), in all {replies} up to frame {}, {} later",
                self.last_frame,
                duration(self.length())
            ),
        }
    }
}

/// Sessions of a mount.
#[derive(Clone, Debug, Default)]
pub(super) struct MountSessions {
    /// The `clientid4` that EXCHANGE_ID returned last.
    pub(super) client: Option<u64>,
    pub(super) server: Option<MountServer>,
    pub(super) sessions: Vec<MountSession>,
    pub(super) flags: Vec<MountFlag>,
    /// Sessions with a flag that is set, and these flags.
    set: Vec<SetFlags>,
    /// Name of the last session in hexadecimal digits.
    last: Option<NamedSession>,
}

/// Flags that are set in the last reply of a session.
#[derive(Clone, Copy, Debug)]
struct SetFlags {
    session: SessionId,
    flags: SequenceFlags,
}

/// A session with its place among the sessions that are kept.
#[derive(Clone, Copy, Debug)]
struct NamedSession {
    session: SessionId,
    place: usize,
}

impl MountSessions {
    /// Takes the results of SEQUENCE in an RPC, from the arguments if a caller has read them already.
    pub(super) fn note_sequence(&mut self, transaction: &Transaction, arguments: Option<&[OperationArguments<'_>]>) {
        let Some(reply) = &transaction.reply else { return };
        let results = match arguments {
            Some(arguments) => arguments.first().and_then(|first| first.sequence_results),
            None => transaction.sequence_results(),
        };
        let Some(results) = results else { return };
        if let Some(used) = self.session(results.session) {
            let wanted = u64::from(results.target_highest_slot_id) + 1;
            used.slots_used = used.slots_used.max(results.slot_id.saturating_add(1));
            used.slots_wanted = Some(used.slots_wanted.map_or(wanted, |least| least.min(wanted)));
        }
        self.flags(&results, reply.stamp);
    }

    /// A session that is kept.
    fn session(&mut self, session: SessionId) -> Option<&mut MountSession> {
        if self.sessions.is_empty() {
            return None;
        }
        if self.last.is_none_or(|last| last.session != session) {
            let name = hexadecimal(&session);
            let place = self.sessions.iter().position(|known| known.session_id == name)?;
            self.last = Some(NamedSession { session, place });
        }
        self.sessions.get_mut(self.last?.place)
    }

    fn flags(&mut self, results: &SequenceResults, reply: Stamp) {
        let SequenceResults { session, status_flags: Some(flags), .. } = *results else { return };
        let known = self.set.iter().position(|set| set.session == session);
        let before = known.and_then(|known| self.set.get(known)).map_or(0, |set| set.flags.0);
        if flags.0 == 0 && before == 0 {
            return;
        }
        let name = hexadecimal(&session);
        for flag in SequenceFlags::ALL.iter().filter(|flag| (flags.0 | before) & flag.bit != 0) {
            let is_new = before & flag.bit == 0;
            if is_new && self.flags.len() < FLAGS {
                self.flags.push(MountFlag::new(flag, session, reply));
            }
            let is_open =
                |span: &&mut MountFlag| span.flag == flag.name && span.session_id == name && span.cleared_ns.is_none();
            let Some(span) = self.flags.iter_mut().rev().find(is_open) else { continue };
            match flags.0 & flag.bit != 0 {
                true => {
                    span.replies += 1;
                    (span.last_frame, span.last_ns) = (reply.frame, reply.time.0);
                }
                false => (span.cleared_frame, span.cleared_ns) = (Some(reply.frame), Some(reply.time.0)),
            }
        }
        match known {
            _ if flags.0 == 0 => self.set.retain(|set| set.session != session),
            Some(known) => self.set.get_mut(known).into_iter().for_each(|set| set.flags = flags),
            None if self.set.len() < FLAGS => self.set.push(SetFlags { session, flags }),
            None => {}
        }
    }

    /// Adds the sessions and flags of other addresses.
    pub(super) fn add_addresses(&mut self, later: Self) {
        self.sessions.extend(later.sessions);
        self.sessions.sort_by_key(|session| session.frame);
        self.sessions.drain(..self.sessions.len().saturating_sub(SESSIONS));
        self.flags.extend(later.flags);
        self.flags.sort_by_key(|flag| flag.since_frame);
        self.flags.truncate(FLAGS);
    }

    /// Takes the operations of an RPC that may create a session.
    pub(super) fn operations(&mut self, arguments: &[OperationArguments<'_>], reply: Stamp) {
        for one in arguments {
            if let Some(owner) = one.server_owner {
                self.client = one.client.or(self.client);
                self.server = Some(MountServer {
                    major_id: owner.major_id.escape_ascii().to_string(),
                    minor_id: owner.minor_id,
                    scope: owner.scope.escape_ascii().to_string(),
                    frame: reply.frame,
                });
            }
            if let Some(creation) = one.session {
                self.create(creation, one.client, reply);
            }
        }
    }

    fn create(&mut self, creation: SessionCreation, client: Option<u64>, reply: Stamp) {
        let SessionCreation { asked, created: Some(created), .. } = creation else { return };
        if self.sessions.len() == SESSIONS {
            self.sessions.remove(0);
        }
        self.last = None;
        self.sessions.push(MountSession {
            session_id: hexadecimal(&created.session),
            client_id: client.map(|client| format!("{client:016x}")),
            slots: created.fore.calls,
            slots_asked: asked.map(|[fore, _]| fore.calls),
            slots_used: 0,
            slots_wanted: None,
            callback_slots: created.back.calls,
            call_octets: created.fore.call,
            reply_octets: created.fore.reply,
            frame: reply.frame,
        });
    }
}

impl MountSession {
    /// The session as a line.
    pub(super) fn line(&self) -> String {
        format!(
            "session of {}, {} of callbacks; calls of up to {} bytes, replies of up to {} (frame {})",
            counted(self.slots.into(), "slot"),
            self.callback_slots,
            grouped(self.call_octets.into()),
            grouped(self.reply_octets.into()),
            self.frame
        )
    }

    /// Other numbers of slots than that of the session, as a line.
    pub(super) fn slots_line(&self) -> Option<String> {
        let asked = self.slots_asked.filter(|asked| *asked != self.slots);
        let asked = asked.map(|asked| format!("the client asked for {}", counted(asked.into(), "slot")));
        let wanted = self.slots_wanted.filter(|wanted| *wanted < u64::from(self.slots));
        let wanted = wanted.map(|wanted| format!("the server wanted no more than {} to be used", grouped(wanted)));
        let words: Vec<_> = asked.into_iter().chain(wanted).collect();
        (!words.is_empty()).then(|| words.join("; "))
    }
}

impl MountServer {
    /// Returns true if both name one server: the owner and the scope are the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (&self.major_id, &self.scope) == (&other.major_id, &other.scope)
    }

    /// The server as a line.
    pub(super) fn line(&self) -> String {
        let Self { major_id, scope, frame, .. } = self;
        let scope = if scope == major_id { String::new() } else { format!(" of scope \"{scope}\"") };
        format!("server \"{major_id}\"{scope} (frame {frame})")
    }
}
