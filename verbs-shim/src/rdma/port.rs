//! Ports of adapters.

use super::errors::returned;
use super::sys;
use crate::verbs::Error;

/// Returns the attributes of a port.
///
/// # Safety
/// The adapter is open.
pub(super) unsafe fn query_port(context: *mut sys::ibv_context, port: u8) -> Result<sys::ibv_port_attr, Error> {
    // SAFETY: numbers only, for which zeros are good.
    let mut attr: sys::ibv_port_attr = unsafe { std::mem::zeroed() };
    // SAFETY: the adapter is open by the caller, and `attr` can be written. It is at least as long as what the function
    // writes, which are the first fields of it.
    match unsafe { sys::ibv_query_port(context, port, &raw mut attr) } {
        0 => Ok(attr),
        number => Err(returned("ibv_query_port", number)),
    }
}
