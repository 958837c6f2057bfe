//! The dissector for a page: reads the captures of the page, and answers questions as JSON.
//!
//! ```text
//! files of the page ── capture_files ──→ source ─┬→ reading      rows (table), diagnosis, findings
//!                                                ├→ explaining   one RPC
//!                                                └→ saving       CSV, pcapng
//! questions ── filter ──→ table, groups, findings (parts), timeline (traffic) ──→ JSON
//! ```
//! Every pass is made of steps, between which the page can ask, show and cancel. Rows are made of the same `Transaction`s as the records
//! that the program prints, and `tests/records.rs` compares the two.
#![forbid(unsafe_code)]

mod capture_files;
mod diagnosis_words;
mod explaining;
mod fields;
mod filter;
mod findings;
mod groups;
mod heading;
mod names;
mod notable;
mod packed;
mod part;
mod parts;
mod query;
mod reading;
#[cfg(test)]
mod record_schemas;
mod row;
mod saving;
mod source;
mod table;
mod timeline;
mod traffic;
#[cfg(test)]
mod typescript;

use std::io;

use answers::format::number::grouped;
use answers::report;
use dissector::{Capture, StepsWanted};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::prelude::*;

use diagnosis_words::ShownDiagnosis;
use explaining::Explaining;
use filter::{FLAGS, KEYS};
use query::Query;
use reading::Reading;
use saving::{Format, Saving};
use source::Source;

/// Opens a capture again, for another pass.
type Open = Box<dyn Fn() -> Capture>;

/// A capture that is explored.
#[wasm_bindgen]
pub struct Viewer {
    open: Open,
    reading: Reading,
    selected: Vec<u32>,
}

#[wasm_bindgen]
impl Viewer {
    /// A capture in files of these names, which the page reads.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(names: Vec<String>) -> Self {
        let name = match &names[..] {
            [name] => name.clone(),
            names => format!("{} files", names.len()),
        };
        let files = names.join(" ");
        Self::from_open(Box::new(move || capture_files::capture(&names)), &name, &files)
    }

    /// Reads at most `frames` frames; `false` at the end.
    ///
    /// # Errors
    /// A text for the user.
    pub fn step(&mut self, frames: usize) -> Result<bool, String> {
        self.reading.step(frames).map_err(text)
    }

    /// Ends reading; what was read stays.
    ///
    /// # Errors
    /// A text for the user.
    pub fn cancel(&mut self) -> Result<(), String> {
        self.reading.cancel().map_err(text)
    }

    /// Progress, when the page has read `read` of `size` octets.
    ///
    /// # Errors
    /// None that can happen.
    pub fn progress(&self, read: f64, size: f64) -> Result<String, String> {
        json(&self.reading.progress(read, size))
    }

    /// The diagnosis of the frames read so far. The filter `cause=` selects the RPCs of a cause.
    ///
    /// # Errors
    /// None that can happen.
    pub fn diagnosis(&mut self) -> Result<String, String> {
        let diagnosis = self.reading.diagnosis();
        let shown = ShownDiagnosis::new(&diagnosis, self.reading.stopped()).map_err(text)?;
        json(&shown)
    }

    /// Selects rows by a `Query`, and returns the number of selected rows.
    ///
    /// # Errors
    /// The word of the filter that is wrong.
    pub fn select(&mut self, query: &str) -> Result<usize, String> {
        self.selected = self.reading.table.select(&parse::<Query>(query)?)?;
        Ok(self.selected.len())
    }

    /// Checks the words of a filter.
    ///
    /// # Errors
    /// The word of the filter that is wrong.
    pub fn check(&self, filter: &str) -> Result<(), String> {
        self.reading.table.filter(filter).map(drop)
    }

    /// Number of the selected rows, in words.
    #[must_use]
    pub fn count(&self) -> String {
        let [selected, all] = [self.selected.len(), self.reading.table.len()].map(|count| grouped(count as u64));
        let none = if self.selected.is_empty() && self.reading.table.len() > 0 { ": no RPC matches" } else { "" };
        format!("{selected} of {all} RPCs{none}")
    }

    /// Selected rows from the `from`th on.
    ///
    /// # Errors
    /// None that can happen.
    pub fn rows(&self, from: usize, count: usize) -> Result<String, String> {
        let selected = self.selected.iter().skip(from).take(count);
        json(&selected.filter_map(|index| self.reading.table.shown(*index)).collect::<Vec<_>>())
    }

    /// The place of a row among the selected ones.
    #[must_use]
    pub fn place(&self, index: u32) -> Option<usize> {
        self.selected.iter().position(|selected| *selected == index)
    }

    /// A row by the place among all rows.
    ///
    /// # Errors
    /// None that can happen.
    pub fn row(&self, index: u32) -> Result<String, String> {
        json(&self.reading.table.shown(index))
    }

    /// The row of the RPC that a frame is part of: of its call or its reply, or else one that waited at that time.
    #[must_use]
    pub fn at_frame(&self, frame: f64) -> Option<u32> {
        self.reading.table.at_frame(frame as u64)
    }

    /// The row of the RPC on a connection with an XID whose call or reply is in a frame.
    #[must_use]
    pub fn find(&self, connection: u32, xid: u32, frame: f64) -> Option<u32> {
        let is_it = |half: Option<u64>| half.is_some_and(|own| own as f64 == frame);
        self.reading
            .table
            .rows()
            .find(|(_, row)| {
                (row.kind.connection, row.xid) == (connection, xid) && (is_it(row.call) || is_it(row.reply))
            })
            .map(|(index, _)| index)
    }

    /// The next row that is `slow`, `failed` or `waiting`, after another or before it, and its place among them; the first or the last
    /// at the end. `null` if there is none.
    ///
    /// # Errors
    /// If there is no such kind.
    pub fn next(&self, from: u32, kind: &str, backwards: bool) -> Result<String, String> {
        let kind = parse(&format!("\"{kind}\""))?;
        json(&notable::next(&self.reading.table, from, kind, backwards))
    }

    /// Groups of the rows that a `Query` selects, in its order.
    ///
    /// # Errors
    /// The word of the filter that is wrong.
    pub fn groups(&self, query: &str, by: &str) -> Result<String, String> {
        let by = parse(&format!("\"{by}\""))?;
        json(&groups::groups(&self.reading.table, &parse(query)?, by)?)
    }

    /// The findings that a `Query` selects, in its order.
    ///
    /// # Errors
    /// The word of the filter that is wrong.
    pub fn findings(&mut self, query: &str) -> Result<String, String> {
        let Reading { findings, table, .. } = &mut self.reading;
        json(&findings.selected(&parse(query)?, table)?)
    }

    /// The rows that pass a filter over time.
    ///
    /// # Errors
    /// The word of the filter that is wrong.
    pub fn timeline(&mut self, filter: &str) -> Result<String, String> {
        let Reading { table, traffic, .. } = &mut self.reading;
        json(&timeline::timeline(table, traffic, &table.filter(filter)?))
    }

    /// Begins a pass for the RPC in a row.
    ///
    /// # Errors
    /// If there is no such row.
    pub fn explain(&self, index: u32) -> Result<RpcPass, String> {
        let row = self.reading.table.row(index).ok_or("there is no such RPC")?;
        let source = self.again(Explaining::wanted(&row));
        Ok(RpcPass(Some(Explaining::new(source, row))))
    }

    /// Begins a pass that saves the selected rows.
    ///
    /// # Errors
    /// If there is no such format.
    pub fn save(&self, format: &str) -> Result<SavePass, String> {
        let format: Format = parse(&format!("\"{format}\""))?;
        let rows = self.selected.iter().filter_map(|index| self.reading.table.row(*index));
        let errors = self.reading.errors();
        Saving::new(self.again(Saving::wanted(format)), errors, format, rows).map(SavePass).map_err(text)
    }
}

