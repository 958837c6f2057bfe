//! Pointers from C: only this file turns pointers into references.

use core::{ptr, slice};

use rpcrdma::EncodeError;

use crate::status::rpcrdma_status;
use crate::status::rpcrdma_status::{
    RPCRDMA_NO_ROOM, RPCRDMA_NULL, RPCRDMA_OK, RPCRDMA_OVERLAP, RPCRDMA_TOO_LONG, RPCRDMA_UNALIGNED,
};

/// Memory that a pointer names, as addresses.
#[derive(Clone, Copy)]
pub(crate) struct Extent {
    start: usize,
    length: usize,
}

impl Extent {
    pub(crate) const NONE: Self = Self { start: 0, length: 0 };

    /// Returns the argument of `count` values of a type at `start`.
    #[inline(always)]
    pub(crate) fn from_array<T>(start: *const T, count: usize) -> Result<Self, rpcrdma_status> {
        match count.checked_mul(size_of::<T>()) {
            Some(length) if length <= isize::MAX.unsigned_abs() && start.addr().checked_add(length).is_some() => {
                Ok(Self { start: start.addr(), length })
            }
            _ => Err(RPCRDMA_TOO_LONG),
        }
    }

    /// Returns the argument of values that there are.
    #[inline(always)]
    fn from_slice<T>(values: &[T]) -> Self {
        Self { start: values.as_ptr().addr(), length: size_of_val(values) }
    }

    /// Returns true if the two have an octet in common: one begins within the other.
    #[inline(always)]
    pub(crate) fn overlaps(self, other: Self) -> bool {
        other.start.wrapping_sub(self.start) < self.length || self.start.wrapping_sub(other.start) < other.length
    }
}

/// Returns the memory at a pointer that C has as `const`, for reading. NULL is valid for no octets.
///
/// # Safety
/// The pointer is one that this function refuses, or names `count` values of the type, which nobody writes during `'a`.
#[inline(always)]
pub(crate) unsafe fn values<'a, T>(start: *const T, count: usize) -> Result<&'a [T], rpcrdma_status> {
    if count == 0 {
        return Ok(&[]);
    }
    if start.is_null() {
        return Err(RPCRDMA_NULL);
    }
    if !start.is_aligned() {
        return Err(RPCRDMA_UNALIGNED);
    }
    Extent::from_array(start, count)?;
    // SAFETY: not null, aligned, no larger than a slice may be; the rest is promised by the caller.
    Ok(unsafe { slice::from_raw_parts(start, count) })
}

/// Returns the structure at a pointer.
///
/// # Safety
/// As of [`values`].
#[inline(always)]
pub(crate) unsafe fn value<'a, T>(pointer: *const T) -> Result<&'a T, rpcrdma_status> {
    // SAFETY: promised by the caller.
    unsafe { values(pointer, 1) }?.first().ok_or(RPCRDMA_NULL)
}

/// A pointer from C through which a result is written. The memory need not be initialised.
pub(crate) struct OutPointer<T>(*mut T);

impl<T> OutPointer<T> {
    /// Checks the pointer.
    ///
    /// # Safety
    /// The pointer is one that this function refuses, or names a `T` that can be written as long as the `OutPointer`
    /// lasts.
    #[inline(always)]
    pub(crate) unsafe fn new(pointer: *mut T) -> Result<Self, rpcrdma_status> {
        if pointer.is_null() {
            return Err(RPCRDMA_NULL);
        }
        if !pointer.is_aligned() {
            return Err(RPCRDMA_UNALIGNED);
        }
        Ok(Self(pointer))
    }

    #[inline(always)]
    pub(crate) fn extent(&self) -> Extent {
        Extent { start: self.0.addr(), length: size_of::<T>() }
    }

    /// Returns `self` if the memory shares no octet with `input`.
    #[inline(always)]
    pub(crate) fn apart_from<U>(self, input: &[U]) -> Result<Self, rpcrdma_status> {
        if self.extent().overlaps(Extent::from_slice(input)) { Err(RPCRDMA_OVERLAP) } else { Ok(self) }
    }

