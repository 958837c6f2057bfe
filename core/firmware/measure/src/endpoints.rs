//! A Requester and a Responder, and a NULL call from one to the other and back.

use core::hint::black_box;

#[cfg(feature = "endpoints")]
use rpcrdma::endpoint::{Channel, Versions};
use rpcrdma::endpoint::{Limits, Requester, Responder, Terms, Version, requester, responder};
#[cfg(feature = "endpoints")]
use rpcrdma::v2::Properties;

/// Octets of the head of a Call, and of a Reply.
const CALL: usize = 40;
const REPLY: usize = 24;

/// The two ends, at most eight calls at a time.
pub(crate) struct Entry {
    requester: Requester<8, 16>,
    responder: Responder<8, 1024, 2>,
    #[cfg(feature = "endpoints")]
    channel: Channel,
    xid: u32,
}

impl Entry {
    pub(crate) fn new(_: usize) -> Self {
        let terms = Terms { version: version(), ..Terms::default() };
        Self {
            requester: Requester::new(terms, 8, 65_536),
            responder: Responder::new(terms, Limits::default()),
            #[cfg(feature = "endpoints")]
            channel: Channel::client(Versions::ONE, Properties::DEFAULT),
            xid: 0,
        }
    }

    #[inline(never)]
    pub(crate) fn run(&mut self, _: &[u8], buffer: &mut [u8]) {
        self.xid = self.xid.wrapping_add(1);
        if self.exchange(buffer).is_none() {
            super::failed();
        }
        if black_box(false) {
            self.whatever(buffer);
        }
    }

    /// Makes one call and copies the Call and the reply from the buffer of one end to the buffer of the other.
    fn exchange(&mut self, buffer: &mut [u8]) -> Option<()> {
        let (there, back) = buffer.split_at_mut_checked(1024)?;
        let mut head = [0; CALL];
        (head[11], head[13], head[14], head[15], head[19]) = (2, 1, 0x86, 0xa3, 3);
        head.first_chunk_mut::<4>()?.copy_from_slice(&self.xid.to_be_bytes());
        let call = requester::Call {
            head: &head,
            length: CALL as u32,
            arguments: &[],
            results: &[],
            reply_length: REPLY as u32,
            largest_capacity: 0,
        };
        self.requester.call(&call).ok()?;
        let requester::Output::Send { call, header, .. } = self.requester.poll(there).ok()?? else { return None };
        there.get_mut(header..)?.first_chunk_mut::<CALL>()?.copy_from_slice(&head);
        self.serve(there.get(..header + CALL)?, back)?;
        self.requester.handle(requester::Input::Sent { call }).ok()?;
        let reply = back.get(..28 + REPLY)?;
        self.requester.handle(requester::Input::Received { receive: 1, octets: reply, invalidated: None }).ok()?;
        while let Some(output) = self.requester.poll(there).ok()? {
            black_box(output);
        }
        Some(())
    }

    fn serve(&mut self, send: &[u8], back: &mut [u8]) -> Option<()> {
        self.responder.handle(responder::Input::Received { receive: 1, octets: send }).ok()?;
        let mut head = [0; REPLY];
        head.first_chunk_mut::<4>()?.copy_from_slice(&self.xid.to_be_bytes());
        head[7] = 1;
        while let Some(output) = self.responder.poll(back).ok()? {
            match output {
                responder::Output::Deliver { call, .. } => {
                    let reply = responder::Reply { head: &head, length: REPLY as u32, results: &[], protected: false };
                    black_box(self.responder.reply(call, &reply)).ok()?;
                }
                responder::Output::Send { header, .. } => {
                    back.get_mut(header..)?.first_chunk_mut::<REPLY>()?.copy_from_slice(&head);
                }
                other => drop(black_box(other)),
            }
        }
        Some(())
    }

    /// Calls the other functions that a driver uses, so that the program contains them.
    #[inline(never)]
    fn whatever(&mut self, buffer: &mut [u8]) {
        let call = black_box(None);
        if let Some(call) = call {
            let _ = black_box(self.requester.cancel(call));
            let _ = black_box(self.responder.refuse(call));
            black_box(self.responder.padding(call).count());
        }
        let _ = black_box(self.requester.handle(black_box(requester::Input::Disconnected)));
        let _ = black_box(self.responder.handle(black_box(responder::Input::Disconnected)));
        #[cfg(feature = "endpoints")]
        {
            self.requester.permit(self.channel.available(black_box(5)));
            self.responder.permit(self.channel.available(black_box(5)));
            let _ = black_box(self.channel.received(buffer));
            let _ = black_box(self.channel.poll(black_box(5), buffer));
            self.channel.send(black_box(5), buffer);
            black_box(self.channel.terms(true));
        }
        black_box(buffer);
    }
}

/// Version 1, which the compiler knows only if the program has no other.
fn version() -> Version {
    if cfg!(feature = "endpoints") { black_box(Version::One) } else { Version::One }
}
