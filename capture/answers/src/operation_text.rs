//! Fields of operations that concern sessions, state and stability, in words.

use rpcrdma_dissector::OperationArguments;
use rpcrdma_dissector::nfs::{
    ChannelLimits, SequenceArguments, SequenceFlags, SequenceResults, ServerOwner, SessionCreation, StableHow,
};

use crate::format::number::grouped;

/// Octets in hexadecimal digits.
pub(crate) fn hexadecimal(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// Fields of an operation, one text for each; none for most operations.
pub(crate) fn fields(arguments: &OperationArguments<'_>) -> Vec<String> {
    let OperationArguments { stable, written, committed, sequence, sequence_results, .. } = *arguments;
    let OperationArguments { session, client, server_owner, .. } = *arguments;
    let fields = [
        stable.map(|stable| format!("stable_how {}", stability(stable))),
        written.map(|written| format!("count written {}", grouped(written.into()))),
        committed.map(|committed| format!("committed {}", stability(committed))),
        client.map(|client| format!("client {client:016x}")),
        server_owner.map(owner),
        sequence.map(of_sequence),
        sequence_results.map(|results| of_sequence_results(results, sequence)),
    ];
    let fields = fields.into_iter().flatten().chain(of_copy(arguments)).chain(of_offload(arguments));
    fields.chain(session.map(of_session).unwrap_or_default()).collect()
}

/// The results of COPY.
fn of_copy(arguments: &OperationArguments<'_>) -> Option<String> {
    let copy = arguments.copy()?;
    let end = match copy.callback_stateid {
        Some(stateid) => format!("; CB_OFFLOAD will have stateid {}", hexadecimal(stateid)),
        None => String::new(),
    };
    Some(format!(
        "cr_synchronous {}, cr_consecutive {}, wr_count {}, committed {}{end}",
        copy.is_synchronous,
        copy.is_consecutive,
        grouped(copy.copied),
        stability(StableHow(copy.committed))
    ))
}

/// The end of a COPY in CB_OFFLOAD, or the progress in OFFLOAD_STATUS.
fn of_offload(arguments: &OperationArguments<'_>) -> Option<String> {
    if let Some(end) = arguments.offloaded() {
        let committed = end.committed.map(|committed| format!(", committed {}", stability(StableHow(committed))));
        let copied = grouped(end.copied);
        return Some(format!("coa_status {}, copied {copied}{}", end.status, committed.unwrap_or_default()));
    }
    let progress = arguments.offload_progress()?;
    let state = progress.complete.map_or_else(|| "not complete".to_owned(), |status| format!("complete with {status}"));
    Some(format!("osr_count {}, {state}", grouped(progress.copied)))
}

fn stability(stable: StableHow) -> String {
    stable.name().map_or_else(|| stable.0.to_string(), str::to_owned)
}

/// The server of EXCHANGE_ID.
fn owner(owner: ServerOwner<'_>) -> String {
    let ServerOwner { minor_id, major_id, scope, .. } = owner;
    let (major_id, scope) = (major_id.escape_ascii(), scope.escape_ascii());
    format!("server owner \"{major_id}\" (minor ID {minor_id}), scope \"{scope}\"")
}

fn of_sequence(sequence: SequenceArguments) -> String {
    let SequenceArguments { session, sequence_id, slot_id, highest_slot_id, cache_this, .. } = sequence;
    let cache = if cache_this { ", reply to be cached" } else { "" };
    format!(
        "session {}, slot {slot_id} (highest {highest_slot_id}), sequence {sequence_id}{cache}",
        hexadecimal(&session)
    )
}

/// The results of SEQUENCE; without session, slot and number if these are those of the call.
fn of_sequence_results(results: SequenceResults, call: Option<SequenceArguments>) -> String {
    let SequenceResults { session, sequence_id, slot_id, highest_slot_id, target_highest_slot_id, .. } = results;
    let flags = results.status_flags.map(flag_names).filter(|names| !names.is_empty());
    let flags = flags.map(|names| format!(", {}", names.join(" "))).unwrap_or_default();
    let is_of =
        |call: &SequenceArguments| (call.session, call.slot_id, call.sequence_id) == (session, slot_id, sequence_id);
    if call.as_ref().is_some_and(is_of) {
        return format!("reply: highest slot {highest_slot_id}, target {target_highest_slot_id}{flags}");
    }
    format!(
        "reply of session {}, slot {slot_id} (highest {highest_slot_id}, target {target_highest_slot_id}), sequence {sequence_id}{flags}",
        hexadecimal(&session)
    )
}

/// Names of the flags that are set, and all others as one number.
pub(crate) fn flag_names(flags: SequenceFlags) -> Vec<String> {
    let unknown = Some(flags.unknown()).filter(|unknown| *unknown != 0);
    let names = flags.flags().map(|flag| flag.name.to_owned());
    names.chain(unknown.map(|unknown| format!("{unknown:#x}"))).collect()
}

fn of_session(creation: SessionCreation) -> Vec<String> {
    let limits = |what: &str, [fore, back]: [ChannelLimits; 2]| {
        let (calls, call, reply) = (fore.calls, grouped(fore.call.into()), grouped(fore.reply.into()));
        format!(
            "{what} {calls} slots, {} of callbacks, calls of up to {call} octets, replies of up to {reply}",
            back.calls
        )
    };
    let created = creation.created.map(|created| {
        let limits = limits("granted", [created.fore, created.back]);
        format!("session {}, {limits}", hexadecimal(&created.session))
    });
    creation.asked.map(|asked| limits("asked for", asked)).into_iter().chain(created).collect()
}
