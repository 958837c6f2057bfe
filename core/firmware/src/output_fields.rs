//! Outputs and answers of the endpoints, in the numbers of `rpcrdma.h`.

use core::ops::Range;

use rpcrdma::endpoint::channel::Arrival;
use rpcrdma::endpoint::requester::{self, End, Memory};
use rpcrdma::endpoint::responder::{self, CallMessage, ReplyFault, ReplyForm};
use rpcrdma::endpoint::{CallId, Ranges};
use rpcrdma::segment::Segment;
use rpcrdma::v1::ErrorBody;
use rpcrdma::v2::ErrorBodyV2;

use crate::decode;
use crate::digest::Digest;

/// An output of either end: the members of `rpcrdma_output`, in the same order.
pub(crate) struct OutputFields<'a> {
    kind: u32,
    receive: u32,
    call: u64,
    region: u32,
    handle: u32,
    from: usize,
    length: u64,
    at: u32,
    end: u32,
    error: Option<ErrorBodyV2>,
    segment: Segment,
    header_length: usize,
    is_last: bool,
    results: &'a [u32],
    ranges: Ranged<'a>,
}

/// Octets of a Payload stream, or of memory.
#[derive(Clone)]
enum Ranged<'a> {
    None,
    One(Range<u32>),
    Several(Ranges<'a>),
}

impl<'a> OutputFields<'a> {
    const NOTHING: Self = Self {
        kind: 0,
        receive: 0,
        call: 0,
        region: 0,
        handle: 0,
        from: 0,
        length: 0,
        at: 0,
        end: 0,
        error: None,
        segment: Segment { handle: 0, length: 0, offset: 0 },
        header_length: 0,
        is_last: false,
        results: &[],
        ranges: Ranged::None,
    };

    fn from_call(kind: u32, call: CallId) -> Self {
        Self { kind, call: call.to_number(), ..Self::NOTHING }
    }

    pub(crate) fn by_requester(output: &requester::Output<'a>) -> Self {
        match output {
            requester::Output::Register { call, region, memory } => {
                let (kind, at, range) = match memory {
                    Memory::Argument(range) => (4, 0, range),
                    Memory::Result(number, range) => (5, u32::from(*number), range),
                    Memory::Reply(range) => (6, 0, range),
                };
                Self {
                    region: u32::from(*region),
                    at,
                    ranges: Ranged::One(range.clone()),
                    ..Self::from_call(kind, *call)
                }
            }
            requester::Output::Send { call, header, payload } => {
                Self { header_length: *header, ranges: Ranged::Several(payload.clone()), ..Self::from_call(1, *call) }
            }
            requester::Output::Place { call, receive, from, length, at } => {
                Self::place(*call, *receive, *from, *length, *at)
            }
            requester::Output::Read { call, source, at } => {
                Self { segment: *source, at: *at, ..Self::from_call(9, *call) }
            }
            requester::Output::Invalidate { call, region, handle } => {
                Self { region: u32::from(*region), handle: *handle, ..Self::from_call(7, *call) }
            }
            requester::Output::Release { receive } => Self { kind: 3, receive: *receive, ..Self::NOTHING },
            requester::Output::Done { call, end, results } => {
                Self { results, ..Self::from_call(13, *call) }.with_end(end)
            }
            requester::Output::Disconnect => Self { kind: 14, ..Self::NOTHING },
        }
    }

    fn with_end(self, end: &End) -> Self {
        match end {
            End::Reply { receive, payload } => {
                Self { end: 1, receive: *receive, from: payload.start, length: payload.len() as u64, ..self }
            }
            End::LongReply(length) => Self { end: 2, length: u64::from(*length), ..self },
            End::Error(ErrorBody::Vers { low, high }) => {
                Self { end: 3, error: Some(ErrorBodyV2::Vers { low: *low, high: *high }), ..self }
            }
            End::Error(ErrorBody::Chunk) => Self { end: 3, error: Some(ERR_CHUNK), ..self },
            End::ErrorV2(error) => Self { end: 7, error: Some(*error), ..self },
            End::NotRegistered => Self { end: 4, ..self },
            End::Cancelled => Self { end: 5, ..self },
            End::Lost => Self { end: 6, ..self },
            End::ContinuedReply(length) => Self { end: 8, length: u64::from(*length), ..self },
            End::Sent => Self { end: 9, ..self },
            End::BadReply => Self { end: 10, ..self },
            End::NoRoom(length) => Self { end: 11, length: *length, ..self },
        }
    }

