//! The generator's verdicts: the rules, the decoder and the reference decoder say the same of every message.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

use std::collections::BTreeSet;

use rpcrdma::error;
use rpcrdma::rules::{self, Exchange, Finding, RuleReport, Sent, SentV2, Severity};
use rpcrdma::v1;
use rpcrdma::v2::{Family, MessageV2, ReactionV2};
use rpcrdma_fuzz::reference::{self, RefusalReason};
use rpcrdma_gen::{Base, Case, Choices, Format, Role};

/// Slug, offset and severity.
type Found = BTreeSet<(&'static str, usize, Severity)>;

fn collect_findings<'a>(found: &'a mut Found) -> impl FnMut(&Finding<'_>) + use<'a> {
    |finding| _ = found.insert((finding.rule.slug, finding.offset, finding.severity))
}

fn sender(role: Role) -> error::Role {
    match role {
        Role::Call => error::Role::Requester,
        Role::Reply => error::Role::Responder,
    }
}

fn family(format: Format) -> Family {
    if format == Format::V2a { Family::A } else { Family::B }
}

/// Returns the findings of `core`'s rules.
fn judged(case: &Case) -> Found {
    let mut found = Found::new();
    match case.format {
        Format::V1 => {
            rules::send(&Sent::new(&case.octets, Some(sender(case.role))), &mut collect_findings(&mut found));
            rules::inline(
                case.octets.len(),
                1024,
                &mut RuleReport::new(&rules::INLINE_EXCEEDED, &mut collect_findings(&mut found)),
            );
        }
        format => rules::send_v2(&SentV2::new(family(format), &case.octets), &mut collect_findings(&mut found)),
    }
    let Some(call) = &case.call else { return found };
    if case.format == Format::V1 {
        let (call, reply) = (v1::Message::decode(call).unwrap(), v1::Message::decode(&case.octets).unwrap());
        rules::exchange(&Exchange::new(&call, &reply), &mut collect_findings(&mut found));
    } else {
        let [call, reply] =
            [call, &case.octets].map(|octets| MessageV2::decode(family(case.format), octets).unwrap().header);
        rules::exchange_v2(&Exchange::new(&call, &reply), &mut collect_findings(&mut found));
    }
    found
}

/// Returns a receiver's reaction according to `core`.
fn reaction(case: &Case, receiver: error::Role) -> Option<String> {
    let broken = || case.broken.iter().map(|broken| broken.rule);
    match case.format {
        _ if case.broken.is_empty() => Some("accept".to_owned()),
        Format::V1 => {
            let sent = Sent::new(&case.octets, Some(sender(case.role)));
            broken().find_map(|rule| sent.reaction(rule, receiver)).map(|reaction| reaction.to_string())
        }
        format => {
            let sent = SentV2::new(family(format), &case.octets);
            let reaction = broken().find_map(|rule| sent.reaction(rule, receiver))?;
            Some(match reaction {
                ReactionV2::Discard => "discard".to_owned(),
                ReactionV2::Answer(code) => code.name().unwrap().replace("RDMA2_ERR_VERS", "ERR_VERS"),
            })
        }
    }
}

/// Returns the reference decoder's reason to refuse the message.
fn refused(case: &Case) -> Option<RefusalReason> {
    match case.format {
        Format::V1 => match (reference::header(&case.octets), reference::error_reply(&case.octets)) {
            (Ok(_), _) | (_, Ok(_)) => None,
            (Err(refusal), _) => Some(refusal),
        },
        Format::V2a => reference::v2::family_a(&case.octets).err(),
        Format::V2b => reference::v2::family_b(&case.octets).err(),
    }
}

/// The rule that a message breaks that the reference decoder refuses.
fn rule_of(refusal: RefusalReason) -> &'static str {
    match refusal.kind {
        "header_short" | "header_truncated" => "header-short",
        "version" => "version",
        "procedure" => "proc-unknown",
        "header_type" => "v2-htype",
        "error_code" => "error-range",
        "list_flag" => "list-flag",
        "list_truncated" | "segment_count" => "list-truncated",
        "property_value" => "v2-property",
        kind => panic!("{kind}"),
    }
}

