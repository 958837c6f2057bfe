//! Everything returned as an error implements `Error`, and says what is wrong.

use std::collections::BTreeSet;
use std::error::Error;

#[cfg(feature = "version-2")]
use rpcrdma::endpoint::channel::HostAuthenticationTooLong;
use rpcrdma::endpoint::requester;
use rpcrdma::endpoint::responder::{GrantError, ReplyFault};
use rpcrdma::endpoint::{InputError, Requester, Terms};
use rpcrdma::reader::Reader;
use rpcrdma::rules::Credits;
use rpcrdma::v1::ReplyHeader;
use rpcrdma::v2::ContinuationError;
use rpcrdma::{Body, Chunks, Header, RpcCall};

#[test]
fn errors_explain_themselves_and_return_their_source() {
    let mut credits = Credits::new();
    credits.call().unwrap();
    let mut requester = Requester::<1, 1>::new(Terms::default(), 1, 4096);
    let call =
        requester::Call { head: &[], length: 0, arguments: &[], results: &[], reply_length: 0, largest_capacity: 0 };
    let header = Header { xid: 1, credit: 1, body: Body::Msg(Chunks::default()) };
    let chunks = Chunks::default();
    let errors: [&dyn Error; 11] = [
        &Reader::new(&[0; 3]).u32().unwrap_err(),
        &Header::decode(&[]).unwrap_err(),
        &header.encode(&mut [0; 27]).unwrap_err(),
        &RpcCall::decode(&[0; 7]).unwrap_err(),
        &ReplyHeader::new(1, 1, &chunks).with_writes(&[8]).unwrap_err(),
        &credits.call().unwrap_err(),
        &requester.call(&call).unwrap_err(),
        &ContinuationError::OtherMessage,
        &ReplyFault::NoCall,
        &GrantError,
        &InputError::NotPolled,
    ];
    #[cfg(feature = "version-2")]
    let errors = [&errors[..], &[&HostAuthenticationTooLong]].concat();
    let texts: BTreeSet<String> = errors.iter().map(|error| error.to_string()).collect();
    assert_eq!(texts.len(), errors.len(), "{texts:?}");
    assert!(errors.iter().all(|error| !error.to_string().is_empty()));
    // Only the refused Call holds another error: its header is cut.
    let causes: Vec<_> = errors.iter().filter_map(|error| error.source()).map(ToString::to_string).collect();
    assert_eq!(causes, [RpcCall::decode(&[]).unwrap_err().to_string()]);
}
