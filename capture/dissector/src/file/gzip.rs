//! gzip (RFC 1952): members one after another.
//!
//! ```text
//! +--------+--------- // ---------+-------+-------+
//! | header |   compressed data    | CRC32 | ISIZE |
//! +--------+--------- // ---------+-------+-------+
//! ```
//!
//! `flate2` has a decoder for all of it, which says nothing of what it decoded in the step in which it meets a fault. So only its
//! decoder of the compressed data is used, which counts.

use std::io::{self, BufRead, Read};

use flate2::Crc;
use flate2::bufread::{DeflateDecoder, GzDecoder};

/// Beginning of a gzip file.
pub(super) const GZIP: [u8; 2] = [0x1f, 0x8b];

/// gzip members one after another.
pub(super) struct Gzip<B> {
    source: DeflateDecoder<B>,
    state: GzipState,
}

enum GzipState {
    BetweenMembers,
    InMember(Crc),
    /// Nothing more can be decoded.
    Failed(io::Error),
    Ended,
}

impl<B: BufRead> Gzip<B> {
    pub(super) fn new(source: B) -> Self {
        Self { source: DeflateDecoder::new(source), state: GzipState::BetweenMembers }
    }

    fn begin_member(&mut self) -> io::Result<GzipState> {
        let source = self.source.get_mut();
        if source.fill_buf()?.is_empty() {
            return Ok(GzipState::Ended);
        }
        // No octet of the data is asked for, so this reads the header alone.
        GzDecoder::new(source).read(&mut []).map(drop)?;
        self.source.reset_data();
        Ok(GzipState::InMember(Crc::new()))
    }

    /// The octets that were decoded, and what comes after them.
    fn decode(&mut self, octets: &mut [u8], mut crc: Crc) -> (usize, GzipState) {
        let before = self.source.total_out();
        let result = self.source.read(octets);
        // No more than there was room for.
        let decoded = (self.source.total_out() - before) as usize;
        crc.update(octets.get(..decoded).unwrap_or_default());
        let state = match result {
            Ok(0) => self.end_member(&crc).unwrap_or_else(GzipState::Failed),
            Ok(_) => GzipState::InMember(crc),
            Err(error) => GzipState::Failed(error),
        };
        (decoded, state)
    }

    fn end_member(&mut self, crc: &Crc) -> io::Result<GzipState> {
        let [mut sum, mut amount] = [[0; 4]; 2];
        self.source.get_mut().read_exact(&mut sum)?;
        self.source.get_mut().read_exact(&mut amount)?;
        if (u32::from_le_bytes(sum), u32::from_le_bytes(amount)) != (crc.sum(), crc.amount()) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "wrong checksum"));
        }
        Ok(GzipState::BetweenMembers)
    }
}

impl<B: BufRead> Read for Gzip<B> {
    fn read(&mut self, octets: &mut [u8]) -> io::Result<usize> {
        if octets.is_empty() {
            return Ok(0);
        }
        loop {
            self.state = match core::mem::replace(&mut self.state, GzipState::Ended) {
                GzipState::BetweenMembers => self.begin_member()?,
                GzipState::InMember(crc) => {
                    let (decoded, state) = self.decode(octets, crc);
                    self.state = state;
                    if decoded > 0 {
                        return Ok(decoded);
                    }
                    continue;
                }
                GzipState::Failed(error) => return Err(error),
                GzipState::Ended => return Ok(0),
            };
        }
    }
}
