//! Messages with data items in separate buffers, calls, and outcomes.

pub(crate) mod call;
pub(crate) mod end_reason;
pub(crate) mod reply;
pub(crate) mod stream;
