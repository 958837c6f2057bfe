//! Capture files of every format, compressed or not.

use std::io::{Cursor, Read};

use rpcrdma_capture::Capture;

/// The most octets of frames that are taken from a file: a few octets of a compressed one may stand for any number.
const OCTETS: usize = 4 << 20;
/// The most frames.
const FRAMES: usize = 20_000;

/// For any octets: reading them as a capture file ends, and finds the same whether they come all at once or a few at a time.
///
/// # Panics
/// If this does not hold.
pub fn files(octets: &[u8]) {
    let whole = frames(Cursor::new(octets.to_vec()));
    let trickling = frames(Trickle { rest: Cursor::new(octets.to_vec()), turn: 0 });
    assert_eq!(whole.len(), trickling.len(), "as many frames and errors");
    for (number, (one, other)) in whole.iter().zip(&trickling).enumerate() {
        assert_eq!(one, other, "frame or error {number}");
    }
}

/// What is known of a frame: number, time, link type, octets, length on the wire; or the error.
type FrameRead = Result<(u64, u64, u16, Vec<u8>, u32), String>;

fn frames(read: impl Read + Send + 'static) -> Vec<FrameRead> {
    let mut capture = Capture::from_streams([("the input".to_owned(), Box::new(read) as Box<dyn Read + Send>)]);
    let (mut frames, mut octets) = (Vec::new(), 0);
    while let Some(frame) = capture.next() {
        let frame = frame.map(|frame| (frame.number, frame.time.0, frame.link.0, frame.data.to_vec(), frame.length));
        octets += frame.as_ref().map_or(0, |(.., data, _)| data.len());
        frames.push(frame.map_err(|error| error.to_string()));
        if octets > OCTETS || frames.len() > FRAMES {
            break;
        }
    }
    frames
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
