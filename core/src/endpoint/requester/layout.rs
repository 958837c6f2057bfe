//! Layouts of a Call with chunks: the first, and the one that the Responder's error asks for (version two draft -01,
//! "Responder RDMA Operational Errors"; -07 section 7.3).

use core::mem;

use heapless::Vec;

use super::call::Call;
use super::output::End;
use super::slot::{Expects, How, Slot, Stage, unreduced};
use crate::endpoint::stream::{Item, roundup};
use crate::v2::ErrorBodyV2;

/// The inputs to a Call's layout.
#[derive(Clone)]
struct Layout<const SEGMENTS: usize> {
    arguments: Vec<Item, SEGMENTS>,
    results: Vec<u32, SEGMENTS>,
    longest: u64,
}

impl<const SEGMENTS: usize> Slot<SEGMENTS> {
    /// Chooses the form and the memory of the Call; `None` if that is too much.
    pub(super) fn plan(&mut self, xid: u32, call: &Call<'_>, protected: bool, how: &How) -> Option<()> {
        let expects = if how.reads_provided { Expects::ProvidedReply } else { Expects::Reply };
        self.begin_call(xid, call.length, how.terms.version, expects);
        self.largest_capacity = call.largest_capacity;
        let (arguments, results, longest) = if protected {
            (&[][..], &[][..], unreduced(call.reply_length, call.results))
        } else {
            (call.arguments, call.results, u64::from(call.reply_length))
        };
        self.build(arguments, results, longest, how)?;
        if self.regions.len() > how.most_segments { self.plan_fewer_segments(how) } else { Some(()) }
    }

    /// Lays the Call out once more, to be sent, or ends the Call with the Responder's error. Returns true if the Call
    /// waits to be sent.
    pub(super) fn rebuild(&mut self, how: &How) -> bool {
        let Stage::Rebuilding(error, _) = mem::take(&mut self.stage) else { return false };
        let before = self.layout();
        let is_built = match error {
            ErrorBodyV2::Segments { max_segments } => {
                let most = usize::try_from(max_segments).unwrap_or(usize::MAX);
                // Else it had no more than that.
                most < self.regions.len() && before.with_fewer_chunks().any(|next| self.relay(&next, most, how))
            }
            error => before.after(error).is_some_and(|next| self.relay(&next, SEGMENTS, how)),
        };
        self.stage = if is_built { Stage::Waiting } else { Stage::Ending(End::ErrorV2(error)) };
        is_built
    }

    /// Lays a Call with too many segments out with fewer chunks; `None` if that does not help.
    #[cold]
    fn plan_fewer_segments(&mut self, how: &How) -> Option<()> {
        self.layout().with_fewer_chunks().any(|next| self.relay(&next, how.most_segments, how)).then_some(())
    }

    fn layout(&self) -> Layout<SEGMENTS> {
        Layout { arguments: self.items.clone(), results: self.results.clone(), longest: u64::from(self.longest) }
    }

    /// Lays the Call out. Returns false if that needs more segments than `most`, or is not possible.
    fn relay(&mut self, layout: &Layout<SEGMENTS>, most: usize, how: &How) -> bool {
        self.clear_layout();
        let built = self.build(&layout.arguments, &layout.results, layout.longest, how);
        built.is_some() && self.regions.len() <= most.min(how.most_segments) && !how.unsupported.contains(&self.form)
    }
}

impl<const SEGMENTS: usize> Layout<SEGMENTS> {
    /// Applies the change that this error requires. Returns `None` if the error requires no change.
    fn after(mut self, error: ErrorBodyV2) -> Option<Self> {
        match error {
            ErrorBodyV2::ReadChunks { max_chunks } => {
                let most = usize::try_from(max_chunks).ok().filter(|&most| most < self.arguments.len())?;
                self.arguments.truncate(most);
            }
            ErrorBodyV2::WriteChunks { max_chunks } => {
                let most = usize::try_from(max_chunks).ok().filter(|&most| most < self.results.len())?;
                self.keep_write_chunks(most);
            }
            ErrorBodyV2::WriteResource { chunk_index, length_needed } => {
                let chunk = usize::try_from(chunk_index.checked_sub(1)?).ok()?;
                let room = self.results.get_mut(chunk).filter(|room| **room < length_needed)?;
                *room = length_needed;
            }
            ErrorBodyV2::ReplyResource { length_needed } => {
                self.longest = Some(u64::from(length_needed)).filter(|&needed| needed > self.longest)?;
            }
            ErrorBodyV2::Segments { .. } | ErrorBodyV2::Vers { .. } | ErrorBodyV2::Void(_) => return None,
        }
        Some(self)
    }

    /// Keeps the first Write chunks. Results after these come with the rest of the reply.
    fn keep_write_chunks(&mut self, most: usize) {
        let others = self.results.get(most..).unwrap_or_default();
        let room = others.iter().fold(0, |sum: u64, &room| sum.saturating_add(roundup(u64::from(room))));
        self.longest = self.longest.saturating_add(room);
        self.results.truncate(most);
    }

    /// Returns the layouts to try: without chunks for arguments, for results, and for either.
    fn with_fewer_chunks(&self) -> impl Iterator<Item = Self> {
        [(false, true), (true, false), (false, false)].into_iter().map(|(with_reads, with_writes)| {
            let mut fewer = self.clone();
            if !with_reads {
                fewer.arguments.clear();
            }
            if !with_writes {
                fewer.keep_write_chunks(0);
            }
            fewer
        })
    }
}
