//! The rules that need the history of a connection.

use rpcrdma::error::Reaction;
use rpcrdma::rules::Rule;
use rpcrdma::rules::Severity;

use super::requests::ANSWER;

pub(super) static REPLY_UNEXPECTED: Rule = Rule::new("reply-unexpected", Severity::Warning, "RFC 8166 4.2.1")
    .summary("a reply or an error matches a call that is still waiting")
    .reason("The requester cannot use it. It suggests a call that was answered twice, or a wrong XID.")
    .correct("A responder answers each call once, with its XID.");

pub(super) static REVERSE_VERSION: Rule = Rule::new("reverse-version", Severity::Error, "RFC 8167 5.1")
    .summary("rdma_vers is the same in both directions of a connection")
    .reason("An end has one way to read what arrives, whoever calls.")
    .correct("A server calls back in the version that the client uses.")
    .answer(Reaction::ErrVers);

pub(super) static PULL_NOT_NOTIFIED: Rule =
    Rule::new("pull-not-notified", Severity::Error, "draft reliable-reply 4.1.2, 4.1.3")
        .summary("once a reply was read from a responder-provided Read chunk, RDMA_DONE follows")
        .reason("The responder keeps the memory registered until then.")
        .correct("A requester sends RDMA_DONE with the XID when it has read everything.");

pub(super) static V2_VERSION_CHANGED: Rule = Rule::new(
    "v2-version-changed",
    Severity::Error,
    "version two -01 Initial Connection State; -07 4.3.3, 7.1.2",
)
.summary("a connection on which both ends have sent messages of version 2 keeps that version")
.reason("Both ends count credits and read headers by the version that the connection has.")
.correct(
    "A client keeps the version for the duration of the connection, and a server sends in the version that it was \
              called in. A responder answers RDMA2_ERR_VERS_MISMATCH (drafts -05 to -07).",
);

pub(super) static REPLY_NOT_READY: Rule = Rule::new("reply-not-ready", Severity::Error, "RFC 8166 3.3.1")
    .summary("a requester has a Receive posted for each reply that it expects")
    .reason("Without one, its adapter refuses the reply (RNR NAK). The responder retries it, and whatever it sends after that \
             waits too, until the responder's adapter gives up and ends the connection.")
    .correct("Post a Receive before each call is sent. A refusal that passes soon is a hazard: an adapter may also have been short \
              of something else. It is an error if the connection ends with the reply refused, or after seven refusals, which is \
              more than any number of retries that InfiniBand can count.");

pub(crate) fn rules() -> impl Iterator<Item = &'static Rule> {
    [&REPLY_UNEXPECTED, &REVERSE_VERSION, &V2_VERSION_CHANGED, &PULL_NOT_NOTIFIED, &REPLY_NOT_READY, &ANSWER]
        .into_iter()
}
