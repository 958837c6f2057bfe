//! Requesters and Responders with a table of calls as large as the settings ask for.
//!
//! `core` fixes the size of a table at compile time, because `core` allocates nothing. So there is one type for each of
//! a few sizes, and a connection has the smallest that is large enough. The table of a Responder grows.

use std::mem;
use std::ops::{Deref, DerefMut, Range};

use rpcrdma::endpoint::requester::{self, CallRefusal};
use rpcrdma::endpoint::responder::{self, Reply, ReplyFault, ReplyForm};
use rpcrdma::endpoint::{CallId, InputError, Limits, Requester, Responder, SegmentLimits, Terms};
use rpcrdma::error::EncodeError;

use super::settings::{MAX_CALLS, READS, Settings};

/// Maximum number of segments of a call: data items, result buffers, and the octets around them in a long call.
const SEGMENTS: usize = 32;
/// Maximum length of the header of a Call that has chunks, in octets.
const HEADER: usize = 2048;
/// Maximum number of Read chunks, and of Write chunks, of a Call.
const CHUNKS: usize = 16;
/// Maximum number of slots of a new Responder.
const FIRST: u32 = 8;
/// Maximum length of a segment. Each buffer is one region of the same length; the Requester would split a longer one.
pub(super) const SEGMENT_LENGTH: u32 = 0xffff_fffc;

/// Makes a Requester or a Responder whose table has room for `$calls` calls.
macro_rules! sized {
    ($calls:expr, |$size:ident| $make:expr) => {
        match $calls {
            0..=1 => {
                const $size: usize = 1;
                Box::new($make)
            }
            2..=8 => {
                const $size: usize = 8;
                Box::new($make)
            }
            9..=32 => {
                const $size: usize = 32;
                Box::new($make)
            }
            _ => {
                const $size: usize = 64;
                Box::new($make)
            }
        }
    };
}

/// A Requester with a table of any size. The functions are [`Requester`]'s.
pub(super) trait AnyRequester: Send {
    fn agree(&mut self, terms: Terms);
    fn limit_segments(&mut self, limits: SegmentLimits);
    fn call(&mut self, call: &requester::Call<'_>) -> Result<CallId, CallRefusal>;
    fn call_one_way(&mut self, head: &[u8], length: u32) -> Result<CallId, CallRefusal>;
    fn cancel(&mut self, id: CallId) -> Result<(), InputError>;
    fn is_full(&self) -> bool;
    fn awaits(&self, xid: u32) -> bool;
    fn awaited_replies(&self) -> u32;
    fn permit(&mut self, messages: u32);
    fn handle(&mut self, input: requester::Input<'_>) -> Result<(), InputError>;
    fn poll(&mut self, header: &mut [u8]) -> Result<Option<requester::Output<'_>>, EncodeError>;
}

impl<const CALLS: usize> AnyRequester for Requester<CALLS, SEGMENTS> {
    fn agree(&mut self, terms: Terms) {
        self.agree(terms);
    }

    fn limit_segments(&mut self, limits: SegmentLimits) {
        self.limit_segments(limits);
    }

    fn call(&mut self, call: &requester::Call<'_>) -> Result<CallId, CallRefusal> {
        self.call(call)
    }

    fn call_one_way(&mut self, head: &[u8], length: u32) -> Result<CallId, CallRefusal> {
        self.call_one_way(head, length)
    }

    fn cancel(&mut self, id: CallId) -> Result<(), InputError> {
        self.cancel(id)
    }

    fn is_full(&self) -> bool {
        self.is_full()
    }

    fn awaits(&self, xid: u32) -> bool {
        self.awaits(xid)
    }

    fn awaited_replies(&self) -> u32 {
        self.awaited_replies()
    }

    fn permit(&mut self, messages: u32) {
        self.permit(messages);
    }

    fn handle(&mut self, input: requester::Input<'_>) -> Result<(), InputError> {
        self.handle(input)
    }

    fn poll(&mut self, header: &mut [u8]) -> Result<Option<requester::Output<'_>>, EncodeError> {
        self.poll(header)
    }
}

/// The Requester of a connection, which exists from the first call on: most servers never call.
pub(super) struct LazyRequester {
    requester: Option<Box<dyn AnyRequester>>,
    settings: RequesterSettings,
}

/// The settings of a Requester.
struct RequesterSettings {
    terms: Terms,
    segments: Option<SegmentLimits>,
    calls: u32,
    /// Maximum number of octets that one RDMA Read moves.
    message_size: u32,
    continued: u32,
    reads_provided_replies: bool,
}

impl LazyRequester {
    pub(super) const fn new(terms: Terms, settings: &Settings, message_size: u32) -> Self {
        let Settings { requested_credits: calls, continued, reads_provided_replies, .. } = *settings;
        let settings =
            RequesterSettings { terms, segments: None, calls, message_size, continued, reads_provided_replies };
        Self { requester: None, settings }
    }

