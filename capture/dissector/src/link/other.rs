//! Frames without RDMA, or with RDMA in an unsupported form.

use core::fmt;

/// Kind of a frame without InfiniBand or TCP, for the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Other {
    /// Something with a name.
    Named(&'static str),
    /// A link type (`LINKTYPE_…`) that is not read.
    LinkType(u32),
    /// An ERF record type that is not read.
    ErfType(u8),
    /// An ethertype that is not read.
    Ethertype(u16),
    /// A PPP protocol that is not read.
    PppProtocol(u16),
    /// An IP protocol that is not read.
    IpProtocol(u8),
    /// A UDP port that is not read: the lower one of a datagram, because clients use high ones.
    UdpPort(u16),
    /// A protocol of VXLAN-GPE that is not read.
    GpeProtocol(u8),
    /// A protocol of TZSP that is not read.
    TzspProtocol(u16),
}

impl Other {
    /// TCP without iWARP.
    pub const TCP: Self = Self::Named("TCP");
    /// Part of an encapsulation: only the first fragment shows a part of the content.
    pub const OUTER_FRAGMENT: Self = Self::Named("IP fragment of an encapsulation");
}

/// A frame that ends inside its headers.
pub(super) const CUT: Other = Other::Named("frame cut inside its headers");
/// Part of a packet that was not sent in an encapsulation.
pub(super) const FRAGMENT: Other = Other::Named("IP fragment");
/// Part of a packet that was fragmented before the encapsulation.
pub(super) const INNER_FRAGMENT: Other = Other::Named("IP fragment in an encapsulation");

/// Ports of services that are no encapsulations are below this one.
const REGISTERED_PORTS: u16 = 1024;

impl Other {
    /// Returns the same kind without a number, for kinds beyond the limit.
    pub(crate) const fn unnumbered(self) -> Self {
        Self::Named(match self {
            Self::Named(name) => name,
            Self::LinkType(_) => "further link types",
            Self::ErfType(_) => "further ERF record types",
            Self::Ethertype(_) => "further ethertypes",
            Self::PppProtocol(_) => "further PPP protocols",
            Self::IpProtocol(_) => "further IP protocols",
            Self::UdpPort(_) => "further UDP ports",
            Self::GpeProtocol(_) => "further VXLAN-GPE protocols",
            Self::TzspProtocol(_) => "further TZSP protocols",
        })
    }

    /// Returns true if RDMA may be inside, in an encapsulation that is not read.
    #[must_use]
    pub const fn may_encapsulate(self) -> bool {
        match self {
            Self::Named(_) => false,
            Self::UdpPort(port) => port >= REGISTERED_PORTS,
            _ => true,
        }
    }
}

impl From<&'static str> for Other {
    fn from(name: &'static str) -> Self {
        Self::Named(name)
    }
}

impl fmt::Display for Other {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name),
            Self::LinkType(number) => write!(f, "link type {number}"),
            Self::ErfType(number) => write!(f, "ERF record type {number}"),
            Self::Ethertype(number) => write!(f, "ethertype {number:#06x}"),
            Self::PppProtocol(number) => write!(f, "PPP protocol {number:#06x}"),
            Self::IpProtocol(number) => write!(f, "IP protocol {number}"),
            Self::UdpPort(number) => write!(f, "UDP port {number}"),
            Self::GpeProtocol(number) => write!(f, "VXLAN-GPE protocol {number}"),
            Self::TzspProtocol(number) => write!(f, "TZSP protocol {number}"),
        }
    }
}
