//! The whole capture, as far as the diagnosis of a selection rests on it.

use super::attempts::Attempts;
use super::cause::CauseSet;
use super::facts::Facts;
use super::waits::Waits;
use crate::connections::Flapping;
use crate::file_names::FileNames;
use crate::stats::MountStatistics;

/// Counts of a whole capture, and its causes.
#[derive(Clone, Debug)]
pub(super) struct WholeCapture {
    pub(super) waits: Waits,
    pub(super) facts: Facts,
    pub(super) attempts: Attempts,
    pub(super) flapping: Vec<Flapping>,
    pub(super) mounts: Vec<MountStatistics>,
    pub(super) causes: CauseSet,
    pub(super) names: FileNames,
}
