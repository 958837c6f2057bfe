//! A new file that replaces an old one when all is written.
//!
//! The new file is written beside the old one, under a temporary name. A run that fails removes the new file, and the old one
//! stays as it is; a run that is killed leaves both.

use std::fs::{self, File, Metadata, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

/// The most characters of the old name in the temporary one. File systems permit 143 octets and more.
const NAMED: usize = 30;
/// The most symbolic links that are followed.
const LINKS: usize = 40;

/// Names of the new file. Dropping this value removes the new file, unless the old one was replaced.
#[derive(Debug)]
pub(crate) struct Replacement {
    temporary: PathBuf,
    target: PathBuf,
    state: ReplacementState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReplacementState {
    /// There is an old file.
    Replacing,
    /// There is none.
    Creating,
    /// The new file has the final name.
    Done,
}

impl Replacement {
    /// Creates the new file, with the mode and owner of the old one as far as this user may set them. A symbolic link stays:
    /// the target of the link is replaced.
    ///
    /// # Errors
    /// The old file may not be written, or no file can be created beside it.
    pub(crate) fn create(path: &Path) -> io::Result<(File, Self)> {
        let old = match OpenOptions::new().write(true).open(path) {
            Ok(file) => Some(file.metadata()?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let target = without_links(path);
        let temporary = temporary(&target);
        let file = match (new_file(&temporary, old.as_ref()), &old) {
            (Err(error), Some(_)) => return Err(not_beside(&error)),
            (created, _) => created?,
        };
        let state = if old.is_some() { ReplacementState::Replacing } else { ReplacementState::Creating };
        let replacement = Self { temporary, target, state };
        old.iter().try_for_each(|old| resemble(&file, old))?;
        Ok((file, replacement))
    }

    /// Renames the new file to the final name. The file has to be closed.
    pub(crate) fn take_place(mut self) -> io::Result<()> {
        if self.state == ReplacementState::Replacing {
            // A power failure must not leave the new name without the octets.
            OpenOptions::new().write(true).open(&self.temporary)?.sync_all()?;
        }
        fs::rename(&self.temporary, &self.target)?;
        self.state = ReplacementState::Done;
        Ok(())
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if self.state != ReplacementState::Done {
            // The failure itself is reported, and a file that cannot be removed changes nothing about it.
            _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Returns the file that symbolic links lead to, which may not exist.
fn without_links(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        match fs::read_link(&path) {
            Ok(link) => path = path.parent().unwrap_or(Path::new("")).join(link),
            Err(_) => break,
        }
    }
    path
}

/// Returns a name beside `target` that no other file has.
fn temporary(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name.chars().take(NAMED).collect();
    target.with_file_name(format!(".{name}.{:016x}", RandomState::new().hash_one(0)))
}

/// Says why the file named by the user is not written, although the user may write it.
fn not_beside(error: &io::Error) -> io::Error {
    let text = format!("no new file can be created in its folder: {error}; name a file in another folder");
    io::Error::new(error.kind(), text)
}

/// Creates a file that nobody can open who cannot open `old`.
#[cfg(unix)]
fn new_file(path: &Path, old: Option<&Metadata>) -> io::Result<File> {
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    let mode = old.map_or(0o666, |old| old.mode() & 0o666);
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)
}

#[cfg(not(unix))]
fn new_file(path: &Path, _old: Option<&Metadata>) -> io::Result<File> {
    File::create_new(path)
}

/// Gives `file` the owner and mode of `old`.
#[cfg(unix)]
fn resemble(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let new = file.metadata()?;
    // Another owner needs privileges, and another group its membership: without them the file belongs to who wrote it.
    if old.uid() != new.uid() {
        _ = fchown(file, Some(old.uid()), None);
    }
    if old.gid() != new.gid() {
        _ = fchown(file, None, Some(old.gid()));
    }
    file.set_permissions(old.permissions())
}

#[cfg(not(unix))]
fn resemble(_file: &File, _old: &Metadata) -> io::Result<()> {
    Ok(())
}
