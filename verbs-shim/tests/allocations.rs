//! After the first few, calls and their answers allocate nothing: each reuses the buffers of the one before.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs, reason = "a failed expectation fails the test")]

#[path = "suite/support/mod.rs"]
mod support;

use std::sync::atomic::Ordering;

use support::counting::ALLOCATIONS;
use support::echo::{Caller, Kind, with_server};

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
