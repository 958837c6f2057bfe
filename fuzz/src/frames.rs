//! Passes frames through the dissector.

use std::io::{self, Write};

use rpcrdma_answers::JsonRecord;
use rpcrdma_answers::export::Exporter;
use rpcrdma_answers::file_names::FileNames;
use rpcrdma_answers::findings::Findings;
use rpcrdma_answers::format::screen::Screen;
use rpcrdma_answers::lines::Lines;
use rpcrdma_answers::messages::MessageObject;
use rpcrdma_answers::messages::tree;
use rpcrdma_answers::transactions::TransactionObject;
use rpcrdma_dissector::{
    Captured, Checker, Config, Dissector, Event, Files, Found, Frame, Message, Reader, Rebuilt, Time, Transaction,
};

use crate::captures::Known;
use crate::script::Script;

/// The most octets of frames that are taken from a file: a few octets of a compressed one may stand for any number.
const FILE_OCTETS: usize = 8 << 20;

/// The most octets that are printed, because printing takes longer than dissecting.
const SHOWN: usize = 1 << 20;

/// Takes a capture file, or a script (see `script.rs`) that says what is done to a piece of a real capture.
///
/// No more comes out than the input allows. If the script only loses, cuts, repeats and moves frames, every complete
/// message and RPC is one of the real capture, and no frame breaks a rule that the same frame does not break there. A
/// finding may only be one of two possibilities, the other being that the capture lacks something.
///
/// # Panics
/// If this does not hold.
pub fn frames(octets: &[u8]) {
    match Reader::new(octets) {
        Ok(reader) => file(reader),
        Err(_) => script(octets),
    }
}

fn file(mut reader: Reader<'_>) {
    let mut config = Config::default();
    config.verify_crc = true;
    let mut run = Run::new(config, None);
    let mut errors = 0;
    while run.octets < FILE_OCTETS {
        match reader.next() {
            Some(Ok(frame)) => run.frame(&frame),
            Some(Err(_)) if errors < 1000 => errors += 1,
            Some(Err(_)) | None => break,
        }
    }
    run.finish();
}

fn script(octets: &[u8]) {
    let Script { known, records, config, honest } = Script::new(octets);
    let mut run = Run::new(config, honest.then_some(known));
    run.origins = records.iter().map(|record| record.origin).collect();
    for (record, number) in records.iter().zip(1..) {
        run.frame(&record.frame(number));
    }
    run.finish();
}

/// A running dissector, with the properties to check.
struct Run {
    dissector: Dissector,
    checker: Checker,
    /// The capture that everything found must be part of.
    known: Option<&'static Known>,
    /// The number of each frame in the real capture, by the number here minus one.
    origins: Vec<u64>,
    frames: u64,
    octets: usize,
    found: Dissection,
    shown: Shown,
}

/// The output.
#[derive(Default)]
struct Dissection {
    events: u64,
    /// Octets of Sends.
    sent: usize,
    /// Octets of RPCs.
    rebuilt: usize,
}

/// The outputs for people and programs.
struct Shown {
    lines: Lines,
    exporter: Exporter<Vec<u8>>,
    findings: Findings,
    written: Written,
}

/// Counts and discards written octets.
#[derive(Default)]
struct Written(usize);

