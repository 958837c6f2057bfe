//! Capture files of every format, compressed or not.

use std::io::{Cursor, Read};

use rpcrdma_dissector::Capture;

/// The most octets of frames that are taken from a file: a few octets of a compressed one may stand for any number.
const OCTETS: usize = 4 << 20;
/// The most frames.
const FRAMES: usize = 20_000;

/// For any octets: reading the octets as a capture file ends, and finds the same for all octets at once and for a few
/// at a time.
///
/// # Panics
/// If this does not hold.
pub fn files(octets: &[u8]) {
    let whole = FileRead::new(Cursor::new(octets.to_vec()));
    let trickling = FileRead::new(Trickle { rest: Cursor::new(octets.to_vec()), turn: 0 });
    let frames = whole.frames.iter().zip(&trickling.frames);
    for (number, (one, other)) in frames.enumerate() {
        assert_eq!(one, other, "frame {number}");
    }
    assert_eq!(whole.is_broken, trickling.is_broken, "both end with an error, or neither does");
    assert_eq!(whole.frames.len(), trickling.frames.len(), "as many frames");
}

/// Number, time, link type, octets, and length on the wire.
type FrameRead = (u64, u64, u32, Vec<u8>, u32);

/// Counts of a file.
struct FileRead {
    frames: Vec<FrameRead>,
    is_broken: bool,
}

impl FileRead {
    fn new(read: impl Read + Send + 'static) -> Self {
        let mut capture = Capture::from_streams([("the input".to_owned(), Box::new(read) as Box<dyn Read + Send>)]);
        let (mut found, mut octets) = (Self { frames: Vec::new(), is_broken: false }, 0);
        while let Some(frame) = capture.next() {
            let Ok(frame) = frame else {
                found.is_broken = true;
                break;
            };
            octets += frame.data.len();
            found.frames.push((frame.number, frame.time.0, frame.link.0, frame.data.to_vec(), frame.length));
            if octets > OCTETS || found.frames.len() > FRAMES {
                break;
            }
        }
        found
    }
}

/// Gives one octet, then two, up to seven, and so on.
struct Trickle {
    rest: Cursor<Vec<u8>>,
    turn: usize,
}

impl Read for Trickle {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.turn = self.turn % 7 + 1;
        let most = buffer.len().min(self.turn);
        self.rest.read(buffer.get_mut(..most).unwrap_or_default())
    }
}
