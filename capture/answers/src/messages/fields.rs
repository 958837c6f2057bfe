//! Fields of a transport header, one after the other, up to the first unreadable field (RFC 8166 section 4.1).
//!
//! In the drafts of version 2, other words come between the first four and the lists:
//!
//! ```text
//! family A    flags | inv_handle 1 PHLOO ... 0 | 1 n HLOO ... 0 | 1 n HLOO ... or 0
//!             flags | rdma_err ...
//!             flags | n  which length octets ...
//! family B    the same without flags; rdma_remaining; the Call chunk before inv_handle
//! ```
//!
//! Decoding yields a whole header or an error. People who look for a fault, and programs that report one, also want the
//! fields before the fault, so this module walks through the fields.
//!
//! ```text
//! xid vers credit proc | align thresh | 1 PHLOO ... 0 | 1 n HLOO ... 0 | 1 n HLOO ... or 0
//!                      | rdma_err low high
//! ```

use rpcrdma::prefix::Procedure;
use rpcrdma::reader::Reader;
use rpcrdma::segment::{ReadSegment, Segment};
use rpcrdma::v1::{self, ErrorBody};
use rpcrdma::v2::{Credit, ErrorCode, Family, PropertyId, family_a, family_b};
use rpcrdma_dissector::{Dialect, Message};

/// Readable part of a message: empty if the beginning of the message is missing.
pub(crate) fn readable(message: &Message) -> &[u8] {
    message.readable()
}

/// A field of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// A word: name in RFC 8166, and value.
    Word(&'static str, u32),
    /// `rdma_xid`.
    Xid(u32),
    /// `rdma_proc`.
    Procedure(Procedure),
    /// `rdma_htype` of version 2, with the name of the type.
    Type(u32, Option<&'static str>),
    /// `rdma_credit` of version 2, with the wire format, if known, that tells how to read the credit.
    Credit(Credit, Option<Family>),
    /// `rdma_flags`.
    Flags(family_a::HeaderFlags),
    /// `rdma_inv_handle`.
    InvHandle(u32),
    /// `rdma_err` of version 2.
    Error(ErrorCode),
    /// A transport property: identifier, number of octets, and the value if the value is a number.
    Property(PropertyId, usize, Option<u32>),
    /// Entry of the Call chunk, with the flag before the entry.
    CallSegment(ReadSegment),
    /// The word that ends the Call chunk.
    CallChunkEnd,
    /// Entry of the Read list, with the flag before the entry.
    ReadSegment(ReadSegment),
    /// The word that ends the Read list.
    ReadListEnd,
    /// The flag and the count that begin a Write chunk with this many segments.
    WriteChunk(u32),
    /// A segment of the last Write chunk or Reply chunk that began.
    Segment(Segment),
    /// The word that ends the Write list.
    WriteListEnd,
    /// The flag and the count that begin the Reply chunk; if there is none, only the flag.
    ReplyChunk(Option<u32>),
}

/// Passes every readable field to `take`, with the field's offset from the start of the Send. Returns the offset of the end of the last field.
pub(crate) fn walk(dialect: Dialect, octets: &[u8], take: &mut impl FnMut(usize, Field)) -> usize {
    let mut walker = FieldWalker { reader: Reader::new(octets), take };
    // If a field is incomplete or invalid, the walk ends before it.
    let _ended = match dialect {
        Dialect::Version2(Family::A) => walker.family_a(),
        Dialect::Version2(Family::B) => walker.family_b(),
        // The fields after the four words depend on the wire format.
        Dialect::Version2Unknown => walker.start(None, |_| None).map(|_| ()),
        Dialect::Version1 => walker.header(),
    };
    walker.reader.offset()
}

struct FieldWalker<'a, F> {
    reader: Reader<'a>,
    take: &'a mut F,
}

