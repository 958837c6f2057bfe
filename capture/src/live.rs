//! A stream that may make a reader wait, such as a pipe from a running capture.
//!
//! On Unix, one call waits for input and for the end of reading. Elsewhere no safe function does that, so another thread reads,
//! and who waits for it looks from time to time whether reading has to end.

#[cfg(not(unix))]
mod threaded;

#[cfg(not(unix))]
pub(crate) use threaded::LiveStream;
#[cfg(unix)]
pub(crate) use waiting::LiveStream;

#[cfg(unix)]
mod waiting {
    use std::fs::File;
    use std::io::{self, Read};

    use crate::interrupt::Interrupt;

    pub(crate) struct LiveStream(File);

    impl LiveStream {
        pub(crate) fn new(file: File) -> Self {
            Self(file)
        }

        /// Waits until there is something to read, or reading has to end.
        pub(crate) fn wait(&mut self, interrupt: &Interrupt) -> io::Result<()> {
            interrupt.wait(&self.0)
        }
    }

    impl Read for LiveStream {
        fn read(&mut self, octets: &mut [u8]) -> io::Result<usize> {
            self.0.read(octets)
        }
    }
}
