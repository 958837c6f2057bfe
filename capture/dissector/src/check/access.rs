//! RDMA operations, and the memory of calls (RFC 8166 sections 4.4 and 8.1).
//!
//! An access that an adapter refused is named by the memory rule of the operation. InfiniBand identifies the request,
//! and iWARP may distinguish a Read from a Write. Requests are carried out in order, so the refused one is the first
//! Read without an answer, or the last Write; if either is possible, both are named. The owner of the memory broke the
//! rule, unless the other end had invalidated the handle.

use rpcrdma::rules::{Finding, Row, Rule, RuleReport, Severity};

use super::book::Book;
use super::finding::{About, Blame, Found};
use crate::carrier::operation::{MemoryAddress, Sides};
use crate::event::{MemoryUse, MemoryUseKind};
use crate::link::Address;

/// Judges a use of memory.
type MemoryRow = Row<fn(&MemoryUse, &mut RuleReport<'_>)>;

static RULES: [MemoryRow; 4] = [
    MemoryRow {
        rule: &Rule::new("rdma-read-bounds", Severity::Error, "RFC 8166 4.4, 4.5.3")
            .summary("an RDMA Read stays inside a segment that is advertised and still valid")
            .reason(
                "The rest of the requester's memory is none of the responder's business, and adapters end the \
                     connection.",
            )
            .correct(
                "A requester keeps what it advertises registered until the reply arrives. A responder reads that \
                      and nothing else.",
            ),
        judge: |used, report| bounds(used, false, report),
    },
    MemoryRow {
        rule: &Rule::new("rdma-write-bounds", Severity::Error, "RFC 8166 4.4, 4.5.3")
            .summary("an RDMA Write stays inside a segment that is advertised and still valid")
            .reason("It would overwrite other memory of the requester, and adapters end the connection.")
            .correct(
                "A requester keeps what it advertises registered until the reply arrives. A responder writes \
                      there and nowhere else.",
            ),
        judge: |used, report| bounds(used, true, report),
    },
    MemoryRow {
        rule: &Rule::new("rdma-write-after-reply", Severity::Error, "RFC 8166 4.4.1")
            .summary("there is no RDMA Write to a chunk after its reply was sent")
            .reason("With the reply, the requester has its memory back, and may already use it for something else.")
            .correct("A responder posts all RDMA Writes before the Send of the reply."),
        judge: rdma_write_after_reply,
    },
    MemoryRow {
        rule: &Rule::new("handle-shared", Severity::Hazard, "RFC 8166 8.1.2, 8.1.3")
            .summary("only one call in flight advertises a handle")
            .reason(
                "Otherwise the memory of one call stays open while the other lasts, and invalidating the handle \
                     closes it for both.",
            )
            .correct("A requester registers memory separately for each call."),
        judge: handle_shared,
    },
];

pub(super) fn rules() -> impl Iterator<Item = &'static Rule> {
    RULES.iter().map(|row| row.rule)
}

/// Judges a use of memory on the connection of these ends; `known` is true if everything that the owner advertised is
/// known. Returns the broken rules.
pub(super) fn judge(used: &MemoryUse, ends: &Sides<Address>, known: bool, book: &mut Book) -> Vec<Found> {
    let mut broken_rules = Vec::new();
    let xid = match used.kind {
        MemoryUseKind::Outside { inside, answered, .. } => inside.map(|(xid, ..)| xid).or(answered),
        MemoryUseKind::Refused { xid, .. }
        | MemoryUseKind::Shared { xid, .. }
        | MemoryUseKind::ReplyRead { xid, .. } => Some(xid),
    };
    let sender = if matches!(used.kind, MemoryUseKind::Shared { .. }) { used.owner } else { used.owner.other() };
    let (from, to) = (*ends.get(sender), *ends.get(sender.other()));
    let about = About { stamp: used.stamp, connection: used.connection, from, to, xid };
    let blame = blame(used.kind);
    for row in &RULES {
        let mut broken = false;
        let mut take = |finding: &Finding<'_>| {
            broken = true;
            if known {
                broken_rules.push(Found::new(about, finding, None).by(blame));
            }
        };
        (row.judge)(used, &mut RuleReport::new(row.rule, &mut take));
        if broken && !known {
            book.unknown(row.rule);
        }
    }
    broken_rules
}

