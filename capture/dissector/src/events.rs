//! From a file to events: the iterators for other programs.

use std::io::Read;

use crate::dissector::{Config, Dissector, Summary};
use crate::event::Event;
use crate::file::{Capture, FileError};
use crate::rpc::message::Message;
use crate::rpc::transaction::Transaction;
use crate::witness::SecondWitness;

/// All events of a capture, each given once known.
///
/// A damaged file yields an error at the damage, after all events before the damage. Whatever can be read after the
/// damage follows.
///
/// ```
/// use rpcrdma_dissector::{Capture, Config, Events};
///
/// let capture = Capture::from_paths(["examples/nfs.pcap"]);
/// for transaction in Events::new(capture, Config::default()).transactions() {
///     let transaction = transaction?;
///     if let (Some(name), Some(latency)) = (transaction.name, transaction.latency()) {
///         println!("{name} {} us", latency / 1000);
///     }
/// }
/// # Ok::<(), rpcrdma_dissector::FileError>(())
/// ```
pub struct Events {
    capture: Capture,
    dissector: Dissector,
    second: Option<Box<SecondWitness>>,
    ended: bool,
}

impl Events {
    /// The events of `capture`.
    #[must_use]
    pub fn new(capture: Capture, config: Config) -> Self {
        Self { capture, dissector: Dissector::new(config), second: None, ended: false }
    }

    /// The same with a second capture of the same packets, which [`recognise`](crate::recognise) has recognised: RPCs, connections and
    /// the summary have what both captures show.
    #[must_use]
    pub fn with_second(self, second: SecondWitness) -> Self {
        Self { second: Some(Box::new(second)), ..self }
    }

    /// The events of one stream that holds a capture file.
    #[must_use]
    pub fn from_stream(stream: impl Read + Send + 'static, config: Config) -> Self {
        Self::new(Capture::from_streams([("stream".to_owned(), Box::new(stream) as Box<dyn Read + Send>)]), config)
    }

    /// Only the messages.
    pub fn messages(self) -> impl Iterator<Item = Result<Message, FileError>> {
        self.filter_map(|event| match event {
            Ok(Event::Message(message)) => Some(Ok(message)),
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        })
    }

    /// Only the transactions.
    pub fn transactions(self) -> impl Iterator<Item = Result<Transaction, FileError>> {
        self.filter_map(|event| match event {
            Ok(Event::Transaction(transaction)) => Some(Ok(*transaction)),
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        })
    }

    /// Counts of the frames so far.
    #[must_use]
    pub const fn summary(&self) -> &Summary {
        self.dissector.summary()
    }

    /// Octets of the current file that were read: see [`Capture::offset`].
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.capture.offset()
    }
}

impl Iterator for Events {
    type Item = Result<Event, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(mut event) = self.dissector.event() {
                self.second.iter_mut().for_each(|second| second.relate(&mut event));
                return Some(Ok(event));
            }
            if let Some(lost) = self.second.as_mut().and_then(|second| second.next_loss()) {
                return Some(Ok(Event::LostBetween(lost)));
            }
            if self.ended {
                let summary = self.second.as_ref().map(|second| second.summary());
                summary.into_iter().for_each(|summary| self.dissector.take_witness(summary));
                return self.second.as_mut().and_then(|second| second.take_error()).map(Err);
            }
            match self.capture.next() {
                Some(Ok(frame)) => {
                    self.second.iter_mut().for_each(|second| second.frame(&frame));
                    self.dissector.frame(&frame);
                }
                Some(Err(error)) => return Some(Err(error)),
                None => {
                    self.ended = true;
                    self.second.iter_mut().for_each(|second| second.finish());
                    self.dissector.finish();
                    self.dissector.take_clock_steps(self.capture.clock_steps());
                }
            }
        }
    }
}

impl core::fmt::Debug for Events {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Events").field("file", &self.capture.file()).field("offset", &self.capture.offset()).finish()
    }
}
