//! RPCs counted together.

use serde::Serialize;

use super::arguments::HexOctets;
use super::values::{EndObject, Hex32};
use crate::output::file_names::hash;
use crate::output::top::{TopCounts, TopKey, TopReport};

#[derive(Serialize)]
pub(super) struct TopObject<'a> {
    r#type: &'static str,
    by: &'static str,
    #[serde(flatten)]
    key: KeyObject<'a>,
    calls: u64,
    unanswered: u64,
    failed: u64,
    octets_read: u64,
    octets_written: u64,
    not_rebuilt: u64,
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    time_ns: u64,
    share: f64,
}

/// What the RPCs have in common. For the RPCs that are counted together as others: how many keys those have.
#[derive(Serialize)]
#[serde(untagged)]
enum KeyObject<'a> {
    Address { key: EndObject },
    Connection { key: u32 },
    Text { key: &'a str },
    File { key: Hex32, handle: HexOctets<'a>, server: EndObject, name: Option<&'a str> },
    None { key: Option<u32> },
    Others { key: Option<u32>, others: u64 },
}

impl<'a> TopObject<'a> {
    pub(super) fn all(report: &'a TopReport) -> impl Iterator<Item = Self> + 'a {
        let rows = report.rows.iter().map(|(key, counts)| {
            let key = match key {
                TopKey::Address(address) => KeyObject::Address { key: EndObject(*address) },
                TopKey::Connection(number) => KeyObject::Connection { key: *number },
                TopKey::Text(text) => KeyObject::Text { key: text },
                TopKey::File(server, handle) => KeyObject::File {
                    key: Hex32(hash(handle)),
                    handle: HexOctets(handle),
                    server: EndObject(*server),
                    name: report.names.name(*server, handle),
                },
                TopKey::None => KeyObject::None { key: None },
            };
            Self::new(report, key, counts)
        });
        let keys = report.others.keys;
        let others =
            (keys > 0).then(|| Self::new(report, KeyObject::Others { key: None, others: keys }, &report.others.counts));
        rows.chain(others)
    }

    fn new(report: &TopReport, key: KeyObject<'a>, counts: &TopCounts) -> Self {
        Self {
            r#type: "top",
            by: report.by.name(),
            key,
            calls: counts.calls,
            unanswered: counts.unanswered,
            failed: counts.failed,
            octets_read: counts.octets_read,
            octets_written: counts.octets_written,
            not_rebuilt: counts.not_rebuilt,
            p50_ns: counts.percentile(50),
            p99_ns: counts.percentile(99),
            time_ns: counts.time,
            share: report.share(counts),
        }
    }
}
