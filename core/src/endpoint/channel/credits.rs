//! Flow control of version 2 (version two draft -01, "Flow Control"; -07 section 4.2.1).
//!
//! Every message uses a credit, in each direction. Both formats count the same; only the word on the wire differs:
//!
//! ```text
//!                         sent <= permitted                received <= granted
//! family A                permitted += low 16 bits         low 16 bits = what granted has grown by, never 0
//! family B                permitted = the word             the word = granted
//! ```
//!
//! In family B `granted` is what was received, and what can be received besides. In family A no message may grant 0, so
//! each message takes a Receive that was not granted yet, and half of the Receives are kept for that. `v2/README.md`
//! says where the drafts contradict each other.

use crate::v2::family_a::HeaderFlags;
use crate::v2::{Credit, Family, HeaderV2};

/// Credits of one end.
#[derive(Clone, Copy, Debug)]
pub(super) struct MessageCredits {
    family: Family,
    /// Number of messages sent.
    sent: u32,
    /// Number of messages that the peer permits to be sent, including messages already sent.
    permitted: u32,
    /// Number of messages received.
    received: u32,
    /// Number of messages that the peer may send, including messages already received.
    granted: u32,
    /// Number of messages about RPCs received since the last message was sent.
    unreported: u32,
    /// Number of asynchronous grants received since the last message was sent.
    unanswered: u32,
    /// In family A: parts of continued messages whose sender may have nothing left to grant, and has received nothing
    /// in return.
    owed: u32,
    /// In family A: maximum number of unused credits that the peer can have granted. 0 if the peer announces no
    /// maximum.
    most_of_peer: u32,
}

/// Kinds of received messages that matter to credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CountedMessage {
    /// Grants credits, and does nothing else.
    Grant,
    /// In family A: a part of a continued message that is not the last.
    Middle,
    Other,
}

impl CountedMessage {
    pub(super) fn from_header(header: &HeaderV2<'_>) -> Self {
        match header {
            _ if header.is_grant() => Self::Grant,
            HeaderV2::A(header) if header.flags.contains(HeaderFlags::MORE) => Self::Middle,
            _ => Self::Other,
        }
    }
}

/// The peer has sent more messages than permitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exceeded;

impl MessageCredits {
    /// Creates the credits of a client, which may begin with one message. A server of family A waits for credits; one
    /// of family B may begin with one message too.
    pub(super) const fn client(family: Family) -> Self {
        let granted = Self::of_server(family);
        Self {
            family,
            sent: 0,
            permitted: 1,
            received: 0,
            granted,
            unreported: 0,
            unanswered: 0,
            owed: 0,
            most_of_peer: 0,
        }
    }

    /// Creates the credits of a server, the other end of [`Self::client`].
    pub(super) const fn server(family: Family) -> Self {
        let permitted = Self::of_server(family);
        Self {
            family,
            sent: 0,
            permitted,
            received: 0,
            granted: 1,
            unreported: 0,
            unanswered: 0,
            owed: 0,
            most_of_peer: 0,
        }
    }

    const fn of_server(family: Family) -> u32 {
        match family {
            Family::A => 0,
            Family::B => 1,
        }
    }

    /// Returns the number of messages that may be sent now, if `receives` more can be received. In family A each has to
    /// grant something.
    pub(super) fn available(&self, receives: u32) -> u32 {
        let permitted = u32::try_from(self.ahead()).unwrap_or(0);
        match self.family {
            Family::A => permitted.min(self.news(receives)),
            Family::B => permitted,
        }
    }

    /// Returns the number of Calls that may be sent now. `owed_replies`: Replies that this end still has to send.
    /// `awaited`: Replies that this end still expects.
    pub(super) fn available_for_calls(&self, receives: u32, owed_replies: u32, awaited: u32) -> u32 {
        // A peer that can receive just one message is called, too, while it cannot be waiting for anything.
        let kept = if owed_replies == 0 && awaited == 0 { 0 } else { owed_replies.max(1) };
        self.available(receives).saturating_sub(kept)
    }

