//! A message whose data items stand in buffers of their own, a call, and what became of it.

pub(crate) mod call;
pub(crate) mod ended;
pub(crate) mod stream;
