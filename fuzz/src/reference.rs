//! A second decoder, written from the specifications with plain nom combinators, to compare the first with.
//!
//! The reference decoder shares nothing with the codec except the names of the errors. Allocation is allowed, and speed
//! is no aim.

pub mod v2;

use nom::bytes::complete::take;
use nom::combinator::{cut, map, success};
use nom::error::{ErrorKind, ParseError};
use nom::multi::{count, many0};
use nom::number::complete::{be_u32, be_u64};
use nom::sequence::{preceded, terminated};
use nom::{Err, IResult, Parser, branch::alt};

/// Reason why octets were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusalReason {
    /// The name of the error's kind.
    pub kind: &'static str,
    /// Octets from the start of the input to the item that is wrong.
    pub offset: usize,
}

/// Handle, length, offset (RFC 8166 section 3.4.3).
pub type Segment = (u32, u32, u64);

/// A transport header (RFC 8166 section 4.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// `rdma_xid`.
    pub xid: u32,
    /// `rdma_credit`.
    pub credit: u32,
    /// The part that `rdma_proc` selects.
    pub body: Body,
}

/// The part of a header that depends on `rdma_proc`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// `RDMA_MSG`.
    Msg(Chunks),
    /// `RDMA_NOMSG`.
    Nomsg(Chunks),
    /// `RDMA_MSGP`: align, thresh, the lists.
    Msgp(u32, u32, Chunks),
    /// `RDMA_DONE`.
    Done,
    /// `RDMA_ERROR` with `ERR_VERS`: the lowest and the highest version.
    ErrVers(u32, u32),
    /// `RDMA_ERROR` with `ERR_CHUNK`.
    ErrChunk,
}

/// The chunk lists (RFC 8166 section 4.3).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunks {
    /// Position and segment of each entry of the Read list.
    pub reads: Vec<(u32, Segment)>,
    /// The chunks of the Write list.
    pub writes: Vec<Vec<Segment>>,
    /// The Reply chunk.
    pub reply: Option<Vec<Segment>>,
}

/// A flavor and a body (RFC 5531 section 8.2).
pub type Auth = (u32, Vec<u8>);

/// An RPC Call (RFC 5531 section 9).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Transaction ID, version of RPC, program, version of the program, procedure.
    pub words: [u32; 5],
    /// Credentials of the caller.
    pub credential: Auth,
    /// Verifier of the credentials.
    pub verifier: Auth,
}

/// An RPC Reply (RFC 5531 section 9), after the transaction ID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// `MSG_ACCEPTED`: verifier, `accept_stat`, the versions of a `PROG_MISMATCH`.
    Accepted(Auth, u32, Option<(u32, u32)>),
    /// `MSG_DENIED`, `RPC_MISMATCH`: the lowest and the highest version.
    RpcMismatch(u32, u32),
    /// `MSG_DENIED`, `AUTH_ERROR`: `auth_stat`.
    AuthError(u32),
}

/// An `AUTH_SYS` credential (RFC 5531 appendix A): stamp, machine name, user, group, further groups.
pub type AuthSys = (u32, Vec<u8>, u32, u32, Vec<u32>);

/// An `RPCSEC_GSS` credential (RFC 2203 section 5): version, procedure, sequence number, service, handle.
pub type Gss = ([u32; 4], Vec<u8>);

/// A failure on the way up: the kind, and the octets from the item to the end of the input.
#[derive(Clone, Copy, Debug)]
struct Fault {
    kind: Option<&'static str>,
    left: usize,
}

impl<'a> ParseError<&'a [u8]> for Fault {
    fn from_error_kind(input: &'a [u8], _: ErrorKind) -> Self {
        Self { kind: None, left: input.len() }
    }

    fn append(_: &'a [u8], _: ErrorKind, other: Self) -> Self {
        other
    }
}

type Parsed<'a, T> = IResult<&'a [u8], T, Fault>;

/// A fault in the item whose first octet has this many octets from there to the end of the input.
fn fault<'a, T>(kind: &'static str, left: usize) -> Parsed<'a, T> {
    Err(Err::Error(Fault { kind: Some(kind), left }))
}

/// Result of the parser, and the number of octets left; `kind` is the error for input that ends too early.
fn finish<'a, T>(input: &'a [u8], kind: &'static str, parsed: Parsed<'a, T>) -> Result<(T, usize), RefusalReason> {
    match parsed {
        Ok((rest, value)) => Ok((value, rest.len())),
        Err(Err::Error(fault) | Err::Failure(fault)) => {
            Err(RefusalReason { kind: fault.kind.unwrap_or(kind), offset: input.len() - fault.left })
        }
        Err(Err::Incomplete(_)) => Err(RefusalReason { kind: "incomplete", offset: 0 }),
    }
}

