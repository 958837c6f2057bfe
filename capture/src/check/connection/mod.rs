//! What is kept of a connection, and the rules that need it.

mod requests;
mod v2;

use rpcrdma::error::{Reaction, Role};
use rpcrdma::prefix::Procedure;
use rpcrdma::private_data::{Agreement, Flags};
use rpcrdma::rpc::MessageType;
use rpcrdma::rules::{
    self, CREDIT_EXCEEDED, Credits, Exchange, Finding, INLINE_EXCEEDED, REVERSE_CREDIT, Report, Rule, Sent, Severity,
};
use rpcrdma::v1::{self, Body, ErrorBody, Message as Decoded};

use super::empty_chunks::EmptyChunks;
use super::rpc::{self, Subject};
use super::{About, Blame, Book, Found, Group, memory, setup};
use crate::carrier::connection::Announced;
use crate::carrier::operation::{Side, Sides, Stamp};
use crate::event::{MemoryUse, MemoryUseKind, Opened, Report as Ended};
use crate::file::Time;
use crate::link::Address;
use crate::rpc::header::Dialect;
use crate::rpc::known::Direction;
use crate::rpc::message::{Answered, Captured, Detail, Message, OtherCall};
use requests::{ANSWER, Answers, Faulty, Request, Requests};
use v2::Version2;

/// Findings of a connection that wait for their proof.
const PENDING: usize = 256;
/// Frames by which a capture may show packets out of order: as many as are held up for one that is missing.
const DISORDER: u64 = 4096;
/// Nanoseconds after which an answer that did not come is taken not to come.
const PATIENCE: u64 = 1_000_000_000;
/// Replies whose responder-provided Read chunks may still be read, of a connection.
const PULLED: usize = 16;

static REPLY_UNEXPECTED: Rule = Rule {
    slug: "reply-unexpected",
    severity: Severity::Warning,
    section: "RFC 8166 4.2.1",
    summary: "a reply or an error matches a call that is still waiting",
    reason: "The requester cannot use it. It suggests a call that was answered twice, or a wrong XID.",
    correct: "A responder answers each call once, with its XID.",
    answer: None,
};
static REVERSE_VERSION: Rule = Rule {
    slug: "reverse-version",
    severity: Severity::Error,
    section: "RFC 8167 5.1",
    summary: "rdma_vers is the same in both directions of a connection",
    reason: "An end has one way to read what arrives, whoever calls.",
    correct: "A server calls back in the version that the client uses.",
    answer: Some(Reaction::ErrVers),
};
static PULL_NOT_NOTIFIED: Rule = Rule {
    slug: "pull-not-notified",
    severity: Severity::Error,
    section: "draft reliable-reply 4.1.2, 4.1.3",
    summary: "once a reply was read from a responder-provided Read chunk, RDMA_DONE follows",
    reason: "The responder keeps the memory registered until then.",
    correct: "A requester sends RDMA_DONE with the XID when it has read everything.",
    answer: None,
};
pub(super) fn rules() -> impl Iterator<Item = &'static Rule> {
    [&REPLY_UNEXPECTED, &REVERSE_VERSION, &PULL_NOT_NOTIFIED, &ANSWER].into_iter()
}

/// A finding that rests on something not being there. It stands when the end that should have sent that goes on without
/// anything missing.
#[derive(Debug)]
struct Pending {
    found: Found,
    /// Whose Sends prove it.
    proof: Side,
    order: Order,
    /// A Send of that end came since.
    proven: bool,
}

/// How a finding rests on the order of the two directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// It does not.
    Free,
    /// What was sent at this place came before the next Send of the other end: that has to say so by what it acknowledges. Only
    /// the end of the connection tells that nothing was out of order besides.
    Before(u64),
    /// It has said so.
    Told,
}

/// A reply in a responder-provided Read chunk.
#[derive(Debug)]
struct Pulled {
    requester: Side,
    about: About,
    /// Octets of its Read chunks.
    length: u64,
    asked: u64,
    /// When it was sent, or read from last.
    pulled: Time,
}

