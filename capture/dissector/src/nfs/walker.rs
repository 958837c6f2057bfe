//! Steps through a body as a row of a table says, once, from start to end.

use core::ops::Range;

use rpcrdma::reader::{EndOfInput, Reader, padding};

use super::grammar::{Arm, Item, OperationTable, Results, Row, Xdr, find};
use super::limits::are_limits_alone;
use super::operation::CompoundOperation;
use super::walk::{BodyPiece, DataItem, Mark, MarkedItem, Padding, PieceKind, Reduced, Walk, WalkError};

type Stepped<T> = Result<T, WalkError>;

/// The chunks of a message, and the chunks that no item has claimed yet.
#[derive(Debug)]
enum ReducedChunks<'a> {
    /// Read chunks. `order` has the remaining ones, the one with the lowest Position last.
    Read { chunks: &'a [(u64, u64)], order: Vec<usize> },
    /// Write chunks: `next` is the next one to use.
    Write { chunks: &'a [u64], next: usize },
}

impl<'a> ReducedChunks<'a> {
    fn new(reduced: Reduced<'a>) -> Self {
        match reduced {
            Reduced::Call(chunks) => {
                let mut order: Vec<usize> =
                    (0..).zip(chunks).filter(|(_, c)| c.0 != 0).map(|(index, _)| index).collect();
                // A requester need not sort its Read list.
                order.sort_by_key(|&index| core::cmp::Reverse(chunks.get(index)));
                Self::Read { chunks, order }
            }
            Reduced::Reply(chunks) => Self::Write { chunks, next: 0 },
        }
    }

    /// Returns the index of the chunk that holds the data item of `length` octets at `position`, if one does.
    fn claim(&mut self, position: u64, length: u32) -> Result<Option<usize>, &'static str> {
        match self {
            Self::Read { chunks, order } => {
                let Some(&index) = order.last() else { return Ok(None) };
                let Some(&(chunk_position, chunk_length)) = chunks.get(index) else { return Ok(None) };
                if chunk_position > position {
                    return Ok(None);
                }
                if chunk_position < position {
                    return Err(WalkError::READ_CHUNK_LEFT);
                }
                if !holds(chunk_length, length) {
                    return Err(WalkError::READ_CHUNK_LENGTH);
                }
                order.pop();
                Ok(Some(index))
            }
            Self::Write { chunks, next } => match chunks.get(*next) {
                None => Ok(None),
                // An empty chunk asks for the item inline (RFC 8166 section 4.3.2.3).
                Some(0) => {
                    *next += 1;
                    Ok(None)
                }
                // An item without data needs no chunk, so the chunk is for the next one (section 4.3.2.2).
                Some(_) if length == 0 => Ok(None),
                Some(&returned) if holds(returned, length) => {
                    let index = *next;
                    *next += 1;
                    Ok(Some(index))
                }
                Some(_) => Err(WalkError::WRITE_CHUNK_LENGTH),
            },
        }
    }

    /// Passes a result that might have had a data item but has none. The result's chunk is returned empty (RFC 8267
    /// section 6.4.1), unless the responder kept the chunk for a later result (RFC 8166 section 4.3.2.2).
    fn pass(&mut self) {
        if let Self::Write { chunks, next } = self
            && chunks.get(*next) == Some(&0)
        {
            *next += 1;
        }
    }

    /// At the end: an error if a chunk is left.
    fn left(&self) -> Result<(), &'static str> {
        match self {
            Self::Read { order, .. } if !order.is_empty() => Err(WalkError::READ_CHUNK_LEFT),
            Self::Write { chunks, next } if chunks.iter().skip(*next).any(|&length| length != 0) => {
                Err(WalkError::WRITE_CHUNK_LEFT)
            }
            _ => Ok(()),
        }
    }
}

/// Returns true if a chunk is as long as an item, with or without the item's padding. RFC 8166 section 3.4.5.2 leaves
/// the choice to a requester; RFC 5666 also left the choice to a responder.
fn holds(chunk: u64, item: u32) -> bool {
    let padded = u64::from(item).next_multiple_of(4);
    chunk == u64::from(item) || chunk == padded
}

