//! From DDP segments to operations (RFC 5040 section 5).
//!
//! A segment names the place of its data: a tagged one by handle and offset, one of a Send by message number and
//! offset. What remains is to notice what is missing between Sends, and to find the request that a Read Response
//! answers.
//!
//! A Read Response names the requester's memory, not the request, and the requester may use that memory again for
//! another request. A response is matched to the latest acknowledged request for that memory. If octets of both ends
//! were lost since that request, the end of the first answer and the second request may both have been missed; then the
//! response is left out.

use std::collections::VecDeque;

use rpcrdma::reader::{EndOfInput, Reader};

use super::ddp::{DdpSegment, Opcode, Placement};

use crate::carrier::operation::{
    MemoryAddress, Operation, OperationKind, Places, ReadPlace, Side, Sides, Stamp, StreamProgress,
};
use crate::carrier::terminate::Terminate;
use crate::file::Time;

/// Read Requests whose answers may still come.
const READS: usize = 256;

/// A segment of an end, and the place in the streams.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received<'a> {
    pub(super) from: Side,
    pub(super) stamp: Stamp,
    /// First frame of the FPDU.
    pub(super) began: Stamp,
    pub(super) segment: DdpSegment<'a>,
    /// Places of the segment's FPDU.
    pub(super) places: Places,
    /// For a retransmitted segment: the time at which the segment, or the next octets, were first sent.
    pub(super) first_sent: Option<Time>,
    /// Place up to which the sender had received the other end's data.
    pub(super) acknowledges: Option<u64>,
}

/// Output of this layer.
#[derive(Debug)]
pub(super) enum Did<'a> {
    Operation(Operation<'a>),
    Terminate(Terminate),
    /// A segment that belongs to no known operation.
    Orphan,
}

/// A Read Request, with the requester's memory to which the data goes.
#[derive(Clone, Copy, Debug)]
struct ReadState {
    request: u64,
    handle: u32,
    offset: u64,
    length: u32,
    /// End of the FPDU in the requester's stream.
    end: u64,
    /// True if octets of the requester were lost since.
    requester_lost: bool,
    /// True if octets of the responder were lost since.
    responder_lost: bool,
}

/// Place of an octet in the Sends of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SendPlace {
    /// Message sequence number of the Send.
    number: u32,
    /// Octets of the Send before this one.
    offset: u32,
}

/// State of one end.
#[derive(Debug, Default)]
struct Sender {
    /// Place of the next octet in the Sends of the end.
    send: Option<SendPlace>,
    /// True if an RDMA Write is in progress.
    is_writing: bool,
    /// Read Requests of the end, in order.
    reads: VecDeque<ReadState>,
    sent_terminate: bool,
}

/// The operations of one connection.
#[derive(Debug, Default)]
pub(super) struct Rdmap {
    senders: Sides<Sender>,
    /// The last name that was given to a Read Request.
    last_request: u64,
}

impl Rdmap {
    /// Octets of an end are missing, or cannot be delimited.
    pub(super) fn lose(&mut self, from: Side) {
        let sender = self.senders.get_mut(from);
        sender.send = None;
        sender.is_writing = false;
        sender.reads.iter_mut().for_each(|read| read.requester_lost = true);
        self.senders.get_mut(from.other()).reads.iter_mut().for_each(|read| read.responder_lost = true);
        for side in [from, from.other()] {
            self.senders.get_mut(side).reads.retain(|read| !(read.requester_lost && read.responder_lost));
        }
    }

