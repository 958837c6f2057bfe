//! The frames that carried the octets of an RPC message.

/// Octets of a message that one frame carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FramePlacement {
    /// Number of the frame.
    pub frame: u64,
    /// Place of the packet or FPDU in the octets of the sender, in the carrier's own numbers.
    pub place: u64,
    /// The message that the octets belong to.
    pub part: PlacedPart,
    /// Offset of the first octet in the Send, or in the chunk.
    pub at: u64,
    /// Octets on the wire.
    pub length: u64,
}

/// A part of an RPC that holds a Payload stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacedPart {
    /// A Send.
    Send,
    /// The Position Zero Read chunk of a call.
    Call,
    /// The Reply chunk.
    Reply,
}

/// List of placements. An empty list takes no more room than a pointer: few callers want placements.
#[derive(Clone, Debug, Default)]
pub(crate) struct Placements(Option<Box<PlacementList>>);

#[derive(Clone, Debug, Default)]
struct PlacementList(Vec<FramePlacement>);

impl Placements {
    /// Adds octets.
    pub(crate) fn push(&mut self, placement: FramePlacement) {
        self.0.get_or_insert_default().0.push(placement);
    }

    /// The placements.
    pub(crate) fn as_slice(&self) -> &[FramePlacement] {
        self.0.as_ref().map_or(&[], |list| &list.0)
    }
}

impl FromIterator<FramePlacement> for Placements {
    fn from_iter<T: IntoIterator<Item = FramePlacement>>(placements: T) -> Self {
        Self(Some(Box::new(PlacementList(placements.into_iter().collect()))))
    }
}
