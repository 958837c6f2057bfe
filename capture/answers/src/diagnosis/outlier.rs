//! The cause about one server, client, user or file that is far slower than the others.

use std::collections::BTreeSet;

use rpcrdma_dissector::Address;

use super::cause::CauseOwner;
use super::record::{CauseExample, DiagnosedCause};
use super::waits::Waits;
use crate::format::number::{counted, duration, grouped};
use crate::outliers::{MemberKind, Outlier, SlowEnd};

/// The most outliers that a diagnosis names.
pub(super) const NAMED: usize = 3;

/// The end that can remove the reason, with the address if known.
#[derive(Clone, Debug, Default)]
pub(super) struct OutlierOwner {
    pub(super) role: Option<CauseOwner>,
    address: Option<String>,
}

impl OutlierOwner {
    /// Finds the owner. There is none if the time passed at the other end than the slow one: either may be the reason.
    pub(super) fn new(outlier: &Outlier, waits: &Waits) -> Self {
        let only = |ends: &BTreeSet<Address>| ends.first().filter(|_| ends.len() == 1).map(ToString::to_string);
        let own = |role, address| Self { role: Some(role), address };
        match (outlier.kind, outlier.end) {
            (MemberKind::Server, Some(SlowEnd::Responder)) => own(CauseOwner::Server, Some(outlier.name.clone())),
            (MemberKind::Client, Some(SlowEnd::Requester)) => own(CauseOwner::Client, Some(outlier.name.clone())),
            (MemberKind::Server | MemberKind::Client, _) | (_, None) => Self::default(),
            (_, Some(SlowEnd::Responder)) => {
                let server = outlier.server.map(|server| server.to_string());
                own(CauseOwner::Server, server.or_else(|| only(&waits.servers)))
            }
            (_, Some(SlowEnd::Requester)) => own(CauseOwner::Client, only(&waits.clients)),
        }
    }
}

/// Lists what shows an outlier, of so many.
pub(super) fn list_evidence(outlier: &Outlier, outliers: usize) -> Vec<String> {
    let mut evidence = vec![compare_medians(outlier), give_example(outlier)];
    evidence.extend((outlier.unanswered > 0).then(|| {
        let calls = counted(outlier.rpcs, "call");
        format!("{} of {calls} have no reply: each counts with the time that it waited.", grouped(outlier.unanswered))
    }));
    evidence.extend(outlier.only_client.map(|client| {
        format!("Its only client is {client}, which has no other server: either end may be the slow one.")
    }));
    let more = outliers.saturating_sub(NAMED) as u64;
    evidence.extend((more > 0).then(|| {
        format!("{} more are far slower than others: see top --by server, client, user or name.", grouped(more))
    }));
    evidence
}

/// Adds an outlier to a cause, with the time and the frames of the outlier.
pub(super) fn attribute(
    outlier: &Outlier,
    owner: OutlierOwner,
    waits: &Waits,
    cause: DiagnosedCause,
) -> DiagnosedCause {
    let of = |this: MemberKind| (outlier.kind == this).then(|| outlier.name.clone());
    let server = outlier.server.filter(|_| waits.servers.len() > 1).map(|server| server.to_string());
    let examples = outlier.slowest.iter().map(|(time, frame)| CauseExample { frame: *frame, waiting_ns: Some(*time) });
    DiagnosedCause {
        owner_address: owner.address,
        waiting_ns: Some(outlier.excess),
        server: of(MemberKind::Server).or(server),
        client: of(MemberKind::Client),
        file: of(MemberKind::File),
        user: of(MemberKind::User),
        since_ns: Some(outlier.since),
        rpcs: Some(outlier.rpcs),
        ..cause
    }
    .shown_by(examples)
}

/// Returns true if a cause with a time already names this server, client or file.
pub(super) fn is_named(outlier: &Outlier, cause: &DiagnosedCause) -> bool {
    let names = match outlier.kind {
        MemberKind::Server => [&cause.owner_address, &cause.server],
        MemberKind::Client => [&cause.owner_address, &cause.client],
        MemberKind::File => [&cause.file, &cause.file],
        MemberKind::User => [&cause.user, &cause.user],
    };
    cause.waiting_ns.is_some() && names.into_iter().flatten().any(|name| *name == outlier.name)
}

pub(super) fn compare_medians(outlier: &Outlier) -> String {
    let Outlier { kind, name, ratio, others, .. } = outlier;
    let name = match kind {
        MemberKind::File => format!("File {name}"),
        MemberKind::User => format!("User {name}"),
        _ => name.clone(),
    };
    format!(
        "{name}: {ratio:.0} times the median of {} others, for the same operations of similar size.",
        grouped(*others as u64)
    )
}

fn give_example(outlier: &Outlier) -> String {
    let Outlier { example, median, median_of_others, kind, .. } = outlier;
    let other = kind.name();
    format!(
        "Half of its {example} took {} or more; of a typical other {other}, {}.",
        duration(*median),
        duration(*median_of_others)
    )
}

pub(super) fn show_command(outlier: &Outlier) -> String {
    let Outlier { kind, name, .. } = outlier;
    match kind {
        MemberKind::Server => format!("slow --server {name}"),
        MemberKind::Client => format!("slow --client {name}"),
        MemberKind::File => "top --by name".to_owned(),
        MemberKind::User => "top --by user".to_owned(),
    }
}
