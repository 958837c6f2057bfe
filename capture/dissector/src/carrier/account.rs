//! Memory that all connections together hold.

/// Memory of all connections for packets and messages that wait, and the limit of that memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Account {
    /// Octets of memory in use.
    pub held: usize,
    /// The limit, in octets.
    pub limit: usize,
}

impl Account {
    /// Records that something which held `before` octets now holds `now`.
    pub(crate) const fn change(&mut self, before: usize, now: usize) {
        self.held = self.held.saturating_sub(before).saturating_add(now);
    }

    /// Records that something which `held` octets now holds `now`, and updates `held`.
    pub(crate) const fn update(&mut self, held: &mut usize, now: usize) {
        self.change(*held, now);
        *held = now;
    }

    /// Returns true if more is held than allowed.
    #[must_use]
    pub(crate) const fn is_exceeded(&self) -> bool {
        self.held > self.limit
    }

    /// Octets to release: more than the excess, because finding the largest connections takes time.
    #[must_use]
    pub(crate) const fn excess(&self) -> usize {
        self.held.saturating_sub(self.limit - self.limit / 64)
    }
}
