//! Joins tries to one RPC, and knows the failures that an earlier try explains.

use super::call_content::CallContent;
use super::phases::NotTimed;
use super::properties::Status;
use super::transaction::Transaction;
use super::tries::{Execution, Tries, Try, TryDisconnection, TryEnd};
use super::waiting::{Delivery, LastStep, Step, WaitEnd};
use crate::nfs::{OperationCode, Procedure, v3, v4};

impl Try {
    /// The last try of an RPC; `None` if the capture lacks the call.
    #[must_use]
    pub fn last_of(transaction: &Transaction) -> Option<Self> {
        let Transaction { connection, requester, from, to, began, call, reply, waiting, .. } = transaction;
        let call = call.as_ref()?.stamp;
        let mut new = Self {
            connection: *connection,
            began: began.unwrap_or(call),
            call,
            reply: reply.as_ref().map(|reply| reply.stamp),
            end: TryEnd::Answered,
            disconnection: None,
            execution: Execution::Executed,
        };
        let Some(waiting) = waiting else { return Some(new) };
        if let WaitEnd::Disconnected { by, stamp, how } = waiting.end {
            let by = if by == *requester { *from } else { *to };
            new.disconnection = Some(TryDisconnection { by, stamp, how });
        }
        if let Some(LastStep { step: Step::Reply, stamp }) = waiting.responder {
            new.reply = Some(stamp);
        }
        new.execution = Execution::from_waiting(waiting);
        let is_responder = new.disconnection.map(|end| end.by == *to);
        new.end = match (waiting.reply_delivery, is_responder, waiting.delivery) {
            _ if waiting.end == WaitEnd::Capture => TryEnd::Waits,
            (Some(_), ..) => TryEnd::ReplyLost,
            (None, Some(true), _) => TryEnd::ResponderEnded,
            (None, _, Delivery::Refused(refusal)) => TryEnd::Refused(refusal),
            (None, _, Delivery::Unacknowledged { times }) => TryEnd::Lost { times },
            (None, Some(false), _) => TryEnd::RequesterEnded,
            (None, None, _) => TryEnd::Unknown,
        };
        Some(new)
    }
}

impl Transaction {
    /// Joins a try with the next one, on another connection: one RPC from the first call to the last reply. `is_set_back` tells whether
    /// the clock was set back between two frames.
    pub(crate) fn join(earlier: Self, mut last: Self, is_set_back: impl FnOnce(u64, u64) -> bool) -> Self {
        let Some((first, new)) = Try::last_of(&earlier).zip(Try::last_of(&last)) else { return last };
        let mut tries = earlier.tries.unwrap_or_else(|| {
            let (phases, recovery) = (Err(NotTimed::SeveralTries), Err(NotTimed::SeveralTries));
            Box::new(Tries { all: vec![first], count: 1, phases, recovery, credit_wait: Ok(0) })
        });
        tries.add_try(new);
        let several = |reason: Option<NotTimed>| match reason {
            Some(reason) if !reason.leaves_latency() => reason,
            _ => NotTimed::SeveralTries,
        };
        let reason = several(last.phases.as_ref().err().copied());
        let reply = last.reply.as_ref().map_or(new.call, |reply| reply.stamp);
        let is_set_back = is_set_back(first.began.frame, reply.frame) && reason == NotTimed::SeveralTries;
        let reason = if is_set_back { NotTimed::ClockSetBack } else { reason };
        tries.phases = core::mem::replace(&mut last.phases, Err(reason));
        tries.recovery = core::mem::replace(&mut last.recovery, Err(reason));
        tries.credit_wait = core::mem::replace(&mut last.credit_wait, earlier.credit_wait);
        last.slot_wait = earlier.slot_wait;
        last.began = earlier.began;
        if let Some((call, first)) = last.call.as_mut().zip(earlier.call) {
            call.stamp = first.stamp;
        }
        last.read_octets = last.read_octets.saturating_add(earlier.read_octets);
        last.write_octets = last.write_octets.saturating_add(earlier.write_octets);
        last.tries = Some(tries);
        last
    }

