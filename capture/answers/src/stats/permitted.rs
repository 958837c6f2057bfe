//! Number of messages that either end of a connection of version 2 has permitted the other to send.

use rpcrdma_dissector::{Address, Permitted};

/// Messages permitted by each end, with the address of the end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PermittedMessages([Option<(Address, u64)>; 2]);

impl PermittedMessages {
    /// Takes what a message of one end says.
    pub(super) fn note_permission(&mut self, by: Address, permitted: Permitted) {
        let place = self.0.iter_mut().find(|place| place.is_none_or(|(address, _)| address == by));
        let Some(place) = place else { return };
        let before = place.map_or(0, |(_, messages)| messages);
        let messages = match permitted {
            Permitted::More(messages) => before.saturating_add(messages.into()),
            Permitted::InAll(messages) => messages.into(),
        };
        *place = Some((by, messages));
    }

    /// Number of that end has permitted, if it has sent anything.
    pub(super) fn by(&self, end: Address) -> Option<u64> {
        self.0.iter().flatten().find(|(address, _)| *address == end).map(|(_, messages)| *messages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn family_a_adds_up_and_family_b_says_the_sum() {
        let [client, server] = [1, 2].map(|last| Address::V4([192, 0, 2, last]));
        let mut permitted = PermittedMessages::default();
        for (by, message) in [
            (client, Permitted::More(1)),
            (server, Permitted::InAll(33)),
            (client, Permitted::More(2)),
            (server, Permitted::InAll(34)),
        ] {
            permitted.note_permission(by, message);
        }
        assert_eq!((permitted.by(client), permitted.by(server)), (Some(3), Some(34)));
        assert_eq!(PermittedMessages::default().by(client), None);
    }
}