    /// Returns true if an asynchronous grant is due: half of the receivable messages have come since the last message
    /// to the peer, or the peer may send no more; and there is something to grant. The peer keeps a Receive for one
    /// such message that is not permitted otherwise. Two ends cannot exchange grants for ever: a grant always leaves
    /// the peer something.
    ///
    /// In family A the parts of a long message can use up everything that the sender has to grant, because each part
    /// has to grant something, and only used credits can be granted again. So each part that granted the minimum is
    /// answered by a grant.
    ///
    /// The same happens to an end of family A that sends more messages than it receives. Such an end has granted as
    /// much as announced, and cannot use its own credits. Any message helps, even if the last message of that end was a
    /// grant, unless this end would then have nothing left to grant: that grant might have been the last one the peer
    /// had. A grant never uses this end's last credit: a peer with a single Receive would answer by a grant, and so on
    /// for ever.
    pub(super) fn is_grant_due(&self, receives: u32) -> bool {
        let is_half = self.unreported.saturating_mul(2) >= receives;
        let is_out = self.granted.wrapping_sub(self.received).cast_signed() <= 0;
        let is_full =
            self.most_of_peer > 0 && self.ahead() > 1 && i64::from(self.ahead()) >= i64::from(self.most_of_peer);
        let is_stuck = is_full && (self.unreported > 0 || self.unanswered > 0 && self.news(receives) > 1);
        (is_half || is_out || is_stuck || self.owed > 0) && self.news(receives) > 0 && self.ahead() >= 0
    }

    /// Counts an asynchronous grant that is sent, and returns the `rdma_credit` to send.
    pub(super) fn grant(&mut self, receives: u32) -> Credit {
        self.owed = self.owed.saturating_sub(1);
        self.send(receives)
    }

    /// Counts a message that is sent, and returns the `rdma_credit` to send.
    pub(super) fn send(&mut self, receives: u32) -> Credit {
        self.sent = self.sent.wrapping_add(1);
        (self.unreported, self.unanswered) = (0, 0);
        let news = self.news(receives);
        match self.family {
            Family::A => {
                let most = u16::try_from(receives).unwrap_or(u16::MAX).max(1);
                let kept = receives.checked_div(2).unwrap_or(0);
                let granted = u16::try_from(news.saturating_sub(kept)).unwrap_or(u16::MAX).clamp(1, most);
                self.granted = self.granted.wrapping_add(u32::from(granted));
                Credit::new(granted, most)
            }
            Family::B => {
                self.granted = self.granted.wrapping_add(news);
                Credit(self.granted)
            }
        }
    }

    /// Counts a received message. One grant more than was permitted may come.
    pub(super) fn receive(&mut self, credit: Credit, message: CountedMessage) -> Result<(), Exceeded> {
        let is_grant = message == CountedMessage::Grant;
        self.count(u32::from(is_grant))?;
        self.unreported = self.unreported.saturating_add(u32::from(!is_grant));
        self.unanswered = self.unanswered.saturating_add(u32::from(is_grant));
        if self.family == Family::A {
            self.most_of_peer = u32::from(credit.maximum());
            if message == CountedMessage::Middle && credit.granted() <= 1 {
                self.owed = self.owed.saturating_add(1);
            }
        }
        self.permitted = match self.family {
            // The sum of grants must never look smaller than the number of messages sent.
            Family::A if self.ahead() > i32::MAX / 2 => self.permitted,
            Family::A => self.permitted.wrapping_add(u32::from(credit.granted())),
            Family::B => credit.limit(),
        };
        Ok(())
    }

    /// Counts a message that cannot be read.
    pub(super) fn receive_unread(&mut self) -> Result<(), Exceeded> {
        self.unreported = self.unreported.saturating_add(1);
        self.count(0)
    }

    fn count(&mut self, beyond: u32) -> Result<(), Exceeded> {
        self.received = self.received.wrapping_add(1);
        let excess = self.received.wrapping_sub(self.granted).cast_signed();
        if i64::from(excess) > i64::from(beyond) { Err(Exceeded) } else { Ok(()) }
    }

    /// Returns the number of messages permitted minus the number sent; below 0 after an asynchronous grant without a
    /// credit.
    const fn ahead(&self) -> i32 {
        self.permitted.wrapping_sub(self.sent).cast_signed()
    }