impl Write for Written {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.0 += octets.len();
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Run {
    fn new(mut config: Config, known: Option<&'static Known>) -> Self {
        let Ok(exporter) = Exporter::new(Vec::new()) else { unreachable!() };
        let findings = Findings::text(true);
        let shown = Shown {
            lines: Lines::new(Screen { colour: true, columns: None }, Time(0)),
            exporter,
            findings,
            written: Written(0),
        };
        config.operations = true;
        Self {
            dissector: Dissector::new(config),
            checker: Checker::default(),
            known,
            origins: Vec::new(),
            frames: 0,
            octets: 0,
            found: Dissection::default(),
            shown,
        }
    }

    fn frame(&mut self, frame: &Frame<'_>) {
        self.frames += 1;
        self.octets += frame.data.len();
        self.dissector.frame(frame);
        self.events();
    }

    /// Ends the capture: everything is given, and then there is nothing more.
    fn finish(mut self) {
        self.dissector.finish();
        self.events();
        self.findings();
        self.dissector.finish();
        assert!(self.dissector.event().is_none(), "a capture ends once");
        let summary = self.dissector.summary();
        assert_eq!((summary.frames, summary.octets), (self.frames, self.octets as u64));
        let others: u64 = summary.others.iter().map(|(_, count)| count).sum();
        assert_eq!(summary.packets + summary.segments + others, self.frames, "every frame is counted once");
        let Ok(exported) = self.shown.exporter.finish() else { unreachable!() };
        assert!(exported.replies <= exported.calls);
    }

    fn events(&mut self) {
        while let Some(event) = self.dissector.event() {
            self.found.events += 1;
            self.checker.event(&event);
            self.findings();
            match event {
                Event::Message(message) => self.message(&message),
                Event::Transaction(transaction) => self.transaction(&transaction),
                _ => {}
            }
        }
        // A frame can end a Send that stays incomplete and be one itself, and end the RPCs of both; it can end a
        // connection and begin another. A TCP segment can hold a Send in each of its FPDUs, of 24 octets and more.
        assert!(
            self.found.events <= 8 * (self.frames + self.octets as u64 / 24),
            "{} events of {} frames",
            self.found.events,
            self.frames
        );
        assert!(self.found.sent <= self.octets, "{} octets sent in {}", self.found.sent, self.octets);
        assert!(self.found.rebuilt <= 2 * self.octets, "{} octets of RPCs in {}", self.found.rebuilt, self.octets);
        let most = 64 * self.octets as u64 + 4096 * self.found.events;
        assert!(self.shown.written.0 as u64 <= most, "{} octets shown of {}", self.shown.written.0, self.octets);
    }

    fn findings(&mut self) {
        while let Some(found) = self.checker.finding() {
            if let Some(known) = self.known {
                let index = found.stamp.frame.checked_sub(1).and_then(|before| usize::try_from(before).ok());
                let origin = index.and_then(|index| self.origins.get(index)).copied().unwrap_or_default();
                let accuses = !found.message.contains("or the capture lacks");
                assert!(
                    !accuses || known.has_violation(found.rule.slug, origin),
                    "a false alarm, frame {origin} undisturbed: {found:?}"
                );
            }
            self.finding(&found);
        }
    }

    fn finding(&mut self, found: &Found) {
        assert!(!found.message.is_empty());
        if self.is_shown() {
            let Shown { findings, written, .. } = &mut self.shown;
            assert!(findings.finding(written, found, &Files::default()).is_ok());
        }
    }

    fn is_shown(&self) -> bool {
        self.shown.written.0 < SHOWN
    }

    fn message(&mut self, message: &Message) {
        self.found.sent += message.octets.len();
        assert!(message.octets.len() <= message.length, "no more is captured than was sent");
        if let Some(known) = self.known
            && message.captured == Captured::Whole
        {
            assert!(known.sends.contains(&message.octets), "a Send that was never sent: {message:?}");
        }
        if !self.is_shown() {
            return;
        }
        let files = Files::default();
        let Shown { lines, written, .. } = &mut self.shown;
        let shown = MessageObject::new(message, &files)
            .write_json(written)
            .and_then(|()| lines.message(written, message, &files))
            .and_then(|()| tree::write(written, message, true));
        assert!(shown.is_ok());
    }

    fn transaction(&mut self, transaction: &Transaction) {
        for (is_reply, half) in [(false, &transaction.call), (true, &transaction.reply)] {
            let Some(Ok(rebuilt)) = half.as_ref().map(|half| &half.message) else { continue };
            self.found.rebuilt += rebuilt.len();
            whole(rebuilt);
            if let Some(known) = self.known {
                let expected = known.rpcs.get(&(transaction.xid, is_reply)).map(Vec::as_slice).unwrap_or_default();
                let what = if is_reply { "reply" } else { "call" };
                assert!(
                    expected.iter().any(|octets| octets == rebuilt.octets())
                        || is_reply && known.refused.contains(&transaction.xid),
                    "a wrong octet in the {what} of {:#010x}",
                    transaction.xid
                );
            }
        }
        if !self.is_shown() {
            return;
        }
        let files = Files::default();
        let Shown { lines, written, exporter, .. } = &mut self.shown;
        let shown = TransactionObject::new(transaction, &files, &mut FileNames::default())
            .write_json(written)
            .and_then(|()| lines.transaction(written, transaction, &files))
            .and_then(|()| exporter.transaction(transaction));
        assert!(shown.is_ok());
    }
}

/// Checks that a rebuilt RPC contains all items.
fn whole(rebuilt: &Rebuilt) {
    for item in &rebuilt.items {
        assert_eq!(rebuilt.data(item).len(), item.length as usize, "an item beyond the end of its RPC");
    }
}
