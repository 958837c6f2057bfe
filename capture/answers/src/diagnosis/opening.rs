//! The opening of a diagnosis: one sentence and an advice for people who do not know RPC.

use super::cause::Cause;
use super::record::{DiagnosedCause, Diagnosis};
use crate::format::date::moment_of_day;
use crate::format::line::sentence;
use crate::format::number::{counted, duration, times};

/// Effect of a cause on the mount.
#[derive(Clone, Copy)]
enum Effect {
    /// Requests got no answer.
    Hung,
    /// Requests took longer.
    Slow,
    /// Another effect, which the clause about the cause includes.
    Included,
}

/// A cause in words that need no knowledge of RPC. `OWNER` stands for the owner of the cause.
struct PlainCause {
    effect: Effect,
    /// The cause, as a clause.
    clause: &'static str,
    /// The next step, as a sentence.
    advice: &'static str,
}

impl PlainCause {
    const fn hung(clause: &'static str, advice: &'static str) -> Self {
        Self { effect: Effect::Hung, clause, advice }
    }

    const fn slow(clause: &'static str, advice: &'static str) -> Self {
        Self { effect: Effect::Slow, clause, advice }
    }

    const fn other(clause: &'static str, advice: &'static str) -> Self {
        Self { effect: Effect::Included, clause, advice }
    }

    const fn new(cause: Cause) -> Self {
        match cause {
            Cause::NothingFound => Self::other(
                "the capture shows no NFS over RDMA, so nothing can be said about a mount",
                "Read the reason below, and capture again.",
            ),
            Cause::OneDirection => Self::other(
                "the capture shows only one direction of the traffic, so most questions stay open",
                "Mirror both directions, and capture again.",
            ),
            Cause::CaptureGaps => Self::other(
                "the capture lacks packets, so all results are uncertain",
                "Capture again with a larger buffer.",
            ),
            Cause::Cut => Self::other(
                "the capture holds too little of each packet, so all results are uncertain",
                "Capture again with more of each packet.",
            ),
            Cause::JoinedLate => Self::other(
                "the capture began while requests were on their way, so their times are unknown",
                "Start the capture before the mount.",
            ),
            Cause::MirrorDoubled => Self::other(
                "the capture holds nearly every packet twice; nothing else depends on that",
                "Mirror each packet once.",
            ),
            Cause::TwoClocks => Self::other(
                "two clocks gave the times of packets, so all times are uncertain",
                "Capture both directions with one clock.",
            ),
            Cause::ServerSilent => Self::hung("OWNER did not answer", "Look at OWNER."),
            Cause::ServerUnreachable => Self::hung(
                "the requests did not arrive",
                "Check that both ends run, and ask whoever runs the network between them.",
            ),
            Cause::ClientSilent => Self::hung("OWNER stopped in the middle of the exchange", "Look at OWNER."),
            Cause::ClientUnreachable => Self::hung(
                "the answers did not arrive",
                "Check that both ends run, and ask whoever runs the network between them.",
            ),
            Cause::WrongChecksum => {
                Self::hung("packets with a wrong checksum were dropped", "Check the network adapter of OWNER.")
            }
            Cause::ReplyRefused => Self::hung(
                "OWNER had no buffer for the answer",
                "Report this to whoever maintains the software of OWNER.",
            ),
            Cause::Retried => Self::slow(
                "connections ended before the answer, and requests were repeated",
                "Find out why the connections ended.",
            ),
            Cause::ServerGrace => Self::slow(
                "OWNER was in its grace period",
                "Wait for the end of the grace period, and find out why OWNER restarted.",
            ),
            Cause::RefusedForNow => Self::slow("OWNER asked for requests to be repeated later", "Look at OWNER."),
            Cause::CopyUnfinished => {
                Self::slow("a copy on OWNER has no end", "Check that OWNER can send callbacks to the client.")
            }
            Cause::LockHeld => Self::slow("locks were held by others", "Find out who holds the locks."),
            Cause::ConnectionRefused => Self::other("OWNER rejects connections", "Look at OWNER: the log says why."),
            Cause::ServerNotListening => Self::other(
                "no NFS service listens for RDMA on OWNER",
                "Start the NFS service there, with RDMA enabled.",
            ),
            Cause::ConnectUnanswered => Self::other(
                "requests for connections got no answer",
                "Check that the server runs, and ask whoever runs the network.",
            ),
            Cause::Flapping => {
                Self::other("connections end again and again", "Look at OWNER: this end ended the connections.")
            }
            Cause::Loss => Self::slow("the network lost packets", "Ask whoever runs the network."),
            Cause::ReceiverNotReady => Self::slow(
                "OWNER had no buffer ready for requests or answers",
                "Report this to whoever maintains the software of OWNER.",
            ),
            Cause::Distance => {
                Self::slow("the way through the network takes long", "Check the route between client and server.")
            }
            Cause::DelegationRecall => {
                Self::slow("OWNER was late to hand over files that others asked for", "Look at OWNER.")
            }
            Cause::ServerSlow => Self::slow("OWNER took long to answer", "Look at OWNER: disks and load."),
            Cause::Outlier => {
                Self::slow("one of several is much slower than the others", "Look at the one that is named below.")
            }
            Cause::ClientSlow => {
                Self::slow("OWNER took long to send data, or to fetch an answer", "Look at OWNER: its load.")
            }
            Cause::CompletionError => {
                Self::other("an adapter reported errors", "Look up the errors below; start with OWNER.")
            }
            Cause::ConnectionLost => Self::other(
                "connections ended while requests were on their way",
                "Look at the errors that both ends logged at the time.",
            ),
            Cause::RdmaReadSlow => Self::slow(
                "the server had to wait for the data of requests",
                "Look for lost packets, at the switch ports and at the adapters of both ends.",
            ),
            Cause::Registration => {
                Self::slow("OWNER took long to make memory accessible to its adapter", "Look at OWNER: its load.")
            }
            Cause::ClientQueue => {
                Self::slow("requests waited on OWNER before they were sent", "Look at OWNER: its load.")
            }
            Cause::ServerQueue => Self::slow(
                "requests waited on OWNER until somebody took them",
                "Look at OWNER: its load, and the number of its NFS threads.",
            ),
            Cause::RepliesLate => {
                Self::slow("answers came late", "Record what the server does at the same time to see why.")
            }
            Cause::SlowTransfer => {
                Self::slow("OWNER paused while sending data", "Look at OWNER, and at the counters of the switch port.")
            }
            Cause::Congestion => Self::slow("the network was congested", "Ask whoever runs the network."),
            Cause::Window => Self::slow("OWNER accepted no more data", "Look at OWNER: memory and load."),
            Cause::LinkFull => Self::slow("the link was full", "A faster link would help; nothing is broken."),
            Cause::SessionStatus => Self::other(
                "OWNER reports that it lost the state of a client, or its way back to the client",
                "Look at OWNER: its log, and what stands between OWNER and the client.",
            ),
            Cause::Slots => Self::slow(
                "the client had to wait for a free slot of its session",
                "Allow more slots in a session on OWNER.",
            ),
            Cause::Credits => Self::slow(
                "the client had to wait for permission to send requests",
                "Allow more requests at a time on OWNER.",
            ),
            Cause::SmallSends => Self::other(
                "requests take more steps than necessary, because messages are limited to a small size",
                "Raise the limit on OWNER.",
            ),
            Cause::Errors => Self::other("requests failed", "Look up the errors below."),
            Cause::Protocol => Self::other(
                "OWNER broke a rule of the protocol",
                "Report this to whoever maintains the software of OWNER.",
            ),
        }
    }
}