/// What is known of a connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) ends: Sides<Address>,
    /// What the ends announced, where the set-up was seen and was not judged yet.
    announced: Option<Sides<Option<Announced>>>,
    set_up: bool,
    /// It was seen from its start.
    whole: bool,
    /// The end that is the client, once known.
    client: Option<Side>,
    agreement: Option<Agreement>,
    /// Which ends announced remote invalidation.
    invalidation: Option<Sides<bool>>,
    /// By the end that calls.
    credits: Sides<Credits>,
    /// The capture missed something that an end sent.
    lost: Sides<bool>,
    /// Since then nothing could be read that the end sent: its queue pair may serve another connection.
    suspect: Sides<bool>,
    /// An end sent something of which not all could be read, so it may have advertised memory that is not known.
    unreadable: Sides<bool>,
    /// The dissector gave up a call that may still be answered.
    forgotten: bool,
    /// The client sent a message of version 1.
    spoke: bool,
    /// A message of version 1 was read: whatever follows is judged by the rules of that.
    version_1: bool,
    version_2: Version2,
    /// That remote invalidation was not agreed was said.
    told: bool,
    /// By the end that asks.
    requests: Sides<Requests>,
    /// What brought the last Send of each end.
    last: Sides<Stamp>,
    /// A Send was given after one that was captured later: which of the two ends was first is not known.
    is_disordered: bool,
    /// Replies come in responder-provided Read chunks.
    reliable: bool,
    /// A requester has read such a reply, or said so: both ends know them.
    is_agreed: bool,
    pulled: Vec<Pulled>,
    pending: Vec<Pending>,
}

/// Which ends announced remote invalidation (RFC 8797 section 4.1); `None` where the capture does not show it.
fn invalidation(connection: &crate::carrier::connection::Connection) -> Option<Sides<bool>> {
    let said = |side| connection.said(side).map(|said| said.flags.contains(Flags::REMOTE_INVALIDATION));
    Some(Sides { active: said(Side::Active)?, passive: said(Side::Passive)? })
}

impl Connection {
    pub(super) fn new(opened: &Opened) -> Self {
        let Opened { connection, whole, .. } = opened;
        let credits = if *whole { Credits::new() } else { Credits::unknown() };
        let Sides { active, passive } = connection.ends;
        Self {
            ends: Sides { active: active.address, passive: passive.address },
            announced: connection.set_up.then_some(connection.announced),
            set_up: connection.set_up,
            whole: *whole,
            client: connection.set_up.then_some(Side::Active),
            agreement: connection.agreement(),
            invalidation: invalidation(connection),
            credits: Sides { active: credits, passive: credits },
            lost: Sides::default(),
            suspect: Sides::default(),
            unreadable: Sides::default(),
            forgotten: false,
            spoke: false,
            version_1: false,
            version_2: Version2::new(*whole),
            told: false,
            requests: Sides::default(),
            last: Sides::default(),
            is_disordered: false,
            reliable: false,
            is_agreed: false,
            pulled: Vec::new(),
            pending: Vec::new(),
        }
    }

    /// The set-up is still to be judged, now that the connection has ended. Version 2 has transport properties in place of
    /// private data.
    pub(super) const fn owes_set_up(&self) -> bool {
        (self.announced.is_some() || !self.set_up) && (self.version_1 || !self.version_2.spoken)
    }

    /// Nothing of the connection was missed.
    fn is_whole(&self) -> bool {
        self.whole && self.lost == Sides::default() && !self.forgotten
    }

    /// The capture does not hold something that an end sent: calls, replies, or both.
    pub(super) fn lost(&mut self, from: Side, book: &mut Book) {
        self.pending.retain(|pending| {
            if pending.proof == from {
                book.unknown(pending.found.rule);
            }
            pending.proof != from
        });
        *self.lost.get_mut(from) = true;
        *self.suspect.get_mut(from) = true;
        *self.version_2.goes_on.get_mut(from) = true;
        // A call that was missed makes the count too small, a reply too large.
        self.credits.get_mut(from.other()).missed();
    }

    /// Keeps a finding until it is proven by what `proof` sends after it.
    fn wait(&mut self, found: Found, proof: Side, book: &mut Book) {
        self.wait_for(found, (proof, Order::Free), book);
    }

    /// The same of one that may rest on the order of the two directions.
    fn wait_for(&mut self, found: Found, (proof, order): (Side, Order), book: &mut Book) {
        if self.pending.len() < PENDING {
            // What was held up may be given after what was sent later.
            // The end that need not go on may have said all it had to.
            let is_last = matches!(found.rule.slug, "error-from-requester" | "answer");
            let proven = self.last.get(proof).frame > found.stamp.frame || is_last;
            self.pending.push(Pending { found, proof, order, proven });
        } else {
            book.unknown(found.rule);
        }
    }

    /// An end goes on, and nothing is missing: what rests on that is proven.
    fn prove(&mut self, message: &Message, book: &mut Book) {
        let (sender, frame) = (message.sender, message.stamp.frame);
        let xid = message.prefix().map(|prefix| prefix.xid);
        let mut proven = Vec::new();
        let mut unproven = Vec::new();
        self.pending.retain_mut(|pending| {
            if pending.proof != sender {
                return true;
            }
            // What it answers seemed to be missing, and has come late.
            if matches!(pending.found.rule.slug, "reply-unexpected" | "error-echo") && pending.found.xid == xid {
                return false;
            }
            match pending.order {
                Order::Before(place) if has_received(message, place) => pending.order = Order::Told,
                Order::Before(_) => {
                    unproven.push(pending.found.rule);
                    return false;
                }
                Order::Free | Order::Told => {}
            }
            pending.proven |= frame > pending.found.stamp.frame;
            let stands = pending.order == Order::Free && frame > pending.found.stamp.frame + DISORDER;
            if stands {
                proven.push(pending.found.clone());
            }
            !stands
        });
        proven.into_iter().for_each(|found| book.keep(found));
        unproven.into_iter().for_each(|rule| book.unknown(rule));
    }

