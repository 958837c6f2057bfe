//! The procedure that a call names.

use rpcrdma::rpc::RpcCall;

/// The procedure that an RPC call header names (RFC 5531 section 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Procedure {
    /// The remote program number.
    pub program: u32,
    /// The version of the program.
    pub version: u32,
    /// The procedure number.
    pub procedure: u32,
}

impl From<&RpcCall<'_>> for Procedure {
    fn from(call: &RpcCall<'_>) -> Self {
        Self { program: call.program, version: call.version, procedure: call.procedure }
    }
}

impl Procedure {
    /// The NFS program.
    pub const NFS: u32 = 100_003;
    /// The MOUNT program.
    pub const MOUNT: u32 = 100_005;
    /// The NFSACL program.
    pub const NFSACL: u32 = 100_227;
    /// The echo program of `rpcrdma-serve`.
    pub const ECHO: u32 = 0x2000_8166;
}
