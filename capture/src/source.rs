//! Reads the input of a command, hands over the wanted events, and prints warnings.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use indicatif::ProgressBar;
use rpcrdma_answers::file_names::{FileNames, NamedFile};
use rpcrdma_answers::selection::{NamedRpc, Verdict};
use rpcrdma_answers::summary::CaptureSummary;
use rpcrdma_dissector::{Config, Dissector, Event, Files, Frame, SecondWitness, Summary, Time};

use crate::capture::{Inputs, OpenedFiles, SecondInput};
use crate::deferred_items::Undecided;
use crate::failure::{Failure, UNUSABLE, say};
use crate::filters::Filters;
use crate::interrupt::{INTERRUPTED, Interrupt};
use crate::notices::Notices;
use crate::output::Output;
use crate::reading::{Batch, Batches, OpenedCapture, ReadingStep};

/// Time without input after which a command is told that nothing comes.
const IDLE: Duration = Duration::from_millis(100);

/// Settings for what is printed besides the output.
#[derive(Clone, Copy)]
pub(crate) struct Show {
    pub(crate) notices: bool,
    pub(crate) bar: bool,
    /// True if all events are handed over, because the answer rests on others than the wanted ones.
    pub(crate) all: bool,
    /// True if events that match but for their time are given too.
    pub(crate) any_time: bool,
    /// True if frames are handed over too, each before the events of the frame.
    pub(crate) frames: bool,
    /// True if phases of RPCs are shown, so that the capture point matters.
    pub(crate) phases: bool,
    /// `true` to give [`Given::Idle`] while a stream is silent.
    pub(crate) idle: bool,
    /// `true` to write all or nothing: a signal that ends reading a file, or an input that cannot be read, ends the command.
    pub(crate) whole: bool,
}

/// Item that is given of a capture.
pub(crate) enum Given<'a> {
    Frame(Frame<'a>),
    Event(&'a Event),
    /// The input is a stream, and nothing has come for a moment.
    Idle,
    /// An event that is wanted, as is known now that its RPC has ended. If all events are given, this one was before, as not
    /// wanted.
    Late(&'a Event),
}

/// A command as a consumer of events and frames. Compiled for each command instead, all that reads would be there twenty times.
type Take<'a> = dyn FnMut(Given<'_>, &mut Output, Known<'_>) -> io::Result<()> + 'a;

impl Show {
    /// For a command that prints while reading: no progress bar, which the lines would break up.
    pub(crate) fn listing(quiet: bool) -> Self {
        Self { bar: !quiet && !io::stdout().is_terminal(), ..Self::report(quiet) }
    }

    /// For a command that prints when all is read, or writes a file.
    pub(crate) const fn report(quiet: bool) -> Self {
        Self {
            notices: !quiet,
            bar: !quiet,
            all: false,
            any_time: false,
            frames: false,
            phases: false,
            idle: false,
            whole: false,
        }
    }
}

/// Known properties of a capture so far.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    /// Time of the capture's first frame.
    pub(crate) first: Time,
    pub(crate) files: &'a Files,
    /// True if the filters let pass what is given.
    pub(crate) is_wanted: bool,
    /// True if the filters would let pass what is given at some other time.
    pub(crate) is_wanted_at_some_time: bool,
}

impl<'a> Known<'a> {
    /// Known properties of a capture for an item that no filter concerns.
    const fn unfiltered(first: Time, files: &'a Files) -> Self {
        Self { first, files, is_wanted: true, is_wanted_at_some_time: true }
    }
}

/// A capture that was read.
pub(crate) struct Done {
    pub(crate) notices: Notices,
    pub(crate) summary: Summary,
    pub(crate) files: Files,
    /// True if RPCs were put together.
    has_rpcs: bool,
}

impl Done {
    /// The exit status.
    pub(crate) fn status(&self) -> u8 {
        self.notices.status(&self.summary)
    }
}

/// The input to read.
pub(crate) struct InputSource<'a> {
    filters: Filters<'a>,
    inputs: Inputs,
}

impl<'a> InputSource<'a> {
    /// Examines the input, as far as that takes no time.
    pub(crate) fn new(filters: Filters<'a>) -> Result<Self, Failure> {
        let inputs = Inputs::new(&filters.input.files)?;
        inputs.first().map_or(Ok(()), |first| filters.refuse_astray(first))?;
        Ok(Self { filters, inputs })
    }

    /// Returns true if nothing is filtered out.
    pub(crate) fn selects_all(&self) -> bool {
        self.filters.selection.is_all()
    }

    /// Returns true if part of the input is a stream, which may be captured right now.
    pub(crate) fn is_live(&self) -> bool {
        self.inputs.are_live()
    }