/// The current place in a body, and what was found so far.
#[derive(Debug)]
pub(super) struct Walker<'a, 'c> {
    reader: Reader<'a>,
    /// Octets of the Payload stream before the body.
    position: usize,
    /// Octets of reduced items, including padding, that belong before this place.
    left_out: usize,
    chunks: ReducedChunks<'c>,
    padding: Option<Padding>,
    /// Octets of padding that were skipped, as ranges of the body.
    padded: Vec<Range<usize>>,
    /// The procedure or operation that is being stepped through.
    inside: Option<&'static str>,
    /// Marked items, if requested.
    marked: Option<Vec<MarkedItem<'a>>>,
    /// Pieces of all items, if requested.
    pieces: Option<Vec<BodyPiece>>,
    walk: Walk,
}

impl<'a, 'c> Walker<'a, 'c> {
    pub(super) fn new(body: &'a [u8], position: usize, reduced: Reduced<'c>) -> Self {
        let walk = Walk {
            operations: Vec::new(),
            items: Vec::new(),
            status: None,
            callback_program: None,
            end: Ok(()),
            consumed: 0,
        };
        let chunks = ReducedChunks::new(reduced);
        let (padding, padded) = (None, Vec::new());
        let reader = Reader::new(body);
        Self { reader, position, left_out: 0, chunks, padding, padded, inside: None, marked: None, pieces: None, walk }
    }

    /// Returns the readable pieces of arguments.
    pub(super) fn pieces_of_arguments(mut self, row: &Row) -> (Vec<BodyPiece>, Walk) {
        self.inside = Some(row.name);
        self.pieces = Some(Vec::new());
        let end = self.items(row.arguments);
        self.pieces(end)
    }

    /// Returns the readable pieces of results.
    pub(super) fn pieces_of_results(mut self, row: &Row) -> (Vec<BodyPiece>, Walk) {
        self.inside = Some(row.name);
        self.pieces = Some(Vec::new());
        let end = self.result(row);
        self.pieces(end)
    }

    fn pieces(mut self, end: Stepped<()>) -> (Vec<BodyPiece>, Walk) {
        let pieces = self.pieces.take().unwrap_or_default();
        (pieces, self.finish(end))
    }

    /// Records the piece that ends here.
    fn piece(&mut self, octets: usize, kind: PieceKind) {
        let end = self.reader.offset();
        if let Some(pieces) = &mut self.pieces {
            pieces.push(BodyPiece { octets: end.saturating_sub(octets)..end, kind });
        }
    }

    /// Says how confidential the last piece is.
    fn last_piece_is(&mut self, kind: PieceKind) {
        self.pieces.iter_mut().filter_map(|pieces| pieces.last_mut()).for_each(|last| last.kind = kind);
    }

    /// Remembers the items that mean something.
    pub(super) fn mark(&mut self) {
        self.marked = Some(Vec::new());
    }

    pub(super) fn marked_arguments(mut self, row: &Row) -> (Vec<CompoundOperation>, Vec<MarkedItem<'a>>) {
        // The items before an error are good.
        let _end = self.items(row.arguments);
        (self.walk.operations, self.marked.unwrap_or_default())
    }

    pub(super) fn marked_results(mut self, row: &Row) -> (Vec<CompoundOperation>, Vec<MarkedItem<'a>>) {
        let _end = self.result(row);
        (self.walk.operations, self.marked.unwrap_or_default())
    }

    /// Marks the body as that of an RDMA_MSGP.
    pub(super) const fn pad(&mut self, padding: Padding) {
        self.padding = Some(padding);
    }

    pub(super) fn padding_of_arguments(mut self, row: &Row) -> Option<Vec<Range<usize>>> {
        let end = self.items(row.arguments);
        self.padding_if_exact(end)
    }

    pub(super) fn padding_of_results(mut self, row: &Row) -> Option<Vec<Range<usize>>> {
        let end = self.result(row);
        self.padding_if_exact(end)
    }

    fn padding_if_exact(self, end: Stepped<()>) -> Option<Vec<Range<usize>>> {
        let is_exact = end.is_ok() && self.chunks.left().is_ok() && self.reader.rest().is_empty();
        is_exact.then_some(self.padded)
    }

    /// Skips the padding before an item of `length` octets.
    fn skip(&mut self, length: u32) -> Stepped<()> {
        let Some(Padding { before, align, least }) = self.padding else { return Ok(()) };
        if length < least || length == 0 || align == 0 {
            return Ok(());
        }
        let from = self.reader.offset();
        let over = before.saturating_add(from) as u64 % u64::from(align);
        if over > 0 {
            let octets = u64::from(align).saturating_sub(over);
            self.fixed(usize::try_from(octets).unwrap_or(usize::MAX))?;
            self.padded.push(from..self.reader.offset());
        }
        Ok(())
    }

