//! Announcements of the two ends while the connection was set up (RFC 8797).

use rpcrdma::private_data::{Flags, PrivateData};
use rpcrdma::rules::{Finding, Row, Rule, RuleReport, Severity};

use super::book::{Book, Group};
use super::finding::About;
use crate::carrier::connection::{Announced, Shown};
use crate::carrier::operation::{Side, Sides};
use crate::link::Address;

/// Judges what one end announced.
type SetupRow = Row<fn(&Announced, &mut RuleReport<'_>)>;

static RULES: [SetupRow; 2] = [
    SetupRow {
        rule: &Rule::new("private-data-version", Severity::Warning, "RFC 8797 4")
            .summary("private data has version 1, 8 octets, and no unknown flag")
            .reason("A receiver that does not know the version ignores all of it, and thresholds of 1024 octets apply.")
            .correct("A peer sends version 1, with the reserved bits 0."),
        judge: private_data_version,
    },
    SetupRow {
        rule: &Rule::new("private-data-absent", Severity::Hazard, "RFC 8797 5")
            .summary("each end sends private data")
            .reason(
                "Without it, the other end must assume inline thresholds of 1024 octets and no remote invalidation.",
            )
            .correct("A peer sends it with the connection request, or with the reply to it."),
        judge: private_data_absent,
    },
];

pub(super) fn rules() -> impl Iterator<Item = &'static Rule> {
    RULES.iter().map(|row| row.rule)
}

/// Judges a connection of version 1 by the announcements of both ends.
pub(super) fn judge(announced: &Sides<Option<Announced>>, ends: &Sides<Address>, number: u32, book: &mut Book) {
    for side in [Side::Active, Side::Passive] {
        let Some(announced) = announced.get(side).filter(|announced| announced.private_data != Shown::Cut) else {
            book.unknown_group(Group::Setup);
            continue;
        };
        let (from, to) = (*ends.get(side), *ends.get(side.other()));
        let about = About { stamp: announced.stamp, connection: number, from, to, xid: None };
        for row in &RULES {
            let mut take = |finding: &Finding<'_>| book.add_finding(about, finding, None);
            (row.judge)(&announced, &mut RuleReport::new(row.rule, &mut take));
        }
    }
}

fn private_data_version(announced: &Announced, report: &mut RuleReport<'_>) {
    match announced.private_data {
        Shown::Present(known) => {
            let unknown = known.flags.difference(Flags::REMOTE_INVALIDATION).bits();
            if unknown != 0 {
                report.broken(5, format_args!("private data with the unknown flags {unknown:#04x}"));
            }
        }
        Shown::Other { length, .. } if length < PrivateData::LEN => {
            report.broken(length, format_args!("private data of {length} octets"));
        }
        Shown::Other { octets: [.., version, _, _, _], .. } => {
            report.broken(4, format_args!("private data of version {version}"));
        }
        Shown::Absent | Shown::Cut => {}
    }
}

fn private_data_absent(announced: &Announced, report: &mut RuleReport<'_>) {
    if announced.private_data == Shown::Absent {
        report.broken(0, format_args!("no private data: 1024 octets inline, no remote invalidation"));
    }
}
