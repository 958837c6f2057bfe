//! Packets that a capture lacks hide findings and cause none: the checker's word about every shipped capture, after
//! frames were cut, missed, captured twice or out of order, and after a capture that began late or ended early. A
//! capture of one direction, without packets that were not acknowledged, or from a file that was cut, adds neither a
//! finding, nor a retransmission, nor an all-clear.

use std::collections::BTreeSet;

use rpcrdma_answers::gaps::Gaps;
use rpcrdma_answers::report::CaptureReport;
use rpcrdma_dissector::{Capture, Checker, Config, Dissector, Event, Files, Frame, LinkType, RecoveryKind, Time};

use crate::gaps::ALL_CLEAR;
use crate::transcode::{self, Pcap, Random, Record, write_pcap};

/// A frame of a shipped capture, with its number there.
#[derive(Clone)]
struct Numbered {
    number: u64,
    record: Record,
}

/// A rule that is broken; the frame that breaks it, by its number in the shipped capture; the two ends.
type Finding = (&'static str, u64, [String; 2]);

/// The checker's findings about frames.
#[derive(Default)]
struct Judged {
    found: BTreeSet<Finding>,
    /// The frames that brought a Send With Invalidate.
    invalidating: BTreeSet<u64>,
}

impl Judged {
    fn from_frames(frames: &[Numbered]) -> Self {
        let mut dissector = Dissector::new(Config::for_checker());
        let (mut checker, mut judged, mut time) = (Checker::default(), Self::default(), 0);
        let mut take = |dissector: &mut Dissector, judged: &mut Self| {
            while let Some(event) = dissector.event() {
                if let Event::Message(message) = &event
                    && message.invalidates.is_some()
                {
                    judged.invalidating.insert(frames[message.stamp.frame as usize - 1].number);
                }
                checker.event(&event);
            }
        };
        for (Numbered { record, .. }, number) in frames.iter().zip(1..) {
            // The clock of whoever captures goes on, whatever the order.
            time = record.time_ns.max(time);
            let (link, length) = (LinkType(record.link), record.length);
            dissector.frame(&Frame { number, time: Time(time), link, data: &record.data, length });
            take(&mut dissector, &mut judged);
        }
        dissector.finish();
        take(&mut dissector, &mut judged);
        let found = std::iter::from_fn(|| checker.finding()).map(|found| {
            let ends = [found.from.to_string(), found.to.to_string()];
            (found.rule.slug, frames[found.stamp.frame as usize - 1].number, ends)
        });
        judged.found = found.collect();
        judged
    }

    /// Returns true if this is one of the findings in `whole`, of which this is the judgement, or of a copy of its frame. That remote
    /// invalidation was not announced is said once a connection: where the first Send that invalidates is missing, of a later
    /// one, or of a copy of one.
    fn has(&self, whole: &[Numbered], finding: &Finding) -> bool {
        let (slug, frame, ends) = finding;
        let content = |frame: u64| content(&whole[frame as usize - 1].record);
        let is_said_later = |(known, first, of): &Finding| (known, of) == (slug, ends) && first < frame;
        let is_of_copy =
            |(known, first, of): &Finding| (known, of) == (slug, ends) && content(*first) == content(*frame);
        self.found.iter().any(is_of_copy)
            || *slug == "invalidate-foreign"
                && self.invalidating.iter().any(|known| content(*known) == content(*frame))
                && self.found.iter().any(is_said_later)
    }
}

/// Returns the octets of a frame between the headers, which may differ in a copy of it, and its checksum.
fn content(record: &Record) -> &[u8] {
    let tag = if record.data.get(12..14) == Some(&[0x81, 0]) { 4 } else { 0 };
    record.data.get(66 + tag..record.data.len() - 4).unwrap_or_default()
}

/// Judges every shipped capture after each of its disturbances.
fn nothing_is_added(disturb: impl Fn(&[Numbered], &mut dyn FnMut(String, Vec<Numbered>))) {
    let mut wrong = Vec::new();
    let mut tried = 0;
    for name in transcode::shipped() {
        let frames: Vec<_> =
            (1..).zip(transcode::capture(&name)).map(|(number, record)| Numbered { number, record }).collect();
        let whole = Judged::from_frames(&frames);
        disturb(&frames, &mut |how, disturbed| {
            tried += 1;
            let found = Judged::from_frames(&disturbed).found;
            let added = found.iter().filter(|finding| !whole.has(&frames, finding));
            wrong.extend(added.map(|(slug, frame, _)| format!("{name}, {how}: {slug} in frame {frame}")));
        });
    }
    assert!(tried > 100, "{tried} disturbances");
    assert!(wrong.is_empty(), "{} findings were added\n{}", wrong.len(), wrong[..wrong.len().min(60)].join("\n"));
}

/// All frames, or selected ones, cut to this many octets.
fn cut(frames: &[Numbered], mut snaplen: impl FnMut() -> Option<usize>) -> Vec<Numbered> {
    let mut frames = frames.to_vec();
    for frame in &mut frames {
        if let Some(octets) = snaplen() {
            frame.record.data.truncate(octets);
        }
    }
    frames
}

#[test]
fn frames_cut_at_any_length() {
    nothing_is_added(|frames, judge| {
        // Of large captures every length that may end within a header; then some within each message.
        let every = if frames.len() < 500 { 401 } else { 150 };
        let lengths = (0..every).chain((every..400).step_by(7)).chain((400..4300).step_by(501));
        for length in lengths {
            judge(format!("cut to {length}"), cut(frames, || Some(length)));
        }
    });
}

#[test]
fn some_frames_cut_each_at_another_length() {
    nothing_is_added(|frames, judge| {
        for seed in 1..=20 {
            for (per_mille, lengths) in [(10, 150), (100, 150), (100, 400), (500, 300)] {
                let mut random = Random(seed);
                let disturbed = cut(frames, || {
                    let length = random.number() as usize % lengths;
                    random.happens(per_mille).then_some(length)
                });
                judge(format!("{per_mille} of 1000 cut below {lengths}, seed {seed}"), disturbed);
            }
        }
    });
}

#[test]
fn frames_missed() {
    nothing_is_added(|frames, judge| {
        for seed in 1..=15 {
            for per_mille in [2, 20, 100, 400] {
                judge(format!("{per_mille} of 1000 missed, seed {seed}"), transcode::dropping(frames, seed, per_mille));
            }
        }
    });
}

#[test]
fn one_frame_missed() {
    nothing_is_added(|frames, judge| {
        let step = if frames.len() < 500 { 1 } else { 29 };
        for missed in (0..frames.len()).step_by(step) {
            let mut left = frames.to_vec();
            left.remove(missed);
            judge(format!("without frame {}", missed + 1), left);
        }
    });
}

#[test]
fn frames_captured_twice_and_out_of_order() {
    nothing_is_added(|frames, judge| {
        for seed in 1..=20 {
            let twice = transcode::duplicating(frames, seed, 200);
            judge(format!("disordered, seed {seed}"), transcode::shuffling(&twice, seed, 100, 5));
            let missed = transcode::dropping(&twice, seed, 50);
            judge(format!("disordered, some missed, seed {seed}"), transcode::shuffling(&missed, seed, 100, 5));
        }
    });
}

#[test]
fn a_capture_that_begins_late_or_ends_early() {
    nothing_is_added(|frames, judge| {
        for place in (0..frames.len()).step_by((frames.len() / 37).max(1)) {
            judge(format!("without the first {place}"), transcode::without_first(frames, place));
            judge(format!("only the first {place}"), frames[..place].to_vec());
            judge(format!("cut to 106, without the first {place}"), cut(&frames[place..], || Some(106)));
        }
    });
}

/// Output about a capture, except its findings.
#[derive(Default)]
struct Told {
    gaps: Gaps,
    /// Frames that were retransmitted, as numbered there.
    again: BTreeSet<u64>,
    /// Retransmitted packets, by the events and by the counts of the connections.
    packets_again: [u64; 2],
    /// Calls with the frame of their reply, if it was captured.
    calls: Vec<(u64, Option<u64>)>,
    /// The report as it is shown.
    page: String,
}

impl Told {
    /// Dissects a file of these octets.
    fn of_file(octets: Vec<u8>) -> Self {
        let mut config = Config::default();
        (config.operations, config.recovery) = (true, true);
        let mut capture =
            Capture::from_streams([("file".to_owned(), Box::new(std::io::Cursor::new(octets)) as Box<_>)]);
        let (mut dissector, mut checker) = (Dissector::new(config), Checker::default());
        let (mut told, mut report) = (Self::default(), CaptureReport::new("file"));
        loop {
            let is_over = match capture.next() {
                Some(Ok(frame)) => {
                    dissector.frame(&frame);
                    false
                }
                Some(Err(_)) => {
                    told.gaps.files += 1;
                    report.unread();
                    false
                }
                None => {
                    dissector.finish();
                    true
                }
            };
            while let Some(event) = dissector.event() {
                told.event(&event);
                report.event(&event, &Files::default()).unwrap();
                checker.event(&event);
                std::iter::from_fn(|| checker.finding()).for_each(|found| report.finding(&found));
            }
            if is_over {
                break;
            }
        }
        let mut page = Vec::new();
        report.write(&mut page, dissector.summary(), &[]).unwrap();
        told.page = String::from_utf8(page).unwrap();
        told
    }

    fn from_frames(frames: &[Record]) -> Self {
        Self::of_file(file(frames))
    }

    fn event(&mut self, event: &Event) {
        self.gaps.event(event);
        match event {
            Event::Recovery(recovered) => {
                if matches!(recovered.kind, RecoveryKind::Retransmitted | RecoveryKind::Replaced) {
                    self.again.insert(recovered.stamp.frame);
                    self.packets_again[0] += 1;
                }
            }
            Event::Connection(report) if report.number.is_some() => {
                let ends = [&report.counts.active, &report.counts.passive];
                self.packets_again[1] += ends.map(|end| end.retransmitted + end.replaced).iter().sum::<u64>();
            }
            Event::Transaction(transaction) => {
                let reply = transaction.reply.as_ref().map(|reply| reply.stamp.frame);
                self.calls.extend(transaction.call.as_ref().map(|call| (call.stamp.frame, reply)));
            }
            _ => {}
        }
    }

    fn all_clears(&self) -> Vec<&'static str> {
        ALL_CLEAR.into_iter().filter(|words| self.page.contains(words)).collect()
    }
}

