//! The two wire formats of version 2.

/// A wire format of version 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Drafts -00 to -02: [`family_a`](super::family_a).
    A,
    /// Drafts -03 to -07: [`family_b`](super::family_b).
    B,
}
