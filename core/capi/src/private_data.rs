//! Private data of the connection setup (RFC 8797).

use rpcrdma::PrivateData;
use rpcrdma::private_data::{Agreement, Flags};

use crate::argument::{Buffer, OutPointer, status, value, values};
use crate::status::rpcrdma_status;
use crate::status::rpcrdma_status::{RPCRDMA_INVALID, RPCRDMA_NOT_FOUND};

/// The private data of one side (RFC 8797 section 4).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct rpcrdma_private_data {
    /// Maximum length of a Send that this end sends, in octets: 1024 to 262144, a multiple of 1024.
    pub send_size: u32,
    /// Maximum length of a Send that this end can receive, in octets: 1024 to 262144, a multiple of 1024.
    pub receive_size: u32,
    /// The octet of flags: RPCRDMA_REMOTE_INVALIDATION.
    pub flags: u32,
}

/// Terms of a connection.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct rpcrdma_agreement {
    /// The inline threshold from client to server, in octets.
    pub client_to_server: u32,
    /// The inline threshold from server to client, in octets.
    pub server_to_client: u32,
    /// RPCRDMA_REMOTE_INVALIDATION if a Responder may use Send with Invalidate, else 0.
    pub flags: u32,
}

/// The other side may invalidate memory of the sender (section 4.1).
pub const RPCRDMA_REMOTE_INVALIDATION: u32 = 1;

/// Finds RPC-over-RDMA private data in the private data of a connection manager's message, at any offset.
///
/// RPCRDMA_NOT_FOUND: there is none. RPCRDMA_OVERLAP: *data overlaps the octets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_find_private_data(
    octets: *const u8,
    length: usize,
    data: *mut rpcrdma_private_data,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (octets, data) = unsafe { (values(octets, length), OutPointer::new(data)) };
    let find = || {
        let octets = octets?;
        let data = data?.apart_from(octets)?;
        let PrivateData { flags, send_size, receive_size } = PrivateData::find(octets).ok_or(RPCRDMA_NOT_FOUND)?;
        data.write(rpcrdma_private_data { send_size, receive_size, flags: u32::from(flags.bits()) });
        Ok(())
    };
    status(find())
}

/// Encodes private data: 8 octets. A size that cannot be expressed becomes the next smaller one that can, or 1024.
///
/// RPCRDMA_NO_ROOM: capacity is less. RPCRDMA_INVALID: flags are more than an octet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_encode_private_data(
    data: *const rpcrdma_private_data,
    buffer: *mut u8,
    capacity: usize,
    length: *mut usize,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (data, buffer) = unsafe { (value(data).copied(), Buffer::new(buffer, capacity, length)) };
    let encode = || {
        let data = data?.read()?;
        buffer?.fill(|buffer| data.encode(buffer))
    };
    status(encode())
}

/// Terms that a client and a server agree on; NULL for a side that sent no private data, which counts as 1024 octets each way.
///
/// RPCRDMA_INVALID: flags are more than an octet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_agree(
    client: *const rpcrdma_private_data,
    server: *const rpcrdma_private_data,
    agreement: *mut rpcrdma_agreement,
) -> rpcrdma_status {
    // SAFETY: the header asks the caller for what each of these needs.
    let (client, server, agreement) = unsafe { (said(client), said(server), OutPointer::new(agreement)) };
    let agree = || {
        let Agreement { client_to_server, server_to_client, remote_invalidation, .. } =
            Agreement::new(client?, server?);
        let flags = if remote_invalidation { RPCRDMA_REMOTE_INVALIDATION } else { 0 };
        agreement?.write(rpcrdma_agreement { client_to_server, server_to_client, flags });
        Ok(())
    };
    status(agree())
}

/// Returns the private data of one side, if that side sent any.
///
/// # Safety
/// As of [`value`].
unsafe fn said(data: *const rpcrdma_private_data) -> Result<Option<PrivateData>, rpcrdma_status> {
    if data.is_null() {
        return Ok(None);
    }
    // SAFETY: promised by the caller.
    unsafe { value(data) }?.read().map(Some)
}

impl rpcrdma_private_data {
    fn read(&self) -> Result<PrivateData, rpcrdma_status> {
        let flags = u8::try_from(self.flags).map_err(|_| RPCRDMA_INVALID)?;
        let (send_size, receive_size) = (self.send_size, self.receive_size);
        Ok(PrivateData { flags: Flags::from_bits_retain(flags), send_size, receive_size })
    }
}
