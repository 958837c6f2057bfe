//! The captures in `testdata`, and what is true of each.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rpcrdma_dissector::{Captured, Checker, Config, Dissector, Event, Frame, LinkType, Reader, Step, Time};

/// Scripts name a capture by the index in this list, so new ones go to the end. Numbers are taken modulo the length of
/// the list, so the scripts in the corpus use the index itself.
pub(crate) const NAMES: [&str; 27] = [
    "nfs41_callback",
    "errors",
    "nfs3",
    "nfs3_ipv6",
    "nfs40",
    "nfs41",
    "nfs41_krb5",
    "nfs41_krb5i",
    "nfs41_lossy",
    "nfs42_mtu9000",
    "perftest",
    "iwarp_nfs41",
    "iwarp_nfs3_lossy",
    "reduced_reply",
    "same_xid",
    "withdrawn",
    "krb5i_reduced",
    "delays",
    "nfsd_deviations",
    "client_deviations",
    "nfsd_reverse",
    "situations/iwarp_call_in_segments",
    "situations/iwarp_reply_refused",
    "situations/iwarp_reply_refused_for_good",
    "situations/iwarp_reply_refused_three_times",
    "situations/iwarp_reply_timed_out",
    "situations/iwarp_reply_unacknowledged",
];

/// Returns the folder of the captures: beside the program, if there is no repository.
fn folder() -> PathBuf {
    let beside = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.join("captures")));
    let in_repository = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures");
    beside.filter(|folder| folder.is_dir()).unwrap_or_else(in_repository)
}

/// A frame that scripts can change.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// The number of the frame in the real capture; 0 for another frame.
    pub(crate) origin: u64,
    pub(crate) time: u64,
    pub(crate) link: u32,
    pub(crate) data: Vec<u8>,
    /// Octets on the wire.
    pub(crate) length: u32,
}

impl Record {
    pub(crate) fn frame(&self, number: u64) -> Frame<'_> {
        let Self { time, link, data, length, .. } = self;
        Frame { number, time: Time(*time), link: LinkType(*link), data, length: *length }
    }

    /// The same, complete, at another link layer.
    pub(crate) fn with(&self, link: u32, data: Vec<u8>) -> Self {
        Self { origin: self.origin, time: self.time, link, length: data.len() as u32, data }
    }
}

/// A capture, and the findings of the dissector for the undisturbed capture. The dissector's own tests prove that this
/// is the truth.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) records: Vec<Record>,
    /// Every rebuilt RPC message, by XID and kind. Several connections may use the same XID.
    pub(crate) rpcs: HashMap<(u32, bool), Vec<Vec<u8>>>,
    /// The calls whose reply was sent and did not arrive: a capture that lacks the refusal may show that reply.
    pub(crate) refused: HashSet<u32>,
    /// Every complete Send.
    pub(crate) sends: HashSet<Vec<u8>>,
    /// Broken rules, each with the frame of the violation.
    broken: HashSet<(&'static str, u64)>,
    /// The frames that brought a Send With Invalidate.
    invalidating: HashSet<u64>,
}

impl Known {
    /// The capture with this index.
    pub(crate) fn get_capture(index: u8) -> &'static Self {
        static ALL: [OnceLock<Known>; NAMES.len()] = [const { OnceLock::new() }; NAMES.len()];
        let index = usize::from(index) % NAMES.len();
        let (Some(known), Some(name)) = (ALL.get(index), NAMES.get(index)) else { unreachable!() };
        known.get_or_init(|| Self::read(name))
    }

    fn read(name: &str) -> Self {
        let mut known = Self::default();
        let path = folder().join(name).with_extension("pcap");
        let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut reader = Reader::new(file).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut config = Config::default();
        config.operations = true;
        let mut dissector = Dissector::new(config);
        let mut checker = Checker::default();
        while let Some(frame) = reader.next() {
            let frame = frame.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            dissector.frame(&frame);
            let Frame { number, time, link, data, length } = frame;
            known.records.push(Record { origin: number, time: time.0, link: link.0, data: data.to_vec(), length });
        }
        dissector.finish();
        while let Some(event) = dissector.event() {
            checker.event(&event);
            known.add_event(event);
        }
        let found = std::iter::from_fn(|| checker.finding());
        known.broken = found.map(|found| (found.rule.slug, found.stamp.frame)).collect();
        known
    }

    /// Returns true if a frame breaks a rule in the undisturbed capture. Remote invalidation that was not announced is reported
    /// once per connection: if the first Send that invalidates is missing, for a later one, or for a copy of one.
    pub(crate) fn has_violation(&self, slug: &'static str, frame: u64) -> bool {
        let invalidates = || self.invalidating.iter().any(|known| self.content(*known) == self.content(frame));
        self.broken.contains(&(slug, frame))
            || slug == "invalidate-foreign" && self.broken.iter().any(|(known, _)| *known == slug) && invalidates()
    }

    /// The content of a frame between the checksum and the headers that may differ in a copy.
    fn content(&self, frame: u64) -> &[u8] {
        let index = frame.checked_sub(1).and_then(|before| usize::try_from(before).ok());
        let record = index.and_then(|index| self.records.get(index));
        record.and_then(|record| record.data.get(66..record.data.len().saturating_sub(4))).unwrap_or_default()
    }

    fn add_event(&mut self, event: Event) {
        if let Event::Message(message) = &event
            && message.invalidates.is_some()
        {
            self.invalidating.insert(message.stamp.frame);
        }
        match event {
            Event::Message(message) if message.captured == Captured::Whole => _ = self.sends.insert(message.octets),
            Event::Transaction(transaction) => {
                let xid = transaction.xid;
                let last = transaction.waiting.and_then(|waiting| waiting.responder);
                if last.is_some_and(|last| last.step == Step::Reply) {
                    self.refused.insert(xid);
                }
                for (is_reply, half) in [(false, transaction.call), (true, transaction.reply)] {
                    if let Some(Ok(rebuilt)) = half.map(|half| half.message) {
                        self.rpcs.entry((xid, is_reply)).or_default().push(rebuilt.octets().to_vec());
                    }
                }
            }
            _ => {}
        }
    }
}
