//! Calls and their answers allocate nothing once both ends have made some: the buffers of one are those of the next.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs, reason = "a test falls where it is not so")]

#[path = "support/echo.rs"]
#[allow(dead_code, reason = "others measure more")]
mod echo;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use echo::{Caller, Kind, with_server};

/// Counts what is allocated, by all threads.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: all is done by the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn no_call_allocates_after_some() {
    with_server(|_, client| {
        let kinds = [
            Kind::Null,
            Kind::Read(70_001),
            Kind::Write(70_001),
            Kind::Inline(300),
            Kind::Long(9001),
            Kind::Around(9001),
        ];
        for kind in kinds {
            let mut caller = Caller::new(client, kind);
            (0..300).for_each(|_| caller.call());
            // A call that allocates does so each time. A server starts another thread when two things happen at once,
            // which may be at any time.
            let mut rounds = (0..4).map(|_| {
                let before = ALLOCATIONS.load(Ordering::Relaxed);
                (0..1000).for_each(|_| caller.call());
                ALLOCATIONS.load(Ordering::Relaxed) - before
            });
            assert!(rounds.any(|allocated| allocated == 0), "in 1000 calls, each time: {kind:?}");
        }
    });
}
