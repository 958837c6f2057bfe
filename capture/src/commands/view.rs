//! `view`: the page that explores captures, with captures inside.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use rpcrdma_dissector::first_frame;

use super::embedded::embed;
use crate::destination::Destination;
use crate::failure::{Failure, say};
use crate::interrupt::{INTERRUPTED, Interrupt};

const VIEW_HELP: &str = "\
The page shows the diagnosis, a time line, all RPCs in a table, and each RPC packet by packet. It
holds the captures, so it needs no other file and no network; whoever has the page has the captures.
Captures of more than 64 MB in all are too large for a page: write the empty page once, without
FILE, and drop captures on it.

Examples:
  rpcrdma view nfs.pcap -o nfs.html
  rpcrdma view -o viewer.html                          the page alone: drop captures on it
  rpcrdma view --page capture/viewer/dist/rpcrdma.html nfs.pcap -o nfs.html";

/// The page, if the program was built with one.
#[cfg(feature = "page")]
const PAGE: Option<&str> = Some(include_str!("../../viewer/dist/rpcrdma.html"));
#[cfg(not(feature = "page"))]
const PAGE: Option<&str> = None;

/// The place in the page where captures belong.
const MARK: &str = "<!-- captures -->";
/// The most octets of captures in a page. A browser holds the captures twice while opening the page.
const CAPTURES: u64 = 64_000_000;

#[derive(Args, Debug)]
#[command(after_help = VIEW_HELP)]
pub(super) struct ViewArguments {
    /// Capture files, as they are: pcap, pcapng or ERF, plain, gzip or Zstandard
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The HTML file to write; - is standard output
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,
    /// The page to write the captures into, instead of the one in the program
    #[arg(long, value_name = "PAGE")]
    page: Option<PathBuf>,
}

pub(super) fn run(arguments: &ViewArguments, quiet: bool) -> Result<u8, Failure> {
    let ViewArguments { files, output, page } = arguments;
    let inputs: Vec<PathBuf> = files.iter().chain(page).cloned().collect();
    let destination = Destination::new(output, &inputs)?;
    let page = page_text(page.as_deref())?;
    let (before, after) = page
        .split_once(MARK)
        .ok_or_else(|| Failure::Said(format!("the page has no place for captures, which is marked by {MARK}")))?;
    refuse_large(files)?;
    files.iter().try_for_each(|file| refuse_other(file))?;
    let mut write = destination.create()?;
    let interrupt = Interrupt::new().map_err(|error| Failure::of_signals(&error))?;
    let mut written = write.write_all(before.as_bytes());
    for file in files {
        if interrupt.is_signalled() {
            say("interrupted: no file was written");
            return Err(Failure::Ended(INTERRUPTED));
        }
        let mut content = File::open(file).map_err(|error| unreadable(file, &error))?;
        written = written.and_then(|()| embed(&mut write, &file.to_string_lossy(), &mut content));
    }
    written
        .and_then(|()| write.write_all(after.as_bytes()))
        .and_then(|()| write.finish())
        .map_err(|error| destination.failed(error))?;
    if !quiet && output != Path::new("-") {
        say(&format!("{} written: open it in a browser", output.display()));
    }
    Ok(0)
}

fn page_text(given: Option<&Path>) -> Result<String, Failure> {
    if let Some(path) = given {
        return fs::read_to_string(path).map_err(|error| unreadable(path, &error));
    }
    PAGE.map(str::to_owned).ok_or_else(|| {
        Failure::Said(
            "this program was built without the page: build it with 'capture/viewer/build', then name it with \
             --page capture/viewer/dist/rpcrdma.html, or build the program with --features page"
                .to_owned(),
        )
    })
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::Said(format!("{}: {error}", path.display()))
}

fn refuse_large(files: &[PathBuf]) -> Result<(), Failure> {
    let mut octets = 0_u64;
    for file in files {
        let metadata = fs::metadata(file).map_err(|error| unreadable(file, &error))?;
        if !metadata.is_file() {
            return Err(Failure::Said(format!("{}: not a file", file.display())));
        }
        octets = octets.saturating_add(metadata.len());
    }
    if octets > CAPTURES {
        return Err(Failure::Said(format!(
            "{} MB of captures are too many for a page, which holds up to {} MB: write the page without them, and drop them on it",
            octets.div_ceil(1_000_000),
            CAPTURES / 1_000_000
        )));
    }
    Ok(())
}

/// Refuses a file that is no capture, because the page gives all of the file away. The page names damage of a capture.
fn refuse_other(path: &Path) -> Result<(), Failure> {
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    first_frame(file).map(drop).map_err(|error| Failure::Said(format!("{}: {error}", path.display())))
}
