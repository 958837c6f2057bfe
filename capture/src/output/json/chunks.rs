//! The chunk lists of a header, of whatever version.

use rpcrdma::lists::{ReadList, WriteChunk, WriteList};
use rpcrdma::segment::Segment;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::values::{Hex32, Hex64};

/// A Read list, its segments grouped into Read chunks.
pub(super) struct Reads<'a>(pub(super) ReadList<'a>);

impl Serialize for Reads<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(
            self.0
                .chunks()
                .map(|chunk| ReadObject { position: chunk.position, segments: ReadSegments(chunk.segments) }),
        )
    }
}

#[derive(Serialize)]
struct ReadObject<'a> {
    position: u32,
    segments: ReadSegments<'a>,
}

struct ReadSegments<'a>(ReadList<'a>);

impl Serialize for ReadSegments<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|segment| SegmentObject::new(segment.target)))
    }
}

pub(super) struct Writes<'a>(pub(super) WriteList<'a>);

impl Serialize for Writes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(Plain))
    }
}

/// A Write chunk or the Reply chunk.
pub(super) struct Plain<'a>(pub(super) WriteChunk<'a>);

impl Serialize for Plain<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("chunk", 1)?;
        object.serialize_field("segments", &PlainSegments(self.0))?;
        object.end()
    }
}

struct PlainSegments<'a>(WriteChunk<'a>);

impl Serialize for PlainSegments<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(SegmentObject::new))
    }
}

#[derive(Serialize)]
struct SegmentObject {
    handle: Hex32,
    length: u32,
    offset: Hex64,
}

impl SegmentObject {
    const fn new(segment: Segment) -> Self {
        Self { handle: Hex32(segment.handle), length: segment.length, offset: Hex64(segment.offset) }
    }
}
