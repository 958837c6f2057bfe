//! The reason why librdmacm has no adapter.
//!
//! librdmacm leaves out an adapter that cannot be opened, and does not say why. So the reason is found by opening the
//! same files: the device files of the connection manager and of each adapter, all at once.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use crate::verbs::Error;

/// Adapters known to the kernel, and the device files by which programs use adapters.
const ADAPTERS: &str = "/sys/class/infiniband";
const USER_VERBS: &str = "/sys/class/infiniband_verbs";
const DEVICES: &str = "/dev/infiniband";
/// Number of descriptors that librdmacm needs besides the device files: for a file in sysfs, and for asynchronous
/// events.
const OTHERS: usize = 2;

/// Returns the reason for an empty list of adapters.
pub(super) fn reason() -> Error {
    why(Path::new(ADAPTERS), Path::new(USER_VERBS), Path::new(DEVICES)).unwrap_or_else(|error| error)
}

/// Returns [`Error::NoDriver`] if everything can be opened.
fn why(adapters: &Path, user_verbs: &Path, devices: &Path) -> Result<Error, Error> {
    let Some(names) = list(adapters)?.filter(|names| !names.is_empty()) else { return Ok(Error::NoAdapter) };
    let mut files = vec![open(&devices.join("rdma_cm"))?];
    let usable = list(user_verbs)?.unwrap_or_default();
    for name in usable.iter().filter(|name| name.starts_with("uverbs")) {
        files.push(open(&devices.join(name))?);
    }
    if files.len() <= names.len() {
        // Not every adapter has a device file: `ib_uverbs` has not made it.
        return Ok(Error::NoModule);
    }
    let others = (0..OTHERS).map(|_| open(adapters));
    let others = others.collect::<Result<Vec<_>, _>>()?;
    drop((files, others));
    Ok(Error::NoDriver)
}

/// Returns the names in a folder. `None` if the folder does not exist.
fn list(folder: &Path) -> Result<Option<Vec<String>>, Error> {
    let names = |all: fs::ReadDir| all.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    match fs::read_dir(folder) {
        Ok(all) => Ok(Some(names(all).collect())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(of_open(&error)),
    }
}

fn open(file: &Path) -> Result<File, Error> {
    File::open(file).map_err(|error| of_open(&error))
}

/// Returns the meaning of the failure to open a file. A device file is missing if the kernel module is not loaded.
fn of_open(error: &io::Error) -> Error {
    match error.raw_os_error().unwrap_or(0) {
        libc::ENOENT | libc::ENXIO | libc::ENODEV => Error::NoModule,
        number => Error::of_number("open", number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that is removed again.
    struct Folder(std::path::PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_reason_is_what_is_missing() {
        let root = Folder(std::env::temp_dir().join(format!("rpcrdma-verbs-absent-{}", std::process::id())));
        let [adapters, user_verbs, devices] = ["class", "verbs", "dev"].map(|name| root.0.join(name));
        let reason = || why(&adapters, &user_verbs, &devices).unwrap_or_else(|error| error);
        assert_eq!(reason(), Error::NoAdapter, "nothing is there");
        fs::create_dir_all(&adapters).unwrap();
        assert_eq!(reason(), Error::NoAdapter, "the modules are loaded");
        fs::write(adapters.join("rxe0"), "").unwrap();
        assert_eq!(reason(), Error::NoModule, "rdma_ucm");
        fs::create_dir_all(&devices).unwrap();
        fs::write(devices.join("rdma_cm"), "").unwrap();
        assert_eq!(reason(), Error::NoModule, "ib_uverbs");
        fs::create_dir_all(&user_verbs).unwrap();
        fs::write(user_verbs.join("uverbs0"), "").unwrap();
        assert_eq!(reason(), Error::NoModule, "no device file");
        fs::write(devices.join("uverbs0"), "").unwrap();
        assert_eq!(reason(), Error::NoDriver);
    }

    #[test]
    fn a_file_that_cannot_be_opened_says_why() {
        for (number, meaning) in [
            (libc::EMFILE, Error::OpenFiles),
            (libc::ENFILE, Error::SystemOpenFiles),
            (libc::EACCES, Error::Permission),
            (libc::ENXIO, Error::NoModule),
            (libc::ELOOP, Error::System { function: "open", number: libc::ELOOP }),
        ] {
            assert_eq!(of_open(&io::Error::from_raw_os_error(number)), meaning);
        }
    }
}
