//! Messages as source text of C and Rust.

use std::fmt::Write;

use rpcrdma_gen::{Answer, Case};

use crate::record;

/// The octets of a message, separated by commas.
fn octets(octets: &[u8]) -> String {
    octets.iter().fold(String::new(), |mut text, octet| {
        let separator = if text.is_empty() { "" } else { "," };
        _ = write!(text, "{separator}{octet:#04x}");
        text
    })
}

/// One C header, C99 and C++.
pub(crate) fn header(cases: &[Case]) -> String {
    let mut text = HEADER.to_owned();
    for (number, case) in cases.iter().enumerate() {
        // C has no arrays without elements.
        let octets = if case.octets.is_empty() { "0".to_owned() } else { octets(&case.octets) };
        _ = writeln!(text, "static const unsigned char rpcrdma_octets_{number}[] = {{{octets}}};");
    }
    _ = writeln!(text, "\nstatic const struct rpcrdma_case rpcrdma_cases[] = {{");
    let quoted = |answer: Option<Answer>| answer.map_or("NULL".to_owned(), |answer| format!("{:?}", answer.name()));
    for (number, case) in cases.iter().enumerate() {
        let Case { name, format, role, octets, broken, .. } = case;
        let offset = broken.first().map_or(-1, |broken| broken.offset as i64);
        let (version, role, rule) = (format.name(), role.name(), record::slug(case));
        let (responder, requester) = (quoted(case.responder()), quoted(case.requester()));
        let values = format!("{name:?}, {version:?}, {role:?}, {rule:?}, {offset}, {responder}, {requester}");
        _ = writeln!(text, "    {{{values}, rpcrdma_octets_{number}, {}}},", octets.len());
    }
    text + "};\n\n#endif\n"
}

const HEADER: &str = "\
/* Test messages of RPC-over-RDMA, made by rpcrdma-gen. */
#ifndef RPCRDMA_CASES_H
#define RPCRDMA_CASES_H

#include <stddef.h>

struct rpcrdma_case {
    const char *name;
    const char *version;   /* \"1\", \"2a\" or \"2b\" */
    const char *role;      /* \"call\" or \"reply\" */
    const char *rule;      /* the rule that it breaks, or \"valid\" */
    long offset;           /* octets before what is wrong, or -1 */
    const char *responder; /* what has to be done about it; NULL if that is not specified */
    const char *requester;
    const unsigned char *octets;
    size_t length;
};

";

/// One Rust module.
pub(crate) fn module(cases: &[Case]) -> String {
    let mut text = format!("{MODULE}pub static MESSAGES: [TestMessage; {}] = [\n", cases.len());
    for case in cases {
        let offset = case.broken.first().map(|broken| broken.offset);
        let (version, role, rule) = (case.format.name(), case.role.name(), record::slug(case));
        let [responder, requester] = [case.responder(), case.requester()].map(|answer| answer.map(Answer::name));
        let (name, octets) = (&case.name, octets(&case.octets));
        _ = writeln!(
            text,
            "    TestMessage {{ name: {name:?}, version: {version:?}, role: {role:?}, rule: {rule:?}, offset: {offset:?}, \
             responder: {responder:?}, requester: {requester:?}, octets: &[{octets}] }},"
        );
    }
    text + "];\n"
}

const MODULE: &str = "\
//! Test messages of RPC-over-RDMA, made by rpcrdma-gen.

/// A message, and the right verdict.
#[derive(Debug)]
pub struct TestMessage {
    /// Origin of the message.
    pub name: &'static str,
    /// `1`, `2a` or `2b`.
    pub version: &'static str,
    /// `call` or `reply`.
    pub role: &'static str,
    /// The broken rule, or `valid`.
    pub rule: &'static str,
    /// Octets before what is wrong.
    pub offset: Option<usize>,
    /// Reaction due from a responder; `None` if that is not specified.
    pub responder: Option<&'static str>,
    /// Reaction due from a requester; `None` if that is not specified.
    pub requester: Option<&'static str>,
    /// The message.
    pub octets: &'static [u8],
}

/// All names.
#[rustfmt::skip]
";
