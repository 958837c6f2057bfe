//! Messages as files.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use rpcrdma_gen::Case;

use crate::record::Record;

/// The name of the files of a message, without the number.
fn stem(number: usize, case: &Case) -> String {
    format!("{number:05}-{}", case.name.replace('/', "."))
}

/// Writes each message, the record, and the Call of a Reply if the verdict needs the Call.
pub(crate) fn directory(path: &Path, cases: &[Case]) -> io::Result<()> {
    std::fs::create_dir_all(path)?;
    for (number, case) in cases.iter().enumerate() {
        let stem = stem(number, case);
        let (file, call) = (format!("{stem}.bin"), format!("{stem}.call"));
        std::fs::write(path.join(&file), &case.octets)?;
        if let Some(octets) = &case.call {
            std::fs::write(path.join(&call), octets)?;
        }
        let record = Record::new(case, &file, case.call.as_ref().map(|_| call.as_str()));
        let record = serde_json::to_string(&record).map_err(io::Error::other)?;
        std::fs::write(path.join(format!("{stem}.json")), record + "\n")?;
    }
    Ok(())
}

/// Writes the octets alone, each message once.
pub(crate) fn corpus(path: &Path, cases: &[Case]) -> io::Result<()> {
    std::fs::create_dir_all(path)?;
    let mut seen = BTreeSet::new();
    for (number, case) in cases.iter().enumerate().filter(|(_, case)| seen.insert(&case.octets)) {
        std::fs::write(path.join(stem(number, case)), &case.octets)?;
    }
    Ok(())
}
