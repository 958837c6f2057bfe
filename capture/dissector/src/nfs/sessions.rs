//! Sessions of NFSv4.1 that a server has created, for programs between the server and the clients.

use std::collections::BTreeMap;

use super::{Procedure, ResultRoom, SessionId, SessionLimits, session_limits};

/// Limits of the sessions that were created. A session outlives the session's connections, so keep `Sessions` across
/// connections.
#[derive(Clone, Debug, Default)]
pub struct Sessions {
    limits: BTreeMap<SessionId, SessionLimits>,
}

impl Sessions {
    /// Maximum number of sessions: one more takes the place of the lowest, since sessions may end unseen.
    pub const MAX: usize = 1024;

    /// Stores the limits of the session that a call has created, if any. For `body`, see [`session_limits`].
    pub fn learn(&mut self, procedure: Procedure, body: &[u8]) {
        let Some(created) = session_limits(procedure, body) else { return };
        if self.limits.len() >= Self::MAX {
            self.limits.pop_first();
        }
        self.limits.insert(created.session, created);
    }

    /// The limits of the session of a call; `None` if the call is in none, or in one that is not known.
    #[must_use]
    pub fn limits(&self, room: &ResultRoom) -> Option<&SessionLimits> {
        self.limits.get(room.session.as_ref()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn created(session: u32, reply: u32) -> Vec<u8> {
        let words = [0, 0, 1, 43, 0, session, 0, 0, 0, 1, 0, 0, 9, reply, 9, 9, 9, 0, 0, 9, 9, 9, 9, 9, 0];
        words.iter().flat_map(|word: &u32| word.to_be_bytes()).collect()
    }

    fn in_session(session: u32) -> ResultRoom {
        let mut id = [0; 16];
        id[..4].copy_from_slice(&session.to_be_bytes());
        ResultRoom { session: Some(id), ..ResultRoom::default() }
    }

    #[test]
    fn the_limits_of_a_session_are_found_by_its_calls() {
        let compound = Procedure { program: Procedure::NFS, version: 4, procedure: 1 };
        let mut sessions = Sessions::default();
        let limit = |sessions: &Sessions, room| sessions.limits(&room).map(|limits| limits.fore.reply);
        for (session, reply) in [(7, 4096), (8, 8192), (7, 512)] {
            sessions.learn(compound, &created(session, reply));
            assert_eq!(limit(&sessions, in_session(session)), Some(reply));
        }
        sessions.learn(compound, &created(9, 1)[..40]);
        assert_eq!(limit(&sessions, in_session(9)), None, "cut");
        assert_eq!(limit(&sessions, ResultRoom::default()), None, "in no session");
        for session in 100..=100 + Sessions::MAX as u32 {
            sessions.learn(compound, &created(session, session));
        }
        assert_eq!(sessions.limits.len(), Sessions::MAX);
        assert_eq!(limit(&sessions, in_session(100)), None, "the lowest");
        assert_eq!(limit(&sessions, in_session(101)), Some(101));
    }
}
