//! gzip (RFC 1952) and Zstandard (RFC 8878), recognised by the first octets of the file.
//!
//! Both decoders are plain Rust, so that building needs no C compiler. Several compressed streams in a row are one
//! file: `cat` and parallel compressors write such files.

use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::gzip::{GZIP, Gzip};

/// The number of octets that tell the formats apart.
pub(super) const MAGIC_LEN: usize = 4;
const ZSTANDARD: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();
/// The largest window of `zstd --long` without an argument; larger ones are refused.
const WINDOW: u64 = 128 << 20;

/// Input of a reader. A call for each buffer of octets costs nothing, and each decoder exists once.
pub(super) type Input<'r> = Box<dyn Read + Send + 'r>;
/// A compressed input, with the octets that were already consumed put back in front.
type Rewound<'r> = BufReader<Chain<Cursor<Vec<u8>>, Uninterrupted<Input<'r>>>>;

/// Source of a file's octets.
pub(super) enum Decompressing<'r> {
    Plain(Input<'r>),
    Gzip(Box<Gzip<Rewound<'r>>>),
    Zstandard(Box<Zstandard<Rewound<'r>>>),
}

impl<'r> Decompressing<'r> {
    /// The decoder for a file that begins with `start`, which was taken from `read`; gives `read` back if the file is
    /// not compressed.
    pub(super) fn compressed(start: &[u8], read: Input<'r>) -> Result<Self, Input<'r>> {
        let source = |read| BufReader::new(Cursor::new(start.to_vec()).chain(Uninterrupted(read)));
        if start.starts_with(&GZIP) {
            Ok(Self::Gzip(Box::new(Gzip::new(source(read)))))
        } else if start.starts_with(&ZSTANDARD) || is_skippable(start) {
            Ok(Self::Zstandard(Box::new(Zstandard::new(source(read)))))
        } else {
            Err(read)
        }
    }

    pub(super) fn is_compressed(&self) -> bool {
        !matches!(self, Self::Plain(_))
    }
}

impl Read for Decompressing<'_> {
    fn read(&mut self, octets: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(read) => read.read(octets),
            Self::Gzip(read) => read.read(octets),
            Self::Zstandard(read) => read.read(octets),
        }
    }
}

/// A source that repeats a read interrupted by a signal: a decoder would take that for the end.
pub(super) struct Uninterrupted<R>(R);

impl<R: Read> Read for Uninterrupted<R> {
    fn read(&mut self, octets: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(octets) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }
}

/// Returns true if a skippable Zstandard frame begins here, which holds nothing to decode (RFC 8878 section 3.1.2). The
/// parallel compressors begin with one.
fn is_skippable(start: &[u8]) -> bool {
    matches!(start, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// Zstandard frames one after another.
pub(super) struct Zstandard<B> {
    source: B,
    decoder: FrameDecoder,
    state: FrameState,
}

enum FrameState {
    BetweenFrames,
    InFrame,
    /// Nothing more can be decoded, but what the decoder still holds comes first.
    Failed(io::Error),
    Ended,
}

impl<B: BufRead> Zstandard<B> {
    fn new(source: B) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW);
        Self { source, decoder, state: FrameState::BetweenFrames }
    }

    fn begin_frame(&mut self) -> io::Result<FrameState> {
        if self.source.fill_buf()?.is_empty() {
            return Ok(FrameState::Ended);
        }
        match self.decoder.reset(&mut self.source) {
            Ok(()) => Ok(FrameState::InFrame),
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                let skipped = io::copy(&mut self.source.by_ref().take(length.into()), &mut io::sink())?;
                if skipped < length.into() {
                    Err(io::ErrorKind::UnexpectedEof.into())
                } else {
                    Ok(FrameState::BetweenFrames)
                }
            }
            Err(error) => Err(failed(error)),
        }
    }

    fn decode_block(&mut self) -> FrameState {
        match self.decoder.decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1)) {
            Ok(_) => FrameState::InFrame,
            Err(error) => {
                // The decoder keeps a window of what it decoded until the frame is over. An empty last block (and a
                // checksum) ends the frame, so that everything before the damage comes out.
                let last = [1, 0, 0, 0, 0, 0, 0];
                let _ = self.decoder.decode_blocks(&last[..], BlockDecodingStrategy::UptoBlocks(1));
                FrameState::Failed(failed(error))
            }
        }
    }

    fn end_frame(&self) -> io::Result<FrameState> {
        let stored = self.decoder.get_checksum_from_data();
        if stored.is_some() && stored != self.decoder.get_calculated_checksum() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "wrong checksum"));
        }
        Ok(FrameState::BetweenFrames)
    }
}

/// A decoder's error as an input error: that of the underlying file, if there is one.
fn failed(error: FrameDecoderError) -> io::Error {
    use FrameDecoderError::{DictNotProvided, WindowSizeTooBig};
    if matches!(error, WindowSizeTooBig { .. } | DictNotProvided { .. }) {
        return io::Error::new(io::ErrorKind::Unsupported, error);
    }
    let first: &(dyn core::error::Error + 'static) = &error;
    let below = core::iter::successors(Some(first), |error| error.source()).find_map(|e| e.downcast_ref::<io::Error>());
    match below.map(|below| (below.raw_os_error(), below.kind())) {
        Some((Some(code), _)) => io::Error::from_raw_os_error(code),
        Some((None, kind)) => io::Error::new(kind, error),
        None => io::Error::new(io::ErrorKind::InvalidData, error),
    }
}

impl<B: BufRead> Read for Zstandard<B> {
    fn read(&mut self, octets: &mut [u8]) -> io::Result<usize> {
        loop {
            if !matches!(self.state, FrameState::BetweenFrames) && self.decoder.can_collect() > 0 {
                return self.decoder.read(octets);
            }
            self.state = match core::mem::replace(&mut self.state, FrameState::Ended) {
                FrameState::BetweenFrames => self.begin_frame()?,
                FrameState::InFrame if self.decoder.is_finished() => self.end_frame()?,
                FrameState::InFrame => self.decode_block(),
                FrameState::Failed(error) => return Err(error),
                FrameState::Ended => return Ok(0),
            };
        }
    }
}
