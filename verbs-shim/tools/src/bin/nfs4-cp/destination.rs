//! Local target of a copy.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A temporary file beside the target, which replaces the target when complete. Dropping this value removes the
/// temporary file and leaves the target unchanged.
///
/// A target that is not a regular file, such as a pipe or `/dev/null`, is written to directly.
pub(crate) struct Destination {
    file: File,
    /// The temporary file, unless the target is written to directly, and the file to replace.
    replaces: Option<(PathBuf, PathBuf)>,
}

impl Destination {
    /// Creates the temporary file.
    ///
    /// # Errors
    /// The target is a directory, or may not be written; or the temporary file cannot be created in the same directory.
    pub(crate) fn new(target: &Path) -> io::Result<Self> {
        let permissions = match OpenOptions::new().write(true).open(target) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
            Ok(file) => match file.metadata()? {
                metadata if metadata.is_file() => Some(metadata.permissions()),
                _ => return Ok(Self { file, replaces: None }),
            },
        };
        // A symbolic link stays, and the file that it leads to is replaced.
        let target = if permissions.is_some() { fs::canonicalize(target)? } else { target.to_owned() };
        let temporary = target.with_file_name(format!(".nfs4-cp-{:016x}", RandomState::new().hash_one(0)));
        let created = OpenOptions::new().write(true).create_new(true).open(&temporary);
        let file = created.map_err(|error| io::Error::new(error.kind(), format!("no file beside it: {error}")))?;
        let destination = Self { file, replaces: Some((temporary, target)) };
        if let Some(permissions) = permissions {
            destination.file.set_permissions(permissions)?;
        }
        Ok(destination)
    }

    /// Replaces the target with what was written.
    pub(crate) fn complete(mut self) -> io::Result<()> {
        if let Some((temporary, target)) = &self.replaces {
            // Otherwise a crash of this computer could leave the new name without the octets.
            self.file.sync_all()?;
            fs::rename(temporary, target)?;
            self.replaces = None;
        }
        Ok(())
    }
}

impl Write for Destination {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.file.write(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Destination {
    fn drop(&mut self) {
        if let Some((temporary, _)) = &self.replaces {
            // The copy has failed, which is reported; that there is nothing to remove changes nothing about it.
            let _removed = fs::remove_file(temporary);
        }
    }
}
