//! Stepping through the bodies of real messages, from the captures in `testdata`. Hand-made ones, for what no capture has,
//! are in `src/nfs/tests.rs`.

mod messages;

use std::collections::BTreeMap;

use rpcrdma_dissector::nfs::{Reduced, Walk, WalkError, arguments, results};

use crate::nfs::messages::Message;
use crate::transcode::Random;

impl Message {
    fn walk(&self) -> Walk {
        if self.call {
            arguments(self.procedure, self.reverse, &self.body, self.position, Reduced::Call(&self.reads))
        } else {
            let lengths: Vec<u64> = self.writes.iter().map(|data| data.len() as u64).collect();
            results(self.procedure, self.reverse, &self.body, Reduced::Reply(&lengths))
        }
    }

    /// The body with its reduced items back in their places. Items of a call are filled with 0xa5.
    fn rebuilt(&self, walk: &Walk) -> Vec<u8> {
        let mut body = Vec::new();
        let mut from = 0;
        for item in &walk.items {
            let Some(chunk) = item.chunk else { continue };
            body.extend(&self.body[from..item.inline_at]);
            from = item.inline_at;
            assert_eq!(body.len(), item.at);
            let length = item.length as usize;
            match self.writes.get(chunk) {
                Some(data) => body.extend(&data[..length]),
                None => body.resize(body.len() + length, 0xa5),
            }
            body.resize(body.len().next_multiple_of(4), 0);
        }
        body.extend(&self.body[from..]);
        body
    }
}

/// Every call and every reply of the captures is stepped over exactly, and as often as tshark 4.0 shows an operation
/// (`-T fields -e nfs.opcode`), we do.
#[test]
fn captures_are_stepped_over_exactly() {
    for (name, messages, operations) in [
        ("nfs3", 120, &[][..]),
        ("nfs40", 134, NFS40),
        ("nfs41", 138, NFS41),
        ("nfs42_mtu9000", 124, NFS42),
        ("nfs41_krb5", 118, NFS41_KRB5),
    ] {
        let mut seen: BTreeMap<u32, usize> = BTreeMap::new();
        let all = messages::of_capture(name);
        assert_eq!(all.len(), messages, "{name}");
        for message in &all {
            let walk = message.walk();
            let context = format!("{name} frame {} {:?}", message.frame, message.procedure);
            assert_eq!(walk.end, Ok(()), "{context}");
            assert_eq!(walk.consumed, message.body.len(), "{context}");
            assert!(message.procedure.name(message.reverse).is_some(), "{context}");
            walk.operations.iter().for_each(|operation| *seen.entry(operation.code.number()).or_default() += 1);
        }
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), operations, "{name}");
    }
}

type Counts = &'static [(u32, usize)];
#[rustfmt::skip]
const NFS40: Counts = &[
    (3, 16), (4, 12), (6, 4), (9, 67), (10, 19), (15, 2), (18, 12), (20, 2), (22, 122), (24, 4), (25, 24), (26, 6),
    (27, 2), (28, 8), (29, 2), (32, 2), (35, 4), (36, 4), (38, 18),
];
#[rustfmt::skip]
const NFS41: Counts = &[
    (3, 22), (4, 16), (6, 4), (9, 75), (10, 13), (15, 2), (18, 18), (22, 122), (24, 4), (25, 22), (26, 6), (27, 2),
    (28, 8), (29, 2), (32, 2), (38, 12), (42, 4), (43, 2), (44, 2), (52, 2), (53, 126), (57, 2), (58, 2),
];
#[rustfmt::skip]
const NFS42: Counts = &[
    (3, 16), (4, 12), (6, 4), (9, 65), (10, 13), (15, 2), (18, 12), (22, 108), (24, 4), (25, 24), (26, 6), (27, 2),
    (28, 8), (29, 2), (32, 2), (38, 6), (42, 4), (43, 2), (44, 2), (52, 2), (53, 112), (57, 2), (58, 2),
];
// Without what tshark counts in the bitmaps of EXCHANGE_ID, which name operations too.
#[rustfmt::skip]
const NFS41_KRB5: Counts = &[
    (3, 16), (4, 12), (6, 4), (9, 65), (10, 13), (15, 4), (18, 12), (22, 104), (24, 2), (25, 14), (26, 6), (27, 2),
    (28, 6), (29, 2), (32, 2), (38, 12), (42, 4), (43, 2), (44, 2), (53, 106), (57, 2), (58, 2),
];

