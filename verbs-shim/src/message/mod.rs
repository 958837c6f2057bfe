//! A message whose data items are in buffers of their own, a call, and its outcome.

pub(crate) mod call;
pub(crate) mod ended;
pub(crate) mod reply;
pub(crate) mod stream;