    pub(crate) fn by_responder(output: &responder::Output<'a>) -> Self {
        match output {
            responder::Output::Release { receive } => Self { kind: 3, receive: *receive, ..Self::NOTHING },
            responder::Output::Place { call, receive, from, length, at } => {
                Self::place(*call, *receive, *from, *length, *at)
            }
            responder::Output::Read { call, source, at } => {
                Self { segment: *source, at: *at, ..Self::from_call(9, *call) }
            }
            responder::Output::Deliver { call, message } => match *message {
                CallMessage::Inline { receive, from, length } => {
                    Self { receive, from, length: u64::from(length), ..Self::from_call(11, *call) }
                }
                CallMessage::Assembled { length } => Self { length: u64::from(length), ..Self::from_call(12, *call) },
            },
            responder::Output::Write { call, from, target } => {
                Self { at: *from, length: u64::from(target.length), segment: *target, ..Self::from_call(10, *call) }
            }
            responder::Output::Send { call, header, payload, invalidate, is_last } => Self {
                handle: invalidate.unwrap_or(0),
                is_last: *is_last,
                header_length: *header,
                ranges: Ranged::Several(payload.clone()),
                ..Self::from_call(if invalidate.is_some() { 2 } else { 1 }, *call)
            },
            responder::Output::Disconnect => Self { kind: 14, ..Self::NOTHING },
            responder::Output::Register { call, length } => {
                Self { ranges: Ranged::One(0..*length), ..Self::from_call(15, *call) }
            }
            responder::Output::Invalidate { call, handle } => Self { handle: *handle, ..Self::from_call(7, *call) },
        }
    }

    fn place(call: CallId, receive: u32, from: usize, length: u32, at: u32) -> Self {
        Self { receive, from, length: u64::from(length), at, ..Self::from_call(8, call) }
    }

    pub(crate) fn add_to(&self, digest: &mut Digest) {
        digest.words(&[self.kind, self.receive]);
        digest.long(self.call);
        digest.words(&[self.region, self.handle]);
        digest.size(self.from);
        digest.long(self.length);
        digest.words(&[self.at, self.end]);
        decode::error_v2(digest, self.error);
        decode::segment(digest, &self.segment);
        digest.size(self.header_length);
        digest.word(self.is_last.into());
        digest.size(self.results.len());
        digest.words(self.results);
        match self.ranges.clone() {
            Ranged::None => digest.word(0),
            Ranged::One(range) => ranges(digest, core::iter::once(range)),
            Ranged::Several(several) => ranges(digest, several),
        }
    }
}

/// `ERR_CHUNK` of version 1, whose number has another meaning in version 2.
const ERR_CHUNK: ErrorBodyV2 = ErrorBodyV2::Void(rpcrdma::v2::ErrorCode(2));

fn ranges(digest: &mut Digest, ranges: impl Iterator<Item = Range<u32>> + Clone) {
    digest.size(ranges.clone().count());
    for range in ranges {
        digest.words(&[range.start, range.end - range.start]);
    }
}

/// Returns the number of a reply's form; 0 for a fault.
pub(crate) fn form(answer: Result<ReplyForm, ReplyFault>) -> u32 {
    match answer {
        Err(_) => 0,
        Ok(ReplyForm::Short) => 1,
        Ok(ReplyForm::Long) => 2,
        Ok(ReplyForm::Refused) => 3,
        Ok(ReplyForm::Continued) => 4,
        Ok(ReplyForm::Provided) => 5,
        Ok(_) => 0,
    }
}

/// Whom a Send of version 2 is for: the members of `rpcrdma_arrival`.
pub(crate) fn arrival(digest: &mut Digest, arrival: Arrival) {
    let (kind, xid, error) = match arrival {
        // Of version 1, of which nobody asks this.
        Arrival::Version1 => return,
        Arrival::Reply => (2, 0, None),
        Arrival::Call => (3, 0, None),
        Arrival::CallPart => (4, 0, None),
        Arrival::Nothing => (5, 0, None),
        Arrival::Properties => (6, 0, None),
        Arrival::BrokenReply(xid) => (7, xid, None),
        Arrival::BrokenCall { xid, error } => (8, xid, Some(error)),
        Arrival::Exceeded => (9, 0, None),
    };
    digest.words(&[kind, xid]);
    decode::error_v2(digest, error);
}