    pub(super) fn arguments(mut self, row: &Row) -> Walk {
        self.inside = Some(row.name);
        let end = self.items(row.arguments);
        self.finish(end)
    }

    pub(super) fn results(mut self, row: &Row) -> Walk {
        self.inside = Some(row.name);
        let end = self.result(row);
        self.finish(end)
    }

    pub(super) fn unknown_procedure(self) -> Walk {
        let end = Err(self.error(0, WalkError::UNKNOWN_PROCEDURE));
        self.finish(end)
    }

    fn finish(mut self, end: Stepped<()>) -> Walk {
        let consumed = self.reader.offset();
        self.walk.consumed = consumed;
        self.walk.end = end.and_then(|()| self.chunks.left().map_err(|reason| self.error(consumed, reason)));
        self.walk
    }

    fn error(&self, at: usize, reason: &'static str) -> WalkError {
        WalkError { at, operation: self.inside, reason }
    }

    fn cut(&self, end: EndOfInput) -> WalkError {
        self.error(end.offset, WalkError::ENDS_INSIDE)
    }

    fn word(&mut self) -> Stepped<u32> {
        let word = self.reader.u32().map_err(|end| self.cut(end))?;
        self.piece(4, PieceKind::Structure);
        Ok(word)
    }

    fn fixed(&mut self, octets: usize) -> Stepped<()> {
        self.reader.read_octets(octets).map(drop).map_err(|end| self.cut(end))?;
        self.piece(octets, PieceKind::Value);
        Ok(())
    }

    /// Steps over variable-length opaque data. The padding is in no piece.
    fn opaque(&mut self) -> Stepped<()> {
        let from = self.reader.offset();
        let opaque = self.reader.opaque();
        if let Some(pieces) = &mut self.pieces {
            let start = from.saturating_add(4);
            pieces.push(BodyPiece { octets: from..start, kind: PieceKind::Structure });
            let end = start.saturating_add(opaque.map_or(0, <[u8]>::len));
            pieces.push(BodyPiece { octets: start..end, kind: PieceKind::Value });
        }
        opaque.map(drop).map_err(|end| self.cut(end))
    }

    /// Records opaque data, whose padding ends here.
    fn opaque_piece(&mut self, length: usize, kind: PieceKind) {
        if let Some(pieces) = &mut self.pieces {
            let from = self.reader.offset().saturating_sub(length.saturating_add(padding(length)));
            pieces.push(BodyPiece { octets: from..from.saturating_add(length), kind });
        }
    }

