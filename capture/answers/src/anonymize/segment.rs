//! One frame with a TCP segment: the understood octets, and the copy without confidential content.

use core::ops::Range;

use rpcrdma_dissector::link::{self, Content};
use rpcrdma_dissector::{Address, Frame};

use super::key::Replacer;
use super::network::{NetworkLayout, checksum};
use super::octets::keep;

/// The header without options (RFC 9293 section 3.1).
const TCP: usize = 20;
const CHECKSUM: usize = 16;
const TCP_PROTOCOL: u8 = 6;

/// Kinds of options.
const END: u8 = 0;
const NO_OPERATION: u8 = 1;
/// Maximum segment size, window scale, selective acknowledgements, and time stamps (RFC 9293, 7323, 2018).
const KEPT: [u8; 5] = [2, 3, 4, 5, 8];

/// An end of a TCP connection.
pub(super) type TcpEnd = (Address, u16);

/// Offsets of the parts of a frame with a TCP segment.
#[derive(Clone, Debug)]
pub(super) struct SegmentLayout {
    network: NetworkLayout,
    /// The header, as far as the header was captured: the options may be cut.
    header: Range<usize>,
    /// Captured octets after the header.
    pub(super) data: Range<usize>,
    /// Octets of header and data on the wire.
    length: usize,
    /// Sequence number of the first octet of data.
    pub(super) sequence: u32,
    pub(super) source: TcpEnd,
    pub(super) destination: TcpEnd,
}

impl SegmentLayout {
    /// Finds the parts of a frame; `None` if some header is not understood.
    pub(super) fn from_frame(frame: &Frame<'_>) -> Option<Self> {
        let Content::Tcp(segment) = link::decode(frame) else { return None };
        let network = NetworkLayout::from_frame(frame).filter(|network| network.is_ip())?;
        let start = network.end_offset();
        let header_length = usize::from(*frame.data.get(start + 12)? >> 4) * 4;
        let header = start..(start + header_length).min(frame.data.len());
        let data = header.end..header.end.checked_add(segment.octets.len())?;
        // Nothing else is in between: an encapsulation, an extension header.
        if !core::ptr::eq(frame.data.get(start + TCP..)?.as_ptr(), segment.options.as_ptr()) {
            return None;
        }
        Some(Self {
            network,
            length: header_length + segment.length,
            header,
            data,
            sequence: segment.sequence.wrapping_add(u32::from(segment.is_synchronizing())),
            source: (segment.source, segment.source_port),
            destination: (segment.destination, segment.destination_port),
        })
    }

    /// The copy of the frame with this data.
    pub(super) fn rewrite(&self, frame: &Frame<'_>, data: &[u8], replacer: &mut Replacer) -> Option<Vec<u8>> {
        let from = frame.data;
        let mut to = vec![0; from.len()];
        self.network.rewrite(from, &mut to, replacer)?;
        keep(from, &mut to, self.header.start..self.header.start + CHECKSUM);
        keep(from, &mut to, self.header.start + CHECKSUM + 2..self.header.start + TCP);
        self.options(from, &mut to);
        to.get_mut(self.data.clone())?.iter_mut().zip(data).for_each(|(to, from)| *to = *from);
        self.network.header_checksum(from, &mut to);
        checksum(from, &mut to, self.header.start + CHECKSUM, |octets| {
            self.network.transport_sum(octets, TCP_PROTOCOL, self.length)
        });
        Some(to)
    }

    /// Keeps the options that are known. Of the others, kind and length.
    fn options(&self, from: &[u8], to: &mut [u8]) {
        let mut at = self.header.start + TCP;
        while at < self.header.end {
            let Some(&[kind, length]) = from.get(at..).and_then(|rest| rest.first_chunk()) else { return };
            match kind {
                END => return,
                NO_OPERATION => {
                    keep(from, to, at..at + 1);
                    at += 1;
                }
                _ => {
                    let end = at + usize::from(length);
                    if length < 2 || end > self.header.end {
                        return;
                    }
                    keep(from, to, if KEPT.contains(&kind) { at..end } else { at..at + 2 });
                    at = end;
                }
            }
        }
    }
}
