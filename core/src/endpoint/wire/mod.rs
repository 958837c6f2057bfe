//! Calls and Replies in each version. Everything else in `endpoint` handles chunks and ranges, which are the same in
//! all versions.
//!
//! ```text
//!             version 1        version 2, family A     version 2, family B
//! Call        RDMA_MSG         RDMA2_MSG               RDMA2_CALL_INLINE
//!             RDMA_NOMSG       RDMA2_NOMSG             RDMA2_CALL_EXTERNAL
//! Reply       RDMA_MSG         RDMA2_MSG               RDMA2_REPLY_INLINE
//!             RDMA_NOMSG       RDMA2_NOMSG             RDMA2_REPLY_EXTERNAL
//! error       RDMA_ERROR       RDMA2_ERROR             RDMA2_ERROR
//! Call: part                   RDMA2_MSG + MORE        RDMA2_CALL_MIDDLE
//! Reply: part                  RDMA2_MSG + MORE        RDMA2_REPLY_MIDDLE
//! ```
//!
//! Version 2 has no Reply chunk in an inline Reply, has a Call chunk of its own in family B, and names the one handle
//! that may be invalidated.

mod call;
mod error;
mod garbage;
mod middle;
mod reply;

pub(super) use call::{CallForm, CallLists, CallParts, CallReceived, ReceivedCall, ReceivedPart};
pub(super) use error::ErrorHeader;
pub(super) use garbage::GarbageReply;
pub(super) use middle::middle_header;
pub(super) use reply::{AnyReplyHeader, ReceivedReply, ReplyBody};
