//! The order of files that form one capture.

use std::io::Read;

use super::error::FileError;
use super::frame::{Time, TimeBase};
use super::reader::Reader;

/// Octets of a file that are read at a time to find the first frame.
const BEGINNING: usize = 4 << 10;

/// First frame of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FirstFrame {
    /// Time of the frame.
    pub time: Time,
    /// Beginning of the times of the file.
    pub time_base: TimeBase,
}

/// Returns the first frame of a file, if there is one. Damage is reported when the file is read.
///
/// # Errors
/// If the file cannot be read, or is no capture.
pub fn first_frame(file: impl Read + Send) -> Result<Option<FirstFrame>, FileError> {
    let mut reader = match Reader::with_capacity(BEGINNING, file) {
        Err(error) if error.is_damage() => return Ok(None),
        reader => reader?,
    };
    let first = reader.next().and_then(Result::ok);
    Ok(first.map(|frame| FirstFrame { time: frame.time, time_base: frame.time_base() }))
}

/// Sorts the files whose first frame is known among their places. Returns true if the order has changed: sorted names
/// put `nfs.pcap10` before `nfs.pcap2`. A file whose first frame is not known is not moved.
pub fn in_order<T: Clone>(files: &mut [(T, Option<Time>)]) -> bool {
    let places: Vec<usize> =
        (0..files.len()).filter(|place| files.get(*place).is_some_and(|(_, first)| first.is_some())).collect();
    let mut known: Vec<_> = files.iter().filter(|(_, first)| first.is_some()).cloned().collect();
    if known.is_sorted_by_key(|(_, first)| *first) {
        return false;
    }
    known.sort_by_key(|(_, first)| *first);
    for (place, file) in places.into_iter().zip(known) {
        if let Some(slot) = files.get_mut(place) {
            *slot = file;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_sorted_and_streams_stay() {
        let file = |name: &'static str, first: Option<u64>| (name, first.map(Time));
        let mut files = [file("b", Some(20)), file("-", None), file("c", Some(30)), file("a", Some(10))];
        assert!(in_order(&mut files));
        assert_eq!(files.map(|(name, _)| name), ["a", "-", "b", "c"]);
        let mut files = [file("x", Some(1)), file("-", None), file("y", Some(1))];
        assert!(!in_order(&mut files));
    }
}
