use super::*;
use std::string::ToString;
#[test]
fn slugs_are_unique_and_explained() {
    let mut slugs: std::vec::Vec<&str> = all().map(|rule| rule.slug).collect();
    let count = slugs.len();
    slugs.sort_unstable();
    slugs.dedup();
    assert_eq!(slugs.len(), count);
    for rule in all() {
        assert!(!rule.section.is_empty() && rule.reason.ends_with('.') && rule.correct.ends_with('.'), "{}", rule.slug);
        assert!(!rule.summary.ends_with('.') && rule.severity.to_string().len() > 4, "{}", rule.slug);
    }
}
