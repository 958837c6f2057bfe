//! Registered memory, and the one copy that takes the place of the adapter's DMA.
//!
//! An adapter writes to memory while its owner may be reading it, which safe Rust cannot express. So a registered
//! region owns the buffer, and each access locks the region: a closure of the owner, or one operation of the adapter.
//! That needs a lock where hardware has none, and an owner that reads for long delays the adapter; in return, every
//! operation is seen whole, and no unsafe code is needed. The races that hardware has between the two cannot be
//! reproduced here. Buffers move in and out without being copied.
//!
//! The allocation of a deregistered region is used again for the next one, under another handle, because no handle is
//! ever used twice. So nothing is allocated per call.
//!
//! A copy locks two regions, always the older one first. A thread inside a closure over a region holds one lock, and
//! must not wait for another: that is refused (see [`is_memory_held`]).

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::mem;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use rpcrdma::segment::Segment;

use crate::verbs::identifiers::Identifiers;
use crate::verbs::{Access, Local, Operation, Remote, is_part};
use crate::verbs::{Error, NotRegistered};

/// Maximum number of regions of one protection domain.
pub const MAX_REGIONS: usize = 1 << 16;

thread_local! {
    static HELD: Cell<bool> = const { Cell::new(false) };
}

/// Returns true if this thread is in a closure that holds a region. Waiting for a lock could then mean waiting for
/// itself.
pub(super) fn is_memory_held() -> bool {
    HELD.get()
}

/// Returns an error if [`is_memory_held`].
pub(super) fn not_held() -> Result<(), Error> {
    if is_memory_held() { Err(Error::MemoryHeld) } else { Ok(()) }
}

/// A protection domain of the loopback.
///
/// ```
/// use rpcrdma_verbs::loopback::Fabric;
/// use rpcrdma_verbs::{Access, Verbs};
///
/// let adapter = Fabric::new().adapter([192, 0, 2, 1].into())?;
/// let domain = adapter.domain()?;
/// let region = adapter.register(&domain, b"data".to_vec(), Access::REMOTE_READ)?;
/// assert_eq!(adapter.segment(&region).length, 4);
/// # Ok::<(), rpcrdma_verbs::Error>(())
/// ```
#[derive(Clone)]
pub struct Domain(Arc<RegionTable>);

/// The memory of a domain, by handle.
struct RegionTable {
    handles: Mutex<Handles>,
    /// Maximum number of regions.
    most: usize,
    /// A number that no other domain has.
    number: u64,
}

#[derive(Default)]
struct Handles {
    registered: HashMap<u32, Arc<Memory>>,
    /// Deregistered regions, which the next registrations use again, so that nothing is allocated.
    spare: Vec<Arc<Memory>>,
}

/// Maximum number of deregistered regions that are kept.
const MAX_SPARE: usize = 64;

/// A registered buffer.
pub(super) struct Memory {
    /// Ascending: the order in which locks are taken.
    age: u64,
    /// Number of the domain.
    domain: u64,
    segment: Segment,
    access: Access,
    /// Becomes false once; read with the lock held.
    valid: AtomicBool,
    /// Offset of the registered part in the buffer.
    start: usize,
    octets: RwLock<Vec<u8>>,
}

/// Registered memory of the loopback.
///
/// ```
/// use rpcrdma_verbs::loopback::Fabric;
/// use rpcrdma_verbs::{Access, Verbs};
///
/// let adapter = Fabric::new().adapter([192, 0, 2, 1].into())?;
/// let buffer = b"data".to_vec();
/// let address = buffer.as_ptr();
/// let region = adapter.register(&adapter.domain()?, buffer, Access::LOCAL_WRITE)?;
/// adapter.write(&region, |octets| octets[0] = b'D')?;
/// let buffer = adapter.deregister(region)?;
/// assert_eq!((&buffer[..], buffer.as_ptr()), (&b"Data"[..], address), "changed in place, never copied");
/// # Ok::<(), rpcrdma_verbs::Error>(())
/// ```
pub struct Region {
    memory: Arc<Memory>,
    registration: Held,
}

/// A registration, held by one region or by all regions of a slab.
enum Held {
    Alone(Registration),
    Slab { _registration: Arc<Registration> },
}

