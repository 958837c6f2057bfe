//! A capture file that is written: pcap, or pcapng, where frames can have comments.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError, TsResolution};
use rpcrdma_dissector::{LinkType, Time};

/// The link type of Ethernet frames.
pub(crate) const ETHERNET: LinkType = LinkType(1);
/// The largest frame libpcap reads.
const SNAPLEN: u32 = 262_144;
/// Times in pcapng are in units of 10 to the power of minus this, in seconds.
const RESOLUTION: u8 = 9;

/// Minimum size of a gathered write of pcapng blocks, in octets.
const GATHERED: usize = 1 << 18;

/// A frame to write.
#[derive(Debug)]
pub(crate) struct WrittenFrame<'a> {
    pub(crate) time: Time,
    pub(crate) link: LinkType,
    pub(crate) data: Cow<'a, [u8]>,
    /// Octets on the wire.
    pub(crate) length: u32,
}

/// A capture file in either format.
#[derive(Debug)]
pub(crate) enum CaptureFile<W: Write> {
    /// A pcap file to which nothing has been written: the first frame determines the link type of the file. `None` after an error.
    #[cfg_attr(not(feature = "anonymize"), allow(dead_code, reason = "only `anonymize` begins in this way"))]
    Begun(Option<W>),
    Pcap(LinkType, PcapFile<W>),
    Pcapng(PcapngFile<W>),
}

/// A pcap file of frames of one link type.
#[derive(Debug)]
pub(crate) struct PcapFile<W: Write>(PcapWriter<W>);

/// A pcapng file.
///
/// A block is written in dozens of small pieces. So blocks are gathered in memory, and written to the file together.
pub(crate) struct PcapngFile<W: Write> {
    blocks: PcapNgWriter<Vec<u8>>,
    write: W,
    /// The link type of each interface in the file.
    interfaces: Vec<LinkType>,
}

impl<W: Write> CaptureFile<W> {
    /// Starts a pcap file of Ethernet frames.
    pub(crate) fn of_ethernet(write: W) -> io::Result<Self> {
        Ok(Self::Pcap(ETHERNET, PcapFile::new(ETHERNET, write)?))
    }

    /// Starts a pcapng file.
    pub(crate) fn pcapng(write: W) -> io::Result<Self> {
        Ok(Self::Pcapng(PcapngFile::new(write)?))
    }

    /// Writes a frame. Only pcapng has comments.
    pub(crate) fn frame(&mut self, frame: WrittenFrame<'_>, comment: Option<impl fmt::Display>) -> io::Result<()> {
        if let Self::Begun(write) = self
            && let Some(write) = write.take()
        {
            *self = Self::Pcap(frame.link, PcapFile::new(frame.link, write)?);
        }
        match self {
            Self::Pcap(link, file) if *link == frame.link => file.frame(frame),
            Self::Pcap(..) => {
                let text = "a pcap file holds either Ethernet or InfiniBand, and the capture has both: write pcapng";
                Err(io::Error::new(io::ErrorKind::Unsupported, text))
            }
            Self::Pcapng(file) => file.frame(frame, comment.iter().map(|comment| Cow::Owned(comment.to_string()))),
            Self::Begun(_) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    pub(crate) fn finish(self) -> io::Result<()> {
        match self {
            Self::Begun(write) => write.map_or(Ok(()), |write| PcapFile::new(ETHERNET, write)?.finish()),
            Self::Pcap(_, file) => file.finish(),
            Self::Pcapng(file) => file.finish(),
        }
    }
}

impl<W: Write> PcapFile<W> {
    fn new(link: LinkType, write: W) -> io::Result<Self> {
        let header = PcapHeader {
            snaplen: SNAPLEN,
            datalink: DataLink::from(link.0),
            ts_resolution: TsResolution::NanoSecond,
            ..PcapHeader::default()
        };
        PcapWriter::with_header(write, header).map(Self).map_err(failed)
    }

    fn frame(&mut self, frame: WrittenFrame<'_>) -> io::Result<()> {
        let WrittenFrame { time, data, length, .. } = frame;
        // A time that the format cannot express becomes the latest that it can.
        let seconds = (time.0 / 1_000_000_000).min(u64::from(u32::MAX));
        let time = Duration::new(seconds, (time.0 % 1_000_000_000) as u32);
        let packet = PcapPacket { timestamp: time, orig_len: length, data };
        self.0.write_packet(&packet).map(drop).map_err(failed)
    }

    fn finish(self) -> io::Result<()> {
        self.0.into_writer().flush()
    }
}

impl<W: Write> PcapngFile<W> {
    /// Starts a file.
    pub(crate) fn new(write: W) -> io::Result<Self> {
        let application = concat!("rpcrdma ", env!("CARGO_PKG_VERSION"));
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            options: vec![SectionHeaderOption::UserApplication(Cow::Borrowed(application))],
            ..SectionHeaderBlock::default()
        };
        let blocks = PcapNgWriter::with_section_header(Vec::with_capacity(GATHERED), section).map_err(failed)?;
        Ok(Self { blocks, write, interfaces: Vec::new() })
    }

    pub(crate) fn frame<'a>(
        &mut self,
        frame: WrittenFrame<'a>,
        comments: impl Iterator<Item = Cow<'a, str>>,
    ) -> io::Result<()> {
        let WrittenFrame { time, link, data, length } = frame;
        let block = EnhancedPacketBlock {
            interface_id: self.interface(link)?,
            timestamp: Duration::from_nanos(time.0),
            original_len: length,
            data,
            options: comments.map(EnhancedPacketOption::Comment).collect(),
        };
        self.blocks.write_pcapng_block(block).map_err(failed)?;
        if self.blocks.get_ref().len() >= GATHERED { self.write_gathered() } else { Ok(()) }
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.write_gathered()?;
        self.write.flush()
    }

    fn write_gathered(&mut self) -> io::Result<()> {
        let blocks = self.blocks.get_mut();
        self.write.write_all(blocks)?;
        blocks.clear();
        Ok(())
    }

    /// The interface of a link type: one that is there, or a new one.
    fn interface(&mut self, link: LinkType) -> io::Result<u32> {
        if let Some(index) = self.interfaces.iter().position(|known| *known == link) {
            return Ok(index as u32);
        }
        let options = vec![InterfaceDescriptionOption::IfTsResol(RESOLUTION)];
        // A snaplen of 0 is none.
        let block = InterfaceDescriptionBlock { linktype: DataLink::from(link.0), snaplen: 0, options };
        self.blocks.write_pcapng_block(block).map_err(failed)?;
        self.interfaces.push(link);
        Ok(self.interfaces.len() as u32 - 1)
    }
}

impl<W: Write> fmt::Debug for PcapngFile<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PcapngFile").field("interfaces", &self.interfaces).finish_non_exhaustive()
    }
}

fn failed(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        error => io::Error::other(error),
    }
}
