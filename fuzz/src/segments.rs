//! iWARP in other TCP segments than in the capture.

use rpcrdma_dissector::{Config, Dissector, Event};
use rpcrdma_gen::Choices;

use crate::captures::{Known, Record};

/// The captures of iWARP, by their index in the list of captures.
const IWARP: [u8; 8] = [11, 12, 21, 22, 23, 24, 25, 26];
/// The most frames of a capture that are taken.
const FRAMES: u32 = 300;
/// The most pieces of a segment.
const PIECES: u32 = 6;

const ETHERNET: usize = 14;

/// With the octets as a source of choices: the segments of a capture are cut into smaller ones, some of which come
/// twice or change places with their neighbour. The same messages come out, in the same order.
///
/// # Panics
/// If the results differ.
pub fn iwarp(octets: &[u8]) {
    let mut choices = Choices::of_octets(octets);
    let known = Known::get_capture(choices.one_of(&IWARP).copied().unwrap_or_default());
    let count = 1 + choices.below(FRAMES) as usize;
    let captured: Vec<&Record> = known.records.iter().take(count).collect();
    let whole = messages(captured.iter().map(|record| (*record).clone()));
    let pieces = captured.iter().flat_map(|record| cut(record, &mut choices)).collect::<Vec<_>>();
    let found = messages(pieces.into_iter());
    assert_eq!(found.len(), whole.len(), "as many messages of {count} frames");
    assert!(found == whole, "the same messages of {count} frames");
}

fn messages(records: impl Iterator<Item = Record>) -> Vec<Vec<u8>> {
    let mut config = Config::default();
    config.transactions = false;
    let mut dissector = Dissector::new(config);
    let mut messages = Vec::new();
    for (record, number) in records.zip(1..) {
        dissector.frame(&record.frame(number));
    }
    dissector.finish();
    while let Some(event) = dissector.event() {
        if let Event::Message(message) = event {
            messages.push(message.octets);
        }
    }
    messages
}

/// The record in pieces; the whole record if there is no TCP payload over IPv4 and Ethernet, or the record was cut.
fn cut(record: &Record, choices: &mut Choices<'_>) -> Vec<Record> {
    let Some((header, payload)) = tcp(record) else { return vec![record.clone()] };
    let mut pieces = Vec::new();
    let mut from = 0;
    // Without choices left, segments stay whole.
    for _ in 0..choices.below(PIECES) {
        let end = from + choices.below((payload.len() - from) as u32) as usize;
        pieces.push(piece(record, header, from, payload.get(from..end).unwrap_or_default()));
        from = end;
    }
    pieces.push(piece(record, header, from, payload.get(from..).unwrap_or_default()));
    pieces.retain(|piece| piece.data.len() > header.len());
    let index = choices.below(pieces.len() as u32) as usize;
    match choices.below(8) {
        1 => pieces.extend(pieces.get(index).cloned()),
        2 if index > 0 => pieces.swap(index - 1, index),
        _ => {}
    }
    pieces
}

/// The headers of a TCP segment, and the payload.
fn tcp(record: &Record) -> Option<(&[u8], &[u8])> {
    let ip = record.data.get(ETHERNET..)?;
    let is_tcp = record.data.get(12..14)? == [8, 0] && ip.get(9) == Some(&6);
    let ip_header = 4 * usize::from(ip.first()? & 15);
    let length = usize::from(u16::from_be_bytes([*ip.get(2)?, *ip.get(3)?]));
    let header = ETHERNET + ip_header + 4 * usize::from(ip.get(ip_header + 12)? >> 4);
    let payload = record.data.get(header..ETHERNET + length)?;
    (is_tcp && !payload.is_empty()).then_some((record.data.get(..header)?, payload))
}

/// A segment with this part of the payload, which begins `from` octets after the whole one.
fn piece(record: &Record, header: &[u8], from: usize, payload: &[u8]) -> Record {
    let mut data = [header, payload].concat();
    let length = (data.len() - ETHERNET) as u16;
    let ip_header = 4 * usize::from(header.get(ETHERNET).copied().unwrap_or_default() & 15);
    if let Some(field) = data.get_mut(ETHERNET + 2..ETHERNET + 4) {
        field.copy_from_slice(&length.to_be_bytes());
    }
    let sequence = ETHERNET + ip_header + 4;
    if let Some(field) = data.get_mut(sequence..).and_then(|rest| rest.first_chunk_mut()) {
        *field = u32::from_be_bytes(*field).wrapping_add(from as u32).to_be_bytes();
    }
    record.with(record.link, data)
}
