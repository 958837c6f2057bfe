//! Capture file of a fabric.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, PcapError, TsResolution};

/// Maximum length of a frame.
const SNAPLEN: u32 = 65_535;

/// Records frames in the order of the wire, from any thread.
pub(super) struct Recorder {
    file: Mutex<File>,
    /// The time when the file was begun; times never go back after that.
    epoch: Duration,
    begin: Instant,
}

struct File {
    /// `None` after an error, and after the end.
    writer: Option<PcapWriter<Box<dyn Write + Send>>>,
    frames: u64,
    error: Option<io::Error>,
}

impl Recorder {
    /// Begins a file.
    pub(super) fn new(write: Box<dyn Write + Send>) -> io::Result<Self> {
        let header = PcapHeader {
            snaplen: SNAPLEN,
            datalink: DataLink::ETHERNET,
            ts_resolution: TsResolution::NanoSecond,
            ..PcapHeader::default()
        };
        let writer = Some(PcapWriter::with_header(write, header).map_err(failed)?);
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let file = Mutex::new(File { writer, frames: 0, error: None });
        Ok(Self { file, epoch, begin: Instant::now() })
    }

    /// Writes a frame. After an error nothing is written; [`finish`](Self::finish) reports the error.
    pub(super) fn record(&self, frame: &[u8]) {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(writer) = &mut file.writer else { return };
        let time = self.epoch.saturating_add(self.begin.elapsed());
        match writer.write_packet(&PcapPacket::new(time, frame.len() as u32, frame)) {
            Ok(_) => file.frames += 1,
            Err(error) => (file.writer, file.error) = (None, Some(failed(error))),
        }
    }

    /// Ends the file and returns the number of frames.
    pub(super) fn finish(&self) -> io::Result<u64> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = file.error.take() {
            return Err(error);
        }
        if let Some(writer) = file.writer.take() {
            writer.into_writer().flush()?;
        }
        Ok(file.frames)
    }
}

fn failed(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        error => io::Error::other(error),
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("epoch", &self.epoch).finish_non_exhaustive()
    }
}
