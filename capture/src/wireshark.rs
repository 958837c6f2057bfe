//! The Wireshark configuration profile for annotated captures.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use crate::failure::Failure;

/// Name of the profile and of the folder.
const NAME: &str = "rpcrdma";

/// The files of the profile: columns, colours, and buttons for filters.
const FILES: [(&str, &str); 3] = [
    ("preferences", include_str!("../wireshark/preferences")),
    ("colorfilters", include_str!("../wireshark/colorfilters")),
    ("dfilter_buttons", include_str!("../wireshark/dfilter_buttons")),
];

/// Writes the profile to a folder of profiles, unless it is there. A file that its user has changed is kept.
pub(crate) fn write_profile(profiles: &Path) -> Result<(), Failure> {
    let folder = profiles.join(NAME);
    let failed = |path: &Path, error| Failure::Said(format!("{}: {error}", path.display()));
    fs::create_dir_all(&folder).map_err(|error| failed(&folder, error))?;
    for (name, content) in FILES {
        let path = folder.join(name);
        match fs::File::create_new(&path) {
            Ok(mut file) => file.write_all(content.as_bytes()).map_err(|error| {
                // A part of a file would be kept as a file of the user's.
                _ = fs::remove_file(&path);
                failed(&path, error)
            })?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(&path, error)),
        }
    }
    Ok(())
}
