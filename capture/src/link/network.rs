//! What the link layer carries.

/// What the link layer carries, from the first octet of its header to the end of what was captured.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Network<'a> {
    /// IPv4.
    Ipv4(&'a [u8]),
    /// IPv6.
    Ipv6(&'a [u8]),
    /// RoCEv1: a Global Route Header.
    Grh(&'a [u8]),
    /// InfiniBand: a Local Route Header.
    Lrh(&'a [u8]),
    /// Something else.
    Other(&'static str),
}

/// A frame that ends before its headers do.
pub(super) const CUT: Network<'static> = Network::Other("frame cut inside its headers");

impl<'a> Network<'a> {
    /// An IP header of the version that it names.
    pub(super) fn ip(octets: &'a [u8]) -> Self {
        match octets {
            [0x40..=0x4f, ..] => Self::Ipv4(octets),
            [0x60..=0x6f, ..] => Self::Ipv6(octets),
            [] => CUT,
            _ => Self::Other("unknown IP version"),
        }
    }
}