impl Diagnosis {
    /// The first cause for people who do not know RPC: when, effect, who, and the next step. `None` without a cause.
    #[must_use]
    pub fn opening(&self) -> Option<String> {
        self.causes.first()?.opening()
    }
}

impl DiagnosedCause {
    fn opening(&self) -> Option<String> {
        let PlainCause { effect, clause, advice } = PlainCause::new(Cause::of_name(self.cause)?);
        let owner = self.owner_in_words();
        let [clause, advice] = [clause, advice].map(|text| text.replace("OWNER", &owner));
        let effect = match effect {
            Effect::Hung => format!("{}: ", self.hung()),
            Effect::Slow => format!("{}: ", self.slow()),
            Effect::Included => String::new(),
        };
        let since = self
            .since_ns
            .map(|since| format!("from {} on, ", moment_of_day(self.time_base, since)))
            .unwrap_or_default();
        Some(format!("{} {advice}", sentence(&format!("{since}{effect}{clause}"))))
    }

    /// Requests without an answer, and the longest wait.
    fn hung(&self) -> String {
        let requests = counted(self.rpcs.unwrap_or(1), "NFS request");
        let longest = self.examples.first().and_then(|example| example.waiting_ns);
        match (longest, self.rpcs) {
            (None, _) => format!("{requests} got no answer"),
            (Some(longest), Some(1)) => format!("{requests} got no answer for {}", duration(longest)),
            (Some(longest), _) => format!("{requests} got no answer, the longest for {}", duration(longest)),
        }
    }

    /// Slow activity, and the time of the delay.
    fn slow(&self) -> String {
        let activity = match self.operation.as_deref().and_then(|name| name.rsplit(' ').next()) {
            Some("READ") => "reading",
            Some("WRITE") => "writing",
            _ => "NFS",
        };
        let longest = self.examples.first().and_then(|example| example.waiting_ns);
        match (self.disturbed_ns, longest) {
            (Some(disturbed), _) => format!("{activity} was held up for {} in total", duration(disturbed)),
            (None, Some(longest)) => match self.rpcs {
                None | Some(1) => format!("{activity} was held up for {}", duration(longest)),
                Some(rpcs) => {
                    format!("{activity} was held up {}, for up to {}", times(rpcs), duration(longest))
                }
            },
            (None, None) => format!("{activity} was held up"),
        }
    }
}
