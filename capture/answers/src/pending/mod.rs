//! Calls without a reply: the time of waiting, and who owes the next step.

mod promise;
mod record;

use std::collections::BinaryHeap;
use std::io;

use rpcrdma_dissector::{
    Address, CaptureEnd, CreditLimit, Delivery, Files, LastStep, Message, MessageDirection, Owed, OwedUnknown,
    PacketRefusal, Promise, PromiseUnknown, Rpc, Side, Stamp, Step, Transaction, Tries, WaitEnd, Waiting,
};

pub use promise::{PromiseObject, promise_lines};
pub use record::PendingObject;

use crate::called::{called_within, operations_within};
use crate::format::column::{Amount, CellStyle, Column, TextColumn, Unit, push, push_xid};
use crate::format::line::{DIM, Line, NAME, PLAIN, WARNING, wrapped};
use crate::format::number::counted;
use crate::format::time::ShownTimes;
use crate::tries;
use crate::unanswered::UnansweredWait;
use crate::user::RpcUser;

/// Columns of a line.
const WIDTH: usize = 80;
/// Columns before what is owed.
const INDENT: usize = 13;
/// Columns of what is called.
const CALLED: usize = 43;
/// The most calls that are kept.
const KEPT: usize = 10_000;

/// The oldest calls without a reply.
#[derive(Debug, Default)]
pub struct Pending {
    kept: BinaryHeap<PendingCall>,
    /// Calls that were left out because there were so many older ones.
    pub newer: u64,
    /// Calls that were left out because others were sent under their XIDs.
    pub repeated: u64,
    /// Promises above RPC that are open, and are not the wait for one of the calls.
    pub promises: Vec<Promise>,
}

/// A call without a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PendingCall {
    /// Number of the connection.
    pub connection: u32,
    /// `rdma_xid`.
    pub xid: u32,
    /// The end that called.
    pub requester: Side,
    /// Address of the requester.
    pub from: Address,
    /// Address of the responder.
    pub to: Address,
    /// The frame that the call began with.
    pub began: Stamp,
    /// The frame that completed the call.
    pub call: Stamp,
    /// Known properties of the call.
    pub rpc: Rpc,
    /// The user of the call.
    pub user: Option<RpcUser>,
    /// Printed name of the call.
    pub(crate) called: String,
    /// State of the wait.
    pub waiting: Waiting,
    /// The tries, if there were several: the call waits since the first try.
    pub tries: Option<Box<Tries>>,
}

impl Ord for PendingCall {
    /// By age: the older is the lesser.
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        let place = |call: &Self| (call.call.time, call.call.frame, call.connection, call.xid);
        place(self).cmp(&place(other))
    }
}

impl PartialOrd for PendingCall {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Pending {
    /// Takes an RPC: a call without a reply is kept, unless it was retransmitted under its XID and so is no longer waited for.
    pub fn add_rpc(&mut self, transaction: &Transaction) {
        let Some(call) = PendingCall::from_transaction(transaction) else { return };
        if call.waiting.end == WaitEnd::Repeated {
            self.repeated += 1;
            return;
        }
        self.kept.push(call);
        if self.kept.len() > KEPT {
            self.kept.pop();
            self.newer += 1;
        }
    }

    /// Takes a promise that is open at the end of the capture. A recall without an answer is a call without a reply.
    pub fn promise(&mut self, promise: &Promise) {
        if promise.is_answered && promise.unknown != Some(PromiseUnknown::LeftOut) {
            self.promises.push(promise.clone());
        }
    }

    /// A note on the calls that were left out because others were sent under their XIDs, if there are any.
    #[must_use]
    pub fn repeated_note(&self) -> Option<String> {
        (self.repeated > 0)
            .then(|| format!("{} left out: retransmitted under the same XID", counted(self.repeated, "call")))
    }

