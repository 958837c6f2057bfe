//! Several captures at once: each file is a capture, and several are read at a time.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use clap::Args;
use rpcrdma_answers::JsonRecord;
use rpcrdma_answers::format::number::counted;
use rpcrdma_answers::summary::CapturesSummary;

use crate::arguments::InputArguments;
use crate::dataset::DatasetArguments;
use crate::failure::{DAMAGED, Failure, UNUSABLE, say};
use crate::interrupt::{INTERRUPTED, Interrupt};
use crate::output;
use crate::spool::{CaptureLabel, Spool};

/// The most captures that are read at the same time.
const JOBS: i64 = 256;

/// Arguments of a command, with the option to read each file as a capture.
#[derive(Args, Debug)]
pub(super) struct SeparateArguments<C: Args> {
    #[command(flatten)]
    command: C,
    /// Read each FILE as a capture of its own, several at the same time. Their output comes in the order of the files,
    /// each below its name; JSON objects have the name in "capture_file". A file that cannot be read does not stop the others,
    /// and the exit status is the greatest one
    #[arg(long)]
    separate: bool,
    /// With --separate, read this many files at the same time; by default, as many as there are processors
    #[arg(long, short, value_name = "N", requires = "separate", value_parser = clap::value_parser!(u16).range(1..=JOBS))]
    jobs: Option<u16>,
}

/// A command that can read several captures at the same time.
pub(super) trait Separable: Args + Clone + Sync {
    /// Returns the input arguments of the command.
    fn input(&mut self) -> &mut InputArguments;

    /// Returns the form of the command's output.
    fn form(&self) -> SeparateForm;
}

/// Form in which a command prints each capture.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SeparateForm {
    /// Text, that a heading tells from that of other captures.
    Text,
    /// JSON objects, each with the name of the capture.
    Json,
    /// Nothing: the command writes files.
    Nothing,
}

impl SeparateForm {
    /// Returns the form for a command that prints text or JSON.
    pub(super) const fn printed(json: bool) -> Self {
        if json { Self::Json } else { Self::Text }
    }

    /// Returns the form for a command that writes a table of a dataset, or prints text or JSON.
    pub(super) const fn written(dataset: &DatasetArguments, json: bool) -> Self {
        if dataset.parquet.is_some() { Self::Nothing } else { Self::printed(json) }
    }
}

impl<C: Separable> SeparateArguments<C> {
    /// Runs the command: once, or once for each file. Returns the exit status.
    pub(super) fn run(self, quiet: bool, run: impl Fn(&C) -> Result<u8, Failure> + Sync) -> Result<u8, Failure> {
        let Self { mut command, separate, jobs } = self;
        if !separate {
            return run(&command);
        }
        let files = core::mem::take(&mut command.input().files);
        let jobs = jobs.map_or_else(|| thread::available_parallelism().map_or(1, NonZeroUsize::get), usize::from);
        let form = command.form();
        let run = |file: &Path| {
            let mut command = command.clone();
            command.input().files = vec![file.to_owned()];
            run(&command)
        };
        let outcomes = SeparateCaptures { files: &files, form, spool: Arc::default() }.read(jobs, &run)?;
        outcomes.print(files.len(), form, quiet)?;
        Ok(outcomes.status(files.len()))
    }
}

/// The captures to be read.
struct SeparateCaptures<'a> {
    files: &'a [PathBuf],
    form: SeparateForm,
    spool: Arc<Spool>,
}

/// A command, for one file.
type RunOne<'a> = dyn Fn(&Path) -> Result<u8, Failure> + Sync + 'a;

