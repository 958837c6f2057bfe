//! Copying from the server: READs (RFC 7530 section 16.23) into Write chunks.

use std::collections::VecDeque;
use std::io::Write;

use rpcrdma_verbs::{Call, Provider};

use super::compound::{Compound, READ, StateId};
use super::{Error, MOST_DATA, Nfs4, ServerFile, Transfer};

/// Result of a READ.
struct Data {
    call: Call,
    eof: bool,
}

impl<V: Provider> Nfs4<V> {
    /// Reads a whole file, and writes the octets to `sink` in order, directly from the registered buffers.
    pub(crate) fn read(&self, file: &ServerFile, sink: &mut impl Write) -> Result<u64, Error> {
        if file.attributes.kind != Some(1) {
            return Err(Error::NotAFile(file.attributes.kind_name()));
        }
        let mut flights = VecDeque::new();
        let done = self.read_all(file, sink, &mut flights);
        self.abandon(&done, &mut flights);
        done
    }

    fn read_all(
        &self,
        file: &ServerFile,
        sink: &mut impl Write,
        flights: &mut VecDeque<Transfer<V>>,
    ) -> Result<u64, Error> {
        /// Requested after the expected end, to read what has been added meanwhile.
        const BEHIND_THE_END: u64 = 4096;
        let size = file.attributes.size.unwrap_or(0);
        let most = file.attributes.max_read.unwrap_or(MOST_DATA).clamp(1, MOST_DATA);
        let mut spare = Vec::new();
        let (mut next, mut at) = (0, 0);
        loop {
            // The last READ reports the end of the file, so there is one even for an empty file.
            while flights.len() < self.depth && (next < size || flights.is_empty()) {
                let count = if next < size { most.min(size - next) } else { most.min(BEHIND_THE_END) };
                flights.push_back(self.start_read(
                    file,
                    next,
                    count as u32,
                    spare.pop().unwrap_or_else(|| self.call()),
                )?);
                next += count;
            }
            let Some(transfer) = flights.pop_front() else { return Ok(at) };
            let end = transfer.offset + u64::from(transfer.count);
            let mut data = self.end_read(transfer)?;
            loop {
                sink.write_all(data.call.result(0))?;
                at += data.call.result(0).len() as u64;
                if data.eof || at == end {
                    break;
                }
                // The server returned less than was requested; a later READ may be in flight already.
                let rest = self.start_read(file, at, (end - at) as u32, data.call)?;
                data = self.end_read(rest)?;
            }
            if data.eof {
                return if at < size { Err(Error::Short { read: at, of: size }) } else { Ok(at) };
            }
            spare.push(data.call);
        }
    }

    fn start_read(&self, file: &ServerFile, offset: u64, count: u32, mut call: Call) -> Result<Transfer<V>, Error> {
        let rooms = call.result_buffers();
        rooms.resize_with(1, Vec::new);
        for room in rooms {
            room.resize(count as usize, 0);
        }
        let mut compound = Compound::from_handle(&file.handle);
        compound.read(StateId::ANONYMOUS, offset, count);
        Ok(Transfer { flight: self.start(compound, call), offset, count })
    }

    fn end_read(&self, transfer: Transfer<V>) -> Result<Data, Error> {
        let compound = transfer.flight.compound.clone();
        let call = self.land(transfer.flight)?;
        let mut results = compound.results(&call)?;
        let reader = results.results_of(READ)?;
        let (eof, at, count) = (reader.u32()? != 0, reader.offset(), reader.u32()?);
        if count as usize != call.result(0).len() {
            return Err(Error::Results(at));
        }
        if count == 0 && !eof {
            return Err(Error::NoProgress("READ"));
        }
        Ok(Data { call, eof })
    }
}