    /// Returns the calls that were kept, the oldest first.
    #[must_use]
    pub fn into_calls(self) -> Vec<PendingCall> {
        self.kept.into_sorted_vec()
    }
}

/// Writes the headings of the columns of [`lines`].
///
/// # Errors
/// Any error from writing to `out`.
pub fn heading(out: &mut impl io::Write, colour: bool) -> io::Result<()> {
    let mut line = Line::new(colour, WIDTH);
    line.headings(&columns());
    line.write(out)
}

/// Content of the first line about a call.
pub(crate) struct PendingLine<'a> {
    pub(crate) call: &'a PendingCall,
    pub(crate) end: CaptureEnd,
}

/// The columns of the first line about a call.
pub(crate) const fn columns<'a>() -> [Column<PendingLine<'a>>; 5] {
    [
        Column {
            report_heading: "age",
            ..Column::number("age, seconds", &["age_ns", "age_at_least_ns"], 14, Unit::Age, |row| {
                row.call.shown_age(row.end)
            })
        },
        Column {
            report_heading: "call in frame",
            style: CellStyle::Always(DIM),
            ..Column::number("call", &["call_frame"], 6, Unit::Frame, |row| row.call.call.frame.into())
        },
        Column::right("C", &["connection"], 2, DIM, |row, _, text| push(text, Some(row.call.connection))),
        Column::left("rdma_xid", &["rdma_xid"], 10, PLAIN, |row, _, text| push_xid(text, row.call.xid)),
        Column::left("RPC", &["operation", "operations"], 0, NAME, |row, _, text| text.push_str(&row.call.called)),
    ]
}

pub(crate) fn text_columns() -> Vec<TextColumn> {
    TextColumn::list_columns(&columns())
}

/// Writes a call in lines of at most 80 columns: age at the end of the capture, the frame that completed
/// the call, connection, `rdma_xid` and procedure; then what is owed, and what either end did last.
///
/// # Errors
/// Any error from writing to `out`.
pub fn lines(
    out: &mut impl io::Write,
    call: &PendingCall,
    end: CaptureEnd,
    files: &Files,
    colour: bool,
    times: ShownTimes,
) -> io::Result<()> {
    let mut line = Line::new(colour, WIDTH);
    line.cells(&columns(), &PendingLine { call, end });
    line.write(out)?;
    let style = if matches!(call.waiting.owed, Owed::Unknown(_)) { WARNING } else { PLAIN };
    let called = times.clock_if_shown(call.call.time).map(|time| (PLAIN, format!("called at {time}")));
    let tries = call.tries.iter().flat_map(|tries| tries::of_tries(tries)).map(|text| (WARNING, text));
    let steps = [(style, call.owed()), (DIM, call.last_steps(files))];
    for (style, text) in called.into_iter().chain(tries).chain(steps) {
        for text in wrapped(&text, WIDTH - INDENT) {
            Line::new(colour, usize::MAX).with(PLAIN, &" ".repeat(INDENT)).with(style, &text).write(out)?;
        }
    }
    Ok(())
}

/// A message that the receiver refused, and the sender did not retransmit.
fn refused(
    message: &str,
    PacketRefusal { kind, stamp, .. }: PacketRefusal,
    receiver: &Address,
    sender: &Address,
) -> String {
    let (kind, frame) = (kind.name(), stamp.frame);
    format!("{receiver} refused {message} ({kind} in frame {frame}), and {sender} did not send it again")
}

impl PendingCall {
    /// The call of an RPC that has no reply; `None` of any other.
    pub(crate) fn from_transaction(transaction: &Transaction) -> Option<Self> {
        let waiting = transaction.waiting?;
        Some(Self {
            connection: transaction.connection,
            xid: transaction.xid,
            requester: transaction.requester,
            from: transaction.from,
            to: transaction.to,
            began: transaction.began.or(transaction.call.as_ref().map(|call| call.stamp))?,
            call: transaction.call.as_ref()?.stamp,
            rpc: transaction.called(),
            user: RpcUser::from_transaction(transaction),
            called: called_within(CALLED, transaction),
            waiting,
            tries: transaction.tries.clone(),
        })
    }

