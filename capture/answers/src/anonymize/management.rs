//! A datagram of connection management (InfiniBand Architecture, volume 1, section 12.6), without names.
//!
//! ```text
//! DETH (8)  MAD header (24)  local and remote communication ID (8)  …  private data
//! ```
//! The offsets below count from the first octet of the MAD.

use rpcrdma_dissector::service_port;

use super::key::Replacer;
use super::network::lids;
use super::octets::{keep, keep_private_data, write_octets};

const DETH: usize = 8;
const COMMUNICATION_MANAGEMENT: u8 = 0x07;

/// Copies the non-confidential fields of a datagram to `to`, which begins as zeros. Returns `None` if the datagram is not understood.
pub(super) fn rewrite(from: &[u8], to: &mut [u8], replacer: &mut Replacer) -> Option<()> {
    keep(from, to, 0..DETH);
    let (from, to) = (from.get(DETH..)?, to.get_mut(DETH..)?);
    let (&class, &attribute) = (from.get(1)?, from.get(17)?);
    if class != COMMUNICATION_MANAGEMENT {
        return None;
    }
    // The header, and the communication IDs.
    keep(from, to, 0..32);
    match attribute {
        0x10 => request(from, to, replacer)?,
        // MRA, DREQ: what was received, or the time-out.
        0x11 | 0x15 => keep(from, to, 32..36),
        // REJ: the reason, not the additional information.
        0x12 => {
            keep(from, to, 32..36);
            keep_private_data(from, to, 108);
        }
        0x13 => {
            keep(from, to, 36..52);
            identifier(from, to, 52, replacer);
            keep_private_data(from, to, 60);
        }
        // RTU, DREP.
        0x14 | 0x16 => {}
        _ => return None,
    }
    Some(())
}

fn request(from: &[u8], to: &mut [u8], replacer: &mut Replacer) -> Option<()> {
    let service = u64::from_be_bytes(*from.get(32..)?.first_chunk()?);
    // The RDMA IP CM service has addresses of its own before the private data.
    service_port(service)?;
    keep(from, to, 28..40);
    identifier(from, to, 40, replacer);
    // Queue pair, sequence number, MTU; not the Q_Key before them.
    keep(from, to, 56..76);
    // The capture may have cut the datagram here, or anywhere behind.
    _ = lids(from, to, [76, 78], replacer);
    for at in [80, 96] {
        gid(from, to, at, replacer);
    }
    keep(from, to, 112..120);
    let addresses = 164;
    keep(from, to, addresses..addresses + 4);
    let is_ipv4 = from.get(addresses + 1).is_some_and(|version| version >> 4 == 4);
    for at in [addresses + 4, addresses + 20] {
        match from.get(at + 12..).and_then(|rest| rest.first_chunk()) {
            Some(address) if is_ipv4 => write_octets(to, at + 12, &replacer.ipv4(*address)),
            _ => gid(from, to, at, replacer),
        }
    }
    keep_private_data(from, to, addresses + 36);
    Some(())
}

fn gid(from: &[u8], to: &mut [u8], at: usize, replacer: &mut Replacer) {
    if let Some(gid) = from.get(at..).and_then(|rest| rest.first_chunk()) {
        write_octets(to, at, &replacer.ipv6(*gid));
    }
}

/// A GUID: the serial number of an adapter.
fn identifier(from: &[u8], to: &mut [u8], at: usize, replacer: &Replacer) {
    if let Some((from, to)) = from.get(at..at + 8).zip(to.get_mut(at..at + 8)) {
        replacer.value(from, to);
    }
}