/// A file of these frames.
fn file(frames: &[Record]) -> Vec<u8> {
    write_pcap(frames, Pcap { nanoseconds: true, ..Pcap::default() })
}

/// The address that a frame comes from, if it is IP over Ethernet.
fn source(record: &Record) -> Option<&[u8]> {
    match record.data.get(12..14)? {
        [0x08, 0x00] => record.data.get(26..30),
        [0x86, 0xdd] => record.data.get(22..38),
        _ => None,
    }
}

/// A shipped capture, and what is told of it.
struct Whole {
    name: String,
    frames: Vec<Numbered>,
    judged: Judged,
    told: Told,
}

impl Whole {
    fn read_capture(name: String) -> Self {
        let number = |(number, record)| Numbered { number, record };
        let frames: Vec<_> = (1..).zip(transcode::capture(&name)).map(number).collect();
        Self { judged: Judged::from_frames(&frames), told: Told::from_frames(&records(&frames)), name, frames }
    }

    /// The words about some of its frames, and each finding and each packet retransmitted that is not told of the whole.
    fn compare(&self, how: &str, kept: &[Numbered]) -> (Told, Vec<String>) {
        let found = Judged::from_frames(kept).found;
        let added = found.iter().filter(|finding| !self.judged.has(&self.frames, finding));
        let mut wrong: Vec<_> =
            added.map(|(slug, frame, _)| format!("{}, {how}: {slug} in frame {frame}", self.name)).collect();
        let told = Told::from_frames(&records(kept));
        let again = told.again.iter().map(|frame| kept[*frame as usize - 1].number);
        let again = again.filter(|frame| !self.told.again.contains(frame));
        wrong.extend(again.map(|frame| format!("{}, {how}: frame {frame} was retransmitted", self.name)));
        (told, wrong)
    }

