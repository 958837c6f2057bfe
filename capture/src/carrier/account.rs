//! How much all connections together hold.

/// How much all connections together may hold for what has not come yet, and how much they do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Account {
    /// Octets of memory that are held.
    pub held: usize,
    /// Octets that may be.
    pub limit: usize,
}

impl Account {
    /// Takes note that something holds `now` octets, which held `before`.
    pub const fn change(&mut self, before: usize, now: usize) {
        self.held = self.held.saturating_sub(before).saturating_add(now);
    }

    /// Takes note that something holds `now` octets, and notes there what it `held` before.
    pub const fn update(&mut self, held: &mut usize, now: usize) {
        self.change(*held, now);
        *held = now;
    }

    /// More is held than may be.
    #[must_use]
    pub const fn is_exceeded(&self) -> bool {
        self.held > self.limit
    }

    /// Octets to let go: more than the excess, as finding them takes time.
    #[must_use]
    pub const fn excess(&self) -> usize {
        self.held.saturating_sub(self.limit - self.limit / 64)
    }
}