impl Viewer {
    fn from_open(open: Open, name: &str, files: &str) -> Self {
        let source = Source::new(open(), Reading::config(StepsWanted::None));
        Self { open, reading: Reading::new(source, name, files), selected: Vec::new() }
    }

    /// Another pass, over as many frames as were read.
    fn again(&self, steps: StepsWanted) -> Source {
        Source::new((self.open)(), Reading::config(steps)).ending_after(self.reading.stopped_after())
    }

    /// A capture in files that this machine opens, for tests.
    #[must_use]
    pub fn of_paths(paths: Vec<String>) -> Self {
        let name = paths.join(" ");
        Self::from_open(Box::new(move || Capture::from_paths(&paths)), &name, &name)
    }
}

/// A pass for one RPC.
#[wasm_bindgen]
pub struct RpcPass(Option<Explaining>);

#[wasm_bindgen]
impl RpcPass {
    /// Reads at most `frames` frames; `false` at the end.
    ///
    /// # Errors
    /// A text for the user.
    pub fn step(&mut self, frames: usize) -> Result<bool, String> {
        self.0.as_mut().map_or(Ok(false), |explaining| explaining.step(frames)).map_err(text)
    }

    /// The explained RPC; `null` if the pass did not find the RPC.
    ///
    /// # Errors
    /// A text for the user.
    pub fn finish(&mut self) -> Result<String, String> {
        let explained = self.0.take().map_or(Ok(None), Explaining::finish).map_err(text)?;
        json(&explained)
    }
}

/// A pass that writes a file.
#[wasm_bindgen]
pub struct SavePass(Saving);

#[wasm_bindgen]
impl SavePass {
    /// Reads at most `frames` frames; `false` once everything is written.
    ///
    /// # Errors
    /// A text for the user.
    pub fn step(&mut self, frames: usize) -> Result<bool, String> {
        self.0.step(frames).map_err(text)
    }

    /// Returns the octets that were written since the last time.
    #[must_use]
    pub fn take_octets(&self) -> Vec<u8> {
        self.0.take_octets()
    }
}

/// The words of filters, for completion: those with a value, each with its option of the command line, and those without, each with
/// what it selects.
///
/// # Errors
/// None that can happen.
#[wasm_bindgen]
pub fn filter_words() -> Result<String, String> {
    json(&(KEYS, FLAGS))
}

/// The legend of the phases, which the report has too.
#[wasm_bindgen]
#[must_use]
pub fn phase_legend() -> String {
    report::phase_legend()
}

/// The places of the page's files in the order of the files' first frames.
#[wasm_bindgen]
#[must_use]
pub fn order_of_files(count: u32) -> Vec<u32> {
    capture_files::order(count)
}

fn text(error: io::Error) -> String {
    error.to_string()
}

fn json(value: &impl Serialize) -> Result<String, String> {
    serde_json::to_string(value).map_err(|error| error.to_string())
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}
