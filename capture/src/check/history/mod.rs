//! What is kept of a connection, and the rules that need it.

mod end;
mod exchanges;
mod messages;
mod messages_v2;
mod pending;
mod proof;
mod provided;
mod pulled;
mod requests;
mod rules;
mod sends;
mod state;
mod version_2;

pub(crate) use rules::rules;
pub(crate) use state::History;
