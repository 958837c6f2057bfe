//! The end that is called: a Responder, and the unanswered calls.

use heapless::Vec;
use rpcrdma::endpoint::responder::{self, CallMessage};
use rpcrdma::endpoint::{CallId, Channel, Limits, Responder, Terms, Version, Versions};

use crate::client::{CALLS, PROPERTIES};
use crate::random::Random;
use crate::receives::Receives;
use crate::stream::{MOST, Stream};

pub(crate) struct Server {
    pub(crate) responder: Responder<CALLS, 1024, 2>,
    pub(crate) channel: Channel,
    pub(crate) receives: Receives,
    /// Calls, as assembled so far.
    assembled: [[u8; MOST]; CALLS],
    pub(crate) replies: [Stream; CALLS],
    /// Calls that the upper layer has not answered.
    delivered: Vec<CallId, CALLS>,
}

impl Server {
    pub(crate) fn new(version: Version) -> Self {
        let limits = Limits::new().with_chunks(2, 2).with_segments(16).with_octets(20_000).with_collected(MOST as u32);
        let mut responder = Responder::new(Terms { remote_invalidation: true, ..Terms::default() }, limits);
        responder.limit_reads(3);
        responder.limit_transfers(500);
        Self {
            responder,
            channel: Channel::server(Versions::from(version), PROPERTIES),
            receives: Receives::new(),
            assembled: [[0; MOST]; CALLS],
            replies: [const { Stream::EMPTY }; CALLS],
            delivered: Vec::new(),
        }
    }

    /// Messages that can be received, besides an asynchronous grant. An answer frees the Receive of the call.
    pub(crate) fn room(&self, answers: u32) -> u32 {
        (self.receives.posted() + answers).saturating_sub(1 + self.responder.occupied().max(answers))
    }

    /// Copies a part of a call to the memory in which the call is assembled; `None` if the call is too long.
    pub(crate) fn place(&mut self, call: CallId, at: u32, octets: &[u8]) -> Option<()> {
        let memory = &mut self.assembled[call.index()];
        for padding in self.responder.padding(call) {
            memory.get_mut(padding.start as usize..padding.end as usize)?.fill(0);
        }
        memory.get_mut(at as usize..)?.get_mut(..octets.len())?.copy_from_slice(octets);
        Some(())
    }

    /// The same with octets of a Receive.
    pub(crate) fn place_received(
        &mut self,
        call: CallId,
        receive: u32,
        from: usize,
        length: u32,
        at: u32,
    ) -> Option<()> {
        let mut octets = [0; MOST];
        let octets = octets.get_mut(..length as usize)?;
        octets.copy_from_slice(self.receives.octets(receive).get(from..)?.get(..length as usize)?);
        self.place(call, at, octets)
    }

    /// Hands a call to the upper layer. Returns false if the call differs from the one that the other end has sent.
    pub(crate) fn deliver(&mut self, call: CallId, message: CallMessage) -> bool {
        let came = match message {
            CallMessage::Inline { receive, from, length } => {
                &self.receives.octets(receive)[from..from + length as usize]
            }
            CallMessage::Assembled { length } => &self.assembled[call.index()][..length as usize],
        };
        let is_right = self.responder.xid(call).is_some_and(|xid| came == Stream::call(xid).octets());
        self.delivered.push(call).is_ok() && is_right
    }

    /// Answers or refuses one of the calls.
    pub(crate) fn answer(
        &mut self,
        random: &mut Random,
    ) -> Option<Result<responder::ReplyForm, responder::ReplyFault>> {
        let count = u32::try_from(self.delivered.len()).ok().filter(|count| *count > 0)?;
        let call = self.delivered.swap_remove(random.below(count) as usize);
        if random.once_in(30) {
            return Some(self.responder.refuse(call).map(|()| responder::ReplyForm::Refused));
        }
        let stream = &mut self.replies[call.index()];
        *stream = Stream::reply(self.responder.xid(call)?);
        let results = [stream.item()];
        let reply =
            responder::Reply { head: stream.head(), length: stream.length(), results: &results, protected: false };
        Some(self.responder.reply(call, &reply))
    }
}