impl<F: FnMut(usize, Field)> FieldWalker<'_, F> {
    fn header(&mut self) -> Option<()> {
        self.word(Field::Xid)?;
        let version = self.word(|word| Field::Word("rdma_vers", word))?;
        self.word(|word| Field::Word("rdma_credit", word))?;
        let procedure = self.word(|word| Field::Procedure(Procedure(word)))?;
        match (version, Procedure(procedure)) {
            (_, Procedure::RDMA_ERROR) => return self.error(),
            (v1::VERSION, Procedure::RDMA_MSG | Procedure::RDMA_NOMSG) => {}
            (v1::VERSION, Procedure::RDMA_MSGP) => {
                self.word(|word| Field::Word("rdma_align", word))?;
                self.word(|word| Field::Word("rdma_thresh", word))?;
            }
            _ => return None,
        }
        self.lists()
    }

    fn lists(&mut self) -> Option<()> {
        self.entries(Field::ReadSegment, Field::ReadListEnd)?;
        self.write_list()?;
        self.reply_chunk()
    }

    fn start(&mut self, family: Option<Family>, name: impl FnOnce(u32) -> Option<&'static str>) -> Option<u32> {
        self.word(Field::Xid)?;
        self.word(|word| Field::Word("rdma_vers", word))?;
        self.word(|word| Field::Credit(Credit(word), family))?;
        self.word(|word| Field::Type(word, name(word)))
    }

    fn family_a(&mut self) -> Option<()> {
        use super::fields::family_a::{HeaderFlags, HeaderType};
        let htype = self.start(Some(Family::A), |htype| HeaderType(htype).name())?;
        self.word(|word| Field::Flags(HeaderFlags::from_bits_retain(word)))?;
        match HeaderType(htype) {
            HeaderType::RDMA2_MSG | HeaderType::RDMA2_NOMSG => {
                self.word(Field::InvHandle)?;
                self.lists()
            }
            HeaderType::RDMA2_ERROR => self.error_v2(),
            HeaderType::RDMA2_CONNPROP => self.properties(),
            _ => None,
        }
    }

    fn family_b(&mut self) -> Option<()> {
        use super::fields::family_b::HeaderType;
        let htype = self.start(Some(Family::B), |htype| HeaderType(htype).name())?;
        match HeaderType(htype) {
            HeaderType::RDMA2_ERROR => self.error_v2(),
            HeaderType::RDMA2_CONNPROP_MIDDLE | HeaderType::RDMA2_CONNPROP_FINAL => self.properties(),
            HeaderType::RDMA2_CALL_EXTERNAL => {
                self.word(Field::InvHandle)?;
                self.entries(Field::CallSegment, Field::CallChunkEnd)?;
                self.lists()
            }
            HeaderType::RDMA2_CALL_INLINE => {
                self.word(Field::InvHandle)?;
                self.lists()
            }
            HeaderType::RDMA2_CALL_MIDDLE | HeaderType::RDMA2_REPLY_MIDDLE => {
                self.word(|word| Field::Word("rdma_remaining", word)).map(|_| ())
            }
            HeaderType::RDMA2_REPLY_EXTERNAL => {
                self.write_list()?;
                self.reply_chunk()
            }
            HeaderType::RDMA2_REPLY_INLINE => self.write_list(),
            _ => None,
        }
    }

    fn error_v2(&mut self) -> Option<()> {
        let code = self.word(|word| Field::Error(ErrorCode(word)))?;
        let names: &[&'static str] = match ErrorCode(code) {
            ErrorCode::VERS => &["rdma_vers_low", "rdma_vers_high"],
            ErrorCode::READ_CHUNKS | ErrorCode::WRITE_CHUNKS => &["rdma_max_chunks"],
            ErrorCode::SEGMENTS => &["rdma_max_segments"],
            ErrorCode::WRITE_RESOURCE => &["rdma_chunk_index", "rdma_length_needed"],
            ErrorCode::REPLY_RESOURCE => &["rdma_length_needed"],
            _ => &[],
        };
        for name in names {
            self.word(|word| Field::Word(name, word))?;
        }
        Some(())
    }

    fn properties(&mut self) -> Option<()> {
        let count = self.word(|word| Field::Word("properties", word))?;
        for _ in 0..count {
            let offset = self.reader.offset();
            let which = self.reader.u32().ok()?;
            let data = self.reader.opaque().ok()?;
            let id = PropertyId(which);
            let number = Reader::new(data).u32().ok().filter(|_| data.len() == 4 && id <= PropertyId::BRS);
            (self.take)(offset, Field::Property(id, data.len(), number));
        }
        Some(())
    }

    fn word(&mut self, field: impl FnOnce(u32) -> Field) -> Option<u32> {
        let offset = self.reader.offset();
        let word = self.reader.u32().ok()?;
        (self.take)(offset, field(word));
        Some(word)
    }

    fn error(&mut self) -> Option<()> {
        if self.word(|word| Field::Word("rdma_err", word))? == ErrorBody::ERR_VERS {
            self.word(|word| Field::Word("rdma_vers_low", word))?;
            self.word(|word| Field::Word("rdma_vers_high", word))?;
        }
        Some(())
    }

    /// Returns the flag that announces another entry; `None` if the next word is not a flag. The flag is not consumed.
    fn flag(&self) -> Option<bool> {
        let mut ahead = self.reader;
        match ahead.u32() {
            Ok(0) => Some(false),
            Ok(1) => Some(true),
            _ => None,
        }
    }

    fn entries(&mut self, field: impl Fn(ReadSegment) -> Field, end: Field) -> Option<()> {
        while self.flag()? {
            let offset = self.reader.offset();
            let entry = self.reader.array().ok()?;
            (self.take)(offset, field(ReadSegment::from_entry(entry)));
        }
        self.word(|_| end).map(|_| ())
    }

    fn write_list(&mut self) -> Option<()> {
        while self.flag()? {
            self.chunk(Field::WriteChunk)?;
        }
        self.word(|_| Field::WriteListEnd).map(|_| ())
    }

    fn reply_chunk(&mut self) -> Option<()> {
        if self.flag()? {
            return self.chunk(|count| Field::ReplyChunk(Some(count)));
        }
        self.word(|_| Field::ReplyChunk(None)).map(|_| ())
    }

    fn chunk(&mut self, field: impl FnOnce(u32) -> Field) -> Option<()> {
        let offset = self.reader.offset();
        let [_, _, _, _, count @ ..] = *self.reader.array::<8>().ok()?;
        let count = u32::from_be_bytes(count);
        (self.take)(offset, field(count));
        for _ in 0..count {
            let offset = self.reader.offset();
            let segment = Segment::from_octets(self.reader.array().ok()?);
            (self.take)(offset, Field::Segment(segment));
        }
        Some(())
    }
}