    /// Judges how memory was used.
    pub(super) fn memory(&mut self, used: &MemoryUse, book: &mut Book) {
        if let MemoryUseKind::Pulled { xid, length } = used.kind {
            let reader = used.owner.other();
            self.is_agreed = true;
            let mut pulled = self.pulled.iter_mut();
            if let Some(pulled) = pulled.find(|pulled| pulled.requester == reader && pulled.about.xid == Some(xid)) {
                pulled.asked += length;
                pulled.pulled = used.stamp.time;
            }
            return;
        }
        // Memory that is not known may be that of a call that could not be read; a call that waits, answered by such a reply.
        let of = if matches!(used.kind, MemoryUseKind::Shared { .. }) { used.owner.other() } else { used.owner };
        let found = memory::judge(used, &self.ends, used.known && !self.unreadable.get(of), book);
        for found in found {
            match used.kind {
                MemoryUseKind::Outside { .. } => self.wait(found, used.owner, book),
                MemoryUseKind::Shared { sent, .. } => {
                    self.wait_for(found, (used.owner.other(), Order::Before(sent)), book);
                }
                MemoryUseKind::Refused { .. } | MemoryUseKind::Pulled { .. } => book.keep(found),
            }
        }
    }

    /// Judges a message.
    pub(super) fn message(&mut self, message: &Message, book: &mut Book) {
        let about = About::message(message);
        if !self.pending.is_empty() {
            self.prove(message, book);
        }
        let last = self.last.get_mut(message.sender);
        let began = last.frame > 0;
        if message.stamp.frame > last.frame {
            *last = message.stamp;
        }
        self.is_disordered |= message.stamp.frame < self.last.get(message.sender.other()).frame;
        self.learn(message);
        match message.dialect {
            _ if self.version_1 => {}
            Dialect::Version2(family) => return self.version_2(message, (Some(family), began), about, book),
            Dialect::Version2Unknown => return self.version_2(message, (None, began), about, book),
            Dialect::Version1 => {
                if is_of_version_1(message)
                    && let Some(announced) = self.announced.take()
                {
                    setup::judge(&announced, &self.ends, message.connection, book);
                }
            }
        }
        self.length(message, about, book);
        if message.prefix().is_some() {
            self.readable(message, about, book);
        } else {
            self.stub(message, about, book);
        }
    }

    /// Judges a message that has not even four words, or of which the capture has not.
    fn stub(&mut self, message: &Message, about: About, book: &mut Book) {
        *self.unreadable.get_mut(message.sender) = true;
        if message.captured != Captured::Whole {
            return book.unknown_group(Group::Send);
        }
        let sent = Sent::new(&message.octets, None);
        let faulty = self.send(message, &sent, about, book);
        if self.client == Some(message.sender) {
            self.request(message, &sent, faulty, about, book);
        } else if let Some(xid) = about.xid {
            self.unclear(message.sender, xid, book);
        }
    }

    /// An end sent something that may be a call of its own, or an answer: nothing in it tells.
    fn unclear(&mut self, sender: Side, xid: u32, book: &mut Book) {
        self.requests.get_mut(sender).add_unclear(xid);
        // The RDMA_ERROR that seemed to answer nothing may answer this, which was held up.
        self.pending.retain(|Pending { found, proof, .. }| {
            let is_explained = *proof == sender && found.xid == Some(xid) && found.rule.slug == "error-from-requester";
            if is_explained {
                book.unknown(found.rule);
            }
            !is_explained
        });
    }

    /// Judges a message whose first four words are there.
    fn readable(&mut self, message: &Message, about: About, book: &mut Book) {
        let detail = message.detail.as_deref();
        let role = self.role(message, detail, book);
        let mut sent = Sent { length: message.length, ..Sent::new(&message.octets, role) };
        // The session knows of an RDMA_DONE that ends a provided reply, even where it took that for a call.
        let is_done = sent.prefix.is_some_and(|prefix| prefix.procedure == Procedure::RDMA_DONE);
        self.reliable |= is_done && detail.is_some();
        sent.reliable_reply = self.reliable;
        let is_readable = sent.decoded.is_ok() || sent.error.is_some();
        self.version_1 |= sent.decoded.is_ok() && is_of_version_1(message);
        self.note_readable(message.sender, is_readable);
        let ends = matches!(message.captured, Captured::Whole | Captured::Cut);
        // What is right in version 2 is not, here.
        let is_other = message.dialect != Dialect::Version1;
        let is_malformed = || (is_other || message.is_malformed().is_some()) && !self.suspect.get(message.sender);
        let mut faulty = None;
        if ends && (is_readable || is_malformed()) {
            faulty = self.send(message, &sent, about, book);
        } else {
            book.unknown_group(Group::Send);
        }
        let Some(role) = role else { return };
        let answers = match role {
            Role::Requester => Answers::Nothing,
            Role::Responder => self.answers(message, &sent, about, book),
        };
        if ends {
            let of_rpc = self.rpc(message, &sent, (role, answers), about, book);
            faulty = faulty.or(of_rpc);
        }
        if role == Role::Requester {
            self.request(message, &sent, faulty, about, book);
        }
        self.pull(message, &sent, role, about, book);
    }

