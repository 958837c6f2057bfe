//! gzip (RFC 1952): members one after another.
//!
//! ```text
//! +--------+--------- // ---------+-------+-------+
//! | header |   compressed data    | CRC32 | ISIZE |
//! +--------+--------- // ---------+-------+-------+
//! ```
//!
//! `flate2` decodes ahead of its output, and drops what it has decoded if it meets a fault. Only the header decoder of
//! `flate2` is used; the compressed data is decoded into a window from which nothing is lost.

use core::ops::Range;
use std::io::{self, BufRead, Read};

use flate2::Crc;
use flate2::bufread::GzDecoder;
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_HAS_MORE_INPUT;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

/// Beginning of a gzip file.
pub(super) const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Octets that compressed data refers back to (RFC 1951 section 2).
const WINDOW: usize = 1 << 15;

/// gzip members one after another.
pub(super) struct Gzip<B> {
    source: B,
    inflater: Box<Inflater>,
    state: GzipState,
}

enum GzipState {
    BetweenMembers,
    InMember(Crc),
    /// The compressed data of the member has ended.
    AfterData(Crc),
    /// Nothing more can be decoded.
    Failed(io::Error),
    Ended,
}

/// Decoder of compressed data (RFC 1951).
struct Inflater {
    decoder: DecompressorOxide,
    window: [u8; WINDOW],
    /// The octets in the window that were not given yet.
    ready: Range<usize>,
}

impl Inflater {
    fn new() -> Box<Self> {
        Box::new(Self { decoder: DecompressorOxide::new(), window: [0; WINDOW], ready: 0..0 })
    }

    /// Another member begins.
    fn begin_member(&mut self) {
        self.decoder.init();
        self.ready = 0..0;
    }

    /// Decodes what fits in the window, after everything before was given. Returns true at the end of the data.
    fn decode(&mut self, source: &mut impl BufRead) -> io::Result<bool> {
        loop {
            let input = source.fill_buf()?;
            let (has_input, at) = (!input.is_empty(), self.ready.end % WINDOW);
            let flags = if has_input { TINFL_FLAG_HAS_MORE_INPUT } else { 0 };
            let (status, taken, written) = decompress(&mut self.decoder, input, &mut self.window, at, flags);
            source.consume(taken);
            self.ready = at..at + written;
            match status {
                TINFLStatus::Done => return Ok(true),
                TINFLStatus::NeedsMoreInput | TINFLStatus::HasMoreOutput if written > 0 => return Ok(false),
                TINFLStatus::NeedsMoreInput | TINFLStatus::HasMoreOutput if has_input => {}
                TINFLStatus::FailedCannotMakeProgress | TINFLStatus::NeedsMoreInput | TINFLStatus::HasMoreOutput => {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "corrupt compressed data")),
            }
        }
    }

    /// Gives octets that are ready.
    fn give(&mut self, octets: &mut [u8]) -> usize {
        let ready = self.window.get(self.ready.clone()).unwrap_or_default();
        let count = ready.len().min(octets.len());
        if let (Some(to), Some(from)) = (octets.get_mut(..count), ready.get(..count)) {
            to.copy_from_slice(from);
        }
        self.ready.start += count;
        count
    }
}

impl<B: BufRead> Gzip<B> {
    pub(super) fn new(source: B) -> Self {
        Self { source, inflater: Inflater::new(), state: GzipState::BetweenMembers }
    }

    fn begin_member(&mut self) -> io::Result<GzipState> {
        if self.source.fill_buf()?.is_empty() {
            return Ok(GzipState::Ended);
        }
        // No octet of the data is asked for, so this reads the header alone.
        GzDecoder::new(&mut self.source).read(&mut []).map(drop)?;
        self.inflater.begin_member();
        Ok(GzipState::InMember(Crc::new()))
    }

    /// The state after more of a member's data was decoded.
    fn decode(&mut self, mut crc: Crc) -> GzipState {
        let result = self.inflater.decode(&mut self.source);
        crc.update(self.inflater.window.get(self.inflater.ready.clone()).unwrap_or_default());
        match result {
            Ok(true) => GzipState::AfterData(crc),
            Ok(false) => GzipState::InMember(crc),
            Err(error) => GzipState::Failed(error),
        }
    }

    fn end_member(&mut self, crc: &Crc) -> io::Result<GzipState> {
        let [mut sum, mut amount] = [[0; 4]; 2];
        self.source.read_exact(&mut sum)?;
        self.source.read_exact(&mut amount)?;
        if (u32::from_le_bytes(sum), u32::from_le_bytes(amount)) != (crc.sum(), crc.amount()) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "wrong checksum"));
        }
        Ok(GzipState::BetweenMembers)
    }
}

impl<B: BufRead> Read for Gzip<B> {
    fn read(&mut self, octets: &mut [u8]) -> io::Result<usize> {
        loop {
            let given = self.inflater.give(octets);
            if given > 0 || octets.is_empty() {
                return Ok(given);
            }
            self.state = match core::mem::replace(&mut self.state, GzipState::Ended) {
                GzipState::BetweenMembers => self.begin_member()?,
                GzipState::InMember(crc) => self.decode(crc),
                GzipState::AfterData(crc) => self.end_member(&crc)?,
                GzipState::Failed(error) => return Err(error),
                GzipState::Ended => return Ok(0),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Write};

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    /// Returns all decoded octets, with a buffer of `most` octets, and true if a fault ended the stream.
    fn read(file: impl BufRead, most: usize) -> (Vec<u8>, bool) {
        let (mut gzip, mut octets, mut buffer) = (Gzip::new(file), Vec::new(), vec![0; most]);
        loop {
            match gzip.read(&mut buffer) {
                Ok(0) => return (octets, false),
                Ok(count) => octets.extend(&buffer[..count]),
                Err(_) => return (octets, true),
            }
        }
    }

    fn compressed(data: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn members_follow_each_other() {
        let data: Vec<u8> = (0..100_000_u32).flat_map(|number| (number % 1009).to_le_bytes()).collect();
        let file = [compressed(&data), compressed(b""), compressed(&data)].concat();
        for most in [1, 24, 1000, 1 << 20] {
            assert_eq!(read(&file[..], most), ([&data[..], &data].concat(), false), "{most}");
        }
    }

    #[test]
    fn octets_decoded_before_a_fault_are_read_through_any_buffer() {
        // A block of four octets that are not compressed, and one of a type that there is not (RFC 1951 section 3.2.3).
        let header = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
        let file = [&header[..], &[0, 4, 0, 0xfb, 0xff], b"data", &[7]].concat();
        for most in [1, 3, 1000] {
            assert_eq!(read(&file[..], most), (b"data".to_vec(), true), "{most}");
            assert_eq!(read(BufReader::with_capacity(1, &file[..]), most), (b"data".to_vec(), true), "{most}");
        }
    }
}
