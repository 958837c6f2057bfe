//! One Send: a transport header, and the octets that follow.

/// One decoded Send, with a header of type `H`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodedSend<'a, H> {
    /// The transport header.
    pub header: H,
    /// Length of the header in octets.
    pub header_length: usize,
    /// The octets after the header: the Payload stream or a part of one, after a header that announces a Payload stream.
    /// Nothing should follow any other header, and such octets have no meaning.
    pub payload: &'a [u8],
}

impl<'a, H> DecodedSend<'a, H> {
    /// Combines the header decoded from `octets` with the octets that follow.
    #[inline(always)]
    pub(crate) fn new(octets: &'a [u8], header: H, payload: &'a [u8]) -> Self {
        Self { header, header_length: octets.len().saturating_sub(payload.len()), payload }
    }
}
