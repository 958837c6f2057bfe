use std::string::{String, ToString};
use std::vec::Vec;

use super::*;
use crate::v2::{ContinuationError, Family};

/// Big-endian words.
fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// Findings in a Send: slug and offset.
fn found(words_of: &[u32], sender: impl Into<Option<Role>>) -> Vec<(&'static str, usize)> {
    let octets = words(words_of);
    let mut found = Vec::new();
    send(&Sent::new(&octets, sender.into()), &mut |finding| found.push((finding.rule.slug, finding.offset)));
    found
}

fn text(words_of: &[u32], sender: Role) -> String {
    let octets = words(words_of);
    let mut text = String::new();
    send(&Sent::new(&octets, Some(sender)), &mut |finding| text = finding.to_string());
    text
}

const CALL: Role = Role::Requester;
const REPLY: Role = Role::Responder;

/// A correct call with Read chunks at Positions 8 and 16, a Write chunk and a Reply chunk. The comments give
/// the offset of each line's first word.
#[rustfmt::skip]
const GOOD: [u32; 39] = [
    7, 1, 32, 0,                // 0
    1, 8, 0xa, 4, 0, 0x1000,    // 16
    1, 16, 0xb, 7, 0, 0x2000,   // 40
    0,                          // 64
    1, 1, 0xc, 100, 0, 0x3000,  // 68
    0,                          // 92
    1, 1, 0xd, 100, 0, 0x4000,  // 96
    7, 0, 4, 5, 6,              // 120: the Payload stream, an RPC call as far as its XID and type say
    0, 0, 0, 0,
];

fn with(changes: &[(usize, u32)]) -> Vec<u32> {
    let mut words = GOOD.to_vec();
    for (at, word) in changes {
        words[at / 4] = *word;
    }
    words
}

#[test]
fn slugs_are_unique_and_explained() {
    let mut slugs: Vec<&str> = all_rules().map(|rule| rule.slug).collect();
    let count = slugs.len();
    slugs.sort_unstable();
    slugs.dedup();
    assert_eq!(slugs.len(), count);
    for rule in all_rules() {
        assert!(!rule.section.is_empty() && rule.reason.ends_with('.') && rule.correct.ends_with('.'), "{}", rule.slug);
        assert!(!rule.summary.ends_with('.'), "{}", rule.slug);
        assert!(core::ptr::eq(find(rule.slug).unwrap(), rule));
    }
    assert!(find("no-such-rule").is_none());
}

#[test]
fn nothing_is_wrong_with_a_good_call() {
    assert_eq!(found(&GOOD, CALL), []);
}

#[test]
fn a_rule_of_the_header_says_which_octet_breaks_it() {
    for (changes, expected) in [
        (&[(4, 2)][..], ("version", 4)),
        (&[(12, 5)], ("proc-unknown", 12)),
        (&[(40, 3)], ("list-flag", 40)),
        (&[(8, 0)], ("credit-zero-request", 8)),
        (&[(20, 6)], ("read-position-align", 20)),
        (&[(20, 0)], ("read-position-zero-in-msg", 20)),
        (&[(20, 16), (44, 8)], ("read-position-order", 44)),
        (&[(44, 400)], ("read-position-beyond", 44)),
        (&[(44, 402)], ("read-position-align", 44)),
        (&[(28, 12)], ("read-overlap", 44)),
        (&[(32, u32::MAX), (36, 0xffff_fffd)], ("segment-wraps", 32)),
        (&[(84, u32::MAX), (88, u32::MAX)], ("segment-wraps", 84)),
        (&[(112, u32::MAX), (116, u32::MAX)], ("segment-wraps", 112)),
        (&[(52, 0)], ("segment-empty", 52)),
        (&[(120, 8)], ("xid-mismatch", 120)),
    ] {
        assert_eq!(found(&with(changes), CALL), [expected], "{changes:?}");
    }
}

#[test]
fn a_send_of_either_role_needs_its_payload_stream() {
    for (words_of, expected) in [
        (&[7, 1, 32, 1, 0, 1, 1, 9, 100, 0, 0, 0, 0][..], "nomsg-empty"),
        (&[7, 1, 32, 1, 0, 0, 1, 1, 9, 0, 0, 0], "nomsg-empty"),
        (&[7, 1, 32, 1, 0, 0, 0], "nomsg-empty"),
        // Neither a Call nor a Reply.
        (&[7, 1, 32, 0, 0, 0, 0, 8, 9], "xid-mismatch"),
        (&[7, 1, 32, 0, 0, 0, 0, 8, 0], "xid-mismatch"),
    ] {
        let found: Vec<&str> = found(words_of, None).into_iter().map(|(slug, _)| slug).collect();
        assert_eq!(found, [expected], "{words_of:?}");
    }
    for words_of in [
        &[7, 1, 32, 1, 1, 0, 9, 40, 0, 0, 0, 0, 0][..],
        &[7, 1, 32, 1, 0, 0, 1, 1, 9, 100, 0, 0],
        &[7, 1, 32, 0, 0, 0, 0, 7, 9],
    ] {
        assert_eq!(found(words_of, None), [], "{words_of:?}");
    }
}

