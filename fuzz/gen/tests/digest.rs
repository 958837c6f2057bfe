//! The same messages on every machine.
#![allow(clippy::indexing_slicing, missing_docs)]

use rpcrdma_gen::{Case, Choices, Format, Role};
use sha2::{Digest, Sha256};

/// A digest of everything that is said about a message.
fn add_case(digest: &mut Sha256, case: &Case) {
    for octets in [case.name.as_bytes(), &case.octets, case.call.as_deref().unwrap_or_default()] {
        digest.update((octets.len() as u64).to_be_bytes());
        digest.update(octets);
    }
    for broken in &case.broken {
        digest.update(format!("{} {} {} {:?};", broken.rule.slug, broken.severity, broken.offset, broken.answer));
    }
}

fn kinds() -> impl Iterator<Item = (Format, Role)> {
    Format::ALL.into_iter().flat_map(|format| Role::ALL.map(|role| (format, role)))
}

#[test]
fn the_same_seed_makes_the_same_messages_on_every_machine() {
    let mut digest = Sha256::new();
    for (format, role) in kinds() {
        let mut choices = Choices::of_seed(7);
        (0..500).for_each(|_| add_case(&mut digest, &rpcrdma_gen::random(&mut choices, format, role)));
    }
    assert_eq!(format!("{:x}", digest.finalize()), "1b5d564ae8eef8d945b23095cf912c2ec186c16ddc8da2b6d997da285f12ccbb");
}

#[test]
fn the_named_messages_are_the_same_on_every_machine() {
    let mut digest = Sha256::new();
    for (format, role) in kinds() {
        rpcrdma_gen::named(format, role).iter().for_each(|case| add_case(&mut digest, case));
    }
    assert_eq!(format!("{:x}", digest.finalize()), "60b755e12082245a521e86ab025940c4d297b51bab36adfc6e1a6ffbf2627936");
}

#[test]
fn octets_that_have_run_out_still_choose_a_message() {
    for (format, role) in kinds() {
        for length in 0..200 {
            let octets: Vec<u8> = (0..length).map(|place| (place * 37) as u8).collect();
            let case = rpcrdma_gen::random(&mut Choices::of_octets(&octets), format, role);
            assert!(!case.name.is_empty());
        }
    }
}

#[cfg(feature = "arbitrary")]
#[test]
fn a_fuzzer_reaches_every_format_and_role() {
    use arbitrary::{Arbitrary, Unstructured};

    let mut seen = std::collections::BTreeSet::new();
    let mut choices = Choices::of_seed(1);
    for _ in 0..200 {
        let octets: Vec<u8> = (0..100).flat_map(|_| choices.number().to_le_bytes()).collect();
        let case = Case::arbitrary(&mut Unstructured::new(&octets)).expect("enough octets");
        seen.insert((case.format, case.role, case.broken.is_empty()));
    }
    assert_eq!(seen.len(), 12, "valid ones and broken ones of each: {seen:?}");
}
