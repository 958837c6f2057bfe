//! Checks of a Call before execution, and the error for a Call that cannot be answered.

use heapless::Vec;

use crate::endpoint::limits::{Assembly, NotAssembled};
use crate::endpoint::wire::{AnyReplyHeader, CallForm, GarbageReply, ReceivedCall};
use crate::endpoint::{Limits, PayloadFormats, Terms};
use crate::lists::Chunks;
use crate::rpc::{Flavor, RpcCall};
use crate::segment::ReadSegment;
use crate::v2::ErrorBodyV2;

/// Decides which Calls are carried out.
#[derive(Debug)]
pub(super) struct CallJudge<const CALLS: usize, const HEADER: usize> {
    pub(super) limits: Limits,
    /// XIDs of Calls that must not be tried again.
    refused: Vec<u32, CALLS>,
}

/// A Call that can be carried out.
pub(super) struct JudgedCall<'a, const CHUNKS: usize> {
    pub(super) assembly: Assembly<CHUNKS>,
    /// Header of a Call with chunks; otherwise empty.
    pub(super) header: &'a [u8],
}

impl<const CALLS: usize, const HEADER: usize> CallJudge<CALLS, HEADER> {
    pub(super) const fn new(limits: Limits) -> Self {
        Self { limits, refused: Vec::new() }
    }

    pub(super) fn enlarge<const MORE: usize>(self) -> CallJudge<MORE, HEADER> {
        let mut refused = Vec::new();
        for xid in self.refused {
            let _ = refused.push(xid);
        }
        CallJudge { limits: self.limits, refused }
    }

    /// Returns the layout of a Call, or the error to answer.
    #[inline(always)]
    pub(super) fn judge_call<'a, const CHUNKS: usize>(
        &self,
        terms: &Terms,
        xid: u32,
        call: &ReceivedCall<'_>,
        octets: &'a [u8],
    ) -> Result<JudgedCall<'a, CHUNKS>, NotAssembled> {
        let assembly = self.limits.assembly(call)?;
        if call.lists.is_empty() {
            return Ok(JudgedCall { assembly, header: &[] });
        }
        can_answer::<HEADER>(terms, xid, &call.lists.chunks)?;
        let header = octets.get(..call.header_length).unwrap_or_default();
        if header.len() > HEADER {
            Err(fewer_segments::<HEADER>(terms).into())
        } else {
            Ok(JudgedCall { assembly, header })
        }
    }

    /// Remembers an XID for [`is_refused`](Self::is_refused); if there is no capacity, the oldest is forgotten.
    pub(super) fn refuse_xid(&mut self, xid: u32) {
        if self.refused.is_full() {
            self.refused.rotate_left(1);
            self.refused.pop();
        }
        let _ = self.refused.push(xid);
    }

    /// Returns true if a Call must not be tried again. This can be asked once.
    #[inline(always)]
    pub(super) fn is_refused(&mut self, xid: u32) -> bool {
        if !self.refused.contains(&xid) {
            return false;
        }
        let mut others = Vec::new();
        for other in self.refused.iter().filter(|&&other| other != xid) {
            let _ = others.push(*other);
        }
        self.refused = others;
        true
    }
}

/// Checks that the smallest reply to a Call with these chunks fits. All chunks come back in the header of the reply, so a
/// Call may have too many: after execution, the reply could not be sent.
fn can_answer<const HEADER: usize>(terms: &Terms, xid: u32, chunks: &Chunks<'_>) -> Result<(), ErrorBodyV2> {
    /// Length of an RPC reply without results, in octets.
    const SMALLEST: u64 = 24;
    if chunks.writes.is_empty() && chunks.reply.is_none() {
        return Ok(());
    }
    let long = chunks.reply.is_some_and(|chunk| chunk.length() >= SMALLEST);
    let header = AnyReplyHeader::longest(terms.version, xid, chunks) as u64;
    let fits = header.saturating_add(if long { 0 } else { SMALLEST }) <= u64::from(terms.reply_threshold);
    if fits { Ok(()) } else { Err(fewer_segments::<HEADER>(terms)) }
}

/// Returns the error for a Call with more segments than fit into a header.
fn fewer_segments<const HEADER: usize>(terms: &Terms) -> ErrorBodyV2 {
    let capacity = u32::try_from(HEADER).unwrap_or(u32::MAX).min(terms.reply_threshold);
    let most = usize::try_from(capacity).unwrap_or(usize::MAX).checked_div(ReadSegment::LEN).unwrap_or(0);
    ErrorBodyV2::Segments { max_segments: u32::try_from(most).unwrap_or(u32::MAX) }
}

/// Returns the error for a Call whose chunks are refused. A Responder that accepts no Write chunk asks for a Reply chunk
/// if continuing the reply is not supported either (version two draft -07 section 7.3.2).
#[cold]
pub(super) fn chunk_refusal(terms: &Terms, error: ErrorBodyV2) -> ErrorBodyV2 {
    match error {
        ErrorBodyV2::WriteChunks { max_chunks: 0 } if terms.formats < PayloadFormats::Continued => {
            ErrorBodyV2::ReplyResource { length_needed: 0 }
        }
        error => error,
    }
}

/// Returns true if this end can make the RPC Reply with `GARBAGE_ARGS` to a Call with a valid header whose Read chunks do
/// not fit the Payload stream (RFC 8166 section 4.5.2; version two draft -07 section 7.2). If not, the answer is an error:
/// the RPC header is in a chunk, the verifier is for the upper layer to make (RPCSEC_GSS), or the chunks of the Call leave
/// no space.
pub(super) fn can_reply_garbage(terms: &Terms, xid: u32, call: &ReceivedCall<'_>) -> bool {
    let reply = AnyReplyHeader::new(terms.version, xid, 0, &call.lists.chunks);
    let fits = GarbageReply::new(reply, xid).encoded_len() as u64 <= u64::from(terms.reply_threshold);
    let is_signed = |call: RpcCall<'_>| call.credential.flavor == Flavor::RPCSEC_GSS;
    let is_open = RpcCall::decode(call.payload).is_ok_and(|(call, _)| !is_signed(call));
    fits && is_open && call.form == CallForm::Inline
}
