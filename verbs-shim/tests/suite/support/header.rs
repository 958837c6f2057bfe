//! The header of a call.

use rpcrdma::rpc::{Auth, RpcCall};

/// The RPC header of a call of the tests' program.
pub(crate) fn header(xid: u32, procedure: u32) -> Vec<u8> {
    let (credential, verifier) = (Auth::NONE, Auth::NONE);
    let header = RpcCall { xid, rpc_version: 2, program: 400_100, version: 1, procedure, credential, verifier };
    let mut octets = vec![0; 40];
    header.encode(&mut octets).unwrap();
    octets
}