/// Returns the end at fault for a use of memory. The frame is the responder's, or the call that shares a handle.
const fn blame(kind: MemoryUseKind) -> Blame {
    match kind {
        MemoryUseKind::Refused { invalidated: None, .. } => Blame::Receiver,
        // The handle may have been invalidated for a call that was over, and then advertised again.
        MemoryUseKind::Refused { invalidated: Some(_), .. } => Blame::Either,
        MemoryUseKind::Outside { .. } | MemoryUseKind::Shared { .. } | MemoryUseKind::ReplyRead { .. } => Blame::Sender,
    }
}

fn bounds(used: &MemoryUse, writes: bool, report: &mut RuleReport<'_>) {
    let handle = used.handle;
    match used.kind {
        MemoryUseKind::Outside { write, offset, length, inside: Some((_, start, room)), .. } if write == writes => {
            report.broken(
                0,
                format_args!(
                    "{length} octets from {offset:#018x} on pass the end of the segment: handle {handle:#010x} offset \
                     {start:#018x} length {room}"
                ),
            );
        }
        MemoryUseKind::Outside { write, offset, length, inside: None, answered } if write == writes => match answered {
            Some(_) if write => {}
            Some(xid) => report.broken(
                0,
                format_args!(
                    "{length} octets at handle {handle:#010x} offset {offset:#018x}, after the reply to {xid:#010x}, which \
                     had advertised them"
                ),
            ),
            None => report.broken(
                0,
                format_args!("{length} octets at handle {handle:#010x} offset {offset:#018x}, which no waiting call advertises"),
            ),
        },
        MemoryUseKind::Refused { write, offset, invalidated, other, .. } if write == writes => {
            refused(MemoryAddress { handle, offset }, other, invalidated, report);
        }
        _ => {}
    }
}

/// The responder stayed within what a waiting call advertises. The owner may withdraw the memory of an abandoned call
/// (RFC 8166 section 8.1.4), at the price of the connection; memory that never was registered looks the same.
fn refused(
    address: MemoryAddress,
    other: Option<MemoryAddress>,
    invalidated: Option<u64>,
    report: &mut RuleReport<'_>,
) {
    let MemoryAddress { handle, offset } = address;
    let mut say = |by: core::fmt::Arguments<'_>| {
        let advertised = "is advertised, and its owner's adapter refuses access";
        let message = match other {
            None => format!("handle {handle:#010x} offset {offset:#018x} {advertised}: {by}"),
            Some(MemoryAddress { handle: other, offset: at }) => format!(
                "handle {handle:#010x} offset {offset:#018x} {advertised} to it or to handle {other:#010x} offset {at:#018x}, \
                 which was written: {by}"
            ),
        };
        report.broken_as(Severity::Hazard, 0, format_args!("{message}"));
    };
    match invalidated {
        None => say(format_args!("the requester withdrew it, or never registered it")),
        Some(frame) => say(format_args!(
            "the requester withdrew it or never registered it, or the responder invalidated it in frame {frame}"
        )),
    }
}

fn rdma_write_after_reply(used: &MemoryUse, report: &mut RuleReport<'_>) {
    if let MemoryUseKind::Outside { write: true, offset, length, inside: None, answered: Some(xid) } = used.kind {
        let handle = used.handle;
        report.broken(
            0,
            format_args!(
                "{length} octets at handle {handle:#010x} offset {offset:#018x}, after the reply to {xid:#010x}"
            ),
        );
    }
}

fn handle_shared(used: &MemoryUse, report: &mut RuleReport<'_>) {
    if let MemoryUseKind::Shared { with, .. } = used.kind {
        report.broken(0, format_args!("handle {:#010x} is also advertised by {with:#010x}, which waits", used.handle));
    }
}

#[cfg(test)]
mod tests {
    use rpcrdma::rules::Row;

    use super::*;
    use crate::carrier::operation::{Side, Stamp};

    #[test]
    fn an_ambiguous_refusal_names_both_accesses() {
        let other = Some(MemoryAddress { handle: 0xb, offset: 2 });
        let kind = MemoryUseKind::Refused { write: false, offset: 1, xid: 7, invalidated: None, other };
        let (stamp, owner) = (Stamp::default(), Side::Active);
        let used = MemoryUse { connection: 1, stamp, owner, handle: 0xa, kind, known: true };
        let mut said = Vec::new();
        for Row { rule, judge } in &RULES {
            judge(
                &used,
                &mut RuleReport::new(rule, &mut |finding| said.push((rule.slug, finding.message.to_string()))),
            );
        }
        let message = "handle 0x0000000a offset 0x0000000000000001 is advertised, and its owner's adapter refuses access to \
                       it or to handle 0x0000000b offset 0x0000000000000002, which was written: the requester withdrew \
                       it, or never registered it";
        assert_eq!(said, [("rdma-read-bounds", message.to_owned())]);
    }
}