    /// The word before optional-data: whether data follows.
    fn follows(&mut self) -> Stepped<bool> {
        let at = self.reader.offset();
        match self.word()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.error(at, WalkError::NOT_A_BOOL)),
        }
    }

    /// The recursion is as deep as the tables are nested: no table refers to itself.
    fn items(&mut self, items: Xdr) -> Stepped<()> {
        items.iter().try_for_each(|item| self.item(item))
    }

    fn item(&mut self, item: &Item) -> Stepped<()> {
        match *item {
            Item::Fixed(octets) => self.fixed(octets),
            Item::Marked(mark, item) => self.marked_item(mark, item),
            Item::Number => self.word().map(drop),
            Item::CallbackProgram => {
                self.walk.callback_program = Some(self.word()?);
                Ok(())
            }
            Item::Opaque => self.opaque(),
            Item::Data => self.data(PieceKind::Data),
            Item::LinkText => self.data(PieceKind::Text),
            Item::Words => {
                let words = self.word()?;
                self.fixed((words as usize).saturating_mul(4))?;
                self.last_piece_is(PieceKind::Structure);
                Ok(())
            }
            // The count is whatever the peer says, but every element takes octets of the body, as a test shows.
            Item::Array(items) => {
                let count = self.word()?;
                (0..count).try_for_each(|_| self.items(items))
            }
            Item::Optional(items) => {
                if self.follows()? {
                    self.items(items)
                } else {
                    Ok(())
                }
            }
            Item::List(items) => {
                while self.follows()? {
                    self.items(items)?;
                }
                Ok(())
            }
            Item::Union(arms, default) => {
                let at = self.reader.offset();
                let discriminant = self.word()?;
                let arm = arm(arms, discriminant).or(default);
                self.items(arm.ok_or_else(|| self.error(at, WalkError::UNKNOWN_ARM))?)
            }
            Item::Structure(items) => self.items(items),
            Item::Operations(table) => self.operations(table, |walker, row| walker.items(row.arguments)),
            Item::OperationResults(table) => self.operations(table, Self::result),
        }
    }

    fn marked_item(&mut self, mark: Mark, item: &Item) -> Stepped<()> {
        let mut before = self.reader;
        self.item(item)?;
        match mark {
            Mark::Offset | Mark::Count => self.last_piece_is(PieceKind::Structure),
            Mark::Stateid => self.last_piece_is(PieceKind::Stateid),
            Mark::Handle | Mark::Name | Mark::Listing | Mark::Path | Mark::Entries | Mark::Written | Mark::Stable => {}
            Mark::Channel | Mark::FileSystem => self.last_piece_is(PieceKind::Structure),
            Mark::AttributeValues if self.pieces.is_some() && are_limits_alone(before.rest()) => {
                self.last_piece_is(PieceKind::Structure);
            }
            Mark::Variant | Mark::WriteResponse | Mark::CopyRequirements => {}
            Mark::OffloadInfo | Mark::OffloadStatus => {}
            Mark::AttributeValues | Mark::Attributes | Mark::Unlimited | Mark::Session | Mark::Client => {}
            Mark::ServerOwner => {}
        }
        let operation = self.walk.operations.len().saturating_sub(1);
        if let Some(marked) = &mut self.marked {
            let octets = match item {
                Item::Opaque => before.opaque(),
                _ => before.read_octets(self.reader.offset().saturating_sub(before.offset())),
            };
            marked.push(MarkedItem { operation, mark, octets: octets.unwrap_or_default() });
        }
        Ok(())
    }

    /// A counted array of operations or of their results; the number of each says what follows.
    fn operations(&mut self, table: &OperationTable, step: fn(&mut Self, &Row) -> Stepped<()>) -> Stepped<()> {
        let outside = self.inside;
        for _ in 0..self.word()? {
            let at = self.reader.offset();
            let number = self.word()?;
            let (code, row) = ((table.code)(number), find(table.rows, number));
            let name = row.map_or("unknown", |row| row.name);
            self.walk.operations.push(CompoundOperation { code, name, status: None });
            let row = row.ok_or_else(|| self.error(at, WalkError::UNKNOWN_OPERATION))?;
            self.inside = Some(row.name);
            step(self, row)?;
            self.inside = outside;
        }
        Ok(())
    }

    fn result(&mut self, row: &Row) -> Stepped<()> {
        let (ok, errors, otherwise) = match row.results {
            Results::Plain(items) => return self.items(items),
            Results::Status { ok, errors, otherwise } => (ok, errors, otherwise),
        };
        let status = self.word()?;
        match self.walk.operations.last_mut() {
            Some(operation) => operation.status = Some(status),
            None => self.walk.status = Some(status),
        }
        if status == 0 {
            return self.items(ok);
        }
        if row.results.may_be_reduced() {
            self.chunks.pass();
        }
        self.items(arm(errors, status).unwrap_or(otherwise))
    }

    /// Steps over a DDP-eligible item. The count is always here, the data only if no chunk holds the data.
    fn data(&mut self, kind: PieceKind) -> Stepped<()> {
        let length = self.word()?;
        let inline_at = self.reader.offset();
        let skipped: usize = self.padded.iter().map(ExactSizeIterator::len).sum();
        let at = inline_at.saturating_sub(skipped).saturating_add(self.left_out);
        let position = self.position.saturating_add(at) as u64;
        let chunk = self.chunks.claim(position, length).map_err(|reason| self.error(inline_at, reason))?;
        let octets = length as usize;
        if chunk.is_some() {
            self.left_out = self.left_out.saturating_add(octets).saturating_add(padding(octets));
        } else {
            self.skip(length)?;
            self.reader.opaque_fixed(octets).map_err(|end| self.cut(end))?;
            self.opaque_piece(octets, kind);
        }
        let operation = self.walk.operations.len().saturating_sub(1);
        self.walk.items.push(DataItem { at, inline_at, length, chunk, operation });
        Ok(())
    }
}

fn arm(arms: &'static [Arm], discriminant: u32) -> Option<Xdr> {
    arms.iter().find(|arm| arm.0 == discriminant).map(|arm| arm.1)
}
