//! Counts of RPCs by a name.

/// Adds one to the count of `name`. There are as many names as this program knows, so the list stays short.
pub(crate) fn count(counts: &mut Vec<(&'static str, u64)>, name: &'static str) {
    match counts.iter_mut().find(|(known, _)| *known == name) {
        Some((_, count)) => *count += 1,
        None => counts.push((name, 1)),
    }
}