impl SeparateCaptures<'_> {
    /// Reads all captures, `jobs` at a time, and counts the exit statuses.
    fn read(&self, jobs: usize, run: &RunOne<'_>) -> Result<Outcomes, Failure> {
        let interrupt = Interrupt::new().map_err(|error| Failure::of_signals(&error))?;
        let next = AtomicUsize::new(0);
        let worker = || {
            let mut outcomes = Outcomes::default();
            while !interrupt.is_signalled() {
                let turn = next.fetch_add(1, Ordering::Relaxed);
                let Some(file) = self.files.get(turn) else { break };
                outcomes.count(self.read_one(turn, file, run)?);
            }
            Ok(outcomes)
        };
        let outcomes: Result<Vec<Outcomes>, Failure> = thread::scope(|scope| {
            let workers: Vec<_> = (0..jobs.min(self.files.len())).map(|_| scope.spawn(worker)).collect();
            let outcomes = workers.into_iter().map(|worker| worker.join());
            outcomes.map(|outcomes| outcomes.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        });
        if let Some(error) = self.spool.failure() {
            return Err(Failure::Output(error));
        }
        Ok(outcomes?.into_iter().fold(Outcomes::default(), Outcomes::plus))
    }

    /// Reads one of the captures, and returns the exit status of that capture alone.
    fn read_one(&self, turn: usize, file: &Path, run: &RunOne<'_>) -> Result<u8, Failure> {
        let name = file.display().to_string();
        let label = match self.form {
            SeparateForm::Json => CaptureLabel::Field(name),
            SeparateForm::Text | SeparateForm::Nothing => CaptureLabel::Heading(name),
        };
        self.spool.run(turn, label, || {
            if self.form == SeparateForm::Text {
                let space = if turn > 0 { "\n" } else { "" };
                output::write(format!("{space}==> {} <==\n", file.display()).as_bytes())?;
            }
            match run(file) {
                Err(Failure::Said(text)) => {
                    say(&text);
                    Ok(UNUSABLE)
                }
                Err(Failure::Ended(status)) => Ok(status),
                ended => ended,
            }
        })
    }
}

/// Captures by exit status.
#[derive(Default)]
struct Outcomes {
    /// 0: nothing is wrong.
    sound: usize,
    /// 1: damaged, incomplete, with nothing that was selected, or with findings.
    wrong: usize,
    /// 2: not readable.
    unusable: usize,
    /// 130: not read to the end.
    interrupted: usize,
}

impl Outcomes {
    const fn count(&mut self, status: u8) {
        *match status {
            0 => &mut self.sound,
            DAMAGED => &mut self.wrong,
            INTERRUPTED => &mut self.interrupted,
            _ => &mut self.unusable,
        } += 1;
    }

    const fn plus(self, other: Self) -> Self {
        Self {
            sound: self.sound + other.sound,
            wrong: self.wrong + other.wrong,
            unusable: self.unusable + other.unusable,
            interrupted: self.interrupted + other.interrupted,
        }
    }

    /// The greatest exit status, if there were this many captures to read.
    const fn status(&self, captures: usize) -> u8 {
        if self.interrupted + self.not_read(captures) > 0 {
            INTERRUPTED
        } else if self.unusable > 0 {
            UNUSABLE
        } else if self.wrong > 0 {
            DAMAGED
        } else {
            0
        }
    }

    const fn not_read(&self, captures: usize) -> usize {
        captures - self.sound - self.wrong - self.unusable - self.interrupted
    }

    /// Prints what became of all captures.
    fn print(&self, captures: usize, form: SeparateForm, quiet: bool) -> Result<(), Failure> {
        let not_read = self.not_read(captures);
        if form == SeparateForm::Json {
            let mut line = Vec::new();
            let Self { sound, wrong, unusable, interrupted } = *self;
            CapturesSummary { captures, sound, wrong, unusable, interrupted, not_read }.write_json(&mut line)?;
            output::write(&line)?;
        }
        if !quiet {
            let counts = [(self.sound, "0"), (self.wrong, "1"), (self.unusable, "2"), (self.interrupted, "130")];
            let counts = counts.iter().filter(|(count, _)| *count > 0);
            let mut parts: Vec<_> = counts.map(|(count, status)| format!("exit status {status} for {count}")).collect();
            parts.extend((not_read > 0).then(|| format!("{not_read} not read")));
            say(&format!("{}: {}", counted(captures as u64, "capture"), parts.join(", ")));
        }
        Ok(())
    }
}
