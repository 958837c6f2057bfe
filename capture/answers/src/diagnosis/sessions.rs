//! Sessions: their slots, for which calls wait, and states of clients that servers report.

use core::cmp::Reverse;
use std::collections::BTreeMap;

use rpcrdma_dissector::OperationArguments;
use rpcrdma_dissector::nfs::SessionId;

use super::cause::{CauseOwner, UNANSWERED};
use crate::format::number::{counted, grouped};
use crate::operation_text::hexadecimal;
use crate::stats::{MountFlag, MountSession, MountStatistics};

/// The most sessions that are told apart.
const SESSIONS: usize = 1000;

/// Flags that say nothing is wrong: a GSS context that is about to expire, and changes of device IDs.
const NOTICES: u32 = 0x2 | 0x800 | 0x1000;
/// Flags about callbacks, which may be set for a moment while a client sets up the callback channel.
const CALLBACKS: u32 = 0x1 | 0x2 | 0x4 | 0x200 | 0x400;
/// Flags that tell what the server, or its administrator, did: a moved file system, a restart, state that an administrator revoked.
const OF_SERVER: u32 = 0x20 | 0x80 | 0x100;

/// Sessions whose calls waited for slots, and status flags of the selected RPCs.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionFacts {
    /// Nanoseconds for which calls waited, by session.
    waited: BTreeMap<SessionId, u64>,
    /// Status flags in the replies of the RPCs, by session.
    flags: BTreeMap<SessionId, u32>,
}

impl SessionFacts {
    /// Takes an RPC in a session, and the nanoseconds for which the call waited for a slot, if that is a cause.
    pub(super) fn add_rpc(&mut self, arguments: &[OperationArguments<'_>], wait: Option<u64>) {
        let Some(results) = arguments.first().and_then(|first| first.sequence_results) else { return };
        let wait = wait.filter(|_| self.waited.len() < SESSIONS || self.waited.contains_key(&results.session));
        if let Some(wait) = wait {
            let waited = self.waited.entry(results.session).or_default();
            *waited = waited.saturating_add(wait);
        }
        let flags = results.status_flags.map_or(0, |flags| flags.0);
        if flags != 0 && (self.flags.len() < SESSIONS || self.flags.contains_key(&results.session)) {
            *self.flags.entry(results.session).or_default() |= flags;
        }
    }

    /// The session whose calls waited longest, among the sessions of the mounts.
    pub(super) fn busiest<'a>(&self, mounts: &'a [MountStatistics]) -> Option<&'a MountSession> {
        let (session, _) = self.waited.iter().max_by_key(|(_, waited)| **waited)?;
        let name = hexadecimal(session);
        mounts.iter().flat_map(|mount| &mount.sessions).find(|session| session.session_id == name)
    }

    /// Returns true if a reply of the RPCs has a flag.
    fn has(&self, flag: &MountFlag) -> bool {
        let bit = flag.flag().map_or(0, |known| known.bit);
        self.flags.iter().any(|(session, flags)| flags & bit != 0 && hexadecimal(session) == flag.session_id)
    }
}

/// The end that asked for or granted too few slots.
pub(super) fn owner_of_size(session: &MountSession) -> CauseOwner {
    let is_lowered = session.slots_wanted.is_some_and(|wanted| wanted < u64::from(session.slots));
    let is_cut = session.slots_asked.is_some_and(|asked| asked > session.slots);
    if is_lowered || is_cut { CauseOwner::Server } else { CauseOwner::Client }
}

/// Number of slots of a session, and the end that chose the number.
pub(super) fn size_sentence(session: &MountSession) -> String {
    let slots = counted(session.slots.into(), "slot");
    let asked = match session.slots_asked {
        Some(asked) if asked > session.slots => {
            format!("the client asked for {}, and the server granted fewer", grouped(asked.into()))
        }
        Some(_) => "as the client asked: the client has to ask for more".to_owned(),
        None => "as the server granted".to_owned(),
    };
    let wanted = session.slots_wanted.filter(|wanted| *wanted < u64::from(session.slots));
    let wanted = wanted.map(|wanted| format!(" Later the server wanted no more than {} to be used.", grouped(wanted)));
    format!("The session has {slots} (frame {}): {asked}.{}", session.frame, wanted.unwrap_or_default())
}

