//! Registered memory, and the current users of that memory.
//!
//! An adapter reads and writes memory behind the program's back, and the compiler knows nothing of DMA. So there is
//! never a slice of memory that an adapter may write. Each region counts, under one lock, the closures with access and
//! the posted work, and the second of the two is refused ([`Error::InUse`]). While the other side may write to a
//! region, the owner has no access at all: the owner deregisters the region and gets the buffer back. Nothing waits
//! here, so no thread can wait for itself.
//!
//! Posted work holds a reference to the registration until the completion is taken or the adapter's queue pair is
//! destroyed. So keys are never used again while work with these keys is in progress, and regions, queue pairs, domains
//! and devices can be dropped in any order: each keeps alive what was needed to make it.
//!
//! The memory of a queue pair or registration that cannot be destroyed is leaked. No adapter gets another adapter's
//! memory, whose key might be valid there too.

use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fmt, slice};

use rpcrdma::segment::Segment;

use super::device::Device;
use super::errors::{last_error, returned};
use super::sys;
use crate::verbs::{Access, Kind, Local, is_part};
use crate::verbs::{Error, NotRegistered};

/// Number of low bits of an address that stay in a region's offset, because an adapter may map it by pages of that size
/// (2 MiB).
const PAGE_BITS: u32 = 21;

/// A protection domain of an adapter. A domain is freed when nothing belongs to the domain any more.
#[derive(Clone, Debug)]
pub struct Domain(Arc<ProtectionDomain>);

#[derive(Debug)]
struct ProtectionDomain {
    device: Device,
    pd: NonNull<sys::ibv_pd>,
}

// SAFETY: all functions of libibverbs may be called from any thread, and the domain is freed by its last owner.
unsafe impl Send for ProtectionDomain {}
// SAFETY: as above.
unsafe impl Sync for ProtectionDomain {}

impl Domain {
    pub(super) fn new(device: &Device) -> Result<Self, Error> {
        // SAFETY: the context is open as long as the device is, which the domain keeps.
        let pd = unsafe { sys::ibv_alloc_pd(device.context()) };
        let pd = NonNull::new(pd).ok_or_else(|| last_error("ibv_alloc_pd"))?;
        Ok(Self(Arc::new(ProtectionDomain { device: device.clone(), pd })))
    }

    pub(super) fn device(&self) -> &Device {
        &self.0.device
    }

    pub(super) fn pd(&self) -> *mut sys::ibv_pd {
        self.0.pd.as_ptr()
    }
}

impl Drop for ProtectionDomain {
    fn drop(&mut self) {
        // SAFETY: created by ibv_alloc_pd, and freed only here. Everything made in it keeps it alive, so is gone; if
        // something had to be leaked, this is refused, and only the domain is lost.
        unsafe { sys::ibv_dealloc_pd(self.pd.as_ptr()) };
    }
}

/// The octets of a `Vec<u8>`, as raw parts: no reference to the octets exists except from [`Registration`].
struct Buffer {
    start: NonNull<u8>,
    length: usize,
    capacity: usize,
}

impl Buffer {
    fn new(octets: Vec<u8>) -> Self {
        let mut octets = ManuallyDrop::new(octets);
        let start = NonNull::new(octets.as_mut_ptr()).unwrap_or(NonNull::dangling());
        Self { start, length: octets.len(), capacity: octets.capacity() }
    }

    /// # Safety
    /// No adapter has the memory any more, there is no other reference, and this is called once.
    unsafe fn octets(&self) -> Vec<u8> {
        // SAFETY: these are the parts of a `Vec<u8>` that was forgotten, and the caller promises that nobody uses them.
        unsafe { Vec::from_raw_parts(self.start.as_ptr(), self.length, self.capacity) }
    }
}

/// Users of a region's memory.
#[derive(Debug, Default)]
struct Uses {
    /// Number of closures that read the memory.
    looking: usize,
    /// True while a closure changes the memory.
    changing: bool,
    /// Number of Receives and RDMA Reads into the memory.
    incoming: usize,
    /// Number of Sends and RDMA Writes from the memory.
    outgoing: usize,
}

