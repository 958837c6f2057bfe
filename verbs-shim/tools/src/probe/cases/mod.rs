//! The cases, by subject.

mod chunks;
mod connection;
mod headers;
mod version_2a;
mod version_2b;

use rpcrdma_verbs::Version;

use super::case::Case;

/// All cases in a version.
pub(super) fn all_cases(version: Version) -> impl Iterator<Item = &'static Case> + Clone {
    let groups = [headers::CASES, chunks::CASES, connection::CASES, version_2a::CASES, version_2b::CASES];
    groups.into_iter().flatten().filter(move |case| case.version == version)
}

#[cfg(test)]
mod tests {
    use rpcrdma::v2::Family;

    use super::*;

    #[test]
    fn every_case_names_its_source() {
        for version in [Version::One, Version::Two(Family::A), Version::Two(Family::B)] {
            for case in all_cases(version) {
                assert_ne!(case.about.source(), "", "{}", case.name);
            }
        }
    }
}