    /// Returns the number of further messages that the peer could be granted.
    fn news(&self, receives: u32) -> u32 {
        u32::try_from(self.received.wrapping_add(receives).wrapping_sub(self.granted).cast_signed()).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both() -> [(Family, MessageCredits, MessageCredits); 2] {
        [Family::A, Family::B].map(|family| (family, MessageCredits::client(family), MessageCredits::server(family)))
    }

    #[test]
    fn a_client_sends_one_message_before_the_first_grant() {
        for (family, mut client, mut server) in both() {
            assert_eq!(client.available(8), 1, "{family:?}");
            assert_eq!(server.available(8), if family == Family::A { 0 } else { 1 }, "{family:?}");
            let first = client.send(8);
            assert_eq!(first, if family == Family::A { Credit::new(4, 8) } else { Credit(8) }, "{family:?}");
            assert_eq!(client.available(8), 0, "{family:?}");
            server.receive(first, CountedMessage::Other).unwrap();
            assert_eq!(server.available(4), if family == Family::A { 4 } else { 8 }, "{family:?}");
            let second = server.send(4);
            assert_eq!(second, if family == Family::A { Credit::new(2, 4) } else { Credit(5) }, "{family:?}");
            client.receive(second, CountedMessage::Other).unwrap();
            assert_eq!(client.available(8), if family == Family::A { 2 } else { 4 }, "{family:?}");
        }
    }

    #[test]
    fn one_message_beyond_the_grant_is_refused_unless_it_grants() {
        for (family, mut client, mut server) in both() {
            server.receive(client.send(8), CountedMessage::Other).unwrap();
            // The server has not granted anything else, and has a Receive left for a grant.
            assert_eq!(server.receive(Credit(9), CountedMessage::Grant), Ok(()), "{family:?}");
            assert_eq!(server.receive(Credit(9), CountedMessage::Grant), Err(Exceeded), "{family:?}");
            let (_, mut again, mut server) = both()[usize::from(family == Family::B)];
            server.receive(again.send(8), CountedMessage::Other).unwrap();
            assert_eq!(server.receive(Credit(9), CountedMessage::Other), Err(Exceeded), "{family:?}");
        }
    }

    #[test]
    fn a_grant_is_due_after_half_of_the_last_one() {
        for (family, mut client, mut server) in both() {
            server.receive(client.send(8), CountedMessage::Other).unwrap();
            client.receive(server.send(8), CountedMessage::Other).unwrap();
            for message in 1..=4 {
                assert!(!server.is_grant_due(8), "{family:?} {message}");
                assert!(client.available(8) > 0, "{family:?} {message}");
                server.receive(client.send(8), CountedMessage::Other).unwrap();
            }
            assert!(server.is_grant_due(8), "{family:?}");
            let before = client.ahead();
            let grant = server.grant(8);
            assert!(!server.is_grant_due(8), "{family:?}");
            client.receive(grant, CountedMessage::Grant).unwrap();
            assert!(!client.is_grant_due(8), "{family:?}");
            assert_eq!(client.ahead(), before + 4, "{family:?}");
        }
    }

    #[test]
    fn a_family_a_peer_without_grants_left_gets_a_grant() {
        let (mut client, mut server) = (MessageCredits::client(Family::A), MessageCredits::server(Family::A));
        server.receive(client.send(40), CountedMessage::Other).unwrap();
        client.receive(server.send(8), CountedMessage::Other).unwrap();
        while server.available(8) > 0 {
            assert!(!client.is_grant_due(40));
            client.receive(server.send(8), CountedMessage::Other).unwrap();
        }
        assert!(client.is_grant_due(40), "the server has credits, but nothing to grant");
        server.receive(client.grant(40), CountedMessage::Grant).unwrap();
        assert_eq!(server.available(8), 1);
        assert!(!client.is_grant_due(40));
    }

    #[test]
    fn a_family_a_peer_with_one_receive_gets_no_grant() {
        let end = MessageCredits {
            permitted: 1,
            received: 4,
            granted: 8,
            unreported: 1,
            ..MessageCredits::client(Family::A)
        };
        assert!(!MessageCredits { most_of_peer: 1, ..end }.is_grant_due(40), "this would use the last credit");
        assert!(MessageCredits { most_of_peer: 2, permitted: 2, ..end }.is_grant_due(40));
    }

    /// The client believed that the server, with few Receives then, had granted all that was possible, and sent the
    /// server a grant.
    #[test]
    fn an_asynchronous_last_grant_of_family_a_is_answered() {
        let (client, server) = (MessageCredits::client(Family::A), MessageCredits::server(Family::A));
        let mut client = MessageCredits { sent: 9, permitted: 11, received: 8, granted: 13, ..client };
        let mut server = MessageCredits { sent: 8, permitted: 13, received: 9, granted: 11, ..server };
        server.receive(client.grant(6), CountedMessage::Grant).unwrap();
        assert_eq!((client.available(6), client.ahead()), (0, 1), "the client has a credit, but nothing to grant");
        assert!(!server.is_grant_due(2), "its last is kept");
        assert!(server.is_grant_due(4));
        client.receive(server.grant(4), CountedMessage::Grant).unwrap();
        assert_eq!(client.available(6), 1);
        assert!(!client.is_grant_due(6), "grants do not go on by themselves");
    }

    #[test]
    fn each_part_with_a_minimal_grant_is_answered() {
        let (mut client, mut server) = (MessageCredits::client(Family::A), MessageCredits::server(Family::A));
        server.receive(client.send(64), CountedMessage::Other).unwrap();
        client.receive(server.send(4), CountedMessage::Other).unwrap();
        let mut grants = 0;
        for part in 0..1000 {
            assert!(server.available(4) > 0, "{part}");
            client.receive(server.send(4), CountedMessage::Middle).unwrap();
            if client.is_grant_due(64) {
                grants += 1;
                server.receive(client.grant(64), CountedMessage::Grant).unwrap();
            }
            assert!(!client.is_grant_due(64), "{part}");
        }
        assert!(grants > 900, "{grants}");
        client.receive(server.send(4), CountedMessage::Other).unwrap();
        assert!(!client.is_grant_due(64), "the last part needs no answer");
    }

    /// Messages are sent in between, so that half has not come since: with A's small grants, that happens in the middle
    /// of a long message.
    #[test]
    fn a_peer_that_may_send_nothing_more_is_granted_something() {
        for (family, client, _) in both() {
            let mut end = MessageCredits { sent: 9, permitted: 9, received: 20, granted: 21, ..client };
            assert!(!end.is_grant_due(64), "{family:?}");
            end.receive(Credit(0), CountedMessage::Other).unwrap();
            (end.unreported, end.permitted) = (0, 9);
            assert!(!end.is_grant_due(0), "there is nothing to grant: {family:?}");
            assert!(end.is_grant_due(64), "{family:?}");
            end.grant(64);
            assert_eq!(end.granted - end.received, if family == Family::A { 32 } else { 64 }, "{family:?}");
            assert!(!end.is_grant_due(64), "{family:?}");
        }
    }

    #[test]
    fn each_family_a_message_grants_a_receive_that_exists() {
        let (mut client, mut server) = (MessageCredits::client(Family::A), MessageCredits::server(Family::A));
        server.receive(client.send(8), CountedMessage::Other).unwrap();
        let mut sent = 0;
        while server.available(8) > 0 {
            let credit = server.send(8);
            sent += u32::from(credit.granted());
            assert!(credit.granted() > 0);
            client.receive(credit, CountedMessage::Other).unwrap();
        }
        // The client has permitted four messages, and permits itself one to begin with.
        assert_eq!((sent, client.permitted), (4 + 3, 1 + 4 + 3));
    }

    #[test]
    fn counts_go_round_past_the_last_number() {
        let near = u32::MAX - 2;
        let mut peer = MessageCredits {
            sent: near,
            permitted: near,
            received: near,
            granted: near,
            ..MessageCredits::client(Family::B)
        };
        peer.receive(Credit(4), CountedMessage::Grant).unwrap();
        assert_eq!((peer.available(1), peer.news(10)), (7, 11));
        assert_eq!(peer.send(10), Credit(8));
    }

    #[test]
    fn no_grant_is_so_large_that_it_becomes_none() {
        let mut peer = MessageCredits { granted: u32::MAX / 2, ..MessageCredits::client(Family::A) };
        for _ in 0..if cfg!(miri) { 1000 } else { 100_000 } {
            peer.receive(Credit(0xffff_ffff), CountedMessage::Grant).unwrap();
        }
        assert!(peer.available(u32::MAX / 2 + 200_000) > 0);
        // A limit below what was sent permits nothing.
        let mut peer = MessageCredits { sent: 9, granted: 9, ..MessageCredits::client(Family::B) };
        peer.receive(Credit(3), CountedMessage::Other).unwrap();
        assert_eq!(peer.available(9), 0);
    }
}
