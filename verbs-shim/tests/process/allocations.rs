//! After the first few, calls and their answers allocate nothing: each reuses the buffers of the one before.

use std::ops::Range;
use std::sync::atomic::Ordering;

use rpcrdma_verbs::{Call, Stream};

use crate::run_alone;
use crate::support::counting::{ALLOCATIONS, OCTETS};
use crate::support::echo::{Caller, Kind, with_server};
use crate::support::header::header;

/// The connection keeps a copy that it has made, for the next call.
#[test]
fn a_part_of_a_buffer_is_read_without_copying() {
    const LENGTH: usize = 1 << 20;
    let _alone = run_alone();
    with_server(|_, client| {
        let call = |buffer: Vec<u8>, part: Range<usize>| {
            let mut call = Call::new(Stream::from(header(client.xid(), Kind::Read(LENGTH).procedure())), 24);
            call.message().push(&(part.len() as u32).to_be_bytes());
            call.message().push_part(buffer, part).unwrap();
            let before = OCTETS.load(Ordering::Relaxed);
            client.call(&mut call).unwrap().results().unwrap();
            OCTETS.load(Ordering::Relaxed) - before
        };
        // The server makes room for it once.
        call(vec![1; LENGTH], 0..LENGTH);
        let more = call(vec![1; LENGTH + 100], 50..LENGTH + 50);
        assert!(more < LENGTH as i64 / 4, "{more} octets more");
    });
}

#[test]
fn no_call_allocates_after_some() {
    let _alone = run_alone();
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
