//! Setup frames and FPDUs of iWARP in the TCP stream of an end.

/// Octets of one setup frame or FPDU, as far as captured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FramedOctets<'a> {
    /// The place of the first one in the stream: TCP sequence number, extended to 64 bits.
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
        /// The place of a marker, if the stream has markers: markers stand 512 octets apart before and after this one.
        marker: Option<u64>,
    },
}
