//! Rules that a Send, or a Reply to a Call, breaks.

use core::ffi::c_char;

use rpcrdma::error::Role;
use rpcrdma::rules::{self, Exchange, Finding, Lists, Rule, Sent, SentV2, Severity};
use rpcrdma::v2::{HeaderV2, ReactionV2};
use rpcrdma::{Message, Reaction};

use crate::argument::{OutArray, status, values};
use crate::message_v2::family;
use crate::status::rpcrdma_status::{RPCRDMA_INVALID, RPCRDMA_NOT_DECODED};
use crate::status::{answer, rpcrdma_status};

/// Text that lasts as long as the program, without a NUL at the end: print it with "%.*s", or use rpcrdma_rule_string.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rpcrdma_text {
    /// ASCII characters.
    pub characters: *const c_char,
    /// Number of entries.
    pub length: usize,
}

/// A rule that was broken.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rpcrdma_finding {
    /// The name of the rule, which does not change.
    pub slug: rpcrdma_text,
    /// Origin of the rule.
    pub section: rpcrdma_text,
    /// Text of the rule; empty in a library that was built with EXPLANATIONS=no.
    pub summary: rpcrdma_text,
    /// Octets from the start of the Send to the error.
    pub offset: usize,
    /// RPCRDMA_SEVERITY_ERROR, RPCRDMA_SEVERITY_WARNING or RPCRDMA_SEVERITY_HAZARD.
    pub severity: u32,
    /// Reaction of the receiver: RPCRDMA_REACT_NOT_SAID, RPCRDMA_REACT_DISCARD or RPCRDMA_REACT_ANSWER.
    pub reaction: u32,
    /// RPCRDMA_REACT_ANSWER: the rdma_err to answer with. Otherwise 0.
    pub answer: u32,
}

/// The specification says MUST.
pub const RPCRDMA_SEVERITY_ERROR: u32 = 1;
/// The specification says SHOULD.
pub const RPCRDMA_SEVERITY_WARNING: u32 = 2;
/// Allowed, or not specified, but known to cause failures between implementations.
pub const RPCRDMA_SEVERITY_HAZARD: u32 = 3;

/// The specification does not say what to do.
pub const RPCRDMA_REACT_NOT_SAID: u32 = 0;
/// Nothing goes back.
pub const RPCRDMA_REACT_DISCARD: u32 = 1;
/// An error goes back.
pub const RPCRDMA_REACT_ANSWER: u32 = 2;

/// The receiver of the Send is the Requester: the Send is a Reply, or an error.
pub const RPCRDMA_REQUESTER: u32 = 1;
/// The receiver of the Send is the Responder: the Send is a Call.
pub const RPCRDMA_RESPONDER: u32 = 2;

const fn role(number: u32) -> Result<Role, rpcrdma_status> {
    match number {
        RPCRDMA_REQUESTER => Ok(Role::Requester),
        RPCRDMA_RESPONDER => Ok(Role::Responder),
        _ => Err(RPCRDMA_INVALID),
    }
}

const fn other(role: Role) -> Role {
    match role {
        Role::Requester => Role::Responder,
        Role::Responder => Role::Requester,
    }
}

const fn text(text: &'static str) -> rpcrdma_text {
    rpcrdma_text { characters: text.as_ptr().cast(), length: text.len() }
}

impl rpcrdma_finding {
    fn new(finding: &Finding<'_>, due: Due) -> Self {
        let Due { reaction, answer } = due;
        let severity = match finding.severity {
            Severity::Error => RPCRDMA_SEVERITY_ERROR,
            Severity::Warning => RPCRDMA_SEVERITY_WARNING,
            Severity::Hazard => RPCRDMA_SEVERITY_HAZARD,
        };
        let Rule { slug, section, summary, .. } = finding.rule;
        let offset = finding.offset;
        let (slug, section, summary) = (text(slug), text(section), text(summary));
        Self { slug, section, summary, offset, severity, reaction, answer }
    }
}

/// Reaction of the receiver, as C has it: a `RPCRDMA_REACT_` constant, and the code of an error that is answered.
#[derive(Clone, Copy)]
struct Due {
    reaction: u32,
    answer: u32,
}

impl Due {
    const NOT_SAID: Self = Self { reaction: RPCRDMA_REACT_NOT_SAID, answer: 0 };
    const DISCARD: Self = Self { reaction: RPCRDMA_REACT_DISCARD, answer: 0 };

    const fn answer(answer: u32) -> Self {
        Self { reaction: RPCRDMA_REACT_ANSWER, answer }
    }
}

/// Returns the reaction of version 1, as C has it.
const fn reaction(reaction: Option<Reaction>) -> Due {
    match reaction {
        None => Due::NOT_SAID,
        Some(Reaction::Discard) => Due::DISCARD,
        Some(reaction) => Due::answer(answer(reaction)),
    }
}

/// Returns the reaction of version 2, as C has it.
const fn reaction_v2(reaction: Option<ReactionV2>) -> Due {
    match reaction {
        None => Due::NOT_SAID,
        Some(ReactionV2::Discard) => Due::DISCARD,
        Some(ReactionV2::Answer(code)) => Due::answer(code.0),
    }
}