/// Returns a transport header of version 1, and the number of octets that follow.
///
/// # Errors
/// Where there is none.
pub fn header(input: &[u8]) -> Result<(Header, usize), RefusalReason> {
    finish(input, "header_short", version_1(input))
}

fn version_1(input: &[u8]) -> Parsed<'_, Header> {
    let (rest, (xid, version, credit, procedure)) = (be_u32, be_u32, be_u32, be_u32).parse(input)?;
    // Section 4.5: anything shorter than 28 octets is discarded. But some valid messages are shorter.
    let smallest = match (version, procedure) {
        (1, 3) => 16,
        (1, 4) => 20,
        _ => 28,
    };
    if input.len() < smallest {
        return fault("header_short", input.len() % 4);
    }
    if version != 1 {
        return fault("version", input.len() - 4);
    }
    let (rest, body) = match procedure {
        0 => map(chunks, Body::Msg).parse(rest),
        1 => map(chunks, Body::Nomsg).parse(rest),
        2 => map((be_u32, be_u32, chunks), |(align, thresh, chunks)| Body::Msgp(align, thresh, chunks)).parse(rest),
        3 => success(Body::Done).parse(rest),
        4 => error(rest),
        _ => fault("procedure", input.len() - 12),
    }?;
    Ok((rest, Header { xid, credit, body }))
}

/// An `RDMA_ERROR` of any version (RFC 8166 section 4.5): transaction ID, version and credit, the error, and the number
/// of octets that follow.
///
/// # Errors
/// Where there is none.
pub fn error_reply(input: &[u8]) -> Result<(([u32; 3], Body), usize), RefusalReason> {
    let words = map((be_u32, be_u32, be_u32), |(xid, version, credit)| [xid, version, credit]);
    let parsed = (words, word("procedure", 4), error).parse(input);
    finish(input, "header_short", parsed.map(|(rest, (words, (), error))| (rest, (words, error))))
}

fn error(input: &[u8]) -> Parsed<'_, Body> {
    match be_u32(input)? {
        (rest, 1) => map((be_u32, be_u32), |(low, high)| Body::ErrVers(low, high)).parse(rest),
        (rest, 2) => success(Body::ErrChunk).parse(rest),
        _ => fault("error_code", input.len()),
    }
}

fn chunks(input: &[u8]) -> Parsed<'_, Chunks> {
    map((reads, writes, reply_chunk), |(reads, writes, reply)| Chunks { reads, writes, reply }).parse(input)
}

fn reads(input: &[u8]) -> Parsed<'_, Vec<(u32, Segment)>> {
    terminated(many0(preceded(one, (be_u32, segment))), expect_end).parse(input)
}

fn writes(input: &[u8]) -> Parsed<'_, Vec<Vec<Segment>>> {
    terminated(many0(preceded(one, cut(chunk))), expect_end).parse(input)
}

fn reply_chunk(input: &[u8]) -> Parsed<'_, Option<Vec<Segment>>> {
    alt((map(preceded(one, cut(chunk)), Some), map(expect_end, |()| None))).parse(input)
}

fn segment(input: &[u8]) -> Parsed<'_, Segment> {
    (be_u32, be_u32, be_u64).parse(input)
}

fn chunk(input: &[u8]) -> Parsed<'_, Vec<Segment>> {
    let Ok((rest, number)) = be_u32::<_, Fault>(input) else { return fault("list_truncated", input.len()) };
    count(segment, number as usize).parse(rest).or_else(|_| fault("segment_count", input.len()))
}

/// "An entry follows" (RFC 4506 section 4.19).
fn one(input: &[u8]) -> Parsed<'_, ()> {
    match be_u32(input)? {
        (rest, 1) => Ok((rest, ())),
        _ => fault("list_flag", input.len()),
    }
}

/// "No entry follows". A 1 here is one whose entry could not be read.
fn expect_end(input: &[u8]) -> Parsed<'_, ()> {
    match be_u32::<_, Fault>(input) {
        Ok((rest, 0)) => Ok((rest, ())),
        Ok((_, 1)) | Err(_) => fault("list_truncated", input.len()),
        Ok(_) => fault("list_flag", input.len()),
    }
}

/// Answer to a refused header: RFC 8166 section 4.5.
#[must_use]
pub fn reaction(kind: &str, is_responder: bool) -> &'static str {
    match kind {
        _ if !is_responder => "discard",
        "header_short" | "error_code" => "discard",
        "version" => "ERR_VERS",
        _ => "ERR_CHUNK",
    }
}

/// Returns an RPC Call, and the number of octets that follow.
///
/// # Errors
/// Where there is none.
pub fn call(input: &[u8]) -> Result<(Call, usize), RefusalReason> {
    let words = map(
        (be_u32, word("message_type", 0), be_u32, be_u32, be_u32, be_u32),
        |(xid, (), rpc, program, version, procedure)| [xid, rpc, program, version, procedure],
    );
    let mut call = map((words, auth, auth), |(words, credential, verifier)| Call { words, credential, verifier });
    finish(input, "truncated", call.parse(input))
}

