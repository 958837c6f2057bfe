//! Version 2, written from the XDR of drafts -01 and -07.

use nom::combinator::{map, success};
use nom::multi::count;
use nom::number::complete::be_u32;
use nom::{Err, Parser};

use super::{Chunks, Fault, Parsed, RefusalReason, Segment, chunks, fault, finish, opaque, reads, reply_chunk, writes};

/// A transport header of either wire format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderV2 {
    /// `rdma_xid`.
    pub xid: u32,
    /// `rdma_credit`.
    pub credit: u32,
    /// `rdma_flags`, in family A.
    pub flags: Option<u32>,
    /// `rdma_htype`.
    pub htype: u32,
    /// The selected part.
    pub body: BodyV2,
}

/// The part of a header that depends on `rdma_htype`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyV2 {
    /// `rdma_inv_handle` and the Call chunk, if there are such; and the lists, empty if there are none.
    Lists(Option<u32>, Option<Vec<(u32, Segment)>>, Chunks),
    /// `rdma_err`, and the words of the union's arm.
    Error(u32, Vec<u32>),
    /// Transport properties.
    Properties(Vec<(u32, Value)>),
    /// `rdma_remaining`.
    Remaining(u32),
    /// Nothing.
    Grant,
}

/// The value of a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Zero octets.
    Default,
    /// A number.
    Number(u32),
    /// Opaque data within the opaque data.
    Opaque(Vec<u8>),
    /// Of an unknown property.
    Unknown(Vec<u8>),
}

/// Returns a header of drafts -00 to -02, and the number of octets that follow.
///
/// # Errors
/// Where there is none.
pub fn family_a(input: &[u8]) -> Result<(HeaderV2, usize), RefusalReason> {
    finish(input, "header_truncated", parse_a(input))
}

fn parse_a(input: &[u8]) -> Parsed<'_, HeaderV2> {
    if input.len() < 20 {
        return fault("header_short", input.len() % 4);
    }
    let (rest, (xid, version, credit, htype, flags)) = (be_u32, be_u32, be_u32, be_u32, be_u32).parse(input)?;
    if version != 2 {
        return fault("version", input.len() - 4);
    }
    let (rest, body) = match htype {
        0 | 1 => map((be_u32, chunks), |(handle, lists)| BodyV2::Lists(Some(handle), None, lists)).parse(rest),
        4 => error(rest),
        5 => properties(rest),
        6 => success(BodyV2::Grant).parse(rest),
        _ => fault("header_type", input.len() - 12),
    }?;
    Ok((rest, HeaderV2 { xid, credit, flags: Some(flags), htype, body }))
}

/// Returns a header of drafts -03 to -07, and the number of octets that follow.
///
/// # Errors
/// Where there is none.
pub fn family_b(input: &[u8]) -> Result<(HeaderV2, usize), RefusalReason> {
    finish(input, "header_truncated", parse_b(input))
}

fn parse_b(input: &[u8]) -> Parsed<'_, HeaderV2> {
    if input.len() < 16 {
        return fault("header_short", input.len() % 4);
    }
    let (rest, (xid, version, credit, htype)) = (be_u32, be_u32, be_u32, be_u32).parse(input)?;
    if version != 2 {
        return fault("version", input.len() - 4);
    }
    let (rest, body) = match htype {
        4 => error(rest),
        5 => success(BodyV2::Grant).parse(rest),
        6 | 7 => properties(rest),
        8 => map((be_u32, reads, chunks), |(handle, call, lists)| BodyV2::Lists(Some(handle), Some(call), lists))
            .parse(rest),
        9 | 12 => map(be_u32, BodyV2::Remaining).parse(rest),
        10 => map((be_u32, chunks), |(handle, lists)| BodyV2::Lists(Some(handle), None, lists)).parse(rest),
        11 => map((writes, reply_chunk), |(writes, reply)| {
            BodyV2::Lists(None, None, Chunks { writes, reply, ..Chunks::default() })
        })
        .parse(rest),
        13 => map(writes, |writes| BodyV2::Lists(None, None, Chunks { writes, ..Chunks::default() })).parse(rest),
        _ => fault("header_type", input.len() - 12),
    }?;
    Ok((rest, HeaderV2 { xid, credit, flags: None, htype, body }))
}

fn error(input: &[u8]) -> Parsed<'_, BodyV2> {
    error_words(input)
        .map(|(rest, (code, words))| (rest, BodyV2::Error(code, words)))
        .map_err(|error| error.map(|fault: Fault| Fault { kind: Some("header_short"), ..fault }))
}

fn error_words(input: &[u8]) -> Parsed<'_, (u32, Vec<u32>)> {
    let (rest, code) = be_u32(input)?;
    let words = match code {
        1 | 9 => 2,
        6 | 7 | 8 | 10 => 1,
        _ => 0,
    };
    map(count(be_u32, words), |words| (code, words)).parse(rest)
}

fn properties(input: &[u8]) -> Parsed<'_, BodyV2> {
    let (rest, number) = be_u32(input)?;
    map(count(property, number as usize), BodyV2::Properties).parse(rest)
}

fn property(input: &[u8]) -> Parsed<'_, (u32, Value)> {
    let (rest, which) = be_u32(input)?;
    // Every fault of a value is reported at its length.
    let wrong = Err::Error(Fault { kind: Some("property_value"), left: rest.len() });
    let Ok((after, data)) = opaque(rest) else { return Err(wrong) };
    let value = match (which, data.as_slice()) {
        (_, []) => Value::Default,
        (1..=5, &[w0, w1, w2, w3]) => Value::Number(u32::from_be_bytes([w0, w1, w2, w3])),
        (6, data) => match opaque(data) {
            Ok(([], message)) => Value::Opaque(message),
            _ => return Err(wrong),
        },
        (1..=5, _) => return Err(wrong),
        _ => Value::Unknown(data),
    };
    Ok((after, (which, value)))
}

/// Answer to a refused header: the number of the error, or none.
#[must_use]
pub fn reaction(kind: &str, is_responder: bool) -> Option<u32> {
    match (kind, is_responder) {
        ("header_short", _) => None,
        ("header_type", _) => Some(4),
        ("property_value", _) => Some(3),
        (_, false) => None,
        ("version", true) => Some(1),
        (_, true) => Some(2),
    }
}