    /// Takes a segment and emits the operations in the segment.
    pub(super) fn segment(&mut self, received: &Received<'_>, out: &mut impl FnMut(Did<'_>)) {
        let segment = &received.segment;
        match (segment.opcode, segment.placement) {
            (Opcode::WRITE, Placement::Tagged { handle, offset }) => {
                self.write(received, MemoryAddress { handle, offset }, out);
            }
            (Opcode::READ_RESPONSE, Placement::Tagged { handle, offset }) => {
                match self.find_read(received, MemoryAddress { handle, offset }) {
                    Some(ReadPlace { request, at }) => {
                        let DdpSegment { data, length, .. } = *segment;
                        out(received.did(OperationKind::ReadResponse { request, at, data, length }));
                    }
                    None => out(Did::Orphan),
                }
            }
            (Opcode::READ_REQUEST, _) => match self.read(received) {
                Ok(kind) => kind.into_iter().for_each(|kind| out(received.did(kind))),
                Err(EndOfInput { .. }) => {
                    // It may have asked for data into the memory of another, and nobody knows for which call.
                    self.lose(received.from);
                    out(received.did(OperationKind::Lost));
                    out(Did::Orphan);
                }
            },
            (Opcode::TERMINATE, _) => {
                let sender = self.senders.get_mut(received.from);
                let terminate = Terminate::decode(segment.data).filter(|_| !sender.sent_terminate);
                sender.sent_terminate = true;
                out(terminate.map_or(Did::Orphan, Did::Terminate));
            }
            (_, Placement::Untagged { queue: 0, number, offset, invalidates }) => {
                self.send(received, SendPlace { number, offset }, invalidates, out);
            }
            // RPC-over-RDMA has no use for the messages of RFC 7306.
            _ => {}
        }
    }

    fn write(&mut self, received: &Received<'_>, address: MemoryAddress, out: &mut impl FnMut(Did<'_>)) {
        let MemoryAddress { handle, offset } = address;
        let DdpSegment { last, data, length, .. } = received.segment;
        let sender = self.senders.get_mut(received.from);
        let first = !sender.is_writing;
        sender.is_writing = !last;
        // A message without data moves nothing; RFC 6581 section 5 uses such messages so that something is sent.
        if length > 0 {
            out(received.did(OperationKind::Write { handle, offset, data, length, first }));
        }
    }

    fn send(
        &mut self,
        received: &Received<'_>,
        place: SendPlace,
        invalidates: Option<u32>,
        out: &mut impl FnMut(Did<'_>),
    ) {
        let DdpSegment { opcode, last, data, length, .. } = received.segment;
        let SendPlace { number, offset } = place;
        let sender = self.senders.get_mut(received.from);
        if sender.send.is_some_and(|expected| expected != place) {
            out(received.did(OperationKind::Lost));
        }
        let next = offset.wrapping_add(u32::try_from(length).unwrap_or(u32::MAX));
        sender.send = Some(match last {
            true => SendPlace { number: number.wrapping_add(1), offset: 0 },
            false => SendPlace { number, offset: next },
        });
        let first = offset == 0;
        // The first Send of a connection may only be there so that something is sent (RFC 6581 section 5).
        let is_empty = first && last && length == 0;
        if !matches!(opcode, Opcode::IMMEDIATE | Opcode::IMMEDIATE_SOLICITED) && !is_empty {
            out(received.did(OperationKind::Send {
                first,
                last,
                data,
                length,
                invalidates: invalidates.filter(|_| last),
                progress: StreamProgress { sent: received.places.end, received: received.acknowledges },
            }));
        }
    }

    fn read<'a>(&mut self, received: &Received<'_>) -> Result<Option<OperationKind<'a>>, EndOfInput> {
        let mut body = Reader::new(received.segment.data);
        let (handle, offset, length) = (body.u32()?, body.u64()?, body.u32()?);
        let (source, source_offset) = (body.u32()?, body.u64()?);
        self.last_request += 1;
        let (request, end) = (self.last_request, received.places.end);
        let reads = &mut self.senders.get_mut(received.from).reads;
        if reads.len() == READS {
            reads.pop_front();
        }
        reads.push_back(ReadState {
            request,
            handle,
            offset,
            length,
            end,
            requester_lost: false,
            responder_lost: false,
        });
        let kind = OperationKind::ReadRequest { request, handle: source, offset: source_offset, length };
        Ok((length > 0).then_some(kind))
    }

    /// Returns the place of a Read Response in the answer to a request: the last request for the memory at `address`
    /// that the responder had received.
    fn find_read(&mut self, received: &Received<'_>, address: MemoryAddress) -> Option<ReadPlace> {
        let MemoryAddress { handle, offset } = address;
        let length = received.segment.length as u64;
        let reads = &mut self.senders.get_mut(received.from.other()).reads;
        let is_meant = |read: &ReadState| {
            let at = offset.wrapping_sub(read.offset);
            let fits = read.handle == handle && at <= u64::from(read.length) && length <= u64::from(read.length) - at;
            fits && received.acknowledges.is_some_and(|received| received >= read.end)
        };
        let place = reads.iter().rposition(is_meant)?;
        let read = *reads.get(place)?;
        if received.segment.last {
            reads.remove(place);
        }
        Some(ReadPlace { request: read.request, at: offset.wrapping_sub(read.offset) })
    }
}