#[test]
fn other_messages_have_rules_of_their_own() {
    for (words_of, sender, expected) in [
        (&[7, 1, 32, 0, 0, 0][..], CALL, ("header-short", 24)),
        (&[7, 1, 32, 0, 1, 8, 9], CALL, ("list-truncated", 16)),
        (&[7, 1, 32, 0, 0, 1, 90, 0, 0, 0, 0], CALL, ("list-truncated", 24)),
        (&[7, 1, 32, 2, 64, 128, 0, 0, 0, 7, 0], CALL, ("msgp-sent", 12)),
        (&[7, 1, 32, 3], CALL, ("done-sent", 12)),
        (&[7, 1, 32, 4, 2], CALL, ("error-from-requester", 12)),
        (&[7, 1, 32, 1, 0, 0, 0], REPLY, ("nomsg-empty", 16)),
        (&[7, 1, 32, 1, 0, 0, 1, 1, 9, 100, 0, 0], CALL, ("nomsg-empty", 16)),
        (&[7, 1, 32, 1, 0, 1, 1, 9, 100, 0, 0, 0, 0], REPLY, ("nomsg-empty", 16)),
        (&[7, 1, 32, 1, 0, 0, 1, 1, 9, 100, 0, 0, 0], REPLY, ("nomsg-trailing", 48)),
        (&[7, 1, 32, 0, 0, 0, 0], REPLY, ("msg-no-payload", 28)),
        (&[7, 1, 0, 0, 0, 0, 0, 7, 1], REPLY, ("credit-zero-grant", 8)),
        (&[7, 1, 0, 4, 2], REPLY, ("credit-zero-grant", 8)),
        (&[7, 1, 32, 4, 3], REPLY, ("error-range", 16)),
        (&[7, 3, 32, 4, 1, 1, 3], REPLY, ("error-range", 20)),
        (&[7, 3, 32, 4, 1, 2, 1], REPLY, ("error-range", 20)),
        (&[7, 1, 32, 4, 2, 0], REPLY, ("error-trailing", 20)),
        (&[7, 2, 32, 4, 1, 1, 1, 0], REPLY, ("error-trailing", 28)),
        (&[7, 1, 32, 0, 1, 24, 9, 4, 0, 0, 0, 0, 0, 7, 1], REPLY, ("read-in-reply", 16)),
        // Each has half of what a pulled reply needs: RDMA_NOMSG, or only a Position Zero chunk.
        (&[7, 1, 32, 0, 1, 0, 9, 4, 0, 0, 0, 0, 0, 7, 1], REPLY, ("read-in-reply", 16)),
        (&[7, 1, 32, 1, 1, 0, 9, 40, 0, 0, 1, 24, 9, 4, 0, 0, 0, 0, 0], REPLY, ("read-in-reply", 16)),
        (&[7, 1, 32, 0, 0, 0, 1, 1, 9, 100, 0, 0, 7, 1], REPLY, ("reply-chunk-in-msg", 24)),
        (&[7, 1, 32, 1, 0, 0, 1, 1, 9, 0, 0, 0], REPLY, ("reply-chunk-unused-nomsg", 24)),
        (&[7, 1, 32, 1, 0, 0, 1, 1, 9, 26, 0, 0], REPLY, ("long-reply-roundup", 24)),
        (&[7, 1, 32, 1, 1, 0, 9, 42, 0, 0, 0, 0, 0], CALL, ("long-call-roundup", 16)),
        (&[7, 1, 32, 1, 1, 0, 9, 40, 0, 0, 1, 44, 9, 4, 0, 0, 0, 0, 0], CALL, ("read-position-beyond", 44)),
    ] {
        assert_eq!(found(words_of, sender), [expected], "{words_of:?}");
    }
    for (words_of, sender) in [
        (&[7, 2, 32, 4, 1, 1, 1][..], REPLY),
        (&[7, 1, 32, 4, 2], REPLY),
        (&[7, 1, 32, 1, 0, 0, 1, 1, 9, 100, 0, 0], REPLY),
        (&[7, 1, 32, 1, 1, 0, 9, 40, 0, 0, 0, 0, 0], REPLY), // responder-provided
        (&[7, 1, 32, 1, 1, 0, 9, 40, 0, 0, 0, 0, 0], CALL),
        (&[7, 1, 32, 1, 1, 0, 9, 40, 0, 0, 1, 40, 9, 4, 0, 0, 0, 0, 0], CALL),
    ] {
        assert_eq!(found(words_of, sender), [], "{words_of:?}");
    }
}

#[test]
fn a_long_message_of_either_role_needs_a_chunk() {
    let found = |words_of: &[u32]| found(words_of, None);
    // A Write chunk, a Read chunk elsewhere, an empty Call chunk, and an empty Reply chunk.
    assert_eq!(found(&[7, 1, 32, 1, 0, 1, 1, 9, 100, 0, 0, 0, 0]), [("nomsg-empty", 16)]);
    assert_eq!(found(&[7, 1, 32, 1, 1, 8, 9, 100, 0, 0, 0, 0, 0]), [("nomsg-empty", 16)]);
    assert_eq!(found(&[7, 1, 32, 1, 1, 0, 9, 0, 0, 0, 0, 0, 0]), [("nomsg-empty", 16), ("segment-empty", 28)]);
    assert_eq!(found(&[7, 1, 32, 1, 0, 0, 1, 1, 9, 0, 0, 0]), [("nomsg-empty", 16)]);
    assert_eq!(found(&[7, 1, 32, 1, 0, 0, 1, 1, 9, 24, 0, 0]), []);
    assert_eq!(found(&[7, 1, 32, 1, 1, 0, 9, 40, 0, 0, 0, 0, 0]), []);
}

