//! Credits of the calling side (RFC 8166 sections 3.3.1 and 3.3.3).
//!
//! [`rules::Credits`](crate::rules::Credits) judges a peer and gives the peer the benefit of the doubt: the peer may
//! use a larger grant until it must have seen the smaller one. A sender has no such doubt: the last grant holds.

use core::mem;

/// Calls in flight, and their maximum number.
#[derive(Debug)]
pub(super) struct Window {
    /// Number requested in each Call; never 0.
    pub(super) requested: u32,
    /// Number granted by the last reply; 1 before the first.
    granted: u32,
    /// Number of calls that hold a credit, sent or not.
    taken: u32,
    /// Number of calls sent.
    sent: u32,
}

impl Window {
    pub(super) const fn new(requested: u32) -> Self {
        Self { requested: if requested == 0 { 1 } else { requested }, granted: 1, taken: 0, sent: 0 }
    }

    fn limit(&self) -> u32 {
        self.requested.min(self.granted)
    }

    /// Takes a credit. Returns false if there is none.
    pub(super) fn take_credit(&mut self) -> bool {
        let free = self.taken < self.limit();
        if free {
            self.taken = self.taken.saturating_add(1);
        }
        free
    }

    /// Returns true if a call that holds a credit may be sent. The grant may have become smaller since.
    pub(super) fn may_send(&self) -> bool {
        self.sent < self.limit()
    }

    /// Counts a call as sent.
    pub(super) fn send(&mut self) {
        self.sent = self.sent.saturating_add(1);
    }

    /// Returns true, in version 2, if the next part of a counted call may be sent.
    pub(super) const fn may_continue(&self) -> bool {
        self.sent < self.granted
    }

    /// Counts a part of a counted call.
    pub(super) fn send_part(&mut self) {
        self.granted = self.granted.saturating_sub(1);
    }

    /// Returns the credit of a call that will not be sent.
    pub(super) fn give_back(&mut self) {
        self.taken = self.taken.saturating_sub(1);
    }

    /// Applies the grant of a reply. 0, which is not allowed, would end all calls, so one call may still be sent.
    pub(super) fn grant(&mut self, granted: u32) {
        self.granted = granted.max(1);
    }

    /// Sets, in version 2, the number of further messages that may be sent now. Returns true if the number has grown.
    pub(super) fn permit(&mut self, messages: u32) -> bool {
        let before = mem::replace(&mut self.granted, self.sent.saturating_add(messages));
        self.granted > before
    }

    /// Counts a call as answered.
    pub(super) fn answered(&mut self) {
        self.give_back();
        self.sent = self.sent.saturating_sub(1);
    }

    pub(super) const fn sent(&self) -> u32 {
        self.sent
    }

    pub(super) const fn in_flight(&self) -> u32 {
        self.taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(window: &mut Window, granted: u32) {
        window.grant(granted);
        window.answered();
    }

    fn take_and_send(window: &mut Window) -> bool {
        let free = window.take_credit() && window.may_send();
        if free {
            window.send();
        }
        free
    }

    #[test]
    fn the_window_is_the_lower_of_requested_and_granted() {
        let mut window = Window::new(3);
        assert_eq!([(); 2].map(|()| take_and_send(&mut window)), [true, false]);
        reply(&mut window, 32);
        assert_eq!([(); 4].map(|()| take_and_send(&mut window)), [true, true, true, false]);
        reply(&mut window, 2);
        assert!(!window.take_credit(), "two are in flight, two granted");
        reply(&mut window, 0);
        assert!(!window.take_credit(), "one is in flight; 0 is taken for 1");
        reply(&mut window, 0);
        assert_eq!([(); 2].map(|()| take_and_send(&mut window)), [true, false]);
        assert_eq!(window.in_flight(), 1);
    }

    #[test]
    fn a_credit_taken_before_a_smaller_grant_waits() {
        let mut window = Window::new(8);
        assert!(take_and_send(&mut window));
        reply(&mut window, 3);
        assert!(take_and_send(&mut window) && take_and_send(&mut window) && window.take_credit());
        reply(&mut window, 1);
        assert!(!window.may_send(), "one is sent, one granted");
        reply(&mut window, 1);
        assert!(window.may_send());
    }
}
