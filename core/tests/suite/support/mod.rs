//! The vectors in `testdata/vectors`: hexadecimal digits, spaces, and comments from `#` to the end of the line.
#![allow(dead_code, missing_docs, unreachable_pub)]

pub mod null;
pub mod recorded;

use std::path::PathBuf;

use rpcrdma::lists::Chunks;
use rpcrdma::v1::Header;
use rpcrdma::v2::{family_a, family_b};

/// One of how many is done: Miri is some thousand times slower.
pub const ONE_OF: usize = if cfg!(miri) { 100 } else { 1 };

/// Returns the number of repetitions instead of `count`.
pub const fn fewer(count: usize) -> usize {
    count.div_ceil(ONE_OF)
}

pub fn testdata(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata").join(path)
}

/// The octets of `testdata/vectors/v1/{name}.hex`.
pub fn vector(name: &str) -> Vec<u8> {
    vector_of("v1", name)
}

/// The octets of `testdata/vectors/{version}/{name}.hex`.
pub fn vector_of(version: &str, name: &str) -> Vec<u8> {
    let path = testdata(&format!("vectors/{version}/{name}.hex"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    recorded::hexadecimal(&text)
}

/// The names of the vectors in `testdata/vectors/v1/{folder}`.
pub fn names(folder: &str) -> Vec<String> {
    names_of("v1", folder)
}

/// The names of the vectors in `testdata/vectors/{version}/{folder}`.
pub fn names_of(version: &str, folder: &str) -> Vec<String> {
    let folder = testdata(&format!("vectors/{version}/{folder}"));
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "hex"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

/// Decodes a header and looks at every field of every segment: what the benchmarks measure.
#[inline]
pub fn decode_and_visit(octets: &[u8]) -> u64 {
    let Ok((header, payload)) = Header::decode(octets) else { return 0 };
    let sum = u64::from(header.xid) ^ u64::from(header.credit) ^ payload.len() as u64;
    let Some(chunks) = header.chunks() else { return sum };
    visit(sum, chunks)
}

/// The same for version 2, family A.
#[inline]
pub fn decode_and_visit_a(octets: &[u8]) -> u64 {
    let Ok((header, payload)) = family_a::Header::decode(octets) else { return 0 };
    let family_a::Header { xid, credit, flags, .. } = header;
    let sum = u64::from(xid) ^ u64::from(credit.0) ^ u64::from(flags.bits()) ^ payload.len() as u64;
    let sum = sum ^ u64::from(header.inv_handle().unwrap_or(0));
    let Some(chunks) = header.chunks() else { return sum };
    visit(sum, chunks)
}

/// The same for version 2, family B.
#[inline]
pub fn decode_and_visit_b(octets: &[u8]) -> u64 {
    let Ok((header, payload)) = family_b::Header::decode(octets) else { return 0 };
    let sum = u64::from(header.xid) ^ u64::from(header.credit.0) ^ payload.len() as u64;
    let sum = sum ^ u64::from(header.inv_handle().unwrap_or(0));
    let Some(chunks) = header.chunks() else { return sum };
    visit(sum, chunks)
}

#[inline(always)]
fn visit(mut sum: u64, chunks: Chunks<'_>) -> u64 {
    let mut visit = |segment: rpcrdma::segment::Segment| {
        sum = sum.wrapping_add(u64::from(segment.handle) ^ u64::from(segment.length) ^ segment.offset);
    };
    for read in chunks.reads {
        visit(read.target);
        std::hint::black_box(read.position);
    }
    for chunk in chunks.writes {
        chunk.into_iter().for_each(&mut visit);
    }
    if let Some(chunk) = chunks.reply {
        chunk.into_iter().for_each(&mut visit);
    }
    sum
}