    /// Sets the terms of the calls that begin from now on.
    pub(super) fn agree(&mut self, terms: Terms, segments: Option<SegmentLimits>) {
        self.settings.terms = terms;
        self.settings.segments = segments.or(self.settings.segments);
        if let Some(requester) = &mut self.requester {
            requester.agree(terms);
            segments.into_iter().for_each(|limits| requester.limit_segments(limits));
        }
    }

    /// Returns the Requester, if there was a call.
    pub(super) fn existing(&self) -> Option<&dyn AnyRequester> {
        self.requester.as_deref()
    }

    /// Returns the Requester, if there was a call.
    pub(super) fn existing_mut(&mut self) -> Option<&mut (dyn AnyRequester + 'static)> {
        self.requester.as_deref_mut()
    }

    /// Returns the Requester, for a call.
    pub(super) fn get_requester(&mut self) -> &mut dyn AnyRequester {
        let Self { requester, settings } = self;
        &mut **requester.get_or_insert_with(|| settings.make())
    }
}

impl RequesterSettings {
    /// Makes the Requester. A function apart, because the stack frame has room for a table.
    #[cold]
    #[inline(never)]
    fn make(&self) -> Box<dyn AnyRequester> {
        let mut requester: Box<dyn AnyRequester> = sized!(self.calls, |CALLS| {
            let mut requester = Requester::<CALLS, SEGMENTS>::new(self.terms, self.calls, SEGMENT_LENGTH);
            requester.limit_transfers(self.message_size);
            requester.continue_messages(self.continued);
            if self.reads_provided_replies {
                requester.read_provided_replies();
            }
            requester
        });
        self.segments.iter().for_each(|limits| requester.limit_segments(*limits));
        requester
    }
}

/// A Responder with a table of any size. The functions are [`Responder`]'s.
pub(super) trait AnyResponder: Send {
    fn agree(&mut self, terms: Terms);
    fn occupied(&self) -> u32;
    fn owed_replies(&self) -> u32;
    fn has_place(&self) -> bool;
    fn is_short(&self) -> bool;
    /// Makes room for so many calls.
    fn enlarge(self: Box<Self>, calls: u32) -> Box<dyn AnyResponder>;
    fn permit(&mut self, messages: u32);
    fn xid(&self, call: CallId) -> Option<u32>;
    fn length(&self, call: CallId) -> Option<u32>;
    /// Calls `clear` with each [`padding`](Responder::padding).
    fn padding(&self, call: CallId, clear: &mut dyn FnMut(Range<u32>));
    fn reply(&mut self, call: CallId, reply: &Reply<'_>) -> Result<ReplyForm, ReplyFault>;
    fn forget(&mut self, call: CallId) -> Result<(), ReplyFault>;
    fn refuse(&mut self, call: CallId) -> Result<(), ReplyFault>;
    fn expire(&mut self, call: CallId) -> Result<(), InputError>;
    fn handle(&mut self, input: responder::Input<'_>) -> Result<(), InputError>;
    fn poll(&mut self, header: &mut [u8]) -> Result<Option<responder::Output<'_>>, EncodeError>;
}

impl<const CALLS: usize> AnyResponder for Responder<CALLS, HEADER, CHUNKS> {
    fn agree(&mut self, terms: Terms) {
        self.agree(terms);
    }

    fn occupied(&self) -> u32 {
        self.occupied()
    }

    fn owed_replies(&self) -> u32 {
        self.owed_replies()
    }

    fn has_place(&self) -> bool {
        self.has_place()
    }

    fn is_short(&self) -> bool {
        self.is_short()
    }

    /// A function apart, because the stack frame has room for both tables.
    #[cold]
    #[inline(never)]
    fn enlarge(self: Box<Self>, calls: u32) -> Box<dyn AnyResponder> {
        sized!(calls, |MORE| match (*self).enlarge::<MORE>() {
            Ok(larger) => larger,
            Err(same) => return Box::new(same),
        })
    }

    fn permit(&mut self, messages: u32) {
        self.permit(messages);
    }

    fn xid(&self, call: CallId) -> Option<u32> {
        self.xid(call)
    }

    fn length(&self, call: CallId) -> Option<u32> {
        self.length(call)
    }

    fn padding(&self, call: CallId, clear: &mut dyn FnMut(Range<u32>)) {
        self.padding(call).for_each(clear);
    }

    fn reply(&mut self, call: CallId, reply: &Reply<'_>) -> Result<ReplyForm, ReplyFault> {
        self.reply(call, reply)
    }

    fn forget(&mut self, call: CallId) -> Result<(), ReplyFault> {
        self.forget(call)
    }

    fn refuse(&mut self, call: CallId) -> Result<(), ReplyFault> {
        self.refuse(call)
    }

    fn expire(&mut self, call: CallId) -> Result<(), InputError> {
        self.expire(call)
    }

    fn handle(&mut self, input: responder::Input<'_>) -> Result<(), InputError> {
        self.handle(input)
    }

    fn poll(&mut self, header: &mut [u8]) -> Result<Option<responder::Output<'_>>, EncodeError> {
        self.poll(header)
    }
}

/// The Responder of a connection. The first table is small: few connections have many calls at a time.
pub(super) struct GrowingResponder {
    responder: Box<dyn AnyResponder>,
    /// Maximum number of calls.
    calls: u32,
}

impl GrowingResponder {
    /// `message_size`: maximum number of octets that one RDMA Read or Write moves. `refused`: XIDs of calls that ended the
    /// connection before (RFC 8166 section 4.5.3).
    pub(super) fn new(terms: Terms, settings: &Settings, message_size: u32, refused: &[u32]) -> Self {
        let provides = settings.provides_replies.is_some();
        // A provided reply keeps its slot, and the peer may call again meanwhile.
        let calls = settings.granted_credits.saturating_mul(if provides { 2 } else { 1 }).min(MAX_CALLS);
        let responder: Box<dyn AnyResponder> = sized!(calls.min(FIRST), |CALLS| {
            let mut made = Responder::<CALLS, HEADER, CHUNKS>::new(terms, settings.limits);
            made.expect(calls);
            // As many Receives are posted; `Settings` has checked that this is possible.
            let _ = made.grant(settings.granted_credits);
            made.limit_reads(READS as u32);
            made.limit_transfers(message_size);
            refused.iter().for_each(|&xid| made.refuse_xid(xid));
            if provides {
                made.provide_replies(settings.granted_credits);
            }
            made
        });
        Self { responder, calls }
    }

    /// Returns true if there is a slot for one more Call, or would be after [`enlarge_table`](Self::enlarge_table).
    pub(super) fn has_capacity(&self) -> bool {
        self.responder.has_place() || self.responder.is_short()
    }

    /// Enlarges the table, once, if the next Call has no slot.
    pub(super) fn enlarge_table(&mut self) {
        if self.responder.is_short() {
            let nothing = Responder::<1, HEADER, CHUNKS>::new(Terms::default(), Limits::new());
            let small = mem::replace(&mut self.responder, Box::new(nothing));
            self.responder = small.enlarge(self.calls);
        }
    }
}

impl Deref for GrowingResponder {
    type Target = dyn AnyResponder;

    fn deref(&self) -> &Self::Target {
        &*self.responder
    }
}

impl DerefMut for GrowingResponder {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut *self.responder
    }
}