    /// Takes note of whether a message could be read.
    const fn note_readable(&mut self, sender: Side, is_readable: bool) {
        if is_readable {
            *self.suspect.get_mut(sender) = false;
        } else {
            *self.unreadable.get_mut(sender) = true;
        }
    }

    /// Takes note of who is the client, and of what the dissector gave up.
    fn learn(&mut self, message: &Message) {
        self.forgotten |= message.detail.as_ref().is_some_and(|detail| detail.forgotten);
        let Some(rpc) = &message.rpc else { return };
        if rpc.direction == Direction::Call && self.client.is_none() && rpc.name.is_some() {
            self.client = Some(if rpc.reverse { message.sender.other() } else { message.sender });
        }
        self.spoke |= self.client == Some(message.sender);
    }

    /// Whether a message asks or answers, for the direction its RPC goes.
    fn role(&mut self, message: &Message, detail: Option<&Detail>, book: &mut Book) -> Option<Role> {
        match detail {
            // It may be either.
            _ if message.hides_direction() => None,
            Some(Detail { direction: Direction::Call, .. }) => Some(Role::Requester),
            Some(detail) if !self.is_stray_error(message, detail) => Some(Role::Responder),
            // It may answer a call of the other direction (RFC 8167), which nobody could read, or be a requester's.
            Some(_) if self.requests.get_mut(message.sender.other()).take_unclear(message.xid()) => {
                super::find("error-from-requester").into_iter().for_each(|rule| book.unknown(rule));
                None
            }
            _ if self.is_reverse_call(message) => Some(Role::Requester),
            _ => self.client.map(|client| if client == message.sender { Role::Requester } else { Role::Responder }),
        }
    }

    /// Whether a message is an RDMA_ERROR that answers nothing: then only its sender tells what it should have been.
    fn is_stray_error(&self, message: &Message, detail: &Detail) -> bool {
        let answers = |xid| self.requests.get(message.sender.other()).waits(xid);
        message.rpc.is_none()
            && detail.answers.is_none()
            && message.error().is_some()
            && !message.prefix().is_some_and(|prefix| answers(prefix.xid))
    }

