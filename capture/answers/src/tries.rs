//! Tries of an RPC, in words.

use rpcrdma_dissector::{Execution, PacketRefusal, RecoveryKind, Transaction, Tries, Try, TryDisconnection, TryEnd};

use crate::format::number::{duration, grouped};

/// A note on the number of tries, if there were several.
pub(crate) fn note(transaction: &Transaction) -> Option<String> {
    let count = transaction.tries.as_ref()?.count;
    Some(format!("{} tries", grouped(count)))
}

/// Sentences about the tries of an RPC and the consequences, without full stops; none if there was one.
pub(crate) fn sentences(transaction: &Transaction) -> Vec<String> {
    let Some(tries) = &transaction.tries else { return Vec::new() };
    let failure = transaction.retry_failure().map(|failure| failure.meaning().to_owned());
    of_tries(tries).into_iter().chain(failure).collect()
}

/// Sentences about tries, without full stops.
pub(crate) fn of_tries(tries: &Tries) -> Vec<String> {
    let mut sentences = vec![took(tries)];
    sentences.extend((1..).zip(tries.earlier()).take(NAMED).map(|(number, one)| of_try(number, one)));
    match tries.count.saturating_sub(1 + NAMED as u64) {
        0 => {}
        1 => sentences.push("one more try before the last".to_owned()),
        more => sentences.push(format!("{} more tries before the last", grouped(more))),
    }
    sentences
}

/// Event that ended one try of an RPC, in words.
pub(crate) fn try_end(transaction: &Transaction) -> String {
    match Try::last_of(transaction) {
        Some(one) => match outcome(&one) {
            Some(outcome) => outcome,
            None => one.end.name().to_owned(),
        },
        None => TryEnd::Unknown.name().to_owned(),
    }
}

/// The most tries of an RPC that are described.
const NAMED: usize = 3;

/// The number of tries, and the time that the earlier ones cost.
fn took(tries: &Tries) -> String {
    let count = grouped(tries.count);
    match tries.lost_time() {
        Some(lost) => format!("the last of {count} tries came {} after the first", duration(lost)),
        None => format!("{count} tries"),
    }
}

/// Outcome of an earlier try.
fn of_try(number: usize, one: &Try) -> String {
    let Try { connection, call, execution, .. } = *one;
    let words = outcome(one).unwrap_or_else(|| "no reply".to_owned());
    let executed = match execution {
        Execution::No => "not executed",
        Execution::Possible => "may have been executed",
        Execution::Executed => "executed",
    };
    format!("try {number}: called in frame {} on connection {connection}; {words}; {executed}", call.frame)
}

/// Refusal or loss, and the end of the connection, if the capture shows any.
fn outcome(one: &Try) -> Option<String> {
    let Try { call, end, disconnection, .. } = *one;
    let ended = disconnection.map(|TryDisconnection { by, stamp, how, .. }| {
        format!("{by} ended the connection ({} in frame {})", how.name(), stamp.frame)
    });
    let happened = match end {
        TryEnd::Refused(PacketRefusal { kind, stamp, .. }) => {
            Some(format!("{} in frame {}", refusal(kind), stamp.frame))
        }
        TryEnd::Lost { .. } => Some("the call was never acknowledged".to_owned()),
        TryEnd::ReplyLost => {
            Some(format!("the reply did not arrive (frame {})", one.reply.map_or(call.frame, |reply| reply.frame)))
        }
        _ => None,
    };
    let words: Vec<String> = happened.into_iter().chain(ended).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

fn refusal(kind: RecoveryKind) -> String {
    format!("the call was refused ({})", kind.name())
}
