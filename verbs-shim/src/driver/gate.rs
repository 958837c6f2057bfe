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

    /// How many calls may be sent, with this many Receives less, if this end owes that many replies to the other one, and
    /// waits for so many; none if it is not version 2 that is spoken: version 1 counts calls instead.
    pub(super) fn permitted_calls(&self, occupied: u32, owed: Option<u32>, awaited: u32) -> Option<u32> {
        let room = self.room.saturating_sub(occupied);
        self.is_version_2().then(|| match owed {
            Some(owed) => self.channel.available_for_calls(room, owed, awaited),
            None => self.channel.available(room),
        })
    }

    /// How many replies may be sent, likewise.
    pub(super) fn permitted_replies(&self, occupied: u32) -> Option<u32> {
        let room = self.room.saturating_sub(occupied);
        self.is_version_2().then(|| self.channel.available_for_replies(room))
    }

    const fn is_version_2(&self) -> bool {
        matches!(self.channel.negotiation(), Negotiation::Agreed(Version::Two(_)))
    }

    /// A message is sent: writes its credits into its header.
    pub(super) fn pass(&mut self, occupied: u32, header: &mut [u8]) {
        self.channel.send(self.room.saturating_sub(occupied), header);
    }
}