/// Returns an RPC Reply with the transaction ID, and the number of octets that follow.
///
/// # Errors
/// Where there is none.
pub fn reply(input: &[u8]) -> Result<((u32, Reply), usize), RefusalReason> {
    let mut parser = (terminated(be_u32, word("message_type", 1)), alternative("reply_status", accepted, denied));
    finish(input, "truncated", parser.parse(input))
}

fn accepted(input: &[u8]) -> Parsed<'_, Reply> {
    match (auth, be_u32).parse(input)? {
        (rest, (verifier, 2)) => {
            map((be_u32, be_u32), |versions| Reply::Accepted(verifier.clone(), 2, Some(versions))).parse(rest)
        }
        (rest, (verifier, status)) => Ok((rest, Reply::Accepted(verifier, status, None))),
    }
}

fn denied(input: &[u8]) -> Parsed<'_, Reply> {
    let mismatch = |input| map((be_u32, be_u32), |(low, high)| Reply::RpcMismatch(low, high)).parse(input);
    let error = |input| map(be_u32, Reply::AuthError).parse(input);
    alternative("reject_status", mismatch, error).parse(input)
}

/// Returns the body of an `AUTH_SYS` credential, and the number of octets that follow.
///
/// # Errors
/// The refusal of any other input.
pub fn auth_sys(input: &[u8]) -> Result<(AuthSys, usize), RefusalReason> {
    finish(input, "truncated", (be_u32, limited("auth_sys_length", 255), be_u32, be_u32, groups).parse(input))
}

fn groups(input: &[u8]) -> Parsed<'_, Vec<u32>> {
    let (rest, number) = be_u32(input)?;
    if number > 16 {
        return fault("auth_sys_length", input.len());
    }
    let (rest, words) = take(4 * number).parse(rest)?;
    let (_, groups) = count(be_u32, number as usize).parse(words)?;
    Ok((rest, groups))
}

/// Returns the body of an `RPCSEC_GSS` credential, and the number of octets that follow.
///
/// # Errors
/// The refusal of any other input.
pub fn gss(input: &[u8]) -> Result<(Gss, usize), RefusalReason> {
    let words = map((be_u32, be_u32, be_u32, be_u32), |(version, procedure, sequence, service)| {
        [version, procedure, sequence, service]
    });
    finish(input, "truncated", (words, opaque).parse(input))
}

fn auth(input: &[u8]) -> Parsed<'_, Auth> {
    (be_u32, limited("auth_length", 400)).parse(input)
}

/// A word that must be this one.
fn word<'a>(kind: &'static str, expected: u32) -> impl Parser<&'a [u8], Output = (), Error = Fault> {
    move |input: &'a [u8]| match be_u32(input)? {
        (rest, found) if found == expected => Ok((rest, ())),
        _ => fault(kind, input.len()),
    }
}

/// One thing after a 0, another after a 1.
fn alternative<'a, T>(
    kind: &'static str,
    zero: impl Fn(&'a [u8]) -> Parsed<'a, T>,
    one: impl Fn(&'a [u8]) -> Parsed<'a, T>,
) -> impl Parser<&'a [u8], Output = T, Error = Fault> {
    move |input: &'a [u8]| match be_u32(input)? {
        (rest, 0) => zero(rest),
        (rest, 1) => one(rest),
        _ => fault(kind, input.len()),
    }
}

/// Opaque data with padding (RFC 4506 section 4.10).
fn opaque(input: &[u8]) -> Parsed<'_, Vec<u8>> {
    let (rest, length) = be_u32(input)?;
    let (rest, data) = take((length as usize).div_ceil(4) * 4).parse(rest)?;
    let (_, data) = take(length).parse(data)?;
    Ok((rest, data.to_vec()))
}

/// Opaque data of at most this many octets.
fn limited<'a>(kind: &'static str, most: usize) -> impl Parser<&'a [u8], Output = Vec<u8>, Error = Fault> {
    move |input: &'a [u8]| match opaque(input)? {
        (_, data) if data.len() > most => fault(kind, input.len()),
        found => Ok(found),
    }
}

/// RFC 8797 private data at the first place if there is some: flags, send size, receive size.
#[must_use]
pub fn private_data(input: &[u8]) -> Option<(u8, u32, u32)> {
    input.windows(8).find_map(|window| match window {
        [0xf6, 0xab, 0x0e, 0x18, 1, flags, send, receive] => {
            Some((*flags, (u32::from(*send) + 1) * 1024, (u32::from(*receive) + 1) * 1024))
        }
        _ => None,
    })
}
