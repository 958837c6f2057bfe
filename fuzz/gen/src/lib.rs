//! Messages of RPC-over-RDMA to test a receiver with, valid and broken, each with a verdict: the broken rules, the
//! place of the defect, and the reactions due from a Responder and a Requester.
//!
//! The verdict follows from how the message was made. Nothing here judges a message: `fuzz/tests/messages.rs` asks the
//! codec, the rules and the reference decoder, and all have to agree. So this is a third opinion, besides theirs.
//!
//! [`named`] makes the same list each time: every shape of chunk lists, with every kind of defect, at every place, with
//! every value at a boundary. [`random`] makes others from [`Choices`]: of a seed, or of a fuzzer. Both use the same
//! functions, so what is in the list can also be found in any other valid message.
//!
//! ```
//! use rpcrdma_gen::{Format, Role};
//!
//! let cases = rpcrdma_gen::named(Format::V1, Role::Call);
//! let case = cases.iter().find(|case| case.name == "position_plus-2/read_chunk").expect("a named case");
//! let [broken] = case.broken.as_slice() else { panic!("it breaks one rule") };
//! assert_eq!((broken.rule.slug, broken.offset), ("read-position-align", 20));
//! assert_eq!(case.octets[20..24], [0, 0, 0, 46]);
//! ```
#![forbid(unsafe_code)]

mod case;
mod choices;
mod defects;
mod draft;
mod layout;
mod message;
mod random;
mod read;
mod shapes;
mod shrink;

pub use case::{Answer, Base, Broken, Case};
pub use choices::Choices;
pub use draft::{At, Draft, Field, Format, Label, List, Role};
pub use message::{Message, Read, Segment};
pub use random::{all_cases, named, random, random_of};
pub use read::read;
pub use shrink::shrink;
