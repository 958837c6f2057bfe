//! Chunks of a header that cannot be decoded.

use rpcrdma::lists::{Chunks, ReadList, WriteChunk, WriteList};
use rpcrdma::segment::{ReadSegment, Segment};

use super::fields::{Field, walk};
use crate::rpc::header::Dialect;

/// The chunks that come before the fault in a header that cannot be decoded.
#[derive(Clone, Debug, Default)]
pub(in crate::output) struct Salvaged {
    reads: Vec<[u8; ReadSegment::LEN]>,
    writes: Vec<Vec<[u8; Segment::LEN]>>,
    reply: Option<Vec<[u8; Segment::LEN]>>,
}

impl Salvaged {
    pub(in crate::output) fn from_octets(dialect: Dialect, octets: &[u8]) -> Self {
        let mut salvaged = Self::default();
        walk(dialect, octets, &mut |_, field| salvaged.take(field));
        salvaged
    }

    fn take(&mut self, field: Field) {
        match field {
            Field::ReadSegment(read) => self.reads.push(read.to_entry()),
            Field::WriteChunk(_) => self.writes.push(Vec::new()),
            Field::ReplyChunk(Some(_)) => self.reply = Some(Vec::new()),
            Field::Segment(segment) => {
                if let Some(chunk) = self.reply.as_mut().or_else(|| self.writes.last_mut()) {
                    chunk.push(segment.to_octets());
                }
            }
            _ => {}
        }
    }

    /// Calls `act` with the chunks.
    pub(in crate::output) fn with<T>(&self, act: impl FnOnce(&Chunks<'_>) -> T) -> T {
        let writes: Vec<WriteChunk<'_>> = self.writes.iter().map(|segments| WriteChunk::new(segments)).collect();
        act(&Chunks {
            reads: ReadList::new(&self.reads),
            writes: WriteList::from_chunks(&writes),
            reply: self.reply.as_ref().map(|segments| WriteChunk::new(segments)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::messages::fields::CUT;

    #[test]
    fn chunks_before_the_fault_are_kept() {
        Salvaged::from_octets(Dialect::Version1, &CUT).with(|chunks| {
            assert_eq!((chunks.reads.len(), chunks.writes.len(), chunks.reply), (1, 1, None));
            assert_eq!(chunks.writes.get(0).map(|chunk| chunk.length()), Some(6));
        });
    }
}
