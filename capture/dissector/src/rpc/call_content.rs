//! Content of a call, by which one RPC is told from another with the same XID.

use rpcrdma::rpc::{Flavor, GssCredential, RpcCall};

use super::describe::protected;
use super::header::PayloadPlace;
use super::message::{Captured, Message};
use super::properties::Security;
use super::transaction::Transaction;
use crate::nfs::{Procedure, RpcBody};

/// Content of a call, without what differs between two tries of an RPC: credential and verifier, of which RPCSEC_GSS counts each try
/// (RFC 2203 section 5.3.3.1), and the handles of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallContent {
    procedure: Option<Procedure>,
    /// Octets of the RPC message without the data items in Read chunks.
    length: usize,
    /// Octets of the arguments, if the capture holds all arguments and nothing seals any.
    arguments: Option<Vec<u8>>,
}

impl CallContent {
    /// Content of the call in a message, if the message has any.
    pub(crate) fn of_message(message: &Message) -> Option<Self> {
        let procedure = message.rpc.as_ref().and_then(|rpc| rpc.procedure);
        let decoded = message.decode().ok()?;
        match decoded.header.place() {
            PayloadPlace::Nowhere => None,
            PayloadPlace::Chunk => {
                let reads = decoded.header.chunks().unwrap_or_default().reads;
                let entries = decoded.header.call_chunk().iter().chain(reads.iter());
                let length =
                    entries.filter(|entry| entry.position == 0).map(|entry| entry.target.length as usize).sum();
                Some(Self { procedure, length, arguments: None })
            }
            PayloadPlace::Inline | PayloadPlace::Part => {
                let is_whole = message.captured == Captured::Whole && message.earlier_missing().is_none();
                let earlier = usize::try_from(message.earlier_length()).unwrap_or(usize::MAX);
                let length = message.length.saturating_sub(decoded.header_length).saturating_add(earlier);
                let arguments = is_whole.then(|| arguments(&message.stream(&decoded))).flatten();
                Some(Self { procedure, length, arguments })
            }
        }
    }

    /// Content of the call of an RPC, if the capture holds the call.
    pub(crate) fn of_transaction(transaction: &Transaction) -> Option<Self> {
        let (call, procedure) = (transaction.call.as_ref()?, transaction.procedure);
        Some(match &call.message {
            Ok(rebuilt) => {
                let payload = rebuilt.reduced();
                Self { procedure, length: payload.len(), arguments: arguments(payload) }
            }
            Err(_) => Self { procedure, length: call.inline, arguments: None },
        })
    }

    /// Returns true if two calls with the same XID are tries of one RPC: the arguments are the same or, where some are not known,
    /// procedure and length are.
    pub(crate) fn is_of_same_rpc(&self, other: &Self) -> bool {
        let is_known_other = self.procedure.zip(other.procedure).is_some_and(|(mine, theirs)| mine != theirs);
        !is_known_other
            && match (&self.arguments, &other.arguments) {
                (Some(mine), Some(theirs)) => mine == theirs,
                _ => self.length == other.length,
            }
    }
}

/// The arguments in an RPC message, unless RPCSEC_GSS seals the message.
fn arguments(payload: &[u8]) -> Option<Vec<u8>> {
    let (header, arguments) = RpcCall::decode(payload).ok()?;
    if header.credential.flavor != Flavor::RPCSEC_GSS {
        return Some(arguments.to_vec());
    }
    let credential = GssCredential::decode(header.credential.body).ok()?;
    match Security::of_gss(credential.procedure, credential.service) {
        Security::Authentication => Some(arguments.to_vec()),
        Security::Integrity => Some(protected(RpcBody { octets: arguments, position: 0 }).octets.to_vec()),
        Security::Privacy | Security::Control(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REMOVE: Procedure = Procedure { program: 100_003, version: 3, procedure: 12 };

    fn content(length: usize, arguments: Option<&[u8]>) -> CallContent {
        CallContent { procedure: Some(REMOVE), length, arguments: arguments.map(<[u8]>::to_vec) }
    }

    #[test]
    fn arguments_decide_where_both_are_known() {
        assert!(content(40, Some(b"a")).is_of_same_rpc(&content(44, Some(b"a"))));
        assert!(!content(40, Some(b"a")).is_of_same_rpc(&content(40, Some(b"b"))));
    }

    #[test]
    fn length_and_procedure_decide_where_arguments_are_not_known() {
        assert!(content(40, None).is_of_same_rpc(&content(40, Some(b"a"))));
        assert!(!content(40, None).is_of_same_rpc(&content(44, None)));
        let other = CallContent { procedure: Some(Procedure { procedure: 13, ..REMOVE }), ..content(40, None) };
        assert!(!content(40, None).is_of_same_rpc(&other));
        assert!(content(40, None).is_of_same_rpc(&CallContent { procedure: None, ..other }));
    }

    #[test]
    fn sequence_number_and_checksum_of_rpcsec_gss_do_not_count() {
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
        let call = |sequence, checksum| {
            let call = words(&[7, 0, 2, 100_003, 3, 12, 6, 20, 1, 0, sequence, 2, 0, 6, 4, checksum]);
            [call, words(&[12, sequence, 0x1111, 0x2222, 4, checksum])].concat()
        };
        assert_eq!(arguments(&call(1, 0xaaaa)), Some(words(&[0x1111, 0x2222])));
        assert_eq!(arguments(&call(1, 0xaaaa)), arguments(&call(2, 0xbbbb)));
    }
}
