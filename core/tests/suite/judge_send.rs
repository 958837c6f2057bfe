//! The example `judge_send` judges as its documentation says.

#[path = "../../examples/judge_send.rs"]
#[allow(dead_code, reason = "its main is not called")]
mod example;

use crate::support::vector;
use example::{Verdict, judge};

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

#[test]
fn a_sound_call_is_accepted() {
    assert!(matches!(judge(&vector("msg_short_call"), &mut [0xa5; 28]), Verdict::Accept));
}

#[test]
fn what_is_too_short_for_a_header_is_dropped() {
    assert!(matches!(judge(&words(&[7, 1]), &mut [0xa5; 28]), Verdict::Discard("header-short")));
}

/// RFC 8166 section 4.5: the XID and the version of the Call, the versions that are supported, or `ERR_CHUNK`.
#[test]
fn another_version_and_an_unknown_procedure_are_answered() {
    let cases: [(&[u32], &str, &[u32]); 2] = [
        (&[7, 2, 64, 0, 0, 0, 0], "version", &[7, 2, 32, 4, 1, 1, 1]),
        (&[7, 1, 64, 9, 0, 0, 0], "proc-unknown", &[7, 1, 32, 4, 2]),
    ];
    for (send, rule, expected) in cases {
        let mut buffer = [0xa5; 28];
        let Verdict::Answer(broken, answer) = judge(&words(send), &mut buffer) else { panic!("{rule}: no answer") };
        assert_eq!((broken, answer), (rule, &words(expected)[..]));
    }
}