impl<'a> Received<'a> {
    fn did(&self, kind: OperationKind<'a>) -> Did<'a> {
        let Self { from, stamp, began, places, first_sent, .. } = *self;
        Did::Operation(Operation { from, stamp, began, retransmitted: 0, first_sent, places, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SINK: MemoryAddress = MemoryAddress { handle: 5, offset: 0x100 };

    fn received<'a>(from: Side, segment: DdpSegment<'a>, end: u64, acknowledges: u64) -> Received<'a> {
        let places = Places { first: end.saturating_sub(1), end };
        let stamp = Stamp::default();
        Received { from, stamp, began: stamp, segment, places, first_sent: None, acknowledges: Some(acknowledges) }
    }

    fn tagged(
        opcode: Opcode,
        MemoryAddress { handle, offset }: MemoryAddress,
        last: bool,
        data: &[u8],
    ) -> DdpSegment<'_> {
        DdpSegment { opcode, last, placement: Placement::Tagged { handle, offset }, data, length: data.len() }
    }

    fn send(number: u32, offset: u32, last: bool, data: &[u8]) -> DdpSegment<'_> {
        let placement = Placement::Untagged { invalidates: None, queue: 0, number, offset };
        DdpSegment { opcode: Opcode::SEND, last, placement, data, length: data.len() }
    }

    /// A Read Request by the passive end that ends at `end`.
    fn ask(rdmap: &mut Rdmap, end: u64) -> String {
        let mut data = [0; 28];
        data[3] = SINK.handle as u8;
        data[10] = 1;
        data[15] = 8;
        let placement = Placement::Untagged { invalidates: None, queue: 1, number: 1, offset: 0 };
        let segment = DdpSegment { opcode: Opcode::READ_REQUEST, last: true, placement, data: &data, length: 28 };
        format_output(rdmap, &received(Side::Passive, segment, end, 0))
    }

    /// The output, in brief.
    fn format_output(rdmap: &mut Rdmap, received: &Received<'_>) -> String {
        let mut words = Vec::new();
        rdmap.segment(received, &mut |did| {
            words.push(match did {
                Did::Operation(Operation { kind, .. }) => match kind {
                    OperationKind::Send { first, last, .. } => format!("Send {first} {last}"),
                    OperationKind::Write { first, .. } => format!("Write {first}"),
                    OperationKind::ReadRequest { request, length, .. } => format!("Request {request} for {length}"),
                    OperationKind::ReadResponse { request, at, .. } => format!("Response {request} at {at}"),
                    OperationKind::Lost => "Lost".to_owned(),
                    OperationKind::Backfill(_) | OperationKind::Missing | OperationKind::Indication { .. } => {
                        "Indication".to_owned()
                    }
                },
                Did::Terminate(_) => "Terminate".to_owned(),
                Did::Orphan => "Orphan".to_owned(),
            });
        });
        words.join(", ")
    }

