//! RPCs counted together.

use std::borrow::Cow;
use std::io;

use serde::Serialize;

use super::{TopCounts, TopKey, TopReport, TypicalRow};
use crate::file_names::{NamedFile, hash, readable};
use crate::record::JsonRecord;
use crate::record::values::{EndObject, HexOctets};
use crate::user::RpcUser;

/// RPCs that have something in common.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct TopObject<'a> {
    /// Property that the RPCs share: `client`, `server`, `operation`, `handle`, `name`, `user`, `status` or `connection`.
    by: &'static str,
    #[serde(flatten)]
    key: KeyObject<'a>,
    #[serde(flatten)]
    counts: &'a TopCounts,
    /// Median latency in nanoseconds, to one in a hundred; null if no latency is known.
    p50_ns: Option<u64>,
    /// 99th percentile of the latency in nanoseconds.
    p99_ns: Option<u64>,
    /// Median of `p50_ns` over all rows with a key, to compare this one with; null if fewer than three have one.
    typical_p50_ns: Option<u64>,
    /// Median of `p99_ns` over these rows.
    typical_p99_ns: Option<u64>,
    /// Their share of the time of all RPCs, from 0 to 1: of latencies, and of the waits of calls without a reply.
    share: f64,
}

/// The value of it that they have.
#[derive(Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct KeyObject<'a> {
    /// The value; for a handle, the CRC-32. Octets of a name that are no UTF-8 are written as `\xff`. Null if the RPCs
    /// do not show one, or have several.
    key: Option<Cow<'a, str>>,
    /// By handle: octets in hexadecimal digits.
    handle: Option<HexOctets<'a>>,
    /// By handle or name: the address of the server of the file.
    server: Option<EndObject>,
    /// By handle: the name by which the file was looked up, opened, created or listed, if the capture shows that.
    file_name: Option<Cow<'a, str>>,
    /// By handle or name: the path of the file, from the root of the server, or behind `…` from the first folder that has a name; null
    /// if no folder is known. Control characters are escaped.
    path: Option<String>,
    /// By name: the handle of the folder in hexadecimal digits, if the capture shows that.
    folder: Option<HexOctets<'a>>,
    /// By name: the name of the folder, if the capture shows that.
    folder_name: Option<Cow<'a, str>>,
    /// By user: what the credential says; null if the capture does not show the credential.
    user: Option<&'a RpcUser>,
    /// Number of values of RPCs that are counted together as others; null in all other rows.
    others: Option<u64>,
}

impl<'a> TopObject<'a> {
    pub(crate) fn list_rows(report: &'a TopReport) -> impl Iterator<Item = Self> + 'a {
        let typical = report.typical();
        let rows = report
            .rows
            .iter()
            .map(move |(key, counts)| Self::new(report, KeyObject::new(report, key), counts, typical));
        let keys = report.others.keys;
        let others = (keys > 0).then(|| {
            let key = KeyObject { others: Some(keys), ..KeyObject::default() };
            Self::new(report, key, &report.others.counts, typical)
        });
        rows.chain(others)
    }

    fn new(report: &TopReport, key: KeyObject<'a>, counts: &'a TopCounts, typical: Option<TypicalRow>) -> Self {
        Self {
            by: report.by.name(),
            key,
            counts,
            p50_ns: counts.percentile(50),
            p99_ns: counts.percentile(99),
            typical_p50_ns: typical.map(|typical| typical.p50),
            typical_p99_ns: typical.map(|typical| typical.p99),
            share: report.share(counts),
        }
    }
}

impl<'a> KeyObject<'a> {
    fn new(report: &'a TopReport, key: &'a TopKey) -> Self {
        let of = |text: String| Self { key: Some(text.into()), ..Self::default() };
        match key {
            TopKey::Address(address) => of(address.to_string()),
            TopKey::Connection(number) => of(number.to_string()),
            TopKey::User(user) => Self { user: Some(user), ..of(user.to_string()) },
            TopKey::Text(text) => Self { key: Some(text.into()), ..Self::default() },
            TopKey::Name(NamedFile { name, server, folder, .. }) => Self {
                key: Some(readable(name)),
                server: Some(EndObject(*server)),
                path: report.names.path_of(*server, folder.as_deref(), name),
                folder: folder.as_deref().map(HexOctets),
                folder_name: folder.as_ref().and_then(|folder| report.names.name(*server, folder)).map(readable),
                ..Self::default()
            },
            TopKey::File(server, handle) => Self {
                handle: Some(HexOctets(handle)),
                server: Some(EndObject(*server)),
                file_name: report.names.name(*server, handle).map(readable),
                path: report.names.path(*server, handle),
                ..of(format!("{:#010x}", hash(handle)))
            },
            TopKey::None => Self::default(),
        }
    }
}

impl TopReport {
    /// Writes RPCs that are counted together, a line for each key; `capture_file` names the file, if several captures
    /// are read.
    ///
    /// # Errors
    /// Any error from writing to `out`.
    pub fn write_json(&self, capture_file: Option<&str>, out: &mut impl io::Write) -> io::Result<()> {
        TopObject::list_rows(self).try_for_each(|object| object.write_json_of(capture_file, out))
    }
}
