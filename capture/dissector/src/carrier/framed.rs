//! Set-up frames and FPDUs of iWARP as they are in the stream of their sender.

/// Octets of a TCP stream that belong together, as far as they were captured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FramedOctets<'a> {
    /// The place of the first one in the stream: its sequence number, extended to 64 bits.
    pub(crate) place: u64,
    pub(crate) octets: &'a [u8],
    pub(crate) kind: FramedKind,
}

/// Kind of octets in a TCP stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FramedKind {
    /// A frame that sets a connection up.
    Setup,
    /// An FPDU.
    Fpdu {
        /// The place of a marker, if the stream has markers: there is one at every 512th octet before and after it.
        marker: Option<u64>,
    },
}
