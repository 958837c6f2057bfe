//! Completions with an error, and ends of connections.

use super::fields::Fields;
use crate::carrier::operation::Stamp;
use crate::file::decimal;
use crate::link::Address;
use crate::rpc::kernel_fault::{CompletionStatus, KernelFault, KernelFaultKind, TracedMachine};

/// The most servers whose connections are known.
const SERVERS: usize = 1000;

/// Connections of a client.
#[derive(Debug, Default)]
pub(super) struct ConnectionFaults {
    /// Servers with a connection.
    connected: Vec<Option<Address>>,
}

impl ConnectionFaults {
    /// Takes an event about a connection of a client. `waiting` counts the calls to a server that wait.
    pub(super) fn take_event(
        &mut self,
        name: &[u8],
        fields: Fields<'_>,
        stamp: Stamp,
        waiting: impl FnOnce(Option<Address>) -> u32,
    ) -> Option<KernelFault> {
        let server = fields.address(b"peer");
        let place = self.connected.iter().position(|known| *known == server);
        match name {
            b"xprtrdma_connect" if fields.signed(b"rc") == Some(0) => {
                if place.is_none() && self.connected.len() < SERVERS {
                    self.connected.push(server);
                }
                None
            }
            b"xprtrdma_disconnect" | b"xprt_disconnect_force" => {
                let (is_by_client, waiting) = (name == b"xprtrdma_disconnect", waiting(server));
                let was_connected = place.map(|place| self.connected.swap_remove(place)).is_some();
                // Of a connection from before the trace, only the calls are known.
                let kind = KernelFaultKind::Disconnected { server, is_by_client, waiting };
                (was_connected || waiting > 0).then_some(KernelFault { stamp, kind })
            }
            _ => None,
        }
    }
}

/// Reads the status of a completion, as in `status=RETRY_EXC_ERR (12/0x81)`; `None` for success, and for requests that were
/// flushed.
pub(super) fn completion_fault(event: &[u8], fields: &[u8], stamp: Stamp) -> Option<KernelFault> {
    let at = match event {
        name if name.starts_with(b"xprtrdma_wc_") => TracedMachine::Client,
        name if name.starts_with(b"svcrdma_wc_") => TracedMachine::Server,
        _ => return None,
    };
    let word = Fields(fields).words().find(|word| word.starts_with(b"(") && word.contains(&b'/'))?;
    let numbers = word.strip_prefix(b"(")?.strip_suffix(b")")?;
    let slash = numbers.iter().position(|octet| *octet == b'/')?;
    let status = CompletionStatus(u32::try_from(decimal(numbers.get(..slash)?)?).ok()?);
    let vendor = numbers.get(slash + 1..)?.strip_prefix(b"0x")?;
    let vendor_error = core::str::from_utf8(vendor).ok().and_then(|digits| u32::from_str_radix(digits, 16).ok())?;
    let is_fault = status.0 != 0 && status != CompletionStatus::FLUSHED;
    is_fault.then_some(KernelFault { stamp, kind: KernelFaultKind::Completion { at, status, vendor_error } })
}