    #[inline(always)]
    pub(crate) fn write(&self, value: T) {
        // SAFETY: not null, aligned, and writable according to the caller of `new`.
        unsafe { ptr::write(self.0, value) }
    }

    /// Writes the value, and returns a reference to change parts of it.
    #[inline(always)]
    pub(crate) fn filled_with(&mut self, value: T) -> &mut T {
        self.write(value);
        // SAFETY: as above, and it has a value now. Nothing else refers to it: those who read or write something
        // meanwhile have compared its extent.
        unsafe { &mut *self.0 }
    }
}

/// Checks octets, and two pointers to memory apart from the octets: the same checks as [`values`], [`OutPointer::new`]
/// and [`OutPointer::apart_from`], in fewer instructions. Returns `None` if one of these refuses an argument, and for
/// no octets, or 2 GiB and more.
///
/// # Safety
/// As of these three.
#[inline(always)]
pub(crate) unsafe fn octets_and_pointers<'a, T, U>(
    octets: *const u8,
    length: usize,
    first: *mut T,
    second: *mut U,
) -> Option<(&'a [u8], OutPointer<T>, OutPointer<U>)> {
    const LONGEST: usize = 0x7fff_ffff;
    let last = octets.addr().checked_add(length)?.wrapping_sub(1);
    if length.wrapping_sub(1) >= LONGEST || octets.is_null() || first.is_null() || second.is_null() {
        return None;
    }
    if !first.is_aligned() || !second.is_aligned() {
        return None;
    }
    // The last octet is less than `size + length - 1` octets behind the start of memory that shares one with them.
    let shares = |start: usize, size: usize| last.wrapping_sub(start) < length.wrapping_add(size).wrapping_sub(1);
    if shares(first.addr(), size_of::<T>()) || shares(second.addr(), size_of::<U>()) {
        return None;
    }
    // SAFETY: not null, and no larger than a slice may be; the rest is promised by the caller.
    Some((unsafe { slice::from_raw_parts(octets, length) }, OutPointer(first), OutPointer(second)))
}

/// An array of C's for results, as many as fit, and a pointer for the number of results.
pub(crate) struct OutArray<T> {
    start: *mut T,
    capacity: usize,
    used: usize,
    count: OutPointer<usize>,
}

impl<T> OutArray<T> {
    /// # Safety
    /// Each pointer is one that this refuses, or can be written: `capacity` values, and a count.
    pub(crate) unsafe fn new(start: *mut T, capacity: usize, count: *mut usize) -> Result<Self, rpcrdma_status> {
        if capacity > 0 && start.is_null() {
            return Err(RPCRDMA_NULL);
        }
        if capacity > 0 && !start.is_aligned() {
            return Err(RPCRDMA_UNALIGNED);
        }
        // SAFETY: promised by the caller.
        let count = unsafe { OutPointer::new(count) }?;
        if count.extent().overlaps(Extent::from_array(start, capacity)?) {
            return Err(RPCRDMA_OVERLAP);
        }
        Ok(Self { start, capacity, used: 0, count })
    }

    /// Returns `self` if the written memory shares no octet with `input`.
    pub(crate) fn apart_from(self, input: &[u8]) -> Result<Self, rpcrdma_status> {
        let (array, input) = (Extent::from_array(self.start, self.capacity)?, Extent::from_slice(input));
        let count = self.count.extent();
        if array.overlaps(input) || count.overlaps(input) { Err(RPCRDMA_OVERLAP) } else { Ok(self) }
    }

    /// Takes one more.
    pub(crate) fn push_value(&mut self, value: T) {
        if self.used < self.capacity {
            // SAFETY: within the array, which can be written according to the caller of `new`.
            unsafe { ptr::write(self.start.add(self.used), value) }
        }
        self.used = self.used.saturating_add(1);
    }

