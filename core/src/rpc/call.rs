//! The header of an RPC Call (RFC 5531 section 9).
//!
//! ```text
//!  0      4      8         12     16     20     24
//! +------+------+---------+------+------+------+------------//+----------//+
//! | xid  |  0   | rpcvers | prog | vers | proc | credential   | verifier   | arguments ...
//! +------+------+---------+------+------+------+------------//+----------//+
//! ```

use core::fmt;

use super::{Auth, MessageType, RpcError, message};
use crate::reader::Reader;
use crate::sink::{Emit, Sink, encodable};

/// The header of an RPC Call.
///
/// ```
/// use rpcrdma::rpc::{Auth, RpcCall};
///
/// // NFSv3 NULL.
/// let call = RpcCall {
///     xid: 7,
///     rpc_version: RpcCall::RPC_VERSION,
///     program: 100_003,
///     version: 3,
///     procedure: 0,
///     credential: Auth::NONE,
///     verifier: Auth::NONE,
/// };
/// let mut payload = [0; 40];
/// assert_eq!(call.encode(&mut payload), Ok(40));
/// assert_eq!(RpcCall::decode(&payload), Ok((call, &[][..])));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RpcCall<'a> {
    /// The transaction ID.
    pub xid: u32,
    /// `rpcvers`, the version of RPC itself; not judged here.
    pub rpc_version: u32,
    /// `prog`.
    pub program: u32,
    /// `vers`, of the program.
    pub version: u32,
    /// `proc`, of the program.
    pub procedure: u32,
    /// Identity of the caller.
    pub credential: Auth<'a>,
    /// Proof of the identity.
    pub verifier: Auth<'a>,
}

impl<'a> RpcCall<'a> {
    /// The only value of [`Self::rpc_version`].
    pub const RPC_VERSION: u32 = 2;

    /// Reads the header of a Call at the start of a Payload stream and returns the header and the arguments that
    /// follow.
    ///
    /// # Errors
    /// An [`RpcError`] if there is none.
    #[inline]
    pub fn decode(payload: &'a [u8]) -> Result<(Self, &'a [u8]), RpcError> {
        let mut reader = Reader::new(payload);
        let call = Self {
            xid: message(&mut reader, MessageType::CALL)?,
            rpc_version: reader.u32()?,
            program: reader.u32()?,
            version: reader.u32()?,
            procedure: reader.u32()?,
            credential: Auth::decode(&mut reader)?,
            verifier: Auth::decode(&mut reader)?,
        };
        Ok((call, reader.rest()))
    }
}

encodable! {
    #[inline]
    RpcCall<'_>, "header"
}

impl Emit for RpcCall<'_> {
    #[inline]
    fn emit<S: Sink>(&self, sink: &mut S) {
        sink.word(self.xid);
        sink.word(MessageType::CALL.0);
        sink.word(self.rpc_version);
        sink.word(self.program);
        sink.word(self.version);
        sink.word(self.procedure);
        self.credential.emit(sink);
        self.verifier.emit(sink);
    }
}

impl fmt::Display for RpcCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { xid, program, version, procedure, credential, .. } = self;
        write!(
            f,
            "CALL xid {xid:#010x} program {program} version {version} procedure {procedure} {}",
            credential.flavor
        )
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;
    use crate::rpc::{Flavor, RpcErrorKind};

    const CALL: [u8; 52] = [
        0x5a, 0x7a, 0x45, 0x83, 0, 0, 0, 0, 0, 0, 0, 2, // xid, CALL, rpcvers
        0, 1, 0x86, 0xa3, 0, 0, 0, 4, 0, 0, 0, 1, // NFSv4 COMPOUND
        0, 0, 0, 6, 0, 0, 0, 5, 1, 2, 3, 4, 5, 0, 0, 0, // a credential with padding
        0, 0, 0, 0, 0, 0, 0, 0, // AUTH_NONE
        0xff, 0xff, 0xff, 0xff, // arguments
    ];

    #[test]
    fn a_call_has_a_program_and_a_caller() {
        let (call, arguments) = RpcCall::decode(&CALL).unwrap();
        assert_eq!((call.xid, call.rpc_version, call.program), (0x5a7a_4583, 2, 100_003));
        assert_eq!((call.version, call.procedure), (4, 1));
        assert_eq!(call.credential, Auth { flavor: Flavor(6), body: &[1, 2, 3, 4, 5] });
        assert_eq!(call.verifier, Auth::NONE);
        assert_eq!(arguments, [0xff; 4]);
        let mut again = [0xa5; 48];
        assert_eq!(call.encode(&mut again), Ok(48));
        assert_eq!(again, CALL[..48]);
    }

    #[test]
    fn a_cut_call_is_an_error_at_the_cut_item() {
        for length in 0..48 {
            let error = RpcCall::decode(&CALL[..length]).unwrap_err();
            assert_eq!(error.kind, RpcErrorKind::Truncated, "{length}");
            assert!(error.offset <= length);
        }
    }

    #[test]
    fn a_reply_or_401_octets_of_credential_are_no_call() {
        let mut reply = CALL;
        reply[7] = 1;
        assert_eq!(RpcCall::decode(&reply).unwrap_err(), RpcError { kind: RpcErrorKind::MessageType, offset: 4 });
        let mut long: Vec<u8> = CALL[..28].into();
        long.extend([0, 0, 1, 0x91]);
        long.resize(1000, 0);
        assert_eq!(RpcCall::decode(&long).unwrap_err(), RpcError { kind: RpcErrorKind::AuthLength, offset: 28 });
    }
}
