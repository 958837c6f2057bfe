//! Checks of a Call before execution, and the error for a Call that cannot be answered.

use heapless::Vec;

use super::Responder;
use crate::endpoint::PayloadFormats;
use crate::endpoint::limits::{Assembly, NotAssembled};
use crate::endpoint::wire::{AnyReplyHeader, ReceivedCall};
use crate::lists::Chunks;
use crate::segment::ReadSegment;
use crate::v2::ErrorBodyV2;

/// A Call that can be carried out.
pub(super) struct JudgedCall<'a, const CHUNKS: usize> {
    pub(super) assembly: Assembly<CHUNKS>,
    /// Header of a Call with chunks; otherwise empty.
    pub(super) header: &'a [u8],
}

impl<const CALLS: usize, const HEADER: usize, const CHUNKS: usize> Responder<CALLS, HEADER, CHUNKS> {
    /// Returns the layout of a Call, or the error to answer.
    #[inline(always)]
    pub(super) fn judge_call<'a>(
        &self,
        xid: u32,
        call: &ReceivedCall<'_>,
        octets: &'a [u8],
    ) -> Result<JudgedCall<'a, CHUNKS>, NotAssembled> {
        let assembly = self.limits.assembly(call)?;
        if call.lists.is_empty() {
            return Ok(JudgedCall { assembly, header: &[] });
        }
        self.can_answer(xid, &call.lists.chunks)?;
        let header = octets.get(..call.header_length).unwrap_or_default();
        if header.len() > HEADER { Err(self.fewer_segments().into()) } else { Ok(JudgedCall { assembly, header }) }
    }

    /// Checks that the smallest reply to a Call with these chunks fits. All chunks come back in the header of the
    /// reply, so a Call may have too many: after execution, the reply could not be sent.
    fn can_answer(&self, xid: u32, chunks: &Chunks<'_>) -> Result<(), ErrorBodyV2> {
        /// Length of an RPC reply without results, in octets.
        const SMALLEST: u64 = 24;
        if chunks.writes.is_empty() && chunks.reply.is_none() {
            return Ok(());
        }
        let long = chunks.reply.is_some_and(|chunk| chunk.length() >= SMALLEST);
        let header = AnyReplyHeader::longest(self.terms.version, xid, chunks) as u64;
        let fits = header.saturating_add(if long { 0 } else { SMALLEST }) <= u64::from(self.terms.reply_threshold);
        if fits { Ok(()) } else { Err(self.fewer_segments()) }
    }

    /// Returns the error for a Call with more segments than fit into a header.
    fn fewer_segments(&self) -> ErrorBodyV2 {
        let capacity = u32::try_from(HEADER).unwrap_or(u32::MAX).min(self.terms.reply_threshold);
        let most = usize::try_from(capacity).unwrap_or(usize::MAX).checked_div(ReadSegment::LEN).unwrap_or(0);
        ErrorBodyV2::Segments { max_segments: u32::try_from(most).unwrap_or(u32::MAX) }
    }

    /// Returns the error for a Call whose chunks are refused. A Responder that accepts no Write chunk asks for a Reply
    /// chunk if continuing the reply is not supported either (version two draft -07 section 7.3.2).
    #[cold]
    pub(super) fn refusal(&self, error: ErrorBodyV2) -> ErrorBodyV2 {
        match error {
            ErrorBodyV2::WriteChunks { max_chunks: 0 } if self.terms.formats < PayloadFormats::Continued => {
                ErrorBodyV2::ReplyResource { length_needed: 0 }
            }
            error => error,
        }
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