/// Returns the rights with which memory is registered. On iWARP the data of an RDMA Read comes like that of an RDMA
/// Write, addressed to a handle, and needs the same right (RFC 5040 section 5.2, RFC 5042 section 6.2.1).
fn registered_access(asked: Access, is_iwarp: bool) -> Access {
    if is_iwarp && asked.contains(Access::READ_SINK) { asked | Access::REMOTE_WRITE } else { asked }
}

/// A buffer that is registered with the adapter. Lives as long as the regions and any work on the regions.
struct Registration {
    /// The domain outlives the registration.
    domain: Domain,
    /// `None` after the end of the registration.
    mr: Option<NonNull<sys::ibv_mr>>,
    buffer: Buffer,
    /// Length of the owner's buffer in octets, without the octet that an empty one is given.
    length: usize,
    /// The part of the buffer that is registered.
    part: Range<usize>,
    /// The rights that the owner requested, and rights that the adapter also needs.
    access: Access,
    /// The part, without the octet that an empty buffer is given.
    segment: Segment,
    local_key: u32,
}

// SAFETY: the buffer is owned, and reached only as the `uses` of its parts allow; libibverbs may be called from any
// thread.
unsafe impl Send for Registration {}
// SAFETY: as above.
unsafe impl Sync for Registration {}

/// A part of a registration that no other region has: the whole, or a piece of a slab.
struct RegisteredPart {
    registration: Arc<Registration>,
    range: Range<usize>,
    /// True for a piece of a slab.
    is_piece: bool,
    uses: Mutex<Uses>,
}

/// Registered memory of an adapter. Dropping the region ends the registration as soon as no work is in progress, and no
/// other region of the same slab is left.
pub struct Region(Arc<RegisteredPart>);

impl Region {
    /// Registers a part of a buffer.
    pub(super) fn new(
        domain: &Domain,
        octets: Vec<u8>,
        part: Range<usize>,
        access: Access,
    ) -> Result<Self, NotRegistered> {
        let registration = Arc::new(Registration::new(domain, octets, part, access)?);
        let range = 0..registration.segment.length as usize;
        Ok(Self(Arc::new(RegisteredPart { registration, range, is_piece: false, uses: Mutex::default() })))
    }

    /// Registers a slab of `count` regions of `length` octets each.
    pub(super) fn slab(domain: &Domain, count: usize, length: usize, access: Access) -> Result<Vec<Self>, Error> {
        if !access.is_local() {
            return Err(Error::Access);
        }
        let octets = count.checked_mul(length).filter(|octets| *octets > 0).ok_or(Error::Range)?;
        let registration = Arc::new(Registration::new(domain, vec![0; octets], 0..octets, access)?);
        // They are disjoint, and together no longer than the buffer.
        let ranges = (0..count).map(|piece| piece * length..(piece + 1) * length);
        let piece = |range| {
            let registration = Arc::clone(&registration);
            Self(Arc::new(RegisteredPart { registration, range, is_piece: true, uses: Mutex::default() }))
        };
        Ok(ranges.map(piece).collect())
    }

    pub(super) fn segment(&self) -> Segment {
        self.0.segment()
    }

    pub(super) fn deregister(self) -> Result<Vec<u8>, Error> {
        if self.0.is_piece {
            return Err(Error::Access);
        }
        // Work in progress keeps the registration, and ends it when it is done.
        let part = Arc::into_inner(self.0).ok_or(Error::InUse)?;
        Arc::into_inner(part.registration).ok_or(Error::InUse)?.end_registration()
    }

    pub(super) fn read<T>(&self, look: impl FnOnce(&[u8]) -> T) -> Result<T, Error> {
        let part = &*self.0;
        let mut uses = part.uses();
        if part.is_written(&uses) || uses.changing {
            return Err(Error::InUse);
        }
        uses.looking += 1;
        drop(uses);
        let _looking = Guard(part, |uses| uses.looking -= 1);
        // SAFETY: this many octets are there and initialised, and no other region has them. While `looking` counts
        // this, no work is posted that writes them (`MemoryRange::new`) and no closure changes them; none was (above).
        // The other side cannot write them.
        let octets = unsafe { slice::from_raw_parts(part.start().as_ptr(), part.range.len()) };
        Ok(look(octets))
    }