    /// Returns true if the call is another try of an earlier one, which ended with its connection: XID, ends and content are the same. For
    /// RPCs of which [`Config::joins_tries`](crate::Config::joins_tries) leaves the tries apart.
    #[must_use]
    pub fn is_retry_of(&self, earlier: &Self) -> bool {
        let name = |one: &Self| (one.from, one.to, one.xid, one.reverse);
        let is_over = earlier.reply.is_none() && earlier.waiting.is_some_and(|waiting| waiting.end.is_of_connection());
        let [content, before] = [self, earlier].map(CallContent::of_transaction);
        is_over
            && name(self) == name(earlier)
            && self.connection != earlier.connection
            && content.zip(before).is_some_and(|(content, before)| before.is_of_same_rpc(&content))
    }

    /// Number of tries: calls on connections one after the other, of which the last may have been answered.
    #[must_use]
    pub fn tries_count(&self) -> u64 {
        self.tries.as_ref().map_or(1, |tries| tries.count)
    }

    /// Returns the failure of an operation that an earlier try probably carried out, so that repeating the operation
    /// cannot succeed: the object to be removed is already gone, or the object to be made already exists. `None` if the
    /// RPC has one try, or ended otherwise.
    #[must_use]
    pub fn retry_failure(&self) -> Option<RetryFailure> {
        let tries = self.tries.as_ref()?;
        let Some(Status::Success(Some(number))) = self.status else { return None };
        let execution = tries.earlier().map(|earlier| earlier.execution).max()?;
        let procedure = self.procedure?;
        let operation = self.operations.iter().find(|operation| operation.status == Some(number));
        let is_undone = match (procedure, operation) {
            (procedure, None) => cannot_repeat_v3(procedure, number),
            (v4::COMPOUND, Some(operation)) => cannot_repeat_v4(operation.code, number),
            _ => false,
        };
        let has_slot = self.operations.iter().any(|operation| operation.code == OperationCode::SEQUENCE);
        match execution {
            _ if !is_undone => None,
            Execution::No => None,
            _ if has_slot => Some(RetryFailure::InSession),
            Execution::Possible | Execution::Executed => Some(RetryFailure::OfRetry),
        }
    }
}

/// Failure of the last try of an operation that cannot be done twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryFailure {
    /// The failure is that of the retry: an earlier try was probably executed.
    OfRetry,
    /// The RPC is in a session of NFSv4.1, whose reply cache gives a retry on the same slot the reply to the first try (RFC 8881 section
    /// 2.10.6): the failure may be that of the first try.
    InSession,
}

impl RetryFailure {
    /// Name of the variant.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OfRetry => "of the retry",
            Self::InSession => "in a session",
        }
    }

    /// Meaning of the failure, in one sentence without a full stop.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::OfRetry => "first try probably executed; the failure is that of the retry",
            Self::InSession => {
                "the reply cache of the session has the reply to the first try, so the failure is that of the first try unless the \
                 cache was lost"
            }
        }
    }
}

/// NFS3ERR_NOENT and NFS3ERR_EXIST (RFC 1813 section 2.6), which NFSv4 has too.
const NOENT: u32 = 2;
const EXIST: u32 = 17;

/// Returns true if repeating a procedure of NFSv3 makes the procedure fail with this status (RFC 1813 section 3.3).
const fn cannot_repeat_v3(procedure: Procedure, status: u32) -> bool {
    match procedure {
        v3::CREATE | v3::MKDIR | v3::SYMLINK | v3::MKNOD | v3::LINK => status == EXIST,
        v3::REMOVE | v3::RMDIR | v3::RENAME => status == NOENT,
        _ => false,
    }
}

/// Returns true if repeating an operation of NFSv4 makes the operation fail with this status.
const fn cannot_repeat_v4(operation: OperationCode, status: u32) -> bool {
    match operation {
        OperationCode::CREATE | OperationCode::LINK | OperationCode::OPEN => status == EXIST,
        OperationCode::REMOVE | OperationCode::RENAME => status == NOENT,
        _ => false,
    }
}