/// All have the same opinion of a message.
fn agree(case: &Case) {
    let Case { name, format, role, octets, .. } = case;
    let shown = || format!("{name} ({}, {}): {octets:02x?}", format.name(), role.name());
    let expected: Found = case.broken.iter().map(|broken| (broken.rule.slug, broken.offset, broken.severity)).collect();
    // The version decides which rules apply, so no rule of version 2 is about another version.
    let is_of_other_version = *format != Format::V1 && expected.iter().any(|(slug, ..)| *slug == "version");
    if !is_of_other_version {
        assert_eq!(judged(case), expected, "the rules: {}", shown());
    }
    let refused = refused(case).map(|refusal| (rule_of(refusal), refusal.offset));
    let parses = ["header-short", "version", "proc-unknown", "v2-htype", "list-flag", "list-truncated", "v2-property"];
    let unparsed = case.broken.iter().find(|broken| {
        parses.contains(&broken.rule.slug)
            || (broken.rule.slug == "error-range" && *format == Format::V1 && broken.offset == 16)
    });
    assert_eq!(refused, unparsed.map(|broken| (broken.rule.slug, broken.offset)), "the reference: {}", shown());
    for (receiver, answer) in [(error::Role::Responder, case.responder()), (error::Role::Requester, case.requester())] {
        let answer = answer.map(|answer| answer.name().to_owned());
        assert_eq!(answer, reaction(case, receiver), "{receiver}: {}", shown());
    }
}

/// The formats and roles.
fn kinds() -> impl Iterator<Item = (Format, Role)> {
    Format::ALL.into_iter().flat_map(|format| Role::ALL.map(|role| (format, role)))
}

#[test]
fn named_messages_have_the_intended_verdict() {
    for (format, role) in kinds() {
        let cases = rpcrdma_gen::named(format, role);
        cases.iter().for_each(agree);
        let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        let mut seen = BTreeSet::new();
        let twice: Vec<&str> = cases.iter().map(|case| case.name.as_str()).filter(|name| !seen.insert(*name)).collect();
        assert_eq!(names.len(), cases.len(), "no two have the same name: {twice:?}");
    }
}

#[test]
fn random_messages_have_the_verdict_that_they_were_made_for() {
    for (format, role) in kinds() {
        let mut broken = BTreeSet::new();
        for seed in 0..3000 {
            let case = rpcrdma_gen::random(&mut Choices::of_seed(seed), format, role);
            agree(&case);
            broken.extend(case.broken.iter().map(|broken| broken.rule.slug));
        }
        assert!(broken.len() >= 9, "{format:?} {role:?}: {broken:?}");
    }
}

/// The files of the corpora whose messages the rules find valid, as Calls or as Replies.
fn valid_messages() -> impl Iterator<Item = Base> {
    let folders =
        ["decode", "round_trip"].map(|name| format!("{}/../testdata/corpus/{name}", env!("CARGO_MANIFEST_DIR")));
    let files = folders.into_iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    files.map(|file| file.unwrap().path()).flat_map(|path| {
        let octets = std::fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        kinds().filter_map(move |(format, role)| {
            let message = rpcrdma_gen::read(format, role, &octets)?;
            let base = Base { name: name.clone(), message, call: None };
            judged(&base.valid()).is_empty().then_some(base)
        })
    })
}

#[test]
fn the_defects_of_messages_that_others_made_are_found() {
    let (mut messages, mut broken) = (0, BTreeSet::new());
    for base in valid_messages() {
        messages += 1;
        for case in rpcrdma_gen::all_cases(&base) {
            agree(&case);
            broken.extend(case.broken.iter().map(|broken| broken.rule.slug));
        }
    }
    assert!(messages > 100 && broken.len() > 20, "{messages} messages: {broken:?}");
}