/// A state that a server reports of a client.
struct ReportedState<'a> {
    mount: &'a MountStatistics,
    flag: &'a MountFlag,
    bit: u32,
}

impl<'a> ReportedState<'a> {
    fn list_states(mount: &'a MountStatistics) -> impl Iterator<Item = Self> {
        let state = move |flag: &'a MountFlag| Some(Self { mount, flag, bit: flag.flag()?.bit });
        mount.status_flags.iter().filter_map(state)
    }

    /// Returns true for a state that matters: set for a second or to the end of the capture, or about more than callbacks.
    fn is_fault(&self) -> bool {
        let is_lasting = self.flag.cleared_ns.is_none() || self.flag.length() >= UNANSWERED;
        self.bit & NOTICES == 0 && (self.bit & CALLBACKS == 0 || is_lasting)
    }

    fn sentence(&self) -> String {
        let Self { mount, flag, .. } = self;
        let said = if flag.cleared_ns.is_some() { "said" } else { "says" };
        let (server, client) = (&mount.server, &mount.client);
        format!("{server} {said} to {client} that it {}: {}, {}.", flag.meaning(), flag.flag, flag.when())
    }
}

/// The consequence of flags.
fn consequence(bits: u32) -> Option<&'static str> {
    if bits & (0x8 | 0x10 | 0x20 | 0x40) != 0 {
        return Some("Locks and open files of the client are lost: its programs may get I/O errors.");
    }
    if bits & CALLBACKS != 0 {
        return Some(
            "Without callbacks, a server cannot recall a delegation or report the end of a copy: other clients wait for the lease.",
        );
    }
    None
}

/// States that servers report: lasting states first, then the longest.
pub(super) struct ReportedStates<'a> {
    states: Vec<ReportedState<'a>>,
    has_several_mounts: bool,
}

impl<'a> ReportedStates<'a> {
    /// The states that matter; of a selection, the states in selected replies.
    pub(super) fn new(mounts: &'a [MountStatistics], selected: Option<&SessionFacts>) -> Self {
        let is_selected = |state: &ReportedState<'_>| selected.is_none_or(|selected| selected.has(state.flag));
        let all = mounts.iter().flat_map(ReportedState::list_states);
        let mut states: Vec<_> = all.filter(|state| state.is_fault() && is_selected(state)).collect();
        states.sort_by_key(|state| (state.flag.cleared_ns.is_some(), Reverse(state.flag.length())));
        Self { states, has_several_mounts: mounts.len() > 1 }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    fn bits(&self) -> u32 {
        self.states.iter().fold(0, |bits, state| bits | state.bit)
    }

    /// A sentence for each of the first `named` states, and the consequence.
    pub(super) fn evidence(&self, named: usize) -> Vec<String> {
        let mut evidence: Vec<String> = self.states.iter().take(named).map(ReportedState::sentence).collect();
        if let more @ 1.. = self.states.len().saturating_sub(named) {
            evidence.push(format!("{} more.", counted(more as u64, "such state")));
        }
        evidence.extend(consequence(self.bits()).map(str::to_owned));
        evidence
    }

    /// The server, if each state is something that a server or its administrator did.
    pub(super) fn owner(&self) -> Option<CauseOwner> {
        (self.bits() & !OF_SERVER == 0).then_some(CauseOwner::Server)
    }

    /// The only client of the states, of several mounts.
    pub(super) fn client(&self) -> Option<String> {
        self.only(|mount| &mount.client)
    }

    /// The only server of the states, of several mounts.
    pub(super) fn server(&self) -> Option<String> {
        self.only(|mount| &mount.server)
    }

    fn only(&self, end: fn(&MountStatistics) -> &String) -> Option<String> {
        let first = end(self.states.first()?.mount);
        let is_only = self.has_several_mounts && self.states.iter().all(|state| end(state.mount) == first);
        is_only.then(|| first.clone())
    }

    /// Time of the first reply with a flag.
    pub(super) fn since(&self) -> Option<u64> {
        self.states.iter().map(|state| state.flag.since_ns).min()
    }

    /// Frames of the first replies with the flags.
    pub(super) fn frames(&self) -> impl Iterator<Item = u64> {
        self.states.iter().map(|state| state.flag.since_frame)
    }
}