    /// A call that waits while the capture is being read; `None` if the message is no call. Who owes what is known only when the
    /// capture ends.
    #[must_use]
    pub fn of_message(message: &Message) -> Option<Self> {
        let (requester, credits) = message.credit_use.filter(|(requester, _)| *requester == message.sender)?;
        let rpc = message.rpc.clone().unwrap_or(Rpc::unknown(MessageDirection::Call));
        let waiting = Waiting::while_read(message.stamp, credits);
        Some(Self {
            connection: message.connection,
            xid: message.xid(),
            requester,
            from: message.from,
            to: message.to,
            began: message.stamp,
            call: message.stamp,
            called: operations_within(CALLED, rpc.name, rpc.procedure, &rpc.operations),
            rpc,
            user: None,
            waiting,
            tries: None,
        })
    }

    /// Takes a reply that the responder provides, while the capture is being read: the requester has to read the reply.
    pub fn provide(&mut self, reply: Stamp) {
        self.waiting.responder = Some(LastStep { step: Step::Reply, stamp: reply });
        (self.waiting.delivery, self.waiting.owed) = (Delivery::Accepted, Owed::ReadReply);
    }

    /// Forgets the reply that the responder [provided](Self::provide), because the requester did not accept it.
    pub fn withdraw(&mut self) {
        if self.waiting.owed == Owed::ReadReply {
            self.waiting.responder = None;
            self.waiting.owed = Owed::Unknown(OwedUnknown::StillRead);
        }
    }

    /// Nanoseconds from the first frame of the call to the end of its connection or of the capture. `None` if the clock was set back meanwhile.
    #[must_use]
    pub fn age(&self, end: CaptureEnd) -> Option<u64> {
        self.wait().known_time(end)
    }

    /// Nanoseconds from the first frame of the call to the end of its connection or of the capture, or the time since
    /// the clock was set back after the call.
    #[must_use]
    pub fn least_age(&self, end: CaptureEnd) -> u64 {
        self.wait().time(end)
    }

    const fn wait(&self) -> UnansweredWait {
        UnansweredWait { began: self.began, end: self.waiting.end }
    }

    /// The age, or the least age.
    fn shown_age(&self, end: CaptureEnd) -> Amount {
        self.age(end).map_or_else(|| Amount::AtLeast(self.least_age(end)), Amount::Exact)
    }

    /// The end that owes something.
    #[must_use]
    pub const fn debtor(&self) -> Option<Address> {
        self.waiting.owed.debtor(self.from, self.to)
    }

    /// Returns true if the requester has used all credits and can send no other call until the responder answers one.
    /// `None` if that is not known.
    #[must_use]
    pub fn owes_credit(&self) -> Option<bool> {
        if self.waiting.end != WaitEnd::Capture {
            return Some(false);
        }
        match self.waiting.credits.limit {
            CreditLimit::Below => Some(false),
            CreditLimit::Reached => Some(true),
            CreditLimit::Unknown => None,
        }
    }

    /// Returns the owed step, and the end that owes the step.
    pub(crate) fn owed(&self) -> String {
        let Self { from, to, .. } = self;
        let owed = match self.waiting.owed {
            Owed::Reply => self.owed_reply(),
            Owed::Call(refusal) => format!("{from} owes the call once more: {}", refused("it", refusal, to, from)),
            Owed::Acknowledgement(times) => format!(
                "{to} never acknowledged the call, which {from} sent {}: {to} cannot be reached, or its acknowledgements \
                 are lost",
                sent(times)
            ),
            Owed::ReplyAgain(refusal) => format!("{to} owes the reply once more: {}", refused("it", refusal, from, to)),
            Owed::ReplyArrival(times) => self.reply_unacknowledged(times),
            Owed::ReadResponse(octets) => {
                format!("{from} owes {octets} bytes of RDMA Read responses when the capture ends")
            }
            Owed::ReadReply => format!("{from} owes the RDMA Read of the reply, which {to} provides in its memory"),
            Owed::Nothing if self.waiting.end == WaitEnd::Repeated => {
                format!("no longer waited for: {from} made another call with its XID")
            }
            Owed::Nothing => self.owed_no_longer(),
            Owed::Unknown(OwedUnknown::DirectionMissing) => {
                format!("not known whether it was answered: the capture holds no packet of {to}")
            }
            Owed::Unknown(reason) => format!("not known who owes what: {reason}"),
            _ => "not known who owes what".to_owned(),
        };
        let WaitEnd::Disconnected { by, stamp, .. } = self.waiting.end else { return owed };
        let by = if by == self.requester { from } else { to };
        format!("{owed}; {by} ended the connection in frame {}", stamp.frame)
    }