/// A Read segment, a Write chunk that claims two segments and has one.
#[cfg(test)]
pub(crate) const CUT: [u8; 68] = [
    0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 32, 0, 0, 0, 0, // prefix
    0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, // Read list
    0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 7, // Write list, cut
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_before_the_fault_are_given() {
        let mut fields = Vec::new();
        assert_eq!(walk(Dialect::Version1, &CUT, &mut |offset, field| fields.push((offset, field))), 68);
        let target = Segment { handle: 2, length: 3, offset: 4 };
        assert_eq!(
            fields[4..],
            [
                (16, Field::ReadSegment(ReadSegment { position: 8, target })),
                (40, Field::ReadListEnd),
                (44, Field::WriteChunk(2)),
                (52, Field::Segment(Segment { handle: 5, length: 6, offset: 7 })),
            ]
        );
    }

    #[test]
    fn the_walk_ends_before_the_field_that_is_cut() {
        for length in 0..CUT.len() {
            let reached = walk(Dialect::Version1, &CUT[..length], &mut |offset, _| assert!(offset < length));
            assert!(reached <= length && length - reached < 24, "{reached} of {length}");
        }
    }

    #[test]
    fn the_walk_ends_before_a_word_that_is_no_flag() {
        let mut octets = CUT;
        octets[43] = 2;
        assert_eq!(walk(Dialect::Version1, &octets, &mut |_, _| {}), 40);
    }
}
