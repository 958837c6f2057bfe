//! All rules, in the order of the judged subject.

use rpcrdma::rules::{self, Rule};

use super::book::Group;
use super::{access, exchange, history, setup};

/// Returns every rule, in the order of the judged subject.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    grouped().map(|(rule, _)| rule)
}

/// Returns every rule, with the group of rules that are judged together.
pub(super) fn grouped() -> impl Iterator<Item = (&'static Rule, Option<Group>)> {
    let send = rules::send_rules().map(|rule| (rule, Some(Group::Send)));
    let exchange = rules::exchange_rules().map(|rule| (rule, Some(Group::Exchange)));
    let send_v2 = rules::send_v2_rules().map(|rule| (rule, Some(Group::SendV2)));
    let set_up = setup::rules().map(|rule| (rule, Some(Group::Setup)));
    let alone = rules::count_rules().chain(exchange::rules()).chain(access::rules()).chain(history::rules());
    send.chain(exchange).chain(alone.map(|rule| (rule, None))).chain(set_up).chain(send_v2)
}

/// The rule with this name.
#[must_use]
pub fn find(slug: &str) -> Option<&'static Rule> {
    rules().find(|rule| rule.slug == slug)
}