#[test]
fn a_finding_gives_the_values_and_the_section() {
    assert_eq!(
        text(&with(&[(20, 6)]), CALL),
        "error read-position-align (octet 20, RFC 8166 3.4.5): Position 6 is not a multiple of four"
    );
    // RFC 5666 had 32 octets there.
    assert!(text(&[7, 1, 32, 4, 2, 0, 0, 0, 0, 0, 0, 0, 0], REPLY).starts_with("hazard error-trailing (octet 20, "));
    assert!(text(&[7, 1, 32, 0, 0, 0, 0, 7], CALL).starts_with("hazard msg-no-payload (octet 28, "));
}

#[test]
fn lists_of_rdma_msgp_begin_after_its_two_words() {
    let msgp = [7, 1, 32, 2, 64, 128, 1, 6, 9, 4, 0, 0, 0, 0, 0, 7, 0];
    assert_eq!(found(&msgp, CALL), [("msgp-sent", 12), ("read-position-align", 28)]);
}

#[test]
fn adjacent_chunks_and_chunks_of_one_position_do_not_overlap() {
    assert_eq!(found(&with(&[(28, 8)]), CALL), []);
    // Position 44, 0 and 44 again.
    let call = [7, 1, 32, 1, 1, 44, 9, 4, 0, 0, 1, 0, 9, 44, 0, 0, 1, 44, 9, 4, 0, 0, 0, 0, 0];
    assert_eq!(found(&call, CALL), [("read-position-order", 44)]);
}

/// An RPC call header of 40 octets, with the credential and verifier AUTH_NONE, and one word of arguments.
#[test]
fn no_item_is_in_the_rpc_header() {
    for (position, expected) in [(36, &[("read-position-beyond", 20)][..]), (40, &[]), (44, &[])] {
        let lists = [7, 1, 32, 0, 1, position, 9, 4, 0, 0, 0, 0, 0];
        let call = [7, 0, 2, 100_003, 3, 1, 0, 0, 0, 0, 4];
        assert_eq!(found(&[&lists[..], &call].concat(), CALL), expected, "{position}");
        // Of a long call it is known that the header is not shorter.
        let long = [7, 1, 32, 1, 1, 0, 9, 44, 0, 0, 1, position, 9, 4, 0, 0, 0, 0, 0];
        let expected: Vec<_> = expected.iter().map(|(slug, at)| (*slug, at + 24)).collect();
        assert_eq!(found(&long, CALL), expected, "{position}");
    }
}

#[test]
fn octets_after_rdma_nomsg_are_not_of_the_payload_stream() {
    let octets = words(&[7, 1, 32, 1, 1, 0, 9, 40, 0, 0, 1, 40, 9, 6, 0, 0, 0, 0, 0, 8, 8]);
    assert_eq!(unreduced(&Message::decode(&octets).unwrap(), octets.len()), 48);
}

#[test]
fn a_finding_names_the_segment_it_is_about() {
    for (changes, expected) in [
        (&[(52, 0)][..], ": read segment 1 (Position 16) has no octets"),
        (&[(84, u32::MAX), (88, u32::MAX)], ": Write chunk 0 segment 0: offset 0xffffffffffffffff and length 100"),
        (&[(112, u32::MAX), (116, u32::MAX)], ": Reply chunk segment 0: offset 0xffffffffffffffff and length 100"),
    ] {
        let text = text(&with(changes), CALL);
        assert!(text.ends_with(expected), "{text}");
    }
}

#[test]
fn every_cut_of_a_call_breaks_the_rule_for_it() {
    let octets = words(&GOOD);
    for length in 0..128 {
        let mut slugs = Vec::new();
        send(&Sent::new(&octets[..length], Some(CALL)), &mut |finding| slugs.push(finding.rule.slug));
        let expected = match length {
            0..28 => "header-short",
            28..120 => "list-truncated",
            _ => "msg-no-payload",
        };
        assert!(slugs.contains(&expected), "{length}: {slugs:?}");
    }
}

/// Findings in a reply to this call.
fn compared(call: &[u32], reply: &[u32]) -> Vec<(&'static str, usize)> {
    told_of_reply(call, reply, |finding| (finding.rule.slug, finding.offset))
}

