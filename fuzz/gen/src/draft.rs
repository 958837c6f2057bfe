//! A header as labelled words: each field with an offset, and the consequences of another value.

/// A wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Version 1 (RFC 8166).
    V1,
    /// Version 2, drafts -00 to -02.
    V2a,
    /// Version 2, drafts -03 to -07.
    V2b,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::V1, Self::V2a, Self::V2b];

    /// `1`, `2a` or `2b`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V1 => "1",
            Self::V2a => "2a",
            Self::V2b => "2b",
        }
    }

    /// `rdma_vers`.
    #[must_use]
    pub const fn version(self) -> u32 {
        match self {
            Self::V1 => 1,
            Self::V2a | Self::V2b => 2,
        }
    }
}

/// Purpose of a message, from which the sender follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Sent by a Requester.
    Call,
    /// Sent by a Responder.
    Reply,
}

impl Role {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Call, Self::Reply];

    /// `call` or `reply`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Reply => "reply",
        }
    }
}

/// A chunk list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// The Call chunk of drafts -03 to -07.
    Call,
    /// The Read list.
    Read,
    /// The Write list.
    Write,
    /// The Reply chunk, a list of at most one.
    Reply,
}

/// A segment, counted from 0: which entry of the list, and which segment of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// The list.
    pub list: List,
    /// Its entry.
    pub entry: usize,
    /// The segment: an entry of the Read list or the Call chunk has one.
    pub segment: usize,
}

/// A word of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The handle.
    Handle,
    /// The length.
    Length,
    /// The more significant half of the offset.
    OffsetHigh,
    /// The other half.
    OffsetLow,
}

/// Meaning of a word of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// `rdma_xid`.
    Xid,
    /// `rdma_vers`.
    Version,
    /// `rdma_credit`.
    Credit,
    /// `rdma_proc` or `rdma_htype`.
    Procedure,
    /// `rdma_flags` of drafts -00 to -02.
    Flags,
    /// `rdma_inv_handle`.
    InvHandle,
    /// Flag that this entry of the list follows.
    Follows(List, usize),
    /// The Position of this entry.
    Position(List, usize),
    /// Number of segments of this entry.
    Count(List, usize),
    /// A word of a segment.
    Segment(At, Field),
}

/// A message whose words can be changed one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The words of the header.
    pub words: Vec<(Label, u32)>,
    /// Octets behind the header.
    pub payload: Vec<u8>,
}

impl Draft {
    /// The octets of the message.
    #[must_use]
    pub fn octets(&self) -> Vec<u8> {
        let header = self.words.iter().flat_map(|(_, word)| word.to_be_bytes());
        header.chain(self.payload.iter().copied()).collect()
    }

    /// Octets of the header.
    #[must_use]
    pub const fn header_length(&self) -> usize {
        self.words.len() * 4
    }

    /// Octets before the word with this label; the length of the header if there is none.
    #[must_use]
    pub fn offset(&self, label: Label) -> usize {
        4 * self.words.iter().position(|(each, _)| *each == label).unwrap_or(self.words.len())
    }

    /// The same, with another value of this word.
    #[must_use]
    pub fn with(&self, label: Label, value: u32) -> Self {
        let mut draft = self.clone();
        for (_, word) in draft.words.iter_mut().filter(|(each, _)| *each == label) {
            *word = value;
        }
        draft
    }
}