    /// The wait is over. If the reply was sent, it is known what became of it.
    fn owed_no_longer(&self) -> String {
        let Self { from, to, .. } = self;
        match self.waiting.reply_delivery {
            Some(Delivery::Refused(refusal)) => {
                format!("will not be answered: {}", refused("the reply", refusal, from, to))
            }
            Some(Delivery::Unacknowledged { times }) => self.reply_unacknowledged(times),
            Some(Delivery::Unknown) => {
                format!("not known whether the reply arrived: {from} lacked bytes before it, and {to} sent it once")
            }
            _ => format!("will not be answered: {}", self.fate_of_call()),
        }
    }

    fn reply_unacknowledged(&self, times: u32) -> String {
        let Self { from, to, .. } = self;
        let sent = sent(times);
        format!("not known whether the reply arrived: {to} sent it {sent}, and {from} never acknowledged it")
    }

    /// The fate of a call that is over: a responder that was stuck had it, one that could not be reached did not.
    fn fate_of_call(&self) -> String {
        let Self { from, to, .. } = self;
        match self.waiting.delivery {
            Delivery::Accepted => format!("{to} had the call"),
            Delivery::Refused(refusal) => refused("the call", refusal, to, from),
            Delivery::Unacknowledged { times } => {
                format!("{from} sent the call {}, and {to} never acknowledged it", sent(times))
            }
            _ => "the capture does not show that the call arrived".to_owned(),
        }
    }

    /// The reply is owed: by a responder that has the call, as far as the capture shows.
    fn owed_reply(&self) -> String {
        let Self { from, to, .. } = self;
        let accepted = if self.waiting.delivery == Delivery::Accepted { " has the call and" } else { "" };
        let mut owed = format!("{to}{accepted} owes the reply when the capture ends");
        if self.owes_credit() == Some(true) {
            let calls = match self.waiting.credits.waiting {
                1 => "its call has the only one".to_owned(),
                waiting => format!("its {waiting} calls that wait have them all"),
            };
            owed.push_str(&format!(", and with it a credit: {from} has none left, {calls}"));
        }
        if accepted.is_empty() {
            owed.push_str("; the capture does not show that the call arrived");
        }
        owed
    }

    /// Returns what either end did last; while the capture is still being read, only the call is known.
    pub(crate) fn last_steps(&self, files: &Files) -> String {
        let Self { from, to, .. } = self;
        let step = |end: &Address, LastStep { step, stamp }: LastStep| {
            let place = files.place(stamp.frame).map(|place| format!(" ({place})")).unwrap_or_default();
            format!("{} in frame {}{place} by {end}", step.name(), stamp.frame)
        };
        let requester = step(from, self.waiting.requester);
        if self.waiting.owed == Owed::Unknown(OwedUnknown::StillRead) {
            return format!("last: {requester}");
        }
        let nothing = || match (self.waiting.is_direction_missing(), self.waiting.delivery) {
            (true, _) => format!("nothing captured by {to}"),
            (false, Delivery::Accepted) => format!("nothing but its acknowledgement by {to}"),
            (false, _) => format!("nothing for it by {to}"),
        };
        let responder = self.waiting.responder.map_or_else(nothing, |last| step(to, last));
        format!("last: {requester}; {responder}")
    }
}

/// Words for the number of times that a message was sent: once, if only octets before it were retransmitted.
pub(super) fn sent(times: u32) -> String {
    if times == 1 { "once, behind retransmitted bytes".to_owned() } else { format!("{times} times") }
}
