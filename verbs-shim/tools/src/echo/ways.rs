//! Ways of moving the data: the arguments of a call, and the check of the results.

use std::fmt;

use rpcrdma_verbs::{Call, Stream};

use super::wrong::Wrong;
use crate::xdr::{opaque, padding, word};

/// The data of one call: `octets` are the pattern for `seed`.
#[derive(Clone, Copy)]
pub(super) struct EchoData {
    pub(super) seed: u16,
    pub(super) octets: &'static [u8],
}

impl EchoData {
    /// Appends the argument of TAKE without the data itself.
    fn push_argument(self, filler: u32, message: &mut Stream) {
        message.push(&filler.to_be_bytes());
        message.push_zeros(filler as usize);
        message.push(&self.length().to_be_bytes());
    }

    /// Appends the argument of GIVE.
    fn want(self, filler: u32, message: &mut Stream) {
        [u32::from(self.seed), self.length(), filler].iter().for_each(|word| message.push(&word.to_be_bytes()));
    }

    /// Appends the data to the Payload stream, not as a data item.
    fn push(self, message: &mut Stream) {
        message.push(self.octets);
        message.push(padding(self.octets.len()));
    }

    /// Compares the received data.
    fn compare(self, come: &[u8]) -> Result<(), Wrong> {
        if come == self.octets {
            return Ok(());
        }
        match come.iter().zip(self.octets).position(|(come, sent)| come != sent) {
            Some(at) => Err(Wrong::Octet(at)),
            None => Err(Wrong::Length(u32::try_from(come.len()).unwrap_or(u32::MAX))),
        }
    }

    fn check_length(self, length: u32) -> Result<(), Wrong> {
        if length == self.length() { Ok(()) } else { Err(Wrong::Length(length)) }
    }

    /// Length of the data; `MAX_LENGTH` fits in a word.
    fn length(self) -> u32 {
        self.octets.len() as u32
    }

    /// Length with padding.
    fn padded(self) -> u32 {
        self.length().next_multiple_of(4)
    }
}

/// Results, read one after the other.
pub(super) struct EchoResults<'a> {
    length: usize,
    rest: &'a [u8],
}

impl<'a> EchoResults<'a> {
    pub(super) const fn new(octets: &'a [u8]) -> Self {
        Self { length: octets.len(), rest: octets }
    }

    fn word(&mut self) -> Result<u32, Wrong> {
        word(&mut self.rest).ok_or(Wrong::Results(self.length))
    }

    fn opaque(&mut self) -> Result<&'a [u8], Wrong> {
        opaque(&mut self.rest).ok_or(Wrong::Results(self.length))
    }

    /// Reads a filler of this length.
    fn filler(&mut self, octets: u32) -> Result<(), Wrong> {
        if self.opaque()?.len() == octets as usize { Ok(()) } else { Err(Wrong::Results(self.length)) }
    }

    /// Reads the results of TAKE.
    fn summary(&mut self, data: EchoData) -> Result<(), Wrong> {
        let (length, crc) = (self.word()?, self.word()?);
        data.check_length(length)?;
        if crc == crc32fast::hash(data.octets) { Ok(()) } else { Err(Wrong::Checksum(crc)) }
    }

    pub(super) const fn check_end(&self) -> Result<(), Wrong> {
        if self.rest.is_empty() { Ok(()) } else { Err(Wrong::Results(self.length)) }
    }
}

/// A way in which the data of a call travels, or NULL without data.
pub(super) trait Way: fmt::Debug + Send + Sync {
    /// Appends the arguments to a call whose message has none. Returns the length of the results in their Payload
    /// stream.
    fn arguments(&self, data: EchoData, call: &mut Call) -> u32;

    /// Reads the results of the call, and compares the results with the data.
    ///
    /// # Errors
    /// The difference that was found.
    fn check(&self, data: EchoData, call: &Call, results: &mut EchoResults<'_>) -> Result<(), Wrong>;
}

/// NULL: no data.
#[derive(Debug)]
pub(super) struct Null;

impl Way for Null {
    fn arguments(&self, _: EchoData, _: &mut Call) -> u32 {
        0
    }

    fn check(&self, _: EchoData, _: &Call, _: &mut EchoResults<'_>) -> Result<(), Wrong> {
        Ok(())
    }
}

/// In the Sends, there and back.
#[derive(Debug)]
pub(super) struct Inline;

impl Way for Inline {
    fn arguments(&self, data: EchoData, call: &mut Call) -> u32 {
        let message = call.message();
        message.push(&data.length().to_be_bytes());
        data.push(message);
        4 + data.padded()
    }

    fn check(&self, data: EchoData, _: &Call, results: &mut EchoResults<'_>) -> Result<(), Wrong> {
        data.compare(results.opaque()?)
    }
}

/// To the server in a Read chunk.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) filler: u32,
}

impl Way for Read {
    fn arguments(&self, data: EchoData, call: &mut Call) -> u32 {
        data.push_argument(self.filler, call.message());
        call.message().push_copy(data.octets);
        8
    }

    fn check(&self, data: EchoData, _: &Call, results: &mut EchoResults<'_>) -> Result<(), Wrong> {
        results.summary(data)
    }
}

/// To the server with the whole Call in a Position Zero chunk.
#[derive(Debug)]
pub(super) struct PositionZero {
    pub(super) filler: u32,
}

impl Way for PositionZero {
    fn arguments(&self, data: EchoData, call: &mut Call) -> u32 {
        data.push_argument(self.filler, call.message());
        data.push(call.message());
        8
    }

    fn check(&self, data: EchoData, _: &Call, results: &mut EchoResults<'_>) -> Result<(), Wrong> {
        results.summary(data)
    }
}

/// To the client in a Write chunk.
#[derive(Debug)]
pub(super) struct Write;

impl Way for Write {
    fn arguments(&self, data: EchoData, call: &mut Call) -> u32 {
        data.want(0, call.message());
        // The connection has the buffers of a call that was given up.
        call.result_buffers().resize_with(1, || vec![0; data.octets.len()]);
        8
    }

    fn check(&self, data: EchoData, call: &Call, results: &mut EchoResults<'_>) -> Result<(), Wrong> {
        results.filler(0)?;
        data.check_length(results.word()?)?;
        data.compare(call.result(0))
    }
}

/// To the client with the whole reply in a Reply chunk.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) filler: u32,
}

impl Way for Reply {
    fn arguments(&self, data: EchoData, call: &mut Call) -> u32 {
        data.want(self.filler, call.message());
        8 + self.filler + data.padded()
    }

    fn check(&self, data: EchoData, _: &Call, results: &mut EchoResults<'_>) -> Result<(), Wrong> {
        results.filler(self.filler)?;
        data.compare(results.opaque()?)
    }
}