    fn respond(rdmap: &mut Rdmap, at: u64, last: bool, length: usize, acknowledges: u64) -> String {
        let address = MemoryAddress { offset: SINK.offset + at, ..SINK };
        let segment = tagged(Opcode::READ_RESPONSE, address, last, [0; 16].get(..length).unwrap());
        format_output(rdmap, &received(Side::Active, segment, 0, acknowledges))
    }

    #[test]
    fn a_response_answers_the_last_request_that_it_acknowledges() {
        let mut rdmap = Rdmap::default();
        assert_eq!(ask(&mut rdmap, 100), "Request 1 for 8");
        assert_eq!(respond(&mut rdmap, 0, true, 4, 99), "Orphan");
        assert_eq!(respond(&mut rdmap, 6, true, 4, 100), "Orphan", "more than was asked for");
        assert_eq!(respond(&mut rdmap, 0, false, 4, 100), "Response 1 at 0");
        assert_eq!(ask(&mut rdmap, 200), "Request 2 for 8");
        assert_eq!(respond(&mut rdmap, 4, true, 4, 150), "Response 1 at 4");
        assert_eq!(
            respond(&mut rdmap, 0, true, 8, 150),
            "Orphan",
            "the first was answered, the second had not arrived"
        );
        assert_eq!(respond(&mut rdmap, 0, true, 8, 200), "Response 2 at 0");
        assert_eq!(respond(&mut rdmap, 0, true, 8, 300), "Orphan");
    }

    #[test]
    fn a_request_is_doubtful_when_both_ends_lost_something() {
        for sides in [[Side::Active, Side::Passive], [Side::Passive, Side::Active]] {
            let mut rdmap = Rdmap::default();
            ask(&mut rdmap, 100);
            rdmap.lose(sides[0]);
            assert_eq!(respond(&mut rdmap, 0, false, 4, 100), "Response 1 at 0");
            rdmap.lose(sides[1]);
            assert_eq!(respond(&mut rdmap, 4, true, 4, 100), "Orphan");
            ask(&mut rdmap, 200);
            assert_eq!(respond(&mut rdmap, 0, true, 8, 200), "Response 2 at 0", "what is asked later is known");
        }
    }

    #[test]
    fn sends_that_do_not_follow_each_other_are_told_apart() {
        let mut rdmap = Rdmap::default();
        let mut take = |segment| format_output(&mut rdmap, &received(Side::Active, segment, 0, 0));
        assert_eq!(take(send(7, 4, true, &[0; 4])), "Send false true", "the capture begins here");
        assert_eq!(take(send(8, 0, false, &[0; 4])), "Send true false");
        assert_eq!(take(send(8, 4, true, &[0; 4])), "Send false true");
        assert_eq!(take(send(9, 0, false, &[0; 4])), "Send true false");
        assert_eq!(take(send(9, 8, true, &[0; 4])), "Lost, Send false true");
        assert_eq!(take(send(11, 0, true, &[0; 4])), "Lost, Send true true");
        let immediate = DdpSegment { opcode: Opcode::IMMEDIATE, ..send(12, 0, true, &[0; 8]) };
        assert_eq!(take(immediate), "");
        assert_eq!(take(send(13, 0, true, &[0; 4])), "Send true true");
    }

    #[test]
    fn an_rdma_write_begins_once_and_terminate_comes_once() {
        let mut rdmap = Rdmap::default();
        let mut take = |segment| format_output(&mut rdmap, &received(Side::Active, segment, 0, 0));
        for (last, expected) in [(false, "Write true"), (true, "Write false"), (true, "Write true")] {
            assert_eq!(take(tagged(Opcode::WRITE, SINK, last, &[1])), expected);
        }
        let placement = Placement::Untagged { invalidates: None, queue: 2, number: 1, offset: 0 };
        let terminate = DdpSegment { opcode: Opcode::TERMINATE, last: true, placement, data: &[1, 2, 0, 0], length: 4 };
        assert_eq!((take(terminate), take(terminate)), ("Terminate".to_owned(), "Orphan".to_owned()));
    }
}
