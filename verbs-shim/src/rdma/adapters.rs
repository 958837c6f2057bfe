//! The adapters that librdmacm has opened, and their release.
//!
//! librdmacm opens an adapter once for the whole process. A removed adapter is closed when librdmacm next lists the
//! adapters, but not if that list is empty: then the last adapter stays open until the process ends (rdma-core 44).
//! Drivers that cannot take an adapter away from users, such as soft RoCE and soft iWARP, make the kernel wait until
//! all have closed the adapter. So when nothing uses a removed adapter any more, each descriptor is replaced here by
//! one of `/dev/null`, which closes the adapter; librdmacm later closes the replacements.
//!
//! The latest list of adapters is kept, because librdmacm frees no context that is in a list.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_int};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{missing_adapter, sys};
use crate::verbs::Error;

/// librdmacm's list of open adapters. An adapter stays open as long as such a list contains the adapter.
#[derive(Debug)]
pub(super) struct List {
    first: NonNull<*mut sys::ibv_context>,
    length: usize,
}

// SAFETY: all functions of librdmacm may be called from any thread; the list is read only.
unsafe impl Send for List {}
// SAFETY: as above.
unsafe impl Sync for List {}

/// An adapter as one user has opened it: open until this is dropped.
#[derive(Debug)]
pub(super) struct OpenAdapter {
    context: NonNull<sys::ibv_context>,
    _list: Arc<List>,
}

// SAFETY: all functions of libibverbs may be called from any thread.
unsafe impl Send for OpenAdapter {}
// SAFETY: as above.
unsafe impl Sync for OpenAdapter {}

/// Adapters of this process.
#[derive(Debug, Default)]
struct Adapters {
    latest: Option<Arc<List>>,
    /// By the address of the context. Each is in the latest list, or has a user that keeps an earlier one.
    uses: BTreeMap<usize, AdapterUse>,
    /// Takes the place of the descriptors of removed adapters. This file is opened with the first list, so that
    /// releasing an adapter needs no further descriptor.
    replacement: Option<File>,
}

#[derive(Debug, Default)]
struct AdapterUse {
    users: usize,
    state: AdapterState,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AdapterState {
    #[default]
    Present,
    /// The adapter is released when the last user is gone.
    Removed,
    Released,
}

static ADAPTERS: Mutex<Adapters> = Mutex::new(Adapters { latest: None, uses: BTreeMap::new(), replacement: None });

fn lock() -> MutexGuard<'static, Adapters> {
    ADAPTERS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl List {
    fn new() -> Result<Self, Error> {
        let mut length = 0;
        // SAFETY: `length` can be written.
        let first = unsafe { sys::rdma_get_devices(&raw mut length) };
        // librdmacm does not say why.
        let first = NonNull::new(first).ok_or_else(missing_adapter::reason)?;
        let list = Self { first, length: usize::try_from(length).unwrap_or(0) };
        if list.length == 0 { Err(missing_adapter::reason()) } else { Ok(list) }
    }

    pub(super) fn contexts(&self) -> impl Iterator<Item = NonNull<sys::ibv_context>> {
        // SAFETY: the list has this many pointers, and nobody changes it.
        (0..self.length).filter_map(|index| NonNull::new(unsafe { *self.first.as_ptr().add(index) }))
    }
}

impl Drop for List {
    fn drop(&mut self) {
        // SAFETY: made by rdma_get_devices, freed once.
        unsafe { sys::rdma_free_devices(self.first.as_ptr()) };
    }
}

/// Opens the first adapter that is wanted.
///
/// # Errors
/// [`Error::NoAdapter`], and the reasons of [`absent`].
pub(super) fn open(wanted: impl Fn(NonNull<sys::ibv_context>) -> bool) -> Result<OpenAdapter, Error> {
    let mut adapters = lock();
    let list = adapters.list()?;
    let is_open = |context: &NonNull<_>| adapters.state(*context) != AdapterState::Released;
    let context = list.contexts().filter(is_open).find(|context| wanted(*context)).ok_or(Error::NoAdapter)?;
    adapters.uses.entry(context.addr().get()).or_default().users += 1;
    Ok(OpenAdapter { context, _list: list })
}

/// Lists all adapters, which are open as long as the list is there.
///
/// # Errors
/// The reasons of [`absent`].
pub(super) fn list() -> Result<Arc<List>, Error> {
    lock().list()
}

/// Returns the name of an adapter.
///
/// # Safety
/// The adapter is open.
pub(super) unsafe fn name(context: NonNull<sys::ibv_context>) -> String {
    // SAFETY: an open adapter has a device, and that has a name that ends with zero.
    unsafe {
        let name = sys::ibv_get_device_name(context.as_ref().device);
        if name.is_null() { String::new() } else { CStr::from_ptr(name).to_string_lossy().into_owned() }
    }
}

impl OpenAdapter {
    pub(super) fn context(&self) -> NonNull<sys::ibv_context> {
        self.context
    }

