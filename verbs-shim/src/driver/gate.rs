//! Where the Sends of a connection pass that credits are counted for.

use rpcrdma::endpoint::Channel;
use rpcrdma::endpoint::Version;
use rpcrdma::endpoint::channel::Negotiation;

/// What the Requester and the Responder may send at the moment.
pub(super) struct Gate<'a> {
    channel: &'a mut Channel,
    /// How many messages this end can receive.
    room: u32,
}

impl<'a> Gate<'a> {
    pub(super) const fn new(channel: &'a mut Channel, room: u32) -> Self {
        Self { channel, room }
    }

    /// How many messages may be sent, with this many Receives less; none if it is not version 2 that is spoken: version 1
    /// counts calls instead.
    pub(super) fn permitted(&self, occupied: u32) -> Option<u32> {
        match self.channel.negotiation() {
            Negotiation::Agreed(Version::Two(_)) => Some(self.channel.available(self.room.saturating_sub(occupied))),
            _ => None,
        }
    }

    /// A message is sent: writes its credits into its header.
    pub(super) fn pass(&mut self, occupied: u32, header: &mut [u8]) {
        self.channel.send(self.room.saturating_sub(occupied), header);
    }
}
