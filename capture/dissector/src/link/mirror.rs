//! The session of a mirror: which of several streams of copies a frame belongs to.

use core::fmt;

/// The mirror session through which a frame was captured, or the virtual network of the frame.
///
/// A session is not part of a connection: a packet and the copies of that packet in several sessions are one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct MirrorSession {
    /// The outermost encapsulation that has such a number.
    pub encapsulation: MirrorEncapsulation,
    /// The session ID of ERSPAN, or the virtual network identifier (VNI) of VXLAN and Geneve.
    pub id: u32,
}

/// An encapsulation that numbers sessions or networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MirrorEncapsulation {
    /// ERSPAN type II or III. Type I has no session.
    Erspan,
    /// VXLAN (RFC 7348) or VXLAN-GPE.
    Vxlan,
    /// Geneve (RFC 8926).
    Geneve,
}

impl MirrorEncapsulation {
    /// Name of the encapsulation.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Erspan => "ERSPAN",
            Self::Vxlan => "VXLAN",
            Self::Geneve => "Geneve",
        }
    }
}

impl MirrorSession {
    pub(super) const fn new(encapsulation: MirrorEncapsulation, id: u32) -> Self {
        Self { encapsulation, id }
    }
}

impl fmt::Display for MirrorSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = match self.encapsulation {
            MirrorEncapsulation::Erspan => "session",
            MirrorEncapsulation::Vxlan | MirrorEncapsulation::Geneve => "VNI",
        };
        write!(f, "{} {number} {}", self.encapsulation.name(), self.id)
    }
}

/// The most frames whose sessions are remembered: as many as can wait for an earlier packet of their connection, of two.
const FRAMES: usize = 1 << 13;

/// The sessions that the last frames came through. Only frames that have one take room.
#[derive(Debug, Default)]
pub(crate) struct RecentSessions {
    /// By the number of the frame, modulo `FRAMES`.
    frames: Vec<Option<(u64, MirrorSession)>>,
}

impl RecentSessions {
    /// Returns true if no frame had a session.
    pub(crate) const fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    #[cold]
    pub(crate) fn remember(&mut self, frame: u64, session: MirrorSession) {
        if self.frames.is_empty() {
            self.frames = vec![None; FRAMES];
        }
        if let Some(place) = self.frames.get_mut(frame as usize % FRAMES) {
            *place = Some((frame, session));
        }
    }

    /// The session of a frame; `None` for a frame without a session, or an old frame.
    pub(crate) fn find_session(&self, frame: u64) -> Option<MirrorSession> {
        let place = self.frames.get(frame as usize % FRAMES).copied().flatten();
        place.filter(|(number, _)| *number == frame).map(|(_, session)| session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sessions_of_the_last_frames_are_remembered() {
        let session = |id| MirrorSession::new(MirrorEncapsulation::Erspan, id);
        let mut recent = RecentSessions::default();
        assert_eq!(recent.find_session(1), None);
        (1..=FRAMES as u64 + 1).filter(|frame| frame % 4 != 3).for_each(|frame| recent.remember(frame, session(7)));
        assert_eq!(
            (recent.find_session(1), recent.find_session(2), recent.find_session(3)),
            (None, Some(session(7)), None)
        );
        assert_eq!(recent.frames.len(), FRAMES);
    }
}
