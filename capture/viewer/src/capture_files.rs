//! The files that the page was given, as streams.

use std::io::{self, Read};

use dissector::{Capture, first_frame, in_order};
use wasm_bindgen::prelude::*;

#[wasm_bindgen(raw_module = "capture-files")]
extern "C" {
    /// Reads octets of a file into a buffer, and returns the number of octets.
    #[wasm_bindgen(catch, js_name = readCapture)]
    fn read_capture(file: u32, offset: f64, into: &mut [u8]) -> Result<u32, JsValue>;
}

/// Number of a file of the page: a number instead of the file, because a stream of the dissector may move to another thread.
struct CaptureStream {
    file: u32,
    offset: u64,
}

impl Read for CaptureStream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = read_capture(self.file, self.offset as f64, into).map_err(|error| {
            io::Error::other(error.as_string().unwrap_or_else(|| "the file cannot be read".to_owned()))
        })?;
        self.offset += u64::from(read);
        Ok(read as usize)
    }
}

/// The capture in these files, which the page knows by places in the list.
pub(crate) fn capture(names: &[String]) -> Capture {
    let stream = |file| Box::new(CaptureStream { file, offset: 0 }) as Box<dyn Read + Send>;
    Capture::from_streams((0..).zip(names).map(|(file, name)| (name.clone(), stream(file))))
}

/// The places of so many files in the order of the files' first frames. An unreadable file keeps its place: the error is reported when
/// reading gets there.
pub(crate) fn order(count: u32) -> Vec<u32> {
    let beginning = |file| Some(first_frame(CaptureStream { file, offset: 0 }).ok()??.time);
    let mut files: Vec<_> = (0..count).map(|file| (file, beginning(file))).collect();
    in_order(&mut files);
    files.into_iter().map(|(file, _)| file).collect()
}