    /// Judges what one Send can be judged by; gives the rule it breaks that says most about its answer, if breaking it is
    /// no mere hazard.
    fn send(&mut self, message: &Message, sent: &Sent<'_>, about: About, book: &mut Book) -> Option<&'static Rule> {
        let mut first: Option<(&'static Rule, u8)> = None;
        let mut rests_on_order = None;
        let xid_of = xid_of(message, sent);
        rules::send(sent, &mut |finding| {
            if finding.rule.slug == "xid-mismatch" {
                match xid_of {
                    XidOf::Sender => {}
                    XidOf::Call => return,
                    XidOf::Unknown => return book.unknown(finding.rule),
                }
            }
            let mut finding = *finding;
            if finding.rule.slug == "version" && self.is_reverse_call(message) {
                finding.rule = &REVERSE_VERSION;
            }
            let weight = weight(&finding);
            if weight > first.map_or(0, |(_, weight)| weight) {
                first = Some((finding.rule, weight));
            }
            let found = Found::new(about, &finding, Some(finding.offset));
            // What it answers may be held up, as a reply would be whose call is missing.
            if finding.rule.slug == "error-from-requester" {
                rests_on_order = Some(found);
            } else {
                book.keep(found);
            }
        });
        if let Some(found) = rests_on_order {
            self.wait(found, message.sender.other(), book);
        }
        first.map(|(rule, _)| rule)
    }

    /// Whether a message of another version would be a call of the server's if it were of version 1.
    fn is_reverse_call(&self, message: &Message) -> bool {
        let is_other = message.prefix().is_some_and(|prefix| prefix.version != v1::VERSION);
        let calls = message.rpc.as_ref().is_some_and(|rpc| rpc.reverse && rpc.direction == Direction::Call);
        is_other && self.spoke && self.client == Some(message.sender.other()) && (calls || calls_in_version_1(message))
    }

    /// Judges the length of a Send.
    fn length(&self, message: &Message, about: About, book: &mut Book) {
        let is_known = matches!(message.captured, Captured::Whole | Captured::Cut);
        match self.agreement {
            Some(agreement) if is_known => {
                let threshold = match message.sender {
                    Side::Active => agreement.client_to_server,
                    Side::Passive => agreement.server_to_client,
                };
                if message.length as u64 > u64::from(threshold) {
                    book.judge(&INLINE_EXCEEDED, about, |report| rules::inline(message.length, threshold, report));
                }
            }
            // What fits the smallest threshold needs no agreement.
            _ if is_known && message.length <= 1024 => {}
            _ => book.unknown(&INLINE_EXCEEDED),
        }
    }

    /// A request is sent, and breaks a rule or not: keeps it until it is answered, and counts it.
    fn request(
        &mut self,
        message: &Message,
        sent: &Sent<'_>,
        faulty: Option<&'static Rule>,
        about: About,
        book: &mut Book,
    ) {
        let Some(xid) = about.xid else { return };
        let procedure = sent.prefix.map(|prefix| prefix.procedure);
        let is_call = !matches!(procedure, Some(Procedure::RDMA_DONE | Procedure::RDMA_ERROR));
        let request = match faulty.map(|rule| Faulty { rule, about, octets: message.length }) {
            faulty if is_call => Request::new(faulty),
            Some(faulty) => Request::Faulty(faulty, Reaction::Discard),
            None => return,
        };
        let is_readable = sent.decoded.as_ref().is_ok_and(|message| message.header.chunks().is_some());
        if self.requests.get_mut(message.sender).add(xid, request, is_readable, book) {
            self.count(message, about, book);
        }
    }

    /// A request takes a credit.
    fn count(&mut self, message: &Message, about: About, book: &mut Book) {
        let requester = message.sender;
        let credits = self.credits.get_mut(requester);
        if !credits.is_known() {
            book.unknown(&CREDIT_EXCEEDED);
        }
        if let Err(fault) = credits.call() {
            let is_reverse = self.client == Some(requester.other());
            let rule = if is_reverse { &REVERSE_CREDIT } else { fault.rule() };
            let mut found = None;
            let mut take = |finding: &Finding<'_>| found = Some(Found::new(about, finding, Some(finding.offset)));
            fault.say(&mut Report::new(rule, &mut take));
            // A reply that was missed would have ended a call.
            let sent = message.detail.as_ref().map(|detail| detail.progress.sent);
            match found.zip(sent) {
                Some((found, sent)) => self.wait_for(found, (requester.other(), Order::Before(sent)), book),
                None => book.unknown(rule),
            }
        }
    }

    /// A reply or an error: finds what it is for, and judges whether it should be there.
    fn answers(&mut self, message: &Message, sent: &Sent<'_>, about: About, book: &mut Book) -> Answers {
        let Some(xid) = about.xid else { return Answers::Nothing };
        let requester = message.sender.other();
        let is_known = message.detail.as_ref().is_some_and(|detail| detail.answers.is_some());
        let is_reply = sent.error.is_some() || is_reply(sent) || is_known && has_long_reply(sent);
        if !is_reply {
            self.unclear(message.sender, xid, book);
        }
        if !is_reply && !is_known {
            if sent.decoded.is_ok() {
                book.unknown(&REPLY_UNEXPECTED);
            }
            return Answers::Nothing;
        }
        let error = sent.error.map(|(error, _)| error);
        let (answers, frees_credit) = self.requests.get_mut(requester).answer(xid, error);
        if is_known || frees_credit {
            self.credits.get_mut(requester).reply(sent.prefix.map_or(1, |prefix| prefix.credit));
        } else if matches!(answers, Answers::Nothing) {
            self.unexpected(requester, error, about, book);
        }
        match requests::judge(answers, error, about, book) {
            Some(found) if self.is_whole() => self.wait(found, requester, book),
            Some(found) => book.unknown(found.rule),
            None => {}
        }
        answers
    }

    /// Judges an answer to nothing that waits. Where one request waits for such an error, it has the wrong XID.
    fn unexpected(&mut self, requester: Side, error: Option<ErrorBody>, about: About, book: &mut Book) {
        if !self.is_whole() {
            return book.unknown(&REPLY_UNEXPECTED);
        }
        let misnamed = error.and_then(|error| self.requests.get_mut(requester).take_misnamed(error));
        if let (Some(faulty), Some(rule)) = (misnamed, super::find("error-echo")) {
            let (frame, slug) = (faulty.about.stamp.frame, faulty.rule.slug);
            let message =
                format_args!("no request has this XID; that of frame {frame} ({slug}) waits for such an error");
            let finding = Finding { rule, severity: rule.severity, offset: 0, message };
            return self.wait(Found::new(about, &finding, Some(0)), requester, book);
        }
        if *self.unreadable.get(requester) {
            return book.unknown(&REPLY_UNEXPECTED);
        }
        let (rule, severity) = (&REPLY_UNEXPECTED, REPLY_UNEXPECTED.severity);
        let finding = Finding { rule, severity, offset: 0, message: format_args!("no call with this XID waits") };
        self.wait(Found::new(about, &finding, Some(0)), requester, book);
    }

    /// Judges a call or a reply by what it carries, and a reply by its call; gives the rule it breaks first, if breaking
    /// it is an error.
    fn rpc(
        &mut self,
        message: &Message,
        sent: &Sent<'_>,
        (role, answers): (Role, Answers),
        about: About,
        book: &mut Book,
    ) -> Option<&'static Rule> {
        let detail = message.detail.as_deref();
        let is_clear = !matches!(answers, Answers::Copy | Answers::Unclear);
        let is_alone = matches!(answers, Answers::Call(None) | Answers::Copy | Answers::Nothing) && self.is_whole();
        let answers = detail.and_then(|detail| detail.answers.as_ref()).filter(|_| is_clear);
        let call = answers.map(|answers| &answers.call);
        let called = call.filter(|call| call.captured == Captured::Whole).and_then(Message::decode_v1);
        if role == Role::Responder {
            match (&sent.decoded, &called) {
                (Ok(reply), Some(call)) if has_chunks(reply) && has_chunks(call) => {
                    let exchange = Exchange { call: call.into(), reply: reply.into() };
                    rules::exchange(&exchange, &mut |finding| book.add(about, finding, Some(finding.offset)));
                }
                (Ok(reply), None) if call.is_none() && has_chunks(reply) && !(is_clear && self.is_whole()) => {
                    book.unknown_group(Group::Exchange);
                }
                _ => {}
            }
        }
        if let Some(answers) = answers {
            let is_long = is_nomsg(called.as_ref()) && called.as_ref().is_some_and(is_long_call);
            judge_long("xid-mismatch", is_long, answers.long_xid, About::message(&answers.call), book);
            let (called, found) = (called_xid(message), detail.and_then(|detail| detail.long_xid));
            let long_reply = is_nomsg(sent.decoded.as_ref().ok()) && has_reply_chunk(sent);
            let repeats_xid = found.is_some() && found == called;
            judge_long("xid-mismatch", long_reply && !repeats_xid, found.and(called).and(found), about, book);
        }
        let mut subject = Subject {
            message,
            decoded: sent.decoded.ok(),
            role,
            call,
            called,
            arguments: answers.and_then(|answers| answers.walked.as_ref()),
            moved: answers.and_then(|answers| answers.moved.as_deref()),
            walked: detail.and_then(|detail| detail.walked.as_ref()),
            may_invalidate: self.invalidation.filter(|_| !self.told),
            faulty: !is_alone,
        };
        if let Some(Answered { call, walked, walked_late: true, .. }) = answers {
            let walked = walked.as_ref();
            let long = Subject { message: call, decoded: called, role: Role::Requester, call: None, walked, ..subject };
            subject.faulty |= rpc::judge_late(&long, About::message(call), book);
        }
        let empty_chunks = EmptyChunks::of(&subject);
        empty_chunks.judge(&subject, about, book);
        if let EmptyChunks::PassedOver(_, walked) = &empty_chunks {
            subject.walked = Some(walked);
        }
        let first = rpc::judge(&subject, about, book);
        if let (Some(handle), Some(other)) = (message.invalidates, detail.and_then(|detail| detail.shared_with)) {
            self.shared(&subject, (handle, other), about, book);
        }
        if message.invalidates.is_some() && role == Role::Responder {
            self.tell_invalidation(book);
        }
        first
    }

    /// A responder has used remote invalidation. Whether it was agreed is said once a connection; or that it is not known.
    fn tell_invalidation(&mut self, book: &mut Book) {
        if !self.told && self.invalidation.is_none() {
            super::find("invalidate-foreign").into_iter().for_each(|rule| book.unknown(rule));
        }
        self.told = true;
    }

    /// Judges that a reply invalidates a handle of its call which another call advertises too.
    fn shared(&mut self, subject: &Subject<'_>, (handle, other): (u32, OtherCall), about: About, book: &mut Book) {
        let Some(((call, called), rule)) = subject.call.zip(subject.called).zip(super::find("invalidate-foreign"))
        else {
            return;
        };
        let mut advertises = false;
        rules::segments(&called, |_, segment, _| advertises |= segment.handle == handle);
        // What is not of the call at all is said of it already.
        if !advertises {
            return;
        }
        let OtherCall { xid, frame, sent } = other;
        let is_later = frame > call.stamp.frame;
        // What came after the call may have been sent when its reply was there.
        if !self.is_whole() || is_later && !has_received(subject.message, sent) {
            return book.unknown(rule);
        }
        let when = if is_later { "; the responder may not have seen that yet" } else { "" };
        let message = format_args!(
            "handle {handle:#010x} is invalidated, which {xid:#010x} in frame {frame} advertises too{when}"
        );
        let finding = Finding { rule, severity: rule.severity, offset: 0, message };
        // Then the requester shares a handle, and the responder could not know.
        let blame = if is_later { Blame::Either } else { Blame::Sender };
        let found = Found::new(about, &finding, Some(0)).by(blame);
        self.wait_for(found, (subject.message.sender.other(), Order::Told), book);
    }

    /// Follows replies in responder-provided Read chunks.
    fn pull(&mut self, message: &Message, sent: &Sent<'_>, role: Role, about: About, book: &mut Book) {
        let requester = requester(role, message.sender);
        let Ok(decoded) = sent.decoded else { return };
        match decoded.header.body {
            Body::Nomsg(chunks) if role == Role::Responder && !chunks.reads.is_empty() => {
                self.reliable = true;
                if self.pulled.len() == PULLED {
                    return book.unknown(&PULL_NOT_NOTIFIED);
                }
                let (length, pulled) = (chunks.reads.length(), message.stamp.time);
                self.pulled.push(Pulled { requester, about, length, asked: 0, pulled });
            }
            Body::Done => {
                let is_answered = self.pulled.iter().any(|pulled| pulled.about.xid == about.xid);
                self.is_agreed |= is_answered;
                self.pulled.retain(|pulled| pulled.requester != message.sender || pulled.about.xid != about.xid);
            }
            _ => {}
        }
    }

    /// The connection has ended: judges what should have come.
    pub(super) fn end(mut self, report: &Ended, book: &mut Book) {
        let Sides { active, passive } = report.counts;
        let (in_order, missed) = (active.early + passive.early == 0, active.missed + passive.missed);
        // Where something is known to be missing, it may be the answer.
        let whole = self.is_whole() && missed + active.orphans + passive.orphans == 0;
        for Pending { found, order, proven, .. } in std::mem::take(&mut self.pending) {
            let is_in_order = match order {
                Order::Free => in_order,
                Order::Told => in_order && !self.is_disordered,
                Order::Before(_) => false,
            };
            if proven && is_in_order { book.keep(found) } else { book.unknown(found.rule) }
        }
        for requester in [Side::Active, Side::Passive] {
            let stayed = self.stayed(requester, report.connection.disconnected);
            for (faulty, due) in std::mem::take(self.requests.get_mut(requester)).into_due() {
                let Faulty { rule, about, .. } = faulty;
                let message = format_args!("{due} should answer this ({}), and nothing does", rule.slug);
                let finding = Finding { rule: &ANSWER, severity: requests::severity(rule), offset: 0, message };
                let is_due = whole && stayed >= Time(about.stamp.time.0.saturating_add(PATIENCE));
                omitted(is_due, about, &finding, book);
            }
        }
        for pulled in std::mem::take(&mut self.pulled) {
            let stayed = self.stayed(pulled.requester, report.connection.disconnected);
            let is_due = whole && stayed >= Time(pulled.pulled.0.saturating_add(PATIENCE));
            self.provided(&pulled, is_due, book);
        }
    }

    /// Judges a reply in responder-provided Read chunks of which no RDMA_DONE told that it was read. It `is_due` where
    /// nothing can be missing, and time enough was left.
    fn provided(&self, pulled: &Pulled, is_due: bool, book: &mut Book) {
        let Pulled { about, length, asked, .. } = *pulled;
        if asked >= length {
            let message = format_args!("the {length} octets of this reply were read, and no RDMA_DONE follows");
            let (rule, severity) = (&PULL_NOT_NOTIFIED, PULL_NOT_NOTIFIED.severity);
            return omitted(is_due, about, &Finding { rule, severity, offset: 0, message }, book);
        }
        let Some(rule) = super::find("read-in-reply").filter(|_| !self.is_agreed) else { return };
        if is_due {
            let message = format_args!("a reply of {length} octets to be read, and the requester reads nothing");
            book.add(about, &Finding { rule, severity: Severity::Hazard, offset: 16, message }, Some(16));
        } else {
            book.unknown(rule);
        }
    }

    /// Until when an end is known to have been there: to its last Send, or until it ended the connection.
    fn stayed(&self, end: Side, disconnected: Option<(Side, Stamp)>) -> Time {
        let left = disconnected.filter(|(by, _)| *by == end).map(|(_, stamp)| stamp.time);
        self.last.get(end).time.max(left.unwrap_or_default())
    }
}

/// What the receiver of a frame owes to it did not come; it `is_due` where nothing can be missing, and time enough was left.
fn omitted(is_due: bool, about: About, finding: &Finding<'_>, book: &mut Book) {
    if is_due {
        book.keep(Found::new(about, finding, None).by(Blame::Receiver));
    } else {
        book.unknown(finding.rule);
    }
}

/// Whether its sender speaks version 1. An RDMA_ERROR does not show it: one that refuses a version has this layout, whatever
/// else its sender knows.
fn is_of_version_1(message: &Message) -> bool {
    message.prefix().is_some_and(|prefix| prefix.version == v1::VERSION) && message.error().is_none()
}

/// Whether the sender of a message is known to have had what the other end sent at that `place`.
fn has_received(message: &Message, place: u64) -> bool {
    message.detail.as_ref().is_some_and(|detail| detail.progress.has_received(place))
}

fn requester(role: Role, sender: Side) -> Side {
    if role == Role::Requester { sender } else { sender.other() }
}

fn has_chunks(message: &Decoded<'_>) -> bool {
    matches!(message.header.body, Body::Msg(_) | Body::Nomsg(_))
}

fn is_nomsg(message: Option<&Decoded<'_>>) -> bool {
    message.is_some_and(|message| matches!(message.header.body, Body::Nomsg(_)))
}

fn is_long_call(call: &Decoded<'_>) -> bool {
    call.header.chunks().is_some_and(|chunks| chunks.reads.iter().any(|read| read.position == 0))
}

fn has_reply_chunk(sent: &Sent<'_>) -> bool {
    let chunks = sent.decoded.as_ref().ok().and_then(|message| message.header.chunks());
    chunks.and_then(|chunks| chunks.reply).is_some_and(|chunk| chunk.length() > 0)
}

/// Judges the XID of an RPC message that was in a chunk.
fn judge_long(slug: &str, is_long: bool, found: Option<u32>, about: About, book: &mut Book) {
    let (true, Some(rule), Some(xid)) = (is_long, rules::find(slug), about.xid) else { return };
    match found {
        None => book.unknown(rule),
        Some(found) if found != xid => {
            let severity = rule.severity;
            let message =
                format_args!("the RPC message in the chunk has the XID {found:#010x}, rdma_xid is {xid:#010x}");
            book.add(about, &Finding { rule, severity, offset: 0, message }, Some(0));
        }
        Some(_) => {}
    }
}

/// How much the breach of a rule says about what answers the Send.
fn weight(finding: &Finding<'_>) -> u8 {
    match (finding.severity, finding.rule.answer) {
        (Severity::Error, Some(_)) => 3,
        (Severity::Error, None) => 2,
        (Severity::Warning, _) => 1,
        (Severity::Hazard, _) => 0,
    }
}

/// Who chose the XID of an RPC message.
#[derive(Clone, Copy, Debug)]
enum XidOf {
    /// Who sent it: it is a call, or another one than the call's.
    Sender,
    /// Who sent the call.
    Call,
    /// It is a reply, and the call is not known.
    Unknown,
}

fn xid_of(message: &Message, sent: &Sent<'_>) -> XidOf {
    let payload = sent.decoded.as_ref().map(|message| message.payload).unwrap_or_default();
    match called_xid(message) {
        Some(xid) if payload.starts_with(&xid.to_be_bytes()) => XidOf::Call,
        None if is_reply(sent) => XidOf::Unknown,
        _ => XidOf::Sender,
    }
}

/// The XID of the RPC message that a reply answers. Where it is not that of the header, the reply can but have both too;
/// whether there should be one is a matter of [`ANSWER`].
fn called_xid(message: &Message) -> Option<u32> {
    let answers = message.detail.as_ref()?.answers.as_ref()?;
    let payload = answers.call.decode_v1()?.payload;
    payload.first_chunk().map(|xid| u32::from_be_bytes(*xid)).or(answers.long_xid)
}

/// Whether the RPC message in a Send is a reply. What cannot be read, or has no RPC message, may be a call as well.
fn is_reply(sent: &Sent<'_>) -> bool {
    let payload = sent.decoded.as_ref().map(|message| message.payload).unwrap_or_default();
    MessageType::peek(payload).is_some_and(|(_, kind)| kind == MessageType::REPLY)
}

/// Whether a Send has chunks that can hold a reply.
fn has_long_reply(sent: &Sent<'_>) -> bool {
    let is_provided = sent.decoded.as_ref().is_ok_and(is_long_call);
    is_nomsg(sent.decoded.as_ref().ok()) && (is_provided || has_reply_chunk(sent))
}

/// Whether a message of another version would be a call if it were of version 1.
fn calls_in_version_1(message: &Message) -> bool {
    let mut octets = message.octets.clone();
    if let Some(version) = octets.get_mut(4..8) {
        version.copy_from_slice(&v1::VERSION.to_be_bytes());
    }
    let Ok(decoded) = Decoded::decode(&octets) else { return false };
    MessageType::peek(decoded.payload).is_some_and(|(_, kind)| kind == MessageType::CALL)
}
