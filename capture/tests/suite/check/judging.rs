//! The checker's findings about packets.

use std::collections::BTreeSet;

use rpcrdma::rules::Severity;
use rpcrdma_dissector::check::{Blame, Count};
use rpcrdma_dissector::{Checker, Config, Dissector, Found, Frame, LinkType, Time};

use crate::synthetic::Packet;
use crate::transcode::Record;

/// Judges packets that were captured two seconds apart.
pub(crate) fn judge(packets: &[Packet]) -> (Vec<Found>, Vec<Count>) {
    judge_at(packets, |index| index * 2_000_000_000)
}

/// Judges packets that were captured at these nanoseconds.
pub(crate) fn judge_at(packets: &[Packet], time: fn(u64) -> u64) -> (Vec<Found>, Vec<Count>) {
    judge_frames(Config::for_checker(), frames(packets, time))
}

/// Judges packets within this many octets of memory.
pub(crate) fn judge_within(memory: usize, packets: &[Packet]) -> (Vec<Found>, Vec<Count>) {
    let mut config = Config::for_checker();
    config.memory = memory;
    judge_frames(config, frames(packets, |index| index * 2_000_000_000))
}

fn frames(packets: &[Packet], time: fn(u64) -> u64) -> impl Iterator<Item = Frame<'_>> {
    packets.iter().zip(1..).map(move |(packet, number)| {
        let (time, link) = (Time(time(number)), LinkType(101));
        Frame { number, time, link, data: packet, length: packet.len() as u32 }
    })
}

/// Judges the frames of a capture.
pub(crate) fn judged(records: &[Record]) -> (Vec<Found>, Vec<Count>) {
    judge_frames(
        Config::for_checker(),
        records.iter().zip(1..).map(|(record, number)| {
            let (time, link, length) = (Time(record.time_ns), LinkType(record.link), record.length);
            Frame { number, time, link, data: &record.data, length }
        }),
    )
}

fn judge_frames<'a>(config: Config, frames: impl Iterator<Item = Frame<'a>>) -> (Vec<Found>, Vec<Count>) {
    let mut dissector = Dissector::new(config);
    let mut checker = Checker::default();
    frames.for_each(|frame| dissector.frame(&frame));
    dissector.finish();
    while let Some(event) = dissector.event() {
        checker.event(&event);
    }
    let found = std::iter::from_fn(|| checker.finding()).collect();
    (found, checker.counts().collect())
}

/// Returns each broken rule, the severity, and the end to blame.
pub(crate) fn blamed(packets: &[Packet]) -> Vec<(&'static str, Severity, Blame)> {
    judge(packets).0.iter().map(|found| (found.rule.slug, found.severity, found.blame)).collect()
}

pub(crate) fn slugs(packets: &[Packet]) -> BTreeSet<&'static str> {
    judge(packets).0.iter().map(|found| found.rule.slug).collect()
}

/// A finding's rule, offset and message.
pub(crate) type Said = (&'static str, Option<usize>, String);

pub(crate) fn said(packets: &[Packet]) -> Vec<Said> {
    judge(packets).0.into_iter().map(|found| (found.rule.slug, found.offset, found.message)).collect()
}

/// Returns the number of times that a rule was not judged.
pub(crate) fn not_judged(packets: &[Packet], slug: &str) -> u64 {
    judge(packets).1.iter().find(|count| count.rule.slug == slug).unwrap().not_judged
}
