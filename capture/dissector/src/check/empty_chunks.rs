//! Empty Write chunks, by which a requester keeps a result inline (RFC 8166 section 4.3.2.3).

use rpcrdma::rules::{Finding, WRITE_EMPTY_RESPECTED};
use rpcrdma::v1::Body;

use super::book::Book;
use super::exchange::{Subject, returned, write_chunk_at};
use super::finding::{About, Found};
use crate::rpc::describe::{self, Called, Described};
use crate::rpc::properties::Walked;

/// Place of the results that a reply has to send inline.
#[derive(Debug)]
pub(super) enum EmptyChunks {
    /// Empty chunks stand for inline results, or there are none.
    Respected,
    /// The result of the empty chunk with this number is in a later one. Read that way, the results end where the reply
    /// does.
    PassedOver(usize, Walked),
    /// The capture does not show the place.
    Unknown,
}

impl EmptyChunks {
    /// Decodes the results without the empty chunks, if decoding by RFC 8166 fails.
    pub(super) fn find(subject: &Subject<'_>) -> Self {
        let Some(offered) = subject.offered() else { return Self::Respected };
        let lengths = returned(subject);
        let is_empty: Vec<bool> = offered.writes.iter().map(|chunk| chunk.length() == 0).collect();
        let Some(empty) = is_empty.iter().position(|&is_empty| is_empty) else { return Self::Respected };
        if lengths.iter().skip(empty).all(|&length| length == 0) {
            return Self::Respected;
        }
        match subject.walked {
            Some(walked) if walked.end.is_ok() => return Self::Respected,
            Some(_) => {}
            None => return Self::Unknown,
        }
        let others = is_empty.iter().zip(0..).filter(|(is_empty, _)| !**is_empty).map(|(_, index)| index);
        let others: Vec<usize> = others.collect();
        let left: Vec<u64> = others.iter().filter_map(|&index| lengths.get(index)).copied().collect();
        match described(subject, &left).filter(|described| described.walked.is_ok()) {
            Some(mut described) => {
                for item in &mut described.items {
                    item.chunk = item.chunk.and_then(|chunk| others.get(chunk).copied());
                }
                Self::PassedOver(empty, described.to_walked())
            }
            None => Self::Unknown,
        }
    }

    /// Judges the reply accordingly.
    pub(super) fn judge(&self, subject: &Subject<'_>, about: About, book: &mut Book) {
        match self {
            Self::Respected => {}
            Self::PassedOver(chunk, _) => book.keep(found(*chunk, subject, about)),
            Self::Unknown => book.unknown(&WRITE_EMPTY_RESPECTED),
        }
    }
}

fn found(chunk: usize, subject: &Subject<'_>, about: About) -> Found {
    let message = format_args!("Write chunk {chunk} is empty, and the result that it stands for is in a later one");
    let finding = Finding::new(&WRITE_EMPTY_RESPECTED, write_chunk_at(subject, chunk), message);
    Found::new(about, &finding, Some(finding.offset))
}

/// The results of a reply whose Write chunks return these lengths; `None` if the results are not in a Send, or not
/// known.
fn described(subject: &Subject<'_>, lengths: &[u64]) -> Option<Described> {
    let decoded = subject.decoded.filter(|decoded| matches!(decoded.header.body, Body::Msg(_)))?;
    let call = subject.call?.rpc.as_ref()?;
    let (procedure, security) = (call.procedure?, Ok(call.security));
    let called = Called { procedure, security, reverse: call.reverse, callback: call.callback };
    describe::reply(decoded.payload, Some(&called), lengths)
}