    pub(super) fn write<T>(&self, change: impl FnOnce(&mut [u8]) -> T) -> Result<T, Error> {
        let part = &*self.0;
        let mut uses = part.uses();
        if part.is_written(&uses) || uses.outgoing > 0 || uses.changing || uses.looking > 0 {
            return Err(Error::InUse);
        }
        uses.changing = true;
        drop(uses);
        let _changing = Guard(part, |uses| uses.changing = false);
        // SAFETY: as in `read`; while `changing` is set no work of this side is posted at all, and no closure looks.
        // With the right to read, the other side may see half-changed octets, which is its own concern.
        let octets = unsafe { slice::from_raw_parts_mut(part.start().as_ptr(), part.range.len()) };
        Ok(change(octets))
    }
}

impl RegisteredPart {
    fn uses(&self) -> MutexGuard<'_, Uses> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if an adapter may write to the memory.
    fn is_written(&self, uses: &Uses) -> bool {
        uses.incoming > 0 || self.registration.access.contains(Access::REMOTE_WRITE)
    }

    /// Returns the address of the first octet.
    fn start(&self) -> NonNull<u8> {
        let Registration { buffer, part, .. } = &*self.registration;
        // SAFETY: the range is within the registered part, and that within the buffer.
        unsafe { buffer.start.add(part.start + self.range.start) }
    }

    fn segment(&self) -> Segment {
        let Segment { handle, offset, .. } = self.registration.segment;
        // No range is longer than the registration's segment.
        let length = u32::try_from(self.range.len()).unwrap_or(u32::MAX);
        Segment { handle, length, offset: offset + self.range.start as u64 }
    }
}

impl Registration {
    fn new(domain: &Domain, mut octets: Vec<u8>, part: Range<usize>, access: Access) -> Result<Self, NotRegistered> {
        if !access.is_possible() {
            return Err(NotRegistered { error: Error::Access, buffer: octets });
        }
        let segment_length = u32::try_from(part.len()).ok().filter(|_| is_part(&part, &octets));
        let Some(segment_length) = segment_length else {
            return Err(NotRegistered { error: Error::Range, buffer: octets });
        };
        let length = octets.len();
        if octets.is_empty() {
            // Adapters register at least one octet. The segment still says that there is none.
            octets.push(0);
        }
        let buffer = Buffer::new(octets);
        let device = domain.device();
        let access = registered_access(access, device.is_iwarp());
        // SAFETY: the part is within the buffer.
        let start = unsafe { buffer.start.add(part.start) };
        let offset = offset(device, start.as_ptr() as u64);
        let mr = register(domain, NonNull::slice_from_raw_parts(start, part.len().max(1)), offset, access);
        let Some(mr) = NonNull::new(mr) else {
            let error = last_error("ibv_reg_mr");
            // SAFETY: it was not registered, and `buffer` is not used again.
            let mut buffer = unsafe { buffer.octets() };
            buffer.truncate(length);
            return Err(NotRegistered { error, buffer });
        };
        // SAFETY: ibv_reg_mr returned it, and nobody changes it.
        let (local_key, handle) = unsafe { (mr.as_ref().lkey, mr.as_ref().rkey) };
        let segment = Segment { handle, length: segment_length, offset };
        let (domain, mr) = (domain.clone(), Some(mr));
        Ok(Self { domain, mr, buffer, length, part, access, segment, local_key })
    }

    /// Ends the registration and returns the octets, the first time.
    fn end_registration(&mut self) -> Result<Vec<u8>, Error> {
        let Some(mr) = self.mr.take() else { return Ok(Vec::new()) };
        // SAFETY: created by ibv_reg_mr, and taken out of its place so that this happens once.
        match unsafe { sys::ibv_dereg_mr(mr.as_ptr()) } {
            0 => {
                // SAFETY: the adapter no longer has the memory, no slice of it exists, because slices borrow what this
                // owns exclusively, and it happens once, as above.
                let mut octets = unsafe { self.buffer.octets() };
                octets.truncate(self.length);
                Ok(octets)
            }
            // An adapter that does not give the memory back keeps it: it is never freed.
            number => Err(returned("ibv_dereg_mr", number)),
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        drop(self.end_registration());
    }
}

/// Undoes a use when dropped, even if a closure panics.
struct Guard<'a>(&'a RegisteredPart, fn(&mut Uses));

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.1(&mut self.0.uses());
    }
}