/// Judges a Send of version 1 that was received by a Requester or a Responder (receiver: RPCRDMA_REQUESTER or
/// RPCRDMA_RESPONDER) by all rules that need nothing else. The Send need not decode.
///
/// *count is the number of findings; the first findings are written to the array, as many as fit. RPCRDMA_NO_ROOM:
/// there are more than capacity. RPCRDMA_INVALID: receiver is another. RPCRDMA_OVERLAP: *count, the array and the
/// octets are not apart.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_judge(
    octets: *const u8,
    length: usize,
    receiver: u32,
    findings: *mut rpcrdma_finding,
    capacity: usize,
    count: *mut usize,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (octets, findings) = unsafe { (values(octets, length), OutArray::new(findings, capacity, count)) };
    let judge = || {
        let (octets, receiver) = (octets?, role(receiver)?);
        let mut findings = findings?.apart_from(octets)?;
        let sent = Sent::new(octets, Some(other(receiver)));
        rules::send(&sent, &mut |finding| {
            findings.push_value(rpcrdma_finding::new(finding, reaction(sent.reaction(finding.rule, receiver))));
        });
        findings.write_count()
    };
    status(judge())
}

/// Judges a Reply of version 1 by the answered Call: the chunks that come back.
///
/// *count and the array as of rpcrdma_judge; offsets are offsets in the Reply. RPCRDMA_NOT_DECODED: one of the two is
/// not a Send of version 1. RPCRDMA_NO_ROOM, RPCRDMA_OVERLAP: as of rpcrdma_judge.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_judge_reply(
    call: *const u8,
    call_length: usize,
    reply: *const u8,
    reply_length: usize,
    findings: *mut rpcrdma_finding,
    capacity: usize,
    count: *mut usize,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (call, reply, findings) =
        unsafe { (values(call, call_length), values(reply, reply_length), OutArray::new(findings, capacity, count)) };
    let judge = || {
        let (call, reply) = (call?, reply?);
        let mut findings = findings?.apart_from(call)?.apart_from(reply)?;
        let lists = |octets| match Message::decode(octets) {
            Ok(message) => Ok(Lists::from(&message)),
            Err(_) => Err(RPCRDMA_NOT_DECODED),
        };
        let exchange = Exchange::new(lists(call)?, lists(reply)?);
        rules::exchange(&exchange, &mut |finding| {
            findings.push_value(rpcrdma_finding::new(finding, reaction(None)));
        });
        findings.write_count()
    };
    status(judge())
}

/// Judges a Send of version 2 in the wire format of family. As rpcrdma_judge.
///
/// *count and the array as of rpcrdma_judge. RPCRDMA_INVALID: receiver or family is another. RPCRDMA_NO_ROOM,
/// RPCRDMA_OVERLAP: as of rpcrdma_judge.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_judge_v2(
    family: u32,
    octets: *const u8,
    length: usize,
    receiver: u32,
    findings: *mut rpcrdma_finding,
    capacity: usize,
    count: *mut usize,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (octets, findings) = unsafe { (values(octets, length), OutArray::new(findings, capacity, count)) };
    let judge = || {
        let (octets, receiver, family) = (octets?, role(receiver)?, self::family(family)?);
        let mut findings = findings?.apart_from(octets)?;
        let sent = SentV2::new(family, octets);
        rules::send_v2(&sent, &mut |finding| {
            findings.push_value(rpcrdma_finding::new(finding, reaction_v2(sent.reaction(finding.rule, receiver))));
        });
        findings.write_count()
    };
    status(judge())
}

/// Judges a Reply of version 2 by the answered Call. As rpcrdma_judge_reply.
///
/// *count and the array as of rpcrdma_judge. RPCRDMA_NOT_DECODED: one of the two is not a Send in this wire format.
/// RPCRDMA_INVALID: there is no such family. RPCRDMA_NO_ROOM, RPCRDMA_OVERLAP: as of rpcrdma_judge.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_judge_reply_v2(
    family: u32,
    call: *const u8,
    call_length: usize,
    reply: *const u8,
    reply_length: usize,
    findings: *mut rpcrdma_finding,
    capacity: usize,
    count: *mut usize,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (call, reply, findings) =
        unsafe { (values(call, call_length), values(reply, reply_length), OutArray::new(findings, capacity, count)) };
    let judge = || {
        let (call, reply, family) = (call?, reply?, self::family(family)?);
        let mut findings = findings?.apart_from(call)?.apart_from(reply)?;
        let lists = |octets| match HeaderV2::decode(family, octets) {
            Ok((header, _)) => Ok(Lists::from(&header)),
            Err(_) => Err(RPCRDMA_NOT_DECODED),
        };
        let exchange = Exchange::new(lists(call)?, lists(reply)?);
        rules::exchange_v2(&exchange, &mut |finding| {
            findings.push_value(rpcrdma_finding::new(finding, reaction_v2(None)));
        });
        findings.write_count()
    };
    status(judge())
}
