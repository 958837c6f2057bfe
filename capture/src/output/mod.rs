//! Writing what was found: `json` for programs, `text`, `tree` and `findings` for people, [`stats`] in numbers, `export` for
//! tools that read RPC over TCP, `annotate` for Wireshark, `trace` for Perfetto, `report` for a ticket, `csv` and `parquet` for
//! data analysis. Each that brings a package with it is behind the feature of that name, as is `schema`. `tree`, `slow`, `pending`,
//! `top` and `explain` are with `text`, `trace` is with `json`, `annotate` needs both `export` and `text`, and `compare` both `json`
//! and `text`.

#[cfg(all(feature = "export", feature = "text"))]
pub mod annotate;
#[cfg(feature = "export")]
mod capture_file;
#[cfg(all(feature = "json", feature = "text"))]
pub mod compare;
#[cfg(feature = "csv")]
pub mod csv;
#[cfg(any(feature = "parquet", feature = "text"))]
mod date;
#[cfg(feature = "text")]
pub mod diagnosis;
#[cfg(feature = "text")]
pub mod explain;
#[cfg(feature = "export")]
pub mod export;
#[cfg(any(feature = "json", feature = "text"))]
mod fields;
#[cfg(any(feature = "json", feature = "text"))]
pub mod file_names;
#[cfg(any(feature = "json", feature = "text"))]
pub mod findings;
#[cfg(all(feature = "export", feature = "text"))]
pub(crate) mod frame_buffers;
pub mod gaps;
#[cfg(feature = "json")]
pub mod json;
#[cfg(feature = "text")]
mod ladder;
mod operation_name;
#[cfg(feature = "parquet")]
pub mod parquet;
#[cfg(feature = "text")]
pub mod pending;
pub(crate) mod reason;
#[cfg(feature = "report")]
pub mod report;
#[cfg(feature = "schema")]
pub mod schema;
#[cfg(feature = "text")]
pub mod screen;
#[cfg(feature = "text")]
pub mod slow;
pub mod stats;
#[cfg(feature = "text")]
mod style;
#[cfg(feature = "export")]
mod tcp;
#[cfg(feature = "text")]
pub mod text;
#[cfg(feature = "text")]
pub mod time;
#[cfg(feature = "text")]
pub mod top;
#[cfg(feature = "json")]
pub mod trace;
#[cfg(feature = "text")]
pub mod tree;