/// An entry in the table of a domain. Dropping this value removes the entry.
struct Registration {
    domain: Domain,
    /// `None` once the entry was removed.
    handle: Option<u32>,
    counters: Arc<Counters>,
}

/// A range of the buffer of a region, named by a work request.
#[derive(Clone, Debug)]
pub(super) struct MemoryRange {
    memory: Arc<Memory>,
    range: Range<usize>,
}

/// The side whose memory cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyFault {
    Source,
    Target,
}

/// Counts of operations, octets and registrations.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) moved: AtomicU64,
    pub(super) copied: AtomicU64,
    /// Number of regions that exist.
    pub(super) registered: AtomicU64,
    /// Number of registrations, and of registrations of memory that the other side may use.
    pub(super) registrations: AtomicU64,
    pub(super) remote_registrations: AtomicU64,
    pub(super) sends: AtomicU64,
    pub(super) invalidating_sends: AtomicU64,
    pub(super) writes: AtomicU64,
    pub(super) reads: AtomicU64,
}

impl Counters {
    /// Counts an operation that begins.
    pub(super) fn count_operation(&self, operation: Operation) {
        let counter = match operation {
            Operation::Send => &self.sends,
            Operation::SendWithInvalidate(_) => {
                self.invalidating_sends.fetch_add(1, Ordering::Relaxed);
                &self.sends
            }
            Operation::Write(_) => &self.writes,
            Operation::Read(_) => &self.reads,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

impl Domain {
    pub(super) fn new(most: usize) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        Self(Arc::new(RegionTable { handles: Mutex::default(), most, number: NUMBER.fetch_add(1, Ordering::Relaxed) }))
    }

    pub(super) fn register(
        &self,
        from: &Identifiers,
        counters: &Arc<Counters>,
        buffer: Vec<u8>,
        part: Range<usize>,
        access: Access,
    ) -> Result<Region, NotRegistered> {
        if !is_part(&part, &buffer) {
            return Err(NotRegistered { error: Error::Range, buffer });
        }
        let mut handles = self.handles();
        let segment = match self.segment(from, handles.registered.len(), part.len(), access) {
            Ok(segment) => segment,
            Err(error) => return Err(NotRegistered { error, buffer }),
        };
        let new = Memory::new(self, segment, access, buffer, part.start);
        let memory = match handles.spare.pop() {
            Some(mut spare) => match Arc::get_mut(&mut spare) {
                Some(entry) => {
                    *entry = new;
                    spare
                }
                // A work request that has not ended still names it.
                None => Arc::new(new),
            },
            None => Arc::new(new),
        };
        let registration = self.enter(&mut handles, &memory, counters);
        Ok(Region { memory, registration: Held::Alone(registration) })
    }

    /// Registers a slab: the regions share one handle, which names none of the regions, because the other side has no
    /// access.
    pub(super) fn register_slab(
        &self,
        from: &Identifiers,
        counters: &Arc<Counters>,
        count: usize,
        length: usize,
        access: Access,
    ) -> Result<Vec<Region>, Error> {
        if !access.is_local() {
            return Err(Error::Access);
        }
        let octets = count.checked_mul(length).filter(|octets| *octets > 0).ok_or(Error::Range)?;
        let mut handles = self.handles();
        let whole = self.segment(from, handles.registered.len(), octets, access)?;
        let segment = Segment { length: u32::try_from(length).map_err(|_| Error::Range)?, ..whole };
        let memory = |_| Arc::new(Memory::new(self, segment, access, vec![0; length], 0));
        let memories: Vec<_> = (0..count).map(memory).collect();
        let first = memories.first().ok_or(Error::Range)?;
        let registration = Arc::new(self.enter(&mut handles, first, counters));
        let held = || Held::Slab { _registration: Arc::clone(&registration) };
        Ok(memories.into_iter().map(|memory| Region { memory, registration: held() }).collect())
    }

    /// Enters and counts a registration.
    fn enter(&self, handles: &mut Handles, memory: &Arc<Memory>, counters: &Arc<Counters>) -> Registration {
        let Memory { segment: Segment { handle, .. }, access, .. } = **memory;
        // Allocated for twice as many regions, the table never has to grow later when regions come and go.
        let regions = handles.registered.len();
        handles.registered.reserve(regions + 1);
        handles.registered.insert(handle, Arc::clone(memory));
        counters.registered.fetch_add(1, Ordering::Relaxed);
        counters.registrations.fetch_add(1, Ordering::Relaxed);
        let is_remote = access.intersects(Access::REMOTE_READ | Access::REMOTE_WRITE);
        counters.remote_registrations.fetch_add(u64::from(is_remote), Ordering::Relaxed);
        Registration { domain: self.clone(), handle: Some(handle), counters: Arc::clone(counters) }
    }

    /// Returns handle, length and offset of a new region, if one more may be registered.
    fn segment(&self, from: &Identifiers, regions: usize, length: usize, access: Access) -> Result<Segment, Error> {
        if !access.is_possible() {
            return Err(Error::Access);
        }
        let length = u32::try_from(length).map_err(|_| Error::Range)?;
        if regions >= self.0.most {
            return Err(Error::Exhausted);
        }
        Ok(Segment { handle: from.handle().ok_or(Error::Exhausted)?, length, offset: from.offset() })
    }

    fn handles(&self) -> MutexGuard<'_, Handles> {
        self.0.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Invalidates a handle, and keeps the allocation for the next region.
    fn deregister(&self, memory: &Arc<Memory>) {
        let mut handles = self.handles();
        let removed = handles.registered.remove(&memory.segment.handle);
        if handles.spare.len() < MAX_SPARE {
            handles.spare.push(removed.unwrap_or_else(|| Arc::clone(memory)));
        }
    }

    /// Returns the memory that the other side names, if that access is allowed.
    pub(super) fn find(&self, remote: Remote, length: usize, right: Access) -> Option<MemoryRange> {
        let memory = Arc::clone(self.handles().registered.get(&remote.handle)?);
        let start = usize::try_from(remote.offset.checked_sub(memory.segment.offset)?).ok()?;
        let end = start.checked_add(length).filter(|end| *end <= memory.len())?;
        let range = start + memory.start..end + memory.start;
        memory.access.contains(right).then_some(MemoryRange { memory, range })
    }

    /// Invalidates a handle at the other side's request. Returns false if that is not allowed.
    pub(super) fn invalidate(&self, handle: u32) -> bool {
        let mut handles = self.handles();
        let remote = Access::REMOTE_READ | Access::REMOTE_WRITE;
        if !handles.registered.get(&handle).is_some_and(|memory| memory.access.intersects(remote)) {
            return false;
        }
        let removed = handles.registered.remove(&handle);
        drop(handles);
        if let Some(memory) = removed {
            memory.invalidate();
        }
        true
    }

    /// Returns true if the memory is in this domain, and registered.
    pub(super) fn holds(&self, range: &MemoryRange) -> bool {
        range.memory.domain == self.0.number && range.memory.is_valid()
    }
}

impl Memory {
    fn new(domain: &Domain, segment: Segment, access: Access, octets: Vec<u8>, start: usize) -> Self {
        static AGE: AtomicU64 = AtomicU64::new(0);
        Self {
            age: AGE.fetch_add(1, Ordering::Relaxed),
            domain: domain.0.number,
            segment,
            access,
            valid: AtomicBool::new(true),
            start,
            octets: RwLock::new(octets),
        }
    }

    fn len(&self) -> usize {
        self.segment.length as usize
    }

    /// The registered part of the buffer.
    fn part(&self) -> Range<usize> {
        self.start..self.start + self.len()
    }

    fn is_valid(&self) -> bool {
        self.valid.load(Ordering::Acquire)
    }

    /// Waits until current accesses to the memory are done; none begins after that.
    fn invalidate(&self) {
        self.valid.store(false, Ordering::Release);
        drop(self.octets.write().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Region {
    pub(super) fn segment(&self) -> Segment {
        self.memory.segment
    }

    pub(super) fn is_valid(&self) -> bool {
        self.memory.is_valid()
    }

    pub(super) fn read<T>(&self, look: impl FnOnce(&[u8]) -> T) -> Result<T, Error> {
        let _holding = Holding::mark_thread()?;
        let octets = self.memory.octets.read().unwrap_or_else(PoisonError::into_inner);
        Ok(look(octets.get(self.memory.part()).unwrap_or_default()))
    }

    pub(super) fn write<T>(&self, change: impl FnOnce(&mut [u8]) -> T) -> Result<T, Error> {
        let _holding = Holding::mark_thread()?;
        let mut octets = self.memory.octets.write().unwrap_or_else(PoisonError::into_inner);
        Ok(change(octets.get_mut(self.memory.part()).unwrap_or_default()))
    }

    pub(super) fn deregister(mut self) -> Result<Vec<u8>, Error> {
        not_held()?;
        let Held::Alone(registration) = &mut self.registration else { return Err(Error::Access) };
        registration.domain.deregister(&self.memory);
        registration.handle = None;
        self.memory.valid.store(false, Ordering::Release);
        Ok(mem::take(&mut *self.memory.octets.write().unwrap_or_else(PoisonError::into_inner)))
    }

    pub(super) fn range(local: &Local<'_, Self>) -> Result<MemoryRange, Error> {
        let (memory, range) = (&local.region.memory, local.range.clone());
        if range.start > range.end || range.end > memory.len() {
            return Err(Error::Range);
        }
        let range = range.start + memory.start..range.end + memory.start;
        Ok(MemoryRange { memory: Arc::clone(memory), range })
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // Without the memory's lock: a thread that drops this may hold another region's.
        self.memory.valid.store(false, Ordering::Release);
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Some(handle) = self.handle {
            // After a remote invalidation nothing is there: no handle is used twice.
            self.domain.handles().registered.remove(&handle);
        }
        self.counters.registered.fetch_sub(1, Ordering::Relaxed);
    }
}

impl MemoryRange {
    /// Length in octets.
    pub(super) fn len(&self) -> usize {
        self.range.end.saturating_sub(self.range.start)
    }

    /// The first `length` octets of this range.
    pub(super) fn first(&self, length: usize) -> Self {
        let end = self.range.start.saturating_add(length).min(self.range.end);
        Self { memory: Arc::clone(&self.memory), range: self.range.start..end }
    }

    /// Returns true if an RDMA Read may bring data.
    pub(super) fn is_read_sink(&self) -> bool {
        self.memory.access.contains(Access::READ_SINK)
    }

    pub(super) fn is_writable(&self) -> bool {
        self.memory.access.contains(Access::LOCAL_WRITE)
    }

    /// Passes the octets to `look`, for the capture. Has no effect after the deregistration.
    pub(super) fn read_octets(&self, look: impl FnOnce(&[u8])) {
        let octets = self.memory.octets.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(octets) = octets.get(self.range.clone()).filter(|_| self.memory.is_valid()) {
            look(octets);
        }
    }
}

/// DMA: copies from one range to another of the same length, once. `look` gets the octets that were moved.
pub(super) fn transfer(
    source: &MemoryRange,
    target: &MemoryRange,
    counters: &Counters,
    look: impl FnOnce(&[u8]),
) -> Result<(), CopyFault> {
    if Arc::ptr_eq(&source.memory, &target.memory) {
        let mut octets = source.memory.octets.write().unwrap_or_else(PoisonError::into_inner);
        if !source.memory.is_valid() || octets.len() < source.range.end.max(target.range.end) {
            return Err(CopyFault::Source);
        }
        octets.copy_within(source.range.clone(), target.range.start);
        look(octets.get(target.range.clone()).unwrap_or_default());
    } else {
        let read = || source.memory.octets.read().unwrap_or_else(PoisonError::into_inner);
        let write = || target.memory.octets.write().unwrap_or_else(PoisonError::into_inner);
        let (from, mut to) = if source.memory.age < target.memory.age {
            let from = read();
            (from, write())
        } else {
            let to = write();
            (read(), to)
        };
        let from = from.get(source.range.clone()).filter(|_| source.memory.is_valid()).ok_or(CopyFault::Source)?;
        let to = to.get_mut(target.range.clone()).filter(|_| target.memory.is_valid()).ok_or(CopyFault::Target)?;
        to.copy_from_slice(from);
        look(to);
    }
    counters.copied.fetch_add(source.len() as u64, Ordering::Relaxed);
    Ok(())
}

/// Marks that this thread holds a region, until dropped.
struct Holding;

impl Holding {
    fn mark_thread() -> Result<Self, Error> {
        not_held()?;
        HELD.set(true);
        Ok(Self)
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        HELD.set(false);
    }
}

impl fmt::Debug for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Domain").finish_non_exhaustive()
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Region").field("memory", &self.memory).finish_non_exhaustive()
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("segment", &self.segment).field("access", &self.access).finish_non_exhaustive()
    }
}
