//! A Responder treats a bad Call as the rules require: there is one judge.

use rpcrdma::endpoint::responder::{Input, Output};
use rpcrdma::endpoint::{Limits, Responder, Terms};
use rpcrdma::error::{Reaction, Role};
use rpcrdma::rules::{self, Sent};
use rpcrdma::v1::{ErrorBody, ErrorReply};

use crate::support::{ONE_OF, names, vector};

/// A NULL call of NFSv3, as far as a transport looks at it.
const NULL: [u32; 10] = [0, 0, 2, 100_003, 3, 0, 0, 0, 0, 0];

/// Returns the reaction that the rules require of a Responder to a Call; `None` if they require none.
fn judged(octets: &[u8]) -> Option<(&'static str, Reaction)> {
    let sent = Sent::new(octets, Some(Role::Requester));
    let mut found = None;
    rules::send(&sent, &mut |finding| {
        let reaction = sent.reaction(finding.rule, Role::Responder).map(|reaction| (finding.rule.slug, reaction));
        found = found.or(reaction);
    });
    found
}

/// Returns a Responder's reaction to a Call; `None` if it goes on with the Call.
fn done(octets: &[u8]) -> Option<Reaction> {
    let mut responder: Responder<4, 2048, 16> = Responder::new(Terms::default(), Limits::default());
    responder.handle(Input::Received { receive: 0, octets }).unwrap();
    let (mut buffer, mut done) = ([0; 2048], Some(Reaction::Discard));
    while let Some(output) = responder.poll(&mut buffer).unwrap() {
        match output {
            Output::Release { .. } => {}
            Output::Send { header, .. } => {
                // An RPC Reply is no error of the transport: the Call was taken.
                done = ErrorReply::decode(&buffer[..header]).ok().map(|(reply, _)| match reply.error() {
                    ErrorBody::Chunk => Reaction::ErrChunk,
                    ErrorBody::Vers { .. } => Reaction::ErrVers,
                });
            }
            _ => done = None,
        }
    }
    done
}

/// All vectors, alone and with a NULL call behind them.
fn sends() -> impl Iterator<Item = Vec<u8>> {
    let vectors = ["", "invalid/"]
        .into_iter()
        .flat_map(|folder| names(folder).into_iter().map(move |name| vector(&format!("{folder}{name}"))));
    vectors.flat_map(|header| {
        let call: Vec<u8> = NULL.iter().flat_map(|word| word.to_be_bytes()).collect();
        let mut whole = [&header[..], &call].concat();
        whole[header.len()..][..4].copy_from_slice(&header[..4]);
        [header, whole]
    })
}

/// A Send unchanged, and with other values in each word.
fn changed(send: Vec<u8>) -> impl Iterator<Item = Vec<u8>> {
    [None, Some(0), Some(1), Some(2), Some(4), Some(0xffff_fffe)].into_iter().flat_map(move |word: Option<u32>| {
        let send = send.clone();
        (4..send.len() - 3).step_by(4).map(move |at| {
            let mut send = send.clone();
            word.iter().for_each(|word| send[at..at + 4].copy_from_slice(&word.to_be_bytes()));
            send
        })
    })
}

#[test]
fn a_responder_reacts_to_bad_calls_as_the_rules_say() {
    let (mut refused, mut taken) = (std::collections::BTreeSet::new(), 0);
    for send in sends().flat_map(changed).step_by(ONE_OF) {
        match (judged(&send), done(&send)) {
            (Some((slug, reaction)), done) => {
                assert_eq!(done, Some(reaction), "{slug}: {send:02x?}");
                refused.insert(slug);
            }
            (None, None) => taken += 1,
            // Its limits, and whatever the RFC leaves open, are its own decision.
            (None, Some(_)) => {}
        }
    }
    let all = ["done-sent", "error-from-requester", "header-short", "list-flag", "list-truncated", "msg-no-payload"];
    let all_refused = all.into_iter().all(|slug| refused.contains(slug)) && refused.len() >= 10;
    assert!(cfg!(miri) || all_refused && taken > 500, "{refused:?} {taken}");
}