/// Results of `tell` for each finding in a reply.
fn told_of_reply<T>(call: &[u32], reply: &[u32], tell: impl Fn(&Finding<'_>) -> T) -> Vec<T> {
    let (call, reply) = (words(call), words(reply));
    let pair = Exchange::new(&Message::decode(&call).unwrap(), &Message::decode(&reply).unwrap());
    let mut told = Vec::new();
    exchange(&pair, &mut |finding| told.push(tell(finding)));
    told
}

#[test]
fn a_reply_is_judged_by_its_call() {
    // A Write chunk of two segments, an empty one, and a Reply chunk.
    let call = [7, 1, 32, 0, 0, 1, 2, 1, 60, 0, 16, 2, 40, 0, 32, 1, 0, 0, 1, 1, 3, 100, 0, 48];
    let mut good = call;
    (good[12], good[21]) = (30, 0);
    assert_eq!(compared(&call, &good), []);
    for (at, word, expected) in [
        (28, 9, ("write-list-echo", 28)),
        (40, 17, ("write-list-echo", 28)),
        (56, 33, ("write-list-echo", 44)),
        (48, 41, ("write-length", 48)),
        (84, 101, ("write-length", 84)),
        (32, 59, ("write-fill-order", 48)),
        (80, 4, ("reply-chunk-echo", 80)),
        (92, 49, ("reply-chunk-echo", 80)),
    ] {
        let mut reply = good;
        reply[at / 4] = word;
        assert_eq!(compared(&call, &reply), [expected], "{at}");
    }
    let none = [7, 1, 32, 0, 0, 0, 0];
    assert_eq!(compared(&call, &none), [("write-list-echo", 20), ("reply-chunk-echo", 24)]);
    assert_eq!(compared(&none, &none), []);
    let empty = [7, 1, 32, 0, 0, 1, 0, 1, 0, 0, 1, 1, 3, 0, 0, 48];
    assert_eq!(compared(&call, &empty), [("write-unused-form", 20)]);
    let used = [7, 1, 32, 0, 0, 1, 2, 1, 60, 0, 16, 2, 40, 0, 32, 1, 1, 5, 0, 0, 0, 0, 1, 1, 3, 0, 0, 48];
    assert_eq!(compared(&call, &used), [("write-empty-respected", 60)]);
    let text = |reply: &[u32]| told_of_reply(&call, reply, |finding| finding.message.to_string());
    let mut reply = good;
    (reply[7], reply[20]) = (9, 4);
    assert_eq!(
        text(&reply),
        [
            "Write chunk 0 segment 0 comes back as handle 0x00000009 offset 0x0000000000000010, \
             offered was 0x00000001, 0x0000000000000010",
            "Reply chunk segment 0 comes back as handle 0x00000004 offset 0x0000000000000030, \
             offered was 0x00000003, 0x0000000000000030",
        ]
    );
}

#[test]
fn credits_are_counted_from_the_first_call_on() {
    let mut credits = Credits::new();
    assert_eq!(credits.call(), Ok(()));
    assert_eq!(credits.call(), Err(CreditFault::Initial { in_flight: 2 }));
    credits.reply(3);
    credits.reply(3);
    for _ in 0..3 {
        assert_eq!(credits.call(), Ok(()));
    }
    assert_eq!(credits.call(), Err(CreditFault::Exceeded { in_flight: 4, granted: 3 }));
    let fault = credits.call().unwrap_err();
    assert_eq!(fault.rule().slug, "credit-exceeded");
    let mut text = String::new();
    fault.say(&mut RuleReport::new(fault.rule(), &mut |finding| text = finding.message.to_string()));
    assert_eq!(text, "5 calls in flight, 3 granted");
}

#[test]
fn a_smaller_grant_binds_once_few_calls_are_in_flight() {
    let mut credits = Credits::new();
    credits.call().unwrap();
    credits.reply(4);
    for _ in 0..4 {
        credits.call().unwrap();
    }
    credits.reply(2);
    assert_eq!(credits.call(), Ok(()), "the requester may not know yet");
    credits.reply(2);
    credits.reply(2);
    assert_eq!(credits.call(), Err(CreditFault::Exceeded { in_flight: 3, granted: 2 }));
    credits.reply(0);
    assert_eq!(credits.call(), Err(CreditFault::Exceeded { in_flight: 3, granted: 1 }), "0 is taken for 1");
}

#[test]
fn nothing_is_said_of_credits_that_are_not_known() {
    let mut credits = Credits::new();
    credits.missed();
    assert!(!credits.is_known());
    for _ in 0..100 {
        assert_eq!(credits.call(), Ok(()));
    }
    credits.reply(8);
    assert!(credits.is_known());
}

#[test]
fn calls_from_before_something_was_missed_hold_no_credits() {
    let mut credits = Credits::new();
    credits.reply(4);
    (0..4).for_each(|_| credits.call().unwrap());
    credits.missed();
    credits.call().unwrap();
    credits.reply(4);
    for _ in 0..4 {
        assert_eq!(credits.call(), Ok(()));
    }
    assert_eq!(credits.call(), Err(CreditFault::Exceeded { in_flight: 5, granted: 4 }));
}

#[test]
fn a_send_may_have_as_many_octets_as_the_threshold() {
    for (length, expected) in [(1024, 0), (1025, 1), (usize::MAX, 1)] {
        let mut found = 0;
        inline(length, 1024, &mut RuleReport::new(&INLINE_EXCEEDED, &mut |_| found += 1));
        assert_eq!(found, expected, "{length}");
    }
}

#[test]
fn a_report_counts_by_rule_and_keeps_the_first_findings() {
    let mut taken = Vec::new();
    let mut take = |finding: &Finding<'_>| taken.push(finding.offset);
    let mut report = RuleReport::new(&INLINE_EXCEEDED, &mut take);
    assert_eq!(std::format!("{report:?}"), "RuleReport { rule: \"inline-exceeded\", .. }");
    for offset in 0..20 {
        assert_eq!(report.is_full(), offset >= 8, "{offset}");
        report.broken(offset, format_args!("again"));
    }
    assert!(taken.into_iter().eq(0..8));
}

#[test]
fn an_error_with_a_code_nobody_knows_is_discarded() {
    let octets = words(&[7, 1, 32, 4, 3]);
    let sent = Sent::new(&octets, None);
    let mut reactions = Vec::new();
    send(&sent, &mut |finding| {
        reactions.push((finding.rule.slug, [CALL, REPLY].map(|role| sent.reaction(finding.rule, role))));
    });
    assert_eq!(reactions, [("error-range", [Some(Reaction::Discard); 2])]);
}

#[test]
fn no_octet_makes_judging_overflow() {
    let mut random = 9_u64;
    for _ in 0..if cfg!(miri) { 200 } else { 20_000 } {
        let mut octets = words(&GOOD);
        for _ in 0..3 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (random >> 33) as usize % octets.len();
            octets[at] = (random >> 56) as u8;
        }
        send(&Sent { length: usize::MAX, ..Sent::new(&octets, Some(CALL)) }, &mut |finding| {
            assert!(!finding.message.to_string().is_empty());
        });
        if let Ok(reply) = Message::decode(&octets) {
            let good = words(&GOOD);
            let call = Message::decode(&good).unwrap();
            exchange(&Exchange::new(&call, &reply), &mut |finding| assert!(finding.offset < octets.len()));
        }
    }
}

