//! RPC message in a Send: header, place of the Payload stream, procedure, and transaction.

pub(crate) mod activity;
pub(crate) mod arguments;
pub(crate) mod both_ends;
pub(crate) mod call_content;
pub(crate) mod credits;
pub(crate) mod data_times;
pub(crate) mod describe;
pub(crate) mod header;
pub(crate) mod joined_wait;
pub(crate) mod message;
pub(crate) mod msgp;
pub(crate) mod not_rebuilt;
pub(crate) mod phases;
pub(crate) mod pieces;
pub(crate) mod place;
pub(crate) mod placement;
pub(crate) mod promise;
pub(crate) mod properties;
pub(crate) mod ranges;
pub(crate) mod recovery;
pub(crate) mod retry;
pub(crate) mod slots;
pub(crate) mod steps;
pub(crate) mod transaction;
pub(crate) mod tries;
pub(crate) mod waiting;
