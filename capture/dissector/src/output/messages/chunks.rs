//! The chunk lists of a header, of whatever version.

use rpcrdma::lists::{ReadList, WriteChunk, WriteList};
use rpcrdma::segment::Segment;
use serde::{Serialize, Serializer};

use crate::output::record::described::described;
use crate::output::record::values::{Hex32, Hex64};

/// A Read list, its segments grouped into Read chunks.
pub(in crate::output) struct Reads<'a>(pub(in crate::output) ReadList<'a>);

impl Serialize for Reads<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(
            self.0
                .chunks()
                .map(|chunk| ReadObject { position: chunk.position, segments: ReadSegments(chunk.segments) }),
        )
    }
}

/// A Read chunk.
#[derive(Serialize, schemars::JsonSchema)]
struct ReadObject<'a> {
    /// Its Position in the Payload stream, in octets.
    position: u32,
    /// Its segments, those at the same Position.
    segments: ReadSegments<'a>,
}

struct ReadSegments<'a>(ReadList<'a>);

impl Serialize for ReadSegments<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|segment| SegmentObject::new(segment.target)))
    }
}

pub(in crate::output) struct Writes<'a>(pub(in crate::output) WriteList<'a>);

impl Serialize for Writes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(Plain::new))
    }
}

/// A Write chunk or the Reply chunk.
#[derive(Serialize, schemars::JsonSchema)]
pub(in crate::output) struct Plain<'a> {
    /// Its segments.
    segments: PlainSegments<'a>,
}

impl<'a> Plain<'a> {
    pub(in crate::output) const fn new(chunk: WriteChunk<'a>) -> Self {
        Self { segments: PlainSegments(chunk) }
    }
}

struct PlainSegments<'a>(WriteChunk<'a>);

impl Serialize for PlainSegments<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(SegmentObject::new))
    }
}

/// A segment (RFC 8166 section 3.4.3).
#[derive(Serialize, schemars::JsonSchema)]
struct SegmentObject {
    /// Its handle, or steering tag.
    handle: Hex32,
    /// Its length in octets.
    length: u32,
    /// Its offset in the memory of that handle.
    offset: Hex64,
}

impl SegmentObject {
    const fn new(segment: Segment) -> Self {
        Self { handle: Hex32(segment.handle), length: segment.length, offset: Hex64(segment.offset) }
    }
}

described!(Reads<'_> as Vec<ReadObject<'static>>);
described!(ReadSegments<'_> as Vec<SegmentObject>);
described!(Writes<'_> as Vec<Plain<'static>>);
described!(PlainSegments<'_> as Vec<SegmentObject>);