#[test]
fn operations_of_a_callback() {
    let all = messages::of_capture("nfs41_callback");
    let callbacks: Vec<_> = all.iter().filter(|message| message.reverse).collect();
    assert_eq!(callbacks.iter().map(|message| message.frame).collect::<Vec<_>>(), [116, 118]);
    for message in callbacks {
        let walk = message.walk();
        assert_eq!((&walk.end, walk.consumed), (&Ok(()), message.body.len()));
        assert_eq!(message.procedure.name(true), Some("NFSv4 CB_COMPOUND"));
        let names: Vec<_> = walk.operations.iter().map(|operation| operation.name).collect();
        assert_eq!(names, ["CB_SEQUENCE", "CB_RECALL"]);
        assert_eq!(message.procedure.name(false), None);
    }
}

/// RPCSEC_GSS with integrity: nothing is reduced (RFC 8267 does not say so, but what is wrapped is one opaque).
#[test]
fn unwrapped_bodies_have_every_item_inline() {
    let all = messages::of_capture("nfs41_krb5i");
    let reads: u32 = all
        .iter()
        .filter(|message| !message.call)
        .map(|message| {
            let walk = message.walk();
            assert_eq!((&walk.end, walk.consumed), (&Ok(()), message.body.len()), "frame {}", message.frame);
            assert!(walk.items.iter().all(|item| item.chunk.is_none()));
            walk.items.iter().map(|item| item.length).sum::<u32>()
        })
        .sum();
    assert!(reads >= 196_608, "{reads}");
}

/// With its items back in place a body reads as one that was never reduced.
#[test]
fn rebuilt_bodies_walk_the_same() {
    let mut reduced = 0;
    for name in ["nfs3", "nfs40", "nfs41", "nfs42_mtu9000", "nfs41_krb5"] {
        for message in messages::of_capture(name) {
            let walk = message.walk();
            let body = message.rebuilt(&walk);
            let again = if message.call {
                arguments(message.procedure, message.reverse, &body, message.position, Reduced::Call(&[]))
            } else {
                results(message.procedure, message.reverse, &body, Reduced::Reply(&[]))
            };
            assert_eq!((&again.end, again.consumed), (&Ok(()), body.len()));
            assert_eq!(again.operations, walk.operations);
            for (item, inline) in walk.items.iter().zip(&again.items) {
                assert_eq!((item.at, item.length, inline.chunk), (inline.at, inline.length, None));
                reduced += usize::from(item.chunk.is_some());
            }
        }
    }
    // tshark shows as many calls with a Read list, and replies with a Write chunk that is not empty.
    assert_eq!(reduced, 75);
}

/// Cut anywhere, a body gives the operations before the cut.
#[test]
fn cut_bodies_end_inside() {
    for name in ["nfs3", "nfs40", "nfs41_callback"] {
        for message in messages::of_capture(name).iter_mut() {
            let whole = message.walk();
            let body = std::mem::take(&mut message.body);
            for cut in 0..body.len().min(600) {
                message.body = body[..cut].to_vec();
                let walk = message.walk();
                let error = walk.end.unwrap_err();
                assert_eq!(error.reason, WalkError::ENDS_INSIDE);
                assert!(error.at <= cut && walk.consumed <= cut);
                let codes: Vec<_> = walk.operations.iter().map(|operation| operation.code).collect();
                assert!(
                    whole.operations.iter().map(|operation| operation.code).collect::<Vec<_>>().starts_with(&codes)
                );
                assert!(whole.items.starts_with(&walk.items));
            }
        }
    }
}

/// Whatever is on the wire, stepping ends, and within the body.
#[test]
fn damaged_bodies_do_no_harm() {
    let mut random = Random(0);
    for message in messages::of_capture("nfs41").iter_mut() {
        let body = message.body.clone();
        for _ in 0..40 {
            message.body.clone_from(&body);
            for _ in 0..3 {
                let at = random.below((body.len() / 4).max(1)) * 4;
                let value = if random.one_in(2) { random.below(16) } else { random.word() };
                if let Some(word) = message.body.get_mut(at..at + 4) {
                    word.copy_from_slice(&value.to_be_bytes());
                }
            }
            assert!(message.walk().consumed <= body.len());
        }
    }
}