    /// The all-clears in what is told of some of its frames, or of copies of them, that are not told of the whole.
    /// That no captured packet was retransmitted, and that nothing stands out, is true of what is left if of each packet one copy at
    /// most is.
    fn added_all_clears(&self, how: &str, told: &Told) -> Vec<String> {
        let clear = self.told.all_clears();
        let of_left = ["No captured packet was retransmitted", "Nothing stands out"];
        let is_told = |words: &&str| !clear.contains(words) && !of_left.contains(words);
        let added = told.all_clears().into_iter().filter(is_told);
        added.map(|words| format!("{}, {how}: {words}", self.name)).collect()
    }
}

fn records(frames: &[Numbered]) -> Vec<Record> {
    frames.iter().map(|frame| frame.record.clone()).collect()
}

fn assert_nothing_was_added(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} were added\n{}", wrong.len(), wrong[..wrong.len().min(60)].join("\n"));
}

#[test]
fn one_direction_only() {
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for whole in transcode::shipped().into_iter().map(Whole::read_capture) {
        let (name, frames) = (&whole.name, &whole.frames);
        let ends: BTreeSet<_> = frames.iter().filter_map(|frame| source(&frame.record)).collect();
        for end in ends {
            let kept: Vec<_> = frames.iter().filter(|frame| source(&frame.record) == Some(end)).cloned().collect();
            let (told, added) = whole.compare(&format!("from {end:?}"), &kept);
            tried += u64::from(told.gaps.messages > 0);
            wrong.extend(added);
            wrong.extend(told.all_clears().iter().map(|words| format!("{name}, from {end:?}: {words}")));
            if told.gaps.gravest().is_none() {
                wrong.push(format!("{name}, from {end:?}: no gap"));
            }
            let [shown, counted] = told.packets_again;
            if shown != counted {
                wrong
                    .push(format!("{name}, from {end:?}: {counted} packets were retransmitted, and {shown} are shown"));
            }
        }
    }
    assert!(tried > 50, "{tried} directions with messages");
    assert_nothing_was_added(&wrong);
}