/// Work that was posted and has no completion yet.
pub(super) struct PostedWork {
    /// The adapter's number of the memory.
    pub(super) number: u64,
    pub(super) id: u64,
    pub(super) kind: Kind,
    pub(super) memory: MemoryRange,
}

/// A range of a region that posted work uses. The memory stays registered.
pub(super) struct MemoryRange {
    memory: Arc<RegisteredPart>,
    incoming: bool,
    part: sys::ibv_sge,
}

impl MemoryRange {
    /// A range for work that writes into the region (`incoming`) or reads from the region.
    pub(super) fn new(local: &Local<'_, Region>, incoming: bool) -> Result<Self, Error> {
        let memory = &local.region.0;
        let (start, end) = (local.range.start, local.range.end);
        let length = end.checked_sub(start).filter(|_| end <= memory.range.len()).ok_or(Error::Range)?;
        let length = u32::try_from(length).map_err(|_| Error::Range)?;
        let mut uses = memory.uses();
        if uses.changing || incoming && uses.looking > 0 {
            return Err(Error::InUse);
        }
        if incoming {
            uses.incoming += 1;
        } else {
            uses.outgoing += 1;
        }
        drop(uses);
        let addr = memory.segment().offset + start as u64;
        let part = sys::ibv_sge { addr, length, lkey: memory.registration.local_key };
        Ok(Self { memory: Arc::clone(memory), incoming, part })
    }

    /// Returns the scatter/gather list for the adapter; the list is empty for an empty range.
    pub(super) fn parts(&mut self) -> (*mut sys::ibv_sge, c_int) {
        (&raw mut self.part, c_int::from(self.part.length > 0))
    }

    /// The domain of the memory.
    pub(super) fn domain(&self) -> &Domain {
        &self.memory.registration.domain
    }

    /// Length in octets.
    pub(super) fn len(&self) -> usize {
        self.part.length as usize
    }
}

impl Drop for MemoryRange {
    fn drop(&mut self) {
        let mut uses = self.memory.uses();
        if self.incoming {
            uses.incoming -= 1;
        } else {
            uses.outgoing -= 1;
        }
    }
}

/// Returns the offset of a region, for work requests and the other side. The offset is not the address in this process,
/// so that nobody can predict the offset or learn addresses of the process. Soft iWARP supports only the address.
fn offset(device: &Device, address: u64) -> u64 {
    if device.is_iwarp() {
        return address;
    }
    let low = (1 << PAGE_BITS) - 1;
    device.offset() & !low | address & low
}

fn register(domain: &Domain, part: NonNull<[u8]>, offset: u64, access: Access) -> *mut sys::ibv_mr {
    let rights = [
        (Access::LOCAL_WRITE, sys::IBV_ACCESS_LOCAL_WRITE),
        (Access::REMOTE_READ, sys::IBV_ACCESS_REMOTE_READ),
        (Access::REMOTE_WRITE, sys::IBV_ACCESS_REMOTE_WRITE),
    ];
    let rights = rights.iter().filter(|(right, _)| access.contains(*right)).fold(0, |all, (_, flag)| all | flag);
    let (start, length) = (part.cast::<c_void>().as_ptr(), part.len());
    // SAFETY: the domain is alive, and the octets exist until the registration has ended, because `Registration` frees
    // them only after that.
    unsafe {
        if offset == start as u64 {
            sys::ibv_reg_mr(domain.pd(), start, length, rights)
        } else {
            sys::ibv_reg_mr_iova(domain.pd(), start, length, offset, rights)
        }
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Region")
            .field("segment", &self.segment())
            .field("access", &self.0.registration.access)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_iwarp_read_sinks_have_remote_write_access() {
        let (sink, receive) = (Access::LOCAL_WRITE | Access::READ_SINK, Access::LOCAL_WRITE);
        assert_eq!(registered_access(sink, true), sink | Access::REMOTE_WRITE);
        assert_eq!(registered_access(sink, false), sink);
        assert_eq!(registered_access(receive, true), receive, "nobody may write into receives but by Send");
    }
}