/// Findings in a Send of version 2, after the words of the prefix.
fn found_v2(
    family: Family,
    htype: u32,
    rest: &[u32],
    change: impl FnOnce(&mut SentV2<'_>),
) -> Vec<(&'static str, Severity, usize)> {
    told_v2(family, htype, rest, change, |finding| (finding.rule.slug, finding.severity, finding.offset))
}

/// Results of `tell` for each finding in such a Send.
fn told_v2<T>(
    family: Family,
    htype: u32,
    rest: &[u32],
    change: impl FnOnce(&mut SentV2<'_>),
    tell: impl Fn(&Finding<'_>) -> T,
) -> Vec<T> {
    let octets = words(&[&[7, 2, 0x0020_0001, htype], rest].concat());
    let mut sent = SentV2::new(family, &octets);
    change(&mut sent);
    let mut told = Vec::new();
    send_v2(&sent, &mut |finding| told.push(tell(finding)));
    told
}

#[test]
fn each_bad_version_2_header_breaks_one_rule() {
    use Family::{A, B};
    use Severity::{Error, Hazard, Warning};
    for (family, htype, rest, expected) in [
        (A, 0, &[0, 0, 0, 0, 0, 7, 0][..], None),
        (A, 0, &[1, 0, 0, 0, 0, 7, 1], None),
        // A message in a chunk does not show what it is: the flag does.
        (A, 1, &[0, 0, 1, 0, 9, 40, 0, 0, 0, 0, 0], None),
        (A, 1, &[1, 0, 1, 0, 9, 40, 0, 0, 0, 0, 0], Some(("read-in-reply", Error, 24))),
        (A, 5, &[6, 1, 77, 1, 0], None),
        (B, 13, &[0, 7, 1], None),
        (A, 0, &[8, 0, 0, 0, 0, 7, 0], Some(("v2-reserved-flag", Warning, 16))),
        (A, 0, &[1, 0, 0, 0, 0, 7, 0], Some(("v2-response-flag", Error, 16))),
        (A, 0, &[0, 0, 0, 0, 0, 7, 1], Some(("v2-response-flag", Error, 16))),
        (A, 4, &[0, 2], Some(("v2-response-flag", Error, 16))),
        (A, 4, &[3, 2], Some(("v2-more-type", Error, 16))),
        (A, 0, &[2, 0, 0, 1, 0, 0, 0, 7, 0], Some(("v2-more-chunks", Error, 16))),
        (A, 4, &[5, 2], Some(("v2-tpmore", Error, 16))),
        (A, 0, &[0, 9, 0, 0, 0, 7, 0], Some(("v2-inv-handle", Error, 20))),
        (B, 10, &[9, 0, 0, 1, 1, 8, 40, 0, 0, 7, 0], Some(("v2-inv-handle", Error, 16))),
        (B, 8, &[9, 1, 0, 9, 40, 0, 0, 0, 0, 0, 0], None),
        // A reply has no use for it.
        (A, 0, &[1, 9, 0, 0, 0, 7, 1], None),
        (A, 5, &[0, 2, 1, 0, 2, 8, 0, 0], Some(("v2-property", Error, 36))),
        (B, 7, &[1, 6, 4, 1], Some(("v2-property", Error, 24))),
        (B, 14, &[], Some(("v2-htype", Error, 12))),
        (A, 7, &[0], Some(("v2-htype", Error, 12))),
        (B, 3, &[0], Some(("v2-htype", Error, 12))),
        (A, 6, &[], Some(("header-short", Error, 16))),
        (B, 9, &[], Some(("header-short", Error, 16))),
        // Version 1 would take it for ERR_CHUNK.
        (A, 4, &[2], Some(("header-short", Error, 20))),
        (B, 13, &[2], Some(("list-flag", Error, 16))),
        (A, 0, &[0, 0, 1, 6, 9, 40, 0, 0, 0, 0, 0, 7, 0], Some(("v2-read-order", Error, 28))),
        (B, 10, &[0, 1, 6, 9, 40, 0, 0, 0, 0, 0, 7, 0], Some(("v2-read-order", Error, 24))),
        // Segments of one chunk share their Position.
        (B, 10, &[0, 1, 8, 9, 4, 0, 0, 1, 8, 9, 4, 0, 8, 1, 12, 9, 4, 0, 16, 0, 0, 0, 7, 0], None),
        (B, 10, &[0, 1, 12, 9, 4, 0, 0, 1, 8, 9, 4, 0, 8, 0, 0, 0, 7, 0], Some(("v2-read-order", Error, 48))),
        (A, 0, &[0, 0, 1, 12, 9, 4, 0, 0, 1, 8, 9, 4, 0, 8, 0, 0, 0, 7, 0], Some(("v2-read-order", Hazard, 52))),
        (A, 0, &[0, 0, 0, 0, 0, 8, 0], Some(("v2-xid-mismatch", Error, 36))),
        (B, 13, &[0, 8, 1], Some(("v2-xid-mismatch", Error, 20))),
        (B, 9, &[20, 8], Some(("v2-xid-mismatch", Error, 20))),
        (A, 0, &[0, 0, 0, 0, 0], Some(("v2-no-payload", Error, 36))),
        (B, 10, &[0, 0, 0, 0], Some(("v2-no-payload", Error, 32))),
        (B, 12, &[20], Some(("v2-no-payload", Error, 20))),
        (A, 1, &[0, 0, 0, 0, 0], Some(("v2-no-payload", Error, 24))),
        // A call: Position Zero is missing, and is empty.
        (A, 1, &[0, 0, 1, 8, 9, 40, 0, 0, 0, 0, 0], Some(("v2-no-payload", Error, 24))),
        (A, 1, &[0, 0, 0, 0, 1, 1, 9, 40, 0, 0], Some(("v2-no-payload", Error, 24))),
        // A reply: the Reply chunk is missing.
        (A, 1, &[1, 0, 0, 1, 1, 9, 40, 0, 0, 0, 0], Some(("v2-no-payload", Error, 56))),
        (A, 1, &[1, 0, 0, 0, 1, 1, 9, 0, 0, 0], Some(("v2-no-payload", Error, 32))),
        (A, 1, &[1, 0, 0, 0, 1, 1, 9, 24, 0, 0], None),
        (B, 8, &[0, 0, 0, 0, 0], Some(("v2-external", Error, 20))),
        (B, 8, &[0, 1, 0, 9, 40, 0, 0, 1, 4, 9, 40, 0, 40, 0, 0, 0, 0], Some(("v2-external", Error, 48))),
        (B, 8, &[0, 1, 0, 9, 40, 0, 0, 0, 1, 0, 9, 40, 0, 0, 0, 0, 0], Some(("v2-external", Error, 52))),
        (B, 10, &[0, 1, 0, 9, 40, 0, 0, 0, 0, 0, 7, 0], Some(("v2-external", Error, 24))),
        (B, 11, &[0, 0], Some(("v2-external", Error, 20))),
        (B, 11, &[0, 1, 1, 9, 0, 0, 0], Some(("v2-external", Error, 20))),
        (B, 11, &[0, 1, 1, 9, 24, 0, 0], None),
        (B, 10, &[0, 0, 0, 0, 7, 1], Some(("v2-direction", Error, 36))),
        (B, 12, &[20, 7, 0], Some(("v2-direction", Error, 24))),
        (B, 5, &[], Some(("v2-grant-xid", Error, 0))),
        (B, 4, &[2, 0], Some(("v2-trailing", Warning, 20))),
        (B, 7, &[0, 0], Some(("v2-trailing", Warning, 20))),
        (B, 11, &[0, 1, 1, 9, 24, 0, 0, 7, 1], Some(("v2-trailing", Warning, 44))),
        (A, 4, &[1, 2, 0], Some(("v2-trailing", Warning, 24))),
        (A, 6, &[0, 0], Some(("v2-trailing", Warning, 20))),
        // Refusals of a version: drafts -00 to -02 have the flags before it.
        (A, 4, &[1, 1, 3, 4], None),
        (A, 4, &[1, 1, 4, 3], Some(("error-range", Error, 24))),
        (B, 4, &[1, 4, 3], Some(("error-range", Error, 20))),
        (B, 4, &[1, 1, 2], Some(("error-range", Error, 20))),
        // Drafts -00 and -01 do not forbid these.
        (A, 0, &[0, 0, 1, 0, 9, 40, 0, 0, 0, 0, 0, 7, 0], Some(("read-position-zero-in-msg", Hazard, 28))),
        (A, 0, &[1, 0, 0, 0, 1, 1, 9, 24, 0, 0, 7, 1], Some(("reply-chunk-in-msg", Hazard, 32))),
        (A, 0, &[1, 0, 0, 0, 1, 1, 9, 0, 0, 0, 7, 1], None),
        (A, 0, &[1, 0, 1, 8, 9, 40, 0, 0, 0, 0, 0, 7, 1], Some(("read-in-reply", Error, 24))),
        (B, 8, &[0, 1, 0, 9, 0, 0, 0, 1, 0, 9, 40, 0, 0, 0, 0, 0, 0], Some(("segment-empty", Hazard, 32))),
        (B, 8, &[0, 1, 0, 9, 8, u32::MAX, u32::MAX, 0, 0, 0, 0], Some(("segment-wraps", Error, 36))),
        (B, 10, &[0, 1, 8, 9, 0, 0, 0, 0, 0, 0, 7, 0], Some(("segment-empty", Hazard, 32))),
        (B, 8, &[0, 1, 0, 9, 40, 0, 0, 0, 1, 6, 9, 40, 0, 0, 0, 0, 0], Some(("v2-read-order", Error, 52))),
        (B, 13, &[1, 1, 9, 8, u32::MAX, u32::MAX, 0, 7, 1], Some(("segment-wraps", Error, 32))),
        (B, 11, &[0, 1, 1, 9, 8, u32::MAX, u32::MAX], Some(("segment-wraps", Error, 36))),
        (B, 13, &[1, 1, 9], Some(("list-truncated", Error, 20))),
    ] {
        let expected: Vec<_> = expected.into_iter().collect();
        assert_eq!(found_v2(family, htype, rest, |_| {}), expected, "{family:?} {htype} {rest:?}");
    }
}

#[test]
fn version_2_rules_use_what_the_caller_knows() {
    let of = |family, htype, rest: &[u32], dropped| {
        let found = found_v2(family, htype, rest, |sent| sent.dropped = Some(dropped));
        found.first().map(|(slug, _, offset)| (*slug, *offset))
    };
    let (a, b) = ([0, 0, 0, 0, 0, 7, 0], [0, 0, 0, 0, 7, 0]);
    assert_eq!(of(Family::A, 0, &a, ContinuationError::OtherMessage), Some(("v2-more-sequence", 0)));
    assert_eq!(of(Family::A, 0, &a, ContinuationError::PropertiesInterrupted), Some(("v2-more-sequence", 0)));
    assert_eq!(of(Family::A, 5, &[0, 0], ContinuationError::PropertiesAfterLast(Family::A)), Some(("v2-tpmore", 12)));
    assert_eq!(of(Family::B, 10, &b, ContinuationError::OtherMessage), Some(("v2-continuation", 0)));
    assert_eq!(of(Family::B, 10, &b, ContinuationError::Remaining), Some(("v2-continuation", 0)));
    assert_eq!(of(Family::B, 9, &[20], ContinuationError::Remaining), Some(("v2-continuation", 16)));
    assert_eq!(of(Family::B, 7, &[0], ContinuationError::PropertiesAfterLast(Family::B)), Some(("v2-continuation", 0)));

    let call = |change: fn(&mut SentV2<'_>)| found_v2(Family::B, 10, &[0, 0, 0, 0, 7, 0], change);
    assert_eq!(call(|sent| (sent.is_first, sent.length) = (true, 1024)), []);
    assert_eq!(call(|sent| sent.length = 1025), []);
    let first = ("v2-first-message", Severity::Error, 0);
    assert_eq!(call(|sent| (sent.is_first, sent.length) = (true, 1025)), [first]);

    // It looks like a call, but is the middle of something else.
    let part = |begins| found_v2(Family::A, 0, &[3, 0, 0, 0, 0, 7, 0], |sent| sent.begins = begins).len();
    assert_eq!((part(true), part(false)), (1, 0));

    // Fewer octets than an XID, which the last part of a Payload stream may have.
    let last = |begins| found_v2(Family::B, 12, &[20], |sent| (sent.length, sent.begins) = (23, begins));
    assert_eq!(last(true), [("v2-no-payload", Severity::Error, 20)]);
    assert_eq!(last(false), []);
}

#[test]
fn a_finding_of_version_2_gives_the_values() {
    use Family::{A, B};
    for (family, htype, rest, expected) in [
        (A, 1, &[0, 0, 1, 8, 9, 40, 0, 0, 0, 0, 0][..], "RDMA2_NOMSG of a call with no Position Zero Read chunk"),
        (A, 1, &[0, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0], "RDMA2_NOMSG of a call with an empty Position Zero Read chunk"),
        (B, 13, &[1, 90, 0, 0, 0, 0], "a chunk counts 90 segments in a Send of 1000 octets"),
    ] {
        let texts = told_v2(family, htype, rest, |sent| sent.length = 1000, |finding| finding.message.to_string());
        assert!(texts.iter().any(|text| text == expected), "{texts:?}");
    }
}

#[test]
fn a_reply_of_version_2_invalidates_what_its_call_offers() {
    let invalidates = |family, htype, rest: &[u32], offered| {
        let found = found_v2(family, htype, rest, |sent| (sent.invalidates, sent.offered) = (Some(9), offered));
        found.first().map(|(slug, severity, offset)| (*slug, *severity, *offset))
    };
    let slug = "v2-inv-handle";
    assert_eq!(invalidates(Family::B, 13, &[0, 7, 1], Some(9)), None);
    assert_eq!(invalidates(Family::B, 13, &[0, 7, 1], None), None);
    assert_eq!(invalidates(Family::B, 13, &[0, 7, 1], Some(8)), Some((slug, Severity::Error, 0)));
    assert_eq!(invalidates(Family::A, 0, &[1, 0, 0, 0, 0, 7, 1], Some(0)), Some((slug, Severity::Error, 0)));
    // Without chunk lists, and without a payload.
    assert_eq!(invalidates(Family::B, 12, &[20, 7, 1], Some(9)), None);
    assert_eq!(invalidates(Family::B, 11, &[0, 1, 1, 9, 24, 0, 0], Some(9)), None);
    // 0 offers nothing, not even handle 0.
    let zero = |sent: &mut SentV2<'_>| (sent.invalidates, sent.offered) = (Some(0), Some(0));
    assert_eq!(found_v2(Family::B, 13, &[0, 7, 1], zero), [(slug, Severity::Error, 0)]);
    assert_eq!(invalidates(Family::B, 10, &[0, 0, 0, 0, 7, 0], None), Some((slug, Severity::Error, 0)));
    for htype in [5, 7] {
        assert_eq!(invalidates(Family::B, htype, &[0], None), Some((slug, Severity::Error, 12)));
    }
    assert_eq!(invalidates(Family::B, 4, &[2], Some(9)), Some((slug, Severity::Error, 12)));
    assert_eq!(invalidates(Family::A, 4, &[1, 2], Some(9)), Some((slug, Severity::Hazard, 12)));
}

#[test]
fn a_version_2_reply_returns_the_write_chunks_offered() {
    // A Write chunk of two segments.
    let call = words(&[7, 2, 0x0020_0001, 10, 0, 0, 1, 2, 1, 60, 0, 16, 2, 40, 0, 32, 0, 0, 7, 0]);
    let good = [7, 2, 0x0020_0001, 13, 1, 2, 1, 60, 0, 16, 2, 30, 0, 32, 0, 7, 1];
    let judged = |words_of: &[u32]| {
        let reply = words(words_of);
        let decode = |octets| crate::v2::MessageV2::decode(Family::B, octets).unwrap().header;
        let pair = Exchange::new(&decode(&call), &decode(&reply));
        let mut found = Vec::new();
        exchange_v2(&pair, &mut |finding| found.push((finding.rule.slug, finding.offset)));
        found
    };
    assert_eq!(judged(&good), []);
    for (at, word, expected) in
        [(24, 9, ("write-list-echo", 24)), (44, 41, ("write-length", 44)), (28, 59, ("write-fill-order", 44))]
    {
        let mut reply = good;
        reply[at / 4] = word;
        assert_eq!(judged(&reply), [expected], "{at}");
    }
    assert_eq!(judged(&[7, 2, 0x0020_0001, 13, 0, 7, 1]), [("write-list-echo", 16)]);
}

#[test]
fn each_broken_rule_has_its_reaction() {
    use crate::v2::{ErrorCode, ReactionV2};
    use Role::{Requester, Responder};
    let of = |family, htype, rest: &[u32], dropped| {
        let octets = words(&[&[7, 2, 0x0020_0001, htype], rest].concat());
        let sent = SentV2 { dropped, ..SentV2::new(family, &octets) };
        let mut reactions = None;
        send_v2(&sent, &mut |finding| {
            reactions.get_or_insert([Responder, Requester].map(|role| sent.reaction(finding.rule, role)));
        });
        reactions.unwrap()
    };
    let (drop, by) = (Some(ReactionV2::Discard), |code| Some(ReactionV2::Answer(code)));
    let bad_xdr = [by(ErrorCode::BAD_XDR), drop];
    let inval_cont = [by(ErrorCode::INVAL_CONT), drop];
    for (family, htype, rest, expected) in [
        // Messages that cannot be decoded.
        (Family::B, 14, &[][..], [by(ErrorCode::INVAL_HTYPE); 2]),
        (Family::B, 7, &[1, 6, 4, 1], [by(ErrorCode::BAD_PROPVAL); 2]),
        (Family::B, 13, &[2], bad_xdr),
        (Family::A, 6, &[], [drop; 2]),
        // Messages that can.
        (Family::B, 11, &[0, 0], bad_xdr),
        (Family::A, 0, &[0, 0, 0, 0, 0, 8, 0], bad_xdr),
        (Family::B, 10, &[0, 1, 6, 9, 40, 0, 0, 0, 0, 0, 7, 0], bad_xdr),
        (Family::B, 10, &[0, 0, 0, 0], bad_xdr),
        (Family::A, 0, &[2, 0, 0, 1, 0, 0, 0, 7, 0], inval_cont),
        (Family::A, 6, &[2], inval_cont),
        (Family::A, 6, &[4], [by(ErrorCode::INVAL_HTYPE); 2]),
        // An error is never answered.
        (Family::A, 4, &[3, 2], [drop; 2]),
        (Family::A, 4, &[5, 2], [drop; 2]),
        // The receiver need not react.
        (Family::A, 0, &[8, 0, 0, 0, 0, 7, 0], [None; 2]),
        (Family::B, 5, &[], [None; 2]),
        (Family::B, 4, &[2, 0], [None; 2]),
        (Family::B, 10, &[0, 0, 0, 0, 7, 1], [None; 2]),
    ] {
        assert_eq!(of(family, htype, rest, None), expected, "{family:?} {htype} {rest:?}");
    }
    // Between messages, each side answers for the transport properties.
    let inline = [0, 0, 0, 0, 7, 0];
    assert_eq!(of(Family::B, 10, &inline, Some(ContinuationError::OtherMessage)), inval_cont);
    let either = [by(ErrorCode::INVAL_CONT); 2];
    assert_eq!(of(Family::B, 10, &inline, Some(ContinuationError::PropertiesInterrupted)), either);
}

/// A rule of version 2 says with which code a responder answers, and its text says so too.
#[test]
fn the_text_of_a_version_2_rule_names_the_answer() {
    for row in v2::rows() {
        let named = row.answer.is_none_or(|code| row.rule.correct.contains(code.name().unwrap()));
        assert!(named && row.rule.answer.is_none(), "{}", row.rule.slug);
    }
}

#[test]
fn an_error_of_another_version_is_judged_by_possible_layouts() {
    assert_eq!(found(&[7, 3, 32, 4, 1, 1, 1], REPLY), []);
    assert_eq!(found(&[7, 3, 32, 4, 1, 1, 1, 0], REPLY), [("error-trailing", 28)]);
    // As drafts -00 to -02 have it: flags, ERR_VERS, 1 to 2.
    assert_eq!(found(&[7, 3, 32, 4, 1, 1, 1, 2], REPLY), []);
    assert_eq!(found(&[7, 1, 32, 4, 1, 2, 3, 4], REPLY), [("error-trailing", 28)]);
}

#[test]
fn zero_credits_are_judged_in_family_a_only() {
    let zero = |family, rest: &[u32]| {
        let octets = words(&[&[0, 2, 0xffff_0000], rest].concat());
        let mut found = Vec::new();
        send_v2(&SentV2::new(family, &octets), &mut |finding| found.push(finding.rule.slug));
        found
    };
    assert_eq!(zero(Family::A, &[6, 0]), ["v2-credit-zero"]);
    assert_eq!(zero(Family::B, &[5]), [] as [&str; 0]);
}
