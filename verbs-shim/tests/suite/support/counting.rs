//! An allocator that counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Number of allocations, by all threads.
pub(crate) static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
/// Octets that are allocated.
pub(crate) static OCTETS: AtomicI64 = AtomicI64::new(0);

struct Counting;

fn allocated(octets: usize) {
    ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    OCTETS.fetch_add(octets as i64, Ordering::Relaxed);
}

fn freed(octets: usize) {
    OCTETS.fetch_sub(octets as i64, Ordering::Relaxed);
}

// SAFETY: the system's allocator does everything.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        allocated(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        freed(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        allocated(size);
        freed(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;