/// A mirror of two ports, at once and later, behind a router, or with a tag: the same findings, at the same frames.
#[test]
fn every_frame_captured_twice() {
    use transcode::{Mirror, MirrorKind};
    let mut wrong = Vec::new();
    for whole in transcode::shipped().into_iter().map(Whole::read_capture) {
        for (delay, kind) in
            [(0, MirrorKind::Same), (2000, MirrorKind::Same), (2000, MirrorKind::Tagged), (2000, MirrorKind::Routed)]
        {
            let how = format!("{kind:?}, {delay} ns later");
            let number = |(place, record): (usize, Record)| Numbered { number: place as u64 + 1, record };
            let twice = transcode::doubling(&records(&whole.frames), Mirror { delay, kind }, |_| true);
            let twice: Vec<_> = twice.into_iter().map(number).collect();
            assert_eq!(Judged::from_frames(&twice).found, whole.judged.found, "{} {how}", whole.name);
            let (told, added) = whole.compare(&how, &twice);
            wrong.extend(added);
            wrong.extend(whole.added_all_clears(&how, &told));
        }
    }
    assert_nothing_was_added(&wrong);
}

/// As if the capture had been taken behind the place where packets were lost.
#[test]
fn packets_that_were_not_acknowledged() {
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for whole in transcode::shipped().into_iter().map(Whole::read_capture) {
        let lost = transcode::unacknowledged(&whole.frames.iter().map(|frame| &frame.record).collect::<Vec<_>>());
        tried += lost.len();
        for (per_mille, seeds) in [(1000, 1), (500, 4), (100, 4)] {
            for seed in 0..seeds {
                let mut random = Random(seed);
                let is_kept = |(place, _): &(usize, &Numbered)| !lost.contains(place) || !random.happens(per_mille);
                let kept: Vec<_> =
                    whole.frames.iter().enumerate().filter(is_kept).map(|(_, frame)| frame.clone()).collect();
                let how = format!("without {per_mille} of 1000 packets that were not acknowledged, seed {seed}");
                let (told, added) = whole.compare(&how, &kept);
                wrong.extend(added);
                wrong.extend(whole.added_all_clears(&how, &told));
            }
        }
    }
    assert!(tried > 100, "{tried} packets that were not acknowledged");
    assert_nothing_was_added(&wrong);
}

#[test]
fn a_file_that_was_cut() {
    let mut wrong = Vec::new();
    for name in transcode::shipped() {
        let frames = transcode::capture(&name);
        let (octets, whole) = (file(&frames), Told::from_frames(&frames));
        let mut random = Random(1);
        // Within the file and its header, and right after a frame.
        let mut places: Vec<_> = (0..24).map(|_| random.number() as usize % octets.len()).chain([0, 3, 23]).collect();
        places.extend((0..24).map(|_| file(&frames[..random.number() as usize % frames.len()]).len()));
        for place in places {
            let told = Told::of_file(octets[..place].to_vec());
            let again = told.again.iter().filter(|frame| !whole.again.contains(frame));
            wrong.extend(again.map(|frame| format!("{name}, {place} octets: frame {frame} was retransmitted")));
            for words in told.all_clears() {
                if told.gaps.gravest().is_some() {
                    wrong.push(format!("{name}, {place} octets: {words}, although {:?}", told.gaps.gravest()));
                }
            }
            // A file that ends after a frame is a capture that ended there: what it says of calls is right until then.
            if told.page.contains("every call was answered") {
                let last = frame_at(&frames, place);
                let waits =
                    |&&(call, reply): &&(u64, Option<u64>)| call <= last && reply.is_none_or(|reply| reply > last);
                wrong.extend(whole.calls.iter().filter(waits).map(|call| format!("{name}, {place} octets: {call:?}")));
            }
        }
    }
    assert_nothing_was_added(&wrong);
}

/// The number of the last frame within so many octets of a file.
fn frame_at(frames: &[Record], octets: usize) -> u64 {
    let mut end = 24;
    let fits = |record: &&Record| {
        end += 16 + record.data.len();
        end <= octets
    };
    frames.iter().take_while(fits).count() as u64
}
