//! Flow control for the Sends of a connection.

use rpcrdma::endpoint::Channel;
use rpcrdma::endpoint::Version;
use rpcrdma::endpoint::channel::Negotiation;

/// Limits the Sends of the Requester and the Responder to the credits of version 2.
pub(super) struct FlowControl<'a> {
    channel: &'a mut Channel,
    /// Number of messages that this end can receive.
    receivable: u32,
}

impl<'a> FlowControl<'a> {
    pub(super) const fn new(channel: &'a mut Channel, receivable: u32) -> Self {
        Self { channel, receivable }
    }

    /// Number of calls that may be sent now. `occupied`: Receives in use. `owed`: replies that this end still has to
    /// send; `None` if this end answers no calls. `awaited`: replies that this end still expects. Returns `None` in
    /// version 1, which counts calls.
    pub(super) fn permitted_calls(&self, occupied: u32, owed: Option<u32>, awaited: u32) -> Option<u32> {
        let receivable = self.receivable.saturating_sub(occupied);
        self.is_version_2().then(|| match owed {
            Some(owed) => self.channel.available_for_calls(receivable, owed, awaited),
            None => self.channel.available(receivable),
        })
    }

    /// Number of replies that may be sent now. Returns `None` in version 1.
    pub(super) fn permitted_replies(&self, occupied: u32) -> Option<u32> {
        let receivable = self.receivable.saturating_sub(occupied);
        self.is_version_2().then(|| self.channel.available_for_replies(receivable))
    }

    /// Returns true if the connection speaks version 1.
    pub(super) fn is_version_1(&self) -> bool {
        self.channel.negotiation() == Negotiation::Agreed(Version::One)
    }

    const fn is_version_2(&self) -> bool {
        matches!(self.channel.negotiation(), Negotiation::Agreed(Version::Two(_)))
    }

    /// Counts a message to send, and writes the credits into the header.
    pub(super) fn write_credits(&mut self, occupied: u32, header: &mut [u8]) {
        self.channel.send(self.receivable.saturating_sub(occupied), header);
    }
}
