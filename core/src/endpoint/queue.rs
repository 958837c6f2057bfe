//! Calls in the order of arrival.
//!
//! heapless has a `Deque`, but computes indexes with operators that could overflow, so the `Deque` could not be proved
//! free of panics.

use super::CallId;

/// A ring of at most `N` calls.
#[derive(Debug)]
pub(super) struct Queue<const N: usize> {
    calls: [Option<CallId>; N],
    first: usize,
    length: usize,
}

impl<const N: usize> Queue<N> {
    pub(super) const fn new() -> Self {
        Self { calls: [None; N], first: 0, length: 0 }
    }

    /// Adds a call after the others. Each call is in the queue only once, so the queue is never full.
    #[inline(never)]
    pub(super) fn push(&mut self, call: CallId) {
        let end = self.first.wrapping_add(self.length);
        let place = if end < N { end } else { end.wrapping_sub(N) };
        if self.length < N
            && let Some(place) = self.calls.get_mut(place)
        {
            *place = Some(call);
            self.length = self.length.wrapping_add(1);
        }
    }

    /// Returns the oldest call.
    pub(super) fn first(&self) -> Option<CallId> {
        if self.length == 0 { None } else { self.calls.get(self.first).copied().flatten() }
    }

    /// Takes the oldest out.
    pub(super) fn pop(&mut self) -> Option<CallId> {
        let first = self.first()?;
        self.length = self.length.wrapping_sub(1);
        let next = self.first.wrapping_add(1);
        self.first = if next < N { next } else { 0 };
        Some(first)
    }

    /// Removes `call` from any position.
    pub(super) fn remove(&mut self, call: CallId) {
        for _ in 0..self.length {
            if let Some(other) = self.pop()
                && other != call
            {
                self.push(other);
            }
        }
    }

    /// Moves the calls to a queue of `MORE`, if that is not less.
    pub(super) fn enlarge<const MORE: usize>(mut self) -> Queue<MORE> {
        let mut more = Queue::new();
        while let Some(call) = self.pop() {
            more.push(call);
        }
        more
    }

    pub(super) const fn clear(&mut self) {
        self.length = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::slots::Slots;
    use super::*;

    #[test]
    fn first_in_first_out() {
        let mut slots = Slots::<(), 3>::new();
        let [a, b, c] = [(); 3].map(|()| slots.take_slot().unwrap().0);
        let mut queue = Queue::<3>::new();
        for _ in 0..5 {
            for call in [a, b, c, a] {
                queue.push(call);
            }
            assert_eq!([queue.first(), queue.pop()], [Some(a); 2]);
            queue.push(a);
            queue.remove(c);
            assert_eq!([queue.pop(), queue.pop(), queue.pop()], [Some(b), Some(a), None]);
            queue.push(c);
            queue.clear();
            assert_eq!(queue.first(), None);
        }
        // It begins in the middle.
        queue.pop();
        for call in [b, c] {
            queue.push(call);
        }
        let mut more = queue.enlarge::<4>();
        more.push(a);
        assert_eq!([more.pop(), more.pop(), more.pop(), more.pop()], [Some(b), Some(c), Some(a), None]);
    }
}
