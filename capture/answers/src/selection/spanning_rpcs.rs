//! RPCs that are in flight through a whole window, without a packet in the window.

use super::subject::SelectableRpc;
use super::window::Window;
use crate::format::number::{counted, grouped};

/// The most RPCs that are named.
const NAMED: usize = 8;

/// RPCs that began before a window and ended after the window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpanningRpcs {
    /// Number of the RPCs.
    pub rpcs: u64,
    /// Frames of their calls, the first eight.
    pub frames: Vec<u64>,
}

impl SpanningRpcs {
    /// Takes a selected RPC.
    pub fn add_rpc(&mut self, rpc: &impl SelectableRpc, window: Window) {
        if !window.is_within(rpc.span()) {
            return;
        }
        self.rpcs += 1;
        let [call, reply] = rpc.frames();
        if self.frames.len() < NAMED {
            self.frames.extend(call.or(reply));
        }
    }

    /// The RPCs in words; `None` if there are none.
    #[must_use]
    pub fn sentence(&self) -> Option<String> {
        let mut frames = self.frames.clone();
        frames.sort_unstable();
        let mut named: Vec<String> = frames.iter().map(u64::to_string).collect();
        let more = self.rpcs.saturating_sub(named.len() as u64);
        named.extend((more > 0).then(|| format!("{} more", grouped(more))));
        let last = named.pop()?;
        let (word, rest) = match &named[..] {
            [] => ("frame", String::new()),
            rest => ("frames", format!("{} and ", rest.join(", "))),
        };
        Some(format!("{} in flight throughout: {word} {rest}{last}", counted(self.rpcs, "RPC")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_named_up_to_a_bound() {
        let of = |frames: &[u64], rpcs| SpanningRpcs { rpcs, frames: frames.to_vec() }.sentence();
        assert_eq!(of(&[], 0), None);
        assert_eq!(of(&[7], 1).as_deref(), Some("1 RPC in flight throughout: frame 7"));
        assert_eq!(of(&[1173, 1169], 2).as_deref(), Some("2 RPCs in flight throughout: frames 1169 and 1173"));
        assert_eq!(of(&[1, 2], 1_002).as_deref(), Some("1,002 RPCs in flight throughout: frames 1, 2 and 1,000 more"));
    }
}
