//! A stream that another thread reads, for systems that cannot wait for a stream and something else at once.

use std::io::{self, Cursor, ErrorKind, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

#[cfg(not(unix))]
use crate::interrupt::Interrupt;

/// Octets that are read at a time.
const PART: usize = 1 << 16;
/// Parts that may wait to be taken.
const WAITING: usize = 4;
/// Time after which the end of reading is noticed: shorter than anybody at a keyboard notices.
const NOTICED: Duration = Duration::from_millis(50);

pub(crate) struct LiveStream {
    parts: Receiver<io::Result<Vec<u8>>>,
    /// Part that is being taken.
    part: Cursor<Vec<u8>>,
    /// Error to be told, after which there is no part.
    error: Option<io::Error>,
}

impl LiveStream {
    pub(crate) fn new(stream: impl Read + Send + 'static) -> Self {
        let (sender, parts) = sync_channel(WAITING);
        // It ends with the stream, or with the program.
        thread::spawn(move || read_parts(stream, &sender));
        Self { parts, part: Cursor::default(), error: None }
    }

    /// Waits until there is something to read, or reading has to end.
    #[cfg(not(unix))]
    pub(crate) fn wait(&mut self, interrupt: &Interrupt) -> io::Result<()> {
        self.wait_unless(|| interrupt.is_raised());
        Ok(())
    }

    fn wait_unless(&mut self, is_over: impl Fn() -> bool) {
        while self.is_empty() && !is_over() {
            match self.parts.recv_timeout(NOTICED) {
                Ok(part) => self.take_part(part),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.error.is_none() && self.part.position() == self.part.get_ref().len() as u64
    }

    fn take_part(&mut self, part: io::Result<Vec<u8>>) {
        match part {
            Ok(part) => self.part = Cursor::new(part),
            Err(error) => self.error = Some(error),
        }
    }
}

impl Read for LiveStream {
    fn read(&mut self, octets: &mut [u8]) -> io::Result<usize> {
        if self.is_empty()
            && let Ok(part) = self.parts.recv()
        {
            self.take_part(part);
        }
        match self.error.take() {
            Some(error) => Err(error),
            None => self.part.read(octets),
        }
    }
}

/// Reads until the stream ends, or nobody takes what is read.
fn read_parts(mut stream: impl Read, sender: &SyncSender<io::Result<Vec<u8>>>) {
    loop {
        let mut part = vec![0; PART];
        let read = match stream.read(&mut part) {
            Ok(0) => return,
            Ok(read) => Ok(read),
            // The other end of a pipe was closed: Windows says that this is an error.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let is_last = read.is_err();
        let part = read.map(|read| {
            part.truncate(read);
            part
        });
        if sender.send(part).is_err() || is_last {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    /// A stream fed by a channel: a reader waits for the next message.
    struct Sent(Receiver<io::Result<Vec<u8>>>);

    impl Read for Sent {
        fn read(&mut self, octets: &mut [u8]) -> io::Result<usize> {
            match self.0.recv() {
                Ok(part) => part.map(|part| (&part[..]).read(octets).unwrap()),
                Err(_) => Ok(0),
            }
        }
    }

    fn stream() -> (Sender<io::Result<Vec<u8>>>, LiveStream) {
        let (sender, receiver) = channel();
        (sender, LiveStream::new(Sent(receiver)))
    }

    #[test]
    fn what_was_sent_is_read_to_its_end() {
        let (sender, mut live) = stream();
        let parts: Vec<Vec<u8>> = (0..100_u8).map(|value| vec![value; usize::from(value) + 1]).collect();
        let expected = parts.concat();
        parts.into_iter().for_each(|part| sender.send(Ok(part)).unwrap());
        drop(sender);
        let mut read = Vec::new();
        let mut octets = [0; 7];
        loop {
            live.wait_unless(|| false);
            match live.read(&mut octets).unwrap() {
                0 => break,
                count => read.extend_from_slice(&octets[..count]),
            }
        }
        assert_eq!(read, expected);
    }

    #[test]
    fn waiting_ends_though_nothing_comes() {
        let (sender, mut live) = stream();
        let asked = std::cell::Cell::new(0);
        live.wait_unless(|| asked.replace(asked.get() + 1) == 2);
        assert_eq!(asked.get(), 3);
        // Octets that come later are not lost.
        sender.send(Ok(vec![7])).unwrap();
        live.wait_unless(|| false);
        let mut octets = [0; 2];
        assert_eq!((live.read(&mut octets).unwrap(), octets[0]), (1, 7));
    }

    #[test]
    fn errors_follow_earlier_octets_and_a_broken_pipe_ends_input() {
        for (kind, told) in [(ErrorKind::BrokenPipe, None), (ErrorKind::Other, Some(ErrorKind::Other))] {
            let (sender, mut live) = stream();
            sender.send(Ok(vec![1, 2])).unwrap();
            sender.send(Err(kind.into())).unwrap();
            let mut read = Vec::new();
            assert_eq!(live.read_to_end(&mut read).err().map(|error| error.kind()), told);
            assert_eq!(read, [1, 2]);
        }
    }
}
