//! What a Responder does with a bad Call is what the rules say about it: there is one judge.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod support;

use rpcrdma::endpoint::responder::{Input, Output};
use rpcrdma::endpoint::{Limits, Responder, Terms};
use rpcrdma::error::{Reaction, Role};
use rpcrdma::rules::{self, Sent};
use rpcrdma::v1::{ErrorBody, ErrorReply};
use support::{names, vector};

/// A NULL call of NFSv3, as far as a transport looks at it.
const NULL: [u32; 10] = [0, 0, 2, 100_003, 3, 0, 0, 0, 0, 0];

/// What the rules require of a Responder for a Call; `None` if nothing.
fn judged(octets: &[u8]) -> Option<(&'static str, Reaction)> {
    let sent = Sent::new(octets, Some(Role::Requester));
    let mut found = None;
    rules::send(&sent, &mut |finding| {
        let reaction = sent.reaction(finding.rule, Role::Responder).map(|reaction| (finding.rule.slug, reaction));
        found = found.or(reaction);
    });
    found
}

/// What a Responder does with a Call; `None` if it goes on with it.
fn done(octets: &[u8]) -> Option<Reaction> {
    let mut responder: Responder<4, 2048, 16> = Responder::new(Terms::default(), Limits::default());
    responder.handle(Input::Received { receive: 0, octets }).unwrap();
    let (mut buffer, mut done) = ([0; 2048], Some(Reaction::Discard));
    while let Some(output) = responder.poll(&mut buffer).unwrap() {
        match output {
            Output::Release { .. } => {}
            Output::Send { header, .. } => {
                let (reply, _) = ErrorReply::decode(&buffer[..header]).unwrap();
                done = Some(match reply.error() {
                    ErrorBody::Chunk => Reaction::ErrChunk,
                    ErrorBody::Vers { .. } => Reaction::ErrVers,
                });
            }
            _ => done = None,
        }
    }
    done
}

#[test]
fn a_responder_does_with_a_bad_call_what_the_rules_say() {
    let folders = ["", "invalid"];
    let vectors = folders.into_iter().flat_map(|folder| {
        names(folder)
            .into_iter()
            .map(move |name| vector(&format!("{folder}{}{name}", if folder.is_empty() { "" } else { "/" })))
    });
    let (mut refused, mut taken) = (std::collections::BTreeSet::new(), 0);
    for header in vectors {
        let call: Vec<u8> = NULL.iter().flat_map(|word| word.to_be_bytes()).collect();
        let mut whole = [&header[..], &call].concat();
        let xid = header[..4].to_vec();
        whole[header.len()..][..4].copy_from_slice(&xid);
        for send in [header, whole] {
            // Each word unchanged, and with other values.
            for at in (4..send.len() - 3).step_by(4) {
                for word in [None, Some(0), Some(1), Some(2), Some(4), Some(0xffff_fffe)] {
                    let mut send = send.clone();
                    word.iter().for_each(|word: &u32| send[at..at + 4].copy_from_slice(&word.to_be_bytes()));
                    match (judged(&send), done(&send)) {
                        (Some((slug, reaction)), done) => {
                            assert_eq!(done, Some(reaction), "{slug}: word {word:?} at {at} of {send:02x?}");
                            refused.insert(slug);
                        }
                        (None, None) => taken += 1,
                        // Its limits, and whatever the RFC leaves open, are its own decision.
                        (None, Some(_)) => {}
                    }
                }
            }
        }
    }
    let all = ["done-sent", "error-from-requester", "header-short", "list-flag", "list-truncated", "msg-no-payload"];
    assert!(all.into_iter().all(|slug| refused.contains(slug)) && refused.len() >= 10, "{refused:?}");
    assert!(taken > 500, "{taken}");
}
