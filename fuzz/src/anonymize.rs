//! Anonymizes frames, and looks for what the copy should not have.

use rpcrdma_answers::anonymize::{Anonymized, Anonymizer, Key, config};
use rpcrdma_dissector::{Dissector, Event, Frame, LinkType, Reader, Time};

use crate::captures::Record;
use crate::script::Script;

/// The most octets of frames that are taken from a file: a few octets of a compressed one may stand for any number.
const FILE_OCTETS: usize = 1 << 20;
/// Octets in a row in which replacements under two keys are not equal by chance.
const TELLING: usize = 8;
const ETHERNET: u32 = 1;
const INFINIBAND: u32 = 247;
/// Octets of an Ethernet header.
const HEADER: usize = 14;

/// A copy of a capture: frames, each with the index of the original.
struct Copy {
    frames: Vec<(usize, Record)>,
}

/// Takes a capture file, or a script (see `script.rs`) that says what is done to a piece of a real capture.
///
/// The frames are anonymized under two keys. An octet of a copy is zero, or the original octet, or follows from the
/// key: then the two copies differ there. If the script only loses, cuts, repeats and moves frames, as many readable
/// messages and RPCs are found in a copy as in the original, or in the frames of the original that were not dropped.
///
/// # Panics
/// If this does not hold.
pub fn anonymize(octets: &[u8]) {
    let (records, honest) = match Reader::new(octets) {
        Ok(reader) => (records(reader), false),
        Err(_) => {
            let Script { records, honest, .. } = Script::new(octets);
            (records, honest)
        }
    };
    let Some(one) = copy(&records, [0x11; 32]) else { return };
    let Some(other) = copy(&records, [0x22; 32]) else { unreachable!("a key changes no decision") };
    assert_eq!(one.frames.len(), other.frames.len(), "a key changes no decision");
    for ((index, one), (same, other)) in one.frames.iter().zip(&other.frames) {
        assert_eq!(index, same, "a key changes no decision");
        if let Some(record) = records.get(*index) {
            assert_eq!((one.link, one.length), (other.link, other.length), "a key changes no decision");
            explained(record, one, other, *index);
        }
    }
    if honest {
        let kept: Vec<Record> = one.frames.iter().filter_map(|(index, _)| records.get(*index).cloned()).collect();
        let copies: Vec<Record> =
            kept.iter().zip(one.frames).map(|(record, (_, copy))| Record { time: record.time, ..copy }).collect();
        // A dropped frame may have explained the others.
        let expected = [found(&records), found(&kept)];
        let found = found(&copies);
        assert!(expected.contains(&found), "messages and RPCs: {found:?} in the copy, {expected:?} in the original");
    }
}

fn records(mut reader: Reader<'_>) -> Vec<Record> {
    let (mut records, mut octets) = (Vec::new(), 0);
    while octets < FILE_OCTETS {
        let Some(Ok(Frame { number, time, link, data, length })) = reader.next() else { break };
        octets += data.len() + 1;
        let (time, link) = (time.0, link.0);
        records.push(Record { origin: number, time, link, data: data.to_vec(), length });
    }
    records
}

/// The copy under a key; `None` for a refused copy.
fn copy(records: &[Record], key: [u8; 32]) -> Option<Copy> {
    let (mut file, mut dissector) = (Vec::new(), Dissector::new(config()));
    let Ok(mut anonymizer) = Anonymizer::pcapng(&mut file, &Key::new(key)) else { unreachable!() };
    for (number, record) in (1..).zip(records) {
        let frame = record.frame(number);
        // The number of the frame is its time, so that its copy can be found.
        let named = Frame { time: Time(number * 1_000), ..frame };
        if anonymizer.frame(&named).is_err() {
            return None;
        }
        dissector.frame(&frame);
        while let Some(event) = dissector.event() {
            anonymizer.event(&event);
        }
    }
    dissector.finish();
    while let Some(event) = dissector.event() {
        anonymizer.event(&event);
    }
    let Ok(Anonymized { frames, .. }) = anonymizer.finish() else { return None };
    let Ok(mut reader) = Reader::new(file.as_slice()) else { unreachable!("a copy is a capture file") };
    let mut copies = Vec::new();
    while let Some(Ok(frame)) = reader.next() {
        let index = usize::try_from(frame.time.0 / 1_000).unwrap_or_default().saturating_sub(1);
        assert!(
            records.get(index).is_some_and(|record| is_as_long(record, &frame)),
            "the frame that this is a copy of"
        );
        assert!(copies.last().is_none_or(|(last, _)| *last < index), "each frame is copied once, in its order");
        let Frame { link: LinkType(link), data, length, .. } = frame;
        copies.push((index, Record { origin: 0, time: 0, link, data: data.to_vec(), length }));
    }
    assert_eq!(frames, copies.len() as u64, "each frame that was counted is in the copy");
    Some(Copy { frames: copies })
}

/// Returns true if a copy is as long as the original, or has only the innermost packet, in Ethernet or InfiniBand.
fn is_as_long(original: &Record, copy: &Frame<'_>) -> bool {
    let is_whole = (copy.link.0, copy.data.len(), copy.length) == (original.link, original.data.len(), original.length);
    is_whole || ([ETHERNET, INFINIBAND].contains(&copy.link.0) && copy.data.len() <= original.data.len() + HEADER)
}

/// In no run of octets that chance does not explain are both copies the same, but neither zero nor the original. The
/// innermost packet may begin anywhere in the original.
fn explained(original: &Record, one: &Record, other: &Record, index: usize) {
    if is_explained(&original.data, &one.data, &other.data) {
        return;
    }
    let after_header =
        |copy: &'_ Record| copy.data.get(if copy.link == ETHERNET { HEADER } else { 0 }..).map(<[u8]>::to_vec);
    let (Some(one), Some(other)) = (after_header(one), after_header(other)) else {
        unreachable!("a copy has a header")
    };
    let found =
        (0..original.data.len()).any(|at| is_explained(original.data.get(at..).unwrap_or_default(), &one, &other));
    assert!(found, "the copy of frame {}", index + 1);
}

/// Returns true if each run of octets is explained by zeros, by the original, or by the key.
fn is_explained(original: &[u8], one: &[u8], other: &[u8]) -> bool {
    let mut unexplained = 0;
    let originals = original.iter().map(Some).chain(core::iter::repeat(None));
    one.iter().zip(other).zip(originals).all(|((one, other), original)| {
        let is_explained = one != other || *one == 0 || Some(one) == original;
        unexplained = if is_explained { 0 } else { unexplained + 1 };
        unexplained < TELLING
    })
}

/// Numbers of the messages that can be read, and of the RPCs with a reply. A Send that cannot be read, or is of an earlier use of the
/// queue pair, is zeros in the copy, and may look malformed there.
fn found(records: &[Record]) -> [u64; 2] {
    let mut dissector = Dissector::new(config());
    let mut found = [0; 2];
    let mut count = |event: Event| match event {
        Event::Message(message) => found[0] += u64::from(message.is_malformed().is_none()),
        Event::Transaction(transaction) => found[1] += u64::from(transaction.reply.is_some()),
        _ => {}
    };
    for (number, record) in (1..).zip(records) {
        dissector.frame(&record.frame(number));
        while let Some(event) = dissector.event() {
            count(event);
        }
    }
    dissector.finish();
    while let Some(event) = dissector.event() {
        count(event);
    }
    found
}
