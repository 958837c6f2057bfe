//! Payload of the link layer.

use super::mirror::MirrorSession;
use super::other::{self, Other};
use crate::file::LinkType;

/// Payload of the link layer: from the first octet of the network header to the last captured octet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network<'a> {
    /// IPv4.
    Ipv4(&'a [u8]),
    /// IPv6.
    Ipv6(&'a [u8]),
    /// RoCEv1: a Global Route Header.
    Grh(&'a [u8]),
    /// InfiniBand: a Local Route Header.
    Lrh(&'a [u8]),
    /// The payload after an ethertype that is none of these. The ethertype may be one of an encapsulation.
    Ethertype([u8; 2], &'a [u8]),
    /// A frame of a rarer link type, or one inside an encapsulation.
    Link(LinkType, &'a [u8]),
    /// Something else.
    Other(Other),
}

/// A frame that ends inside its headers.
pub(super) const CUT: Network<'static> = Network::Other(other::CUT);

impl<'a> Network<'a> {
    /// Something that is not read, with a name.
    pub(super) const fn named(name: &'static str) -> Self {
        Self::Other(Other::Named(name))
    }

    /// Returns the IP header of the version in the first octet.
    pub(super) fn ip(octets: &'a [u8]) -> Self {
        match octets {
            [0x40..=0x4f, ..] => Self::Ipv4(octets),
            [0x60..=0x6f, ..] => Self::Ipv6(octets),
            [] => CUT,
            _ => Self::named("unknown IP version"),
        }
    }
}

/// Content of an encapsulation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inside<'a> {
    pub(super) network: Network<'a>,
    /// Mirror session, if the encapsulation numbers sessions.
    pub(super) session: Option<MirrorSession>,
}

impl<'a> From<Network<'a>> for Inside<'a> {
    fn from(network: Network<'a>) -> Self {
        Self { network, session: None }
    }
}