    /// Reads the input and hands the wanted events to `take`; then prints warnings. Returns the exit status.
    pub(crate) fn read(
        &mut self,
        config: Config,
        show: Show,
        take: impl FnMut(&Event, &mut Output, Known<'_>) -> io::Result<()>,
    ) -> Result<u8, Failure> {
        self.read_all(config, show, take).map(|done| done.status())
    }

    /// As [`read`](Self::read); returns the warnings, and counts of the frames.
    pub(crate) fn read_all(
        &mut self,
        config: Config,
        show: Show,
        mut take: impl FnMut(&Event, &mut Output, Known<'_>) -> io::Result<()>,
    ) -> Result<Done, Failure> {
        self.read_given(config, show, |given, out, known| match given {
            Given::Event(event) => take(event, out, known),
            Given::Late(event) if !show.all => take(event, out, known),
            Given::Late(_) | Given::Frame(_) | Given::Idle => Ok(()),
        })
    }

    /// As [`read_all`](Self::read_all); gives the frames too, if `show` asks for them, and says which events are late.
    pub(crate) fn read_given(
        &mut self,
        config: Config,
        show: Show,
        mut take: impl FnMut(Given<'_>, &mut Output, Known<'_>) -> io::Result<()>,
    ) -> Result<Done, Failure> {
        self.read_to(config, show, &mut take)
    }

    fn read_to(&mut self, mut config: Config, show: Show, take: &mut Take<'_>) -> Result<Done, Failure> {
        if let Some(trace) = self.inputs.trace.as_ref().filter(|_| show.frames) {
            return Err(Failure::Said(format!("{}: a kernel trace, which holds no packets", trace.display())));
        }
        let input = self.filters.input;
        config.joins_traces = self.inputs.join_traces();
        config.verify_crc = input.verify_crc;
        config.v2_family = input.v2_family.map(Into::into);
        config.captured_at = input.captured_at.map(Into::into);
        config.ports.extend(&input.port);
        config.transactions |= self.filters.selection.asks_for_rpcs() || self.filters.has_window();
        let has_rpcs = config.transactions;
        let interrupt = Interrupt::new().map_err(|error| Failure::of_signals(&error))?;
        let (batches, found) = Batches::new();
        // A command that writes frames writes the frames of all files.
        if !show.frames {
            self.inputs.recognise();
        }
        let OpenedFiles { capture, second, bar } = self.inputs.open(&batches, &interrupt, show.bar);
        let second =
            second.map(|SecondInput { capture, file }| Box::new(SecondWitness::new(capture, config.clone(), file)));
        let opened = OpenedCapture { capture, dissector: Dissector::new(config), second };
        if show.notices {
            self.order().iter().for_each(|order| say(order));
        }
        let filters = &self.filters;
        let notices = Notices::new(filters.select);
        let mut shown = Showing {
            filters,
            selects_all: filters.selection.is_all(),
            show,
            notices,
            files: Files::default(),
            names: FileNames::default(),
            undecided: Undecided::default(),
        };
        let (result, summary) = thread::scope(|scope| {
            let stop = interrupt.clone();
            // It takes with it what it holds: the input has ended when nobody holds `batches` any more.
            let reader = scope.spawn(move || batches.fill(opened, &stop, show.frames));
            let result = shown.show_batches(found, &bar, take);
            if result.is_err() {
                interrupt.stop();
            }
            (result, reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        result?;
        bar.finish_and_clear();
        let Showing { mut notices, files, undecided, .. } = shown;
        notices.undecided = undecided.left_out;
        notices.interrupted = interrupt.is_signalled();
        if show.whole {
            self.refuse_partial(&notices)?;
        }
        if show.notices {
            self.say(&notices, &summary);
        }
        if show.notices && show.phases {
            notices.places().iter().for_each(|line| say(line));
        }
        Ok(Done { notices, summary, files, has_rpcs })
    }

    /// Ends a command that writes a file if not all was read. Of a stream, a signal is the usual end.
    fn refuse_partial(&self, notices: &Notices) -> Result<(), Failure> {
        if notices.interrupted && !self.is_live() {
            say("interrupted: no file was written");
            return Err(Failure::Ended(INTERRUPTED));
        }
        // Each file that cannot be read was named.
        if notices.unusable { Err(Failure::Ended(UNUSABLE)) } else { Ok(()) }
    }

    fn say(&self, notices: &Notices, summary: &Summary) {
        self.notes(notices, summary).iter().for_each(|line| say(line));
    }

    /// Prints the warnings that are reasons for the exit status, for a command whose output contains the others.
    pub(crate) fn say_reasons(&self, done: &Done) {
        let reasons = done.notices.reasons(&done.summary, self.filters.input.verify_crc, &self.filters.names());
        reasons.iter().for_each(|line| say(line));
    }

    /// Returns the summary of the input, as fields.
    pub(crate) fn summary(&self, done: &Done) -> CaptureSummary {
        let mut capture = CaptureSummary::new(&done.summary);
        capture.files = self.inputs.names().collect();
        capture.reordered = self.inputs.reordered;
        capture.filters = self.filters.names();
        done.notices.describe(&mut capture, done.has_rpcs);
        capture
    }

    /// Order in which the files were read, if the arguments had another order.
    pub(crate) fn order(&self) -> Option<String> {
        self.inputs.reordered.then(|| self.inputs.order())
    }

    /// Returns the notes on the input, in words.
    pub(crate) fn notes(&self, notices: &Notices, summary: &Summary) -> Vec<String> {
        let lines = notices.lines(summary, self.filters.input.verify_crc, &self.filters.names());
        self.inputs.copies().into_iter().chain(lines).collect()
    }
}

/// Waits for the next batch, and calls `idle` again and again meanwhile, if that is wanted; `None` at the end.
fn next_batch(
    found: &Receiver<Batch>,
    is_idle_wanted: bool,
    mut idle: impl FnMut() -> io::Result<()>,
) -> io::Result<Option<Batch>> {
    if !is_idle_wanted {
        return Ok(found.recv().ok());
    }
    loop {
        match found.recv_timeout(IDLE) {
            Ok(batch) => return Ok(Some(batch)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => idle()?,
        }
    }
}

/// Prints what is found.
struct Showing<'a> {
    filters: &'a Filters<'a>,
    /// `true` if nothing is filtered out.
    selects_all: bool,
    show: Show,
    notices: Notices,
    files: Files,
    /// Names of files, for a selection by name.
    names: FileNames,
    undecided: Undecided<Event>,
}

impl Showing<'_> {
    /// Prints what comes. When nothing is ready, everything printed so far becomes visible.
    fn show_batches(&mut self, found: Receiver<Batch>, bar: &ProgressBar, take: &mut Take<'_>) -> Result<(), Failure> {
        let mut output = Output::new();
        let (mut is_first, mut first) = (true, Time::default());
        loop {
            let batch = match found.try_recv() {
                Ok(batch) => batch,
                Err(_) => {
                    output.flush()?;
                    let known = Known::unfiltered(first, &self.files);
                    let idle = || take(Given::Idle, &mut output, known).and_then(|()| output.flush());
                    let Some(batch) = next_batch(&found, self.show.idle, idle)? else { return Ok(()) };
                    batch
                }
            };
            first = batch.first;
            if is_first && batch.first != Time::default() {
                is_first = false;
                self.filters.refuse_astray(batch.first)?;
            }
            for step in batch.steps {
                match step {
                    ReadingStep::Found(event) => {
                        self.found(event, batch.first, |given, known| {
                            take(given, &mut output, known)?;
                            output.whole()
                        })?;
                    }
                    ReadingStep::Frame(frame) => {
                        let known = Known::unfiltered(batch.first, &self.files);
                        take(Given::Frame(frame.frame(&batch.octets)), &mut output, known)?;
                    }
                    ReadingStep::Begun(files) => self.files = files,
                    ReadingStep::Overlaps => self.notices.overlaps += 1,
                    ReadingStep::Unread(error) => {
                        self.notices.unread(&error);
                        bar.suspend(|| say(&error.to_string()));
                    }
                }
            }
        }
    }

    /// Hands over an event, if this one or all are wanted, and the events that waited for this one.
    fn found(
        &mut self,
        event: Event,
        first: Time,
        mut take: impl FnMut(Given<'_>, Known<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let selection = &self.filters.selection;
        let file = self.file(&event);
        let (verdict, is_in_window) = match self.selects_all {
            true => (Verdict::Wanted, true),
            false => (selection.judge(&event, file.as_ref()), selection.window(first).shows(&event)),
        };
        let is_wanted = verdict == Verdict::Wanted && is_in_window;
        self.notices.event(&event);
        self.notices.untimed += u64::from(self.lacks_latency(&event, file.as_ref(), is_in_window));
        if is_wanted {
            self.notices.selected(&event, selection.window(first));
        }
        let known = |is_wanted_at_some_time| Known {
            first,
            files: &self.files,
            is_wanted: is_wanted_at_some_time && is_in_window,
            is_wanted_at_some_time,
        };
        let is_given = self.show.all || is_wanted || self.show.any_time && verdict == Verdict::Wanted;
        if is_given {
            take(Given::Event(&event), known(verdict == Verdict::Wanted))?;
        }
        if !selection.asks_for_rpcs() {
            return Ok(());
        }
        let mut late = self.undecided.settle(&event, verdict == Verdict::Wanted, Event::octets);
        if let Verdict::AsItsRpc(rpc) = verdict
            && (is_in_window || self.show.any_time)
        {
            late.extend(self.undecided.add_item(rpc, event.octets(), event));
        }
        for event in &late {
            let window = selection.window(first);
            let is_wanted = window.shows(event);
            if is_wanted {
                self.notices.selected(event, window);
            }
            let known = Known { first, files: &self.files, is_wanted, is_wanted_at_some_time: true };
            take(Given::Late(event), known)?;
        }
        Ok(())
    }

    /// The file that an RPC is about, if files are selected by name.
    fn file(&mut self, event: &Event) -> Option<NamedFile> {
        let Event::Transaction(transaction) = event else { return None };
        if self.filters.selection.files.is_empty() {
            return None;
        }
        let arguments = transaction.arguments();
        self.names.learn(transaction, &arguments);
        self.names.file_of(transaction, &arguments)
    }

    fn lacks_latency(&self, event: &Event, file: Option<&NamedFile>, is_in_window: bool) -> bool {
        match event {
            Event::Transaction(transaction) if is_in_window => {
                self.filters.selection.lacks_latency(&NamedRpc { transaction, file })
            }
            _ => false,
        }
    }
}