    pub(super) fn name(&self) -> String {
        // SAFETY: it is open as long as this is there.
        unsafe { name(self.context) }
    }

    /// Records that the adapter was removed: the adapter is closed when the last user is gone.
    pub(super) fn removed(&self) {
        if let Some(adapter) = lock().uses.get_mut(&self.context.addr().get())
            && adapter.state == AdapterState::Present
        {
            adapter.state = AdapterState::Removed;
        }
    }
}

impl Drop for OpenAdapter {
    fn drop(&mut self) {
        let mut adapters = lock();
        if let Some(adapter) = adapters.uses.get_mut(&self.context.addr().get()) {
            adapter.users = adapter.users.saturating_sub(1);
        }
        adapters.release(self.context);
    }
}

impl Adapters {
    /// Lists the adapters. If there is none left, all adapters of the latest list were removed.
    fn list(&mut self) -> Result<Arc<List>, Error> {
        let list = List::new().inspect_err(|_| self.removed_if_none_is_left())?;
        let list = Arc::new(list);
        if self.replacement.is_none() {
            let null = File::options().read(true).write(true).open("/dev/null");
            let failed = |error: std::io::Error| Error::of_number("open", error.raw_os_error().unwrap_or(0));
            self.replacement = Some(null.map_err(failed)?);
        }
        let earlier = self.latest.replace(Arc::clone(&list));
        // Without a user, it is not used again, and librdmacm may free it.
        self.uses.retain(|address, adapter| {
            adapter.users > 0 || list.contexts().any(|context| context.addr().get() == *address)
        });
        drop(earlier);
        Ok(list)
    }

    fn state(&self, context: NonNull<sys::ibv_context>) -> AdapterState {
        self.uses.get(&context.addr().get()).map_or(AdapterState::Present, |adapter| adapter.state)
    }

    fn removed_if_none_is_left(&mut self) {
        if !none_is_left() {
            return;
        }
        let contexts: Vec<_> = self.latest.iter().flat_map(|list| list.contexts()).collect();
        for context in contexts {
            let adapter = self.uses.entry(context.addr().get()).or_default();
            if adapter.state == AdapterState::Present {
                adapter.state = AdapterState::Removed;
            }
            self.release(context);
        }
    }

    /// Releases an unused adapter that was removed. The caller has a list with this adapter.
    fn release(&mut self, context: NonNull<sys::ibv_context>) {
        let Some(adapter) = self.uses.get_mut(&context.addr().get()) else { return };
        let Some(replacement) = &self.replacement else { return };
        if adapter.users > 0 || adapter.state != AdapterState::Removed {
            return;
        }
        adapter.state = AdapterState::Released;
        // SAFETY: a list keeps the context.
        let descriptors = unsafe { [context.as_ref().cmd_fd, context.as_ref().async_fd] };
        for descriptor in descriptors {
            replace(descriptor, replacement);
        }
    }
}

/// Returns true if libibverbs lists no adapter, and false also if the list cannot be read.
fn none_is_left() -> bool {
    let mut length = 0;
    // SAFETY: `length` can be written, and the list is freed once.
    unsafe {
        let list = sys::ibv_get_device_list(&raw mut length);
        if list.is_null() {
            return false;
        }
        sys::ibv_free_device_list(list);
    }
    length == 0
}

/// Makes a descriptor a second one of a file, which closes the file that was open before.
fn replace(descriptor: c_int, replacement: &File) {
    if descriptor >= 0 {
        // SAFETY: both are open, and only functions of libibverbs use `descriptor`, which then fail.
        unsafe { libc::dup3(replacement.as_raw_fd(), descriptor, libc::O_CLOEXEC) };
    }
}
