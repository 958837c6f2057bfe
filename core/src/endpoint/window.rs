//! The credits of the side that calls (RFC 8166 sections 3.3.1 and 3.3.3).
//!
//! [`rules::Credits`](crate::rules::Credits) judges a peer, and lets it send by a larger grant until it must have seen the
//! smaller one. Here nothing is in doubt: the last grant holds.

/// How many calls may be in flight, and are.
#[derive(Debug)]
pub(super) struct Window {
    /// Asked for in each Call; never 0.
    pub(super) requested: u32,
    /// Granted by the last reply; 1 before the first.
    granted: u32,
    in_flight: u32,
}

impl Window {
    pub(super) const fn new(requested: u32) -> Self {
        Self { requested: if requested == 0 { 1 } else { requested }, granted: 1, in_flight: 0 }
    }

    /// Takes a credit, where there is one.
    pub(super) fn take(&mut self) -> bool {
        let free = self.in_flight < self.requested.min(self.granted);
        if free {
            self.in_flight = self.in_flight.saturating_add(1);
        }
        free
    }

    /// A call that took a credit was never sent.
    pub(super) fn give_back(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// A call is answered. A grant of 0, which nobody may give, is refused: it would end all calls; one may be sent.
    pub(super) fn reply(&mut self, granted: u32) {
        self.give_back();
        self.granted = granted.max(1);
    }

    pub(super) const fn in_flight(&self) -> u32 {
        self.in_flight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_until_the_first_reply_then_the_lower_of_asked_and_granted() {
        let mut window = Window::new(3);
        assert_eq!([window.take(), window.take()], [true, false]);
        window.reply(32);
        assert_eq!([window.take(), window.take(), window.take(), window.take()], [true, true, true, false]);
        window.reply(2);
        assert!(!window.take(), "two are in flight, two granted");
        window.reply(0);
        assert!(!window.take(), "one is in flight; 0 is taken for 1");
        window.reply(0);
        assert_eq!([window.take(), window.take()], [true, false]);
        assert_eq!(window.in_flight(), 1);
    }
}