    /// Says how many there were.
    pub(crate) fn write_count(self) -> Result<(), rpcrdma_status> {
        self.count.write(self.used);
        if self.used > self.capacity { Err(RPCRDMA_NO_ROOM) } else { Ok(()) }
    }
}

/// Octets of C's that can be written. Octets count as initialised, as in C.
pub(crate) struct OutOctets {
    start: *mut u8,
    capacity: usize,
}

impl OutOctets {
    /// # Safety
    /// The pointer is one that this refuses, or names `capacity` octets that can be written as long as this lasts.
    pub(crate) unsafe fn new(start: *mut u8, capacity: usize) -> Result<Self, rpcrdma_status> {
        if start.is_null() && capacity > 0 {
            return Err(RPCRDMA_NULL);
        }
        Extent::from_array(start, capacity)?;
        Ok(Self { start, capacity })
    }

    pub(crate) fn extent(&self) -> Extent {
        Extent { start: self.start.addr(), length: self.capacity }
    }

    /// Returns `self` if the memory shares no octet with `input`.
    pub(crate) fn apart_from<T>(self, input: &[T]) -> Result<Self, rpcrdma_status> {
        let input = Extent::from_slice(input);
        if self.extent().overlaps(input) { Err(RPCRDMA_OVERLAP) } else { Ok(self) }
    }

    /// Returns `self` if the octets are apart from the memory at `pointer`.
    pub(crate) fn apart_from_pointer<T>(self, pointer: &OutPointer<T>) -> Result<Self, rpcrdma_status> {
        if self.extent().overlaps(pointer.extent()) { Err(RPCRDMA_OVERLAP) } else { Ok(self) }
    }

    /// Returns the octets. Whoever reads other memory meanwhile has called `apart_from` with that memory.
    pub(crate) fn octets(&mut self) -> &mut [u8] {
        if self.capacity == 0 {
            return &mut [];
        }
        // SAFETY: not null, no longer than a slice may be, and nobody else's according to the caller of `new`.
        unsafe { slice::from_raw_parts_mut(self.start, self.capacity) }
    }
}

/// A buffer of C's, and a pointer for the number of octets used.
pub(crate) struct Buffer {
    octets: OutOctets,
    length: OutPointer<usize>,
}

impl Buffer {
    /// # Safety
    /// Each pointer is one that this refuses, or can be written: `capacity` octets, and a length.
    pub(crate) unsafe fn new(start: *mut u8, capacity: usize, length: *mut usize) -> Result<Self, rpcrdma_status> {
        // SAFETY: promised by the caller.
        let (octets, length) = unsafe { (OutOctets::new(start, capacity)?, OutPointer::new(length)?) };
        Ok(Self { octets: octets.apart_from_pointer(&length)?, length })
    }

    /// Returns `self` if the written memory shares no octet with `input`.
    pub(crate) fn apart_from<T>(self, input: &[T]) -> Result<Self, rpcrdma_status> {
        Ok(Self { octets: self.octets.apart_from(input)?, length: self.length.apart_from(input)? })
    }

    /// Returns the extents of all written memory.
    #[cfg(feature = "version-2")]
    pub(crate) fn extents(&self) -> [Extent; 2] {
        [self.octets.extent(), self.length.extent()]
    }

    /// Fills the buffer with `encode`, and writes the number of octets used.
    pub(crate) fn fill(
        mut self,
        encode: impl FnOnce(&mut [u8]) -> Result<usize, EncodeError>,
    ) -> Result<(), rpcrdma_status> {
        match encode(self.octets.octets()) {
            Ok(length) => self.length.write(length),
            Err(error) => {
                self.length.write(error.needed);
                return Err(RPCRDMA_NO_ROOM);
            }
        }
        Ok(())
    }
}

/// Returns the status for the outcome of a function's body.
#[inline(always)]
pub(crate) fn status(result: Result<(), rpcrdma_status>) -> rpcrdma_status {
    result.err().unwrap_or(RPCRDMA_OK)
}
