//! Times for which an RPC waited for data by RDMA, and what the end that sends the data did meanwhile.

/// Nanoseconds in which an end had data to send on a connection, by the activity of that end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderTimes {
    /// From the request for data to the first packet of data, if no data was in flight at the time of the request.
    pub late: u64,
    /// Between two packets of data: the time beyond what 100 MB/s and the way to both ends need, if that is 0.1 ms or more.
    pub paused: u64,
    /// The window that the other end advertises was 0 (TCP): nothing could be sent.
    pub window: u64,
    /// Data was sent, of any RPC, at the highest rate that the connection had reached by then.
    pub full: u64,
    /// Between two packets of data: the time beyond what the data needs at that rate.
    pub slowed: u64,
    /// Indications of congestion that came meanwhile.
    pub congestion: CongestionSigns,
}

/// Indications of congestion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CongestionSigns {
    /// Congestion notifications (CNP) to the sender of the data.
    pub notifications: u32,
    /// Packets of the sender that a switch marked (IP: Congestion Experienced).
    pub marks: u32,
    /// Priority-based flow control: frames that pause a port, whichever.
    pub pauses: u32,
}

impl SenderTimes {
    /// Returns the times since an earlier moment, each at most `elapsed`.
    pub(crate) fn since(self, earlier: Self, elapsed: u64) -> Self {
        let part = |now: u64, before: u64| now.saturating_sub(before).min(elapsed);
        Self {
            late: part(self.late, earlier.late),
            paused: part(self.paused, earlier.paused),
            window: part(self.window, earlier.window),
            full: part(self.full, earlier.full),
            slowed: part(self.slowed, earlier.slowed),
            congestion: self.congestion.since(earlier.congestion),
        }
    }

    /// Adds other times.
    pub(crate) const fn add_times(&mut self, other: Self) {
        self.late = self.late.saturating_add(other.late);
        self.paused = self.paused.saturating_add(other.paused);
        self.window = self.window.saturating_add(other.window);
        self.full = self.full.saturating_add(other.full);
        self.slowed = self.slowed.saturating_add(other.slowed);
        self.congestion.add_counts(other.congestion);
    }
}

impl CongestionSigns {
    /// Returns true if there are any.
    #[must_use]
    pub const fn is_any(self) -> bool {
        self.notifications > 0 || self.marks > 0 || self.pauses > 0
    }

    const fn since(self, earlier: Self) -> Self {
        Self {
            notifications: self.notifications.wrapping_sub(earlier.notifications),
            marks: self.marks.wrapping_sub(earlier.marks),
            pauses: self.pauses.wrapping_sub(earlier.pauses),
        }
    }

    /// Adds other signs.
    pub const fn add_counts(&mut self, other: Self) {
        self.notifications = self.notifications.saturating_add(other.notifications);
        self.marks = self.marks.saturating_add(other.marks);
        self.pauses = self.pauses.saturating_add(other.pauses);
    }
}

/// Times of both ends of an RPC, in the RPC's data and in data that the connection carries before the RPC's data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataTimes {
    /// Times of the requester in data that the responder reads, during [`Phase::RdmaRead`](super::phases::Phase::RdmaRead).
    pub read: SenderTimes,
    /// Times of the responder in data that the responder writes, in the rest of the time before the reply.
    pub written: SenderTimes,
}
