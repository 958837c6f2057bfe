//! Judges a Send as the firmware of a Responder would: no allocation, no formatting, and the answer in a buffer on the stack.
//!
//! ```sh
//! cargo run -p rpcrdma --example judge_send -- 00000007 00000002 00000020 00000000 00000000 00000000 00000000
//! ```
//! The arguments are the words of the Send; this one is of version 2, so the answer is `ERR_VERS`.

use rpcrdma::rules::{self, Sent};
use rpcrdma::{ErrorReply, Role};

/// Credits that this Responder grants.
const CREDIT: u32 = 32;

/// The action to take for a Send.
pub(crate) enum Verdict<'a> {
    /// It is correct: process it.
    Accept,
    /// It breaks this rule; a Responder drops it silently.
    Discard(&'static str),
    /// It breaks this rule; a Responder sends these octets back.
    Answer(&'static str, &'a [u8]),
}

/// Judges a Send of a Requester. An answer is written to `buffer`; none has more than 28 octets.
pub(crate) fn judge<'a>(octets: &[u8], buffer: &'a mut [u8; 28]) -> Verdict<'a> {
    let sent = Sent::new(octets, Some(Role::Requester));
    let mut broken = None;
    rules::send(&sent, &mut |finding| {
        // Some rules require no reaction: the Send is processed even so. Of the others, the first counts.
        if let Some(reaction) = sent.reaction(finding.rule, Role::Responder) {
            broken = broken.or(Some((finding.rule.slug, reaction)));
        }
    });
    let Some((rule, reaction)) = broken else { return Verdict::Accept };
    let reply = sent.prefix.and_then(|request| ErrorReply::new(&request, CREDIT, reaction));
    match reply.and_then(|reply| reply.encode(buffer).ok()).and_then(|length| buffer.get(..length)) {
        Some(answer) => Verdict::Answer(rule, answer),
        None => Verdict::Discard(rule),
    }
}

fn main() -> Result<(), std::num::ParseIntError> {
    let words: Result<Vec<u32>, _> = std::env::args().skip(1).map(|word| u32::from_str_radix(&word, 16)).collect();
    let octets: Vec<u8> = words?.into_iter().flat_map(u32::to_be_bytes).collect();
    match judge(&octets, &mut [0; 28]) {
        Verdict::Accept => println!("accept"),
        Verdict::Discard(rule) => println!("discard: {rule}"),
        Verdict::Answer(rule, answer) => println!("answer {answer:02x?}: {rule}"),
    }
    Ok(())
}
