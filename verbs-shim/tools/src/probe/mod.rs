//! `rpcrdma-probe`: sends a responder all kinds of valid and invalid messages of a requester, and judges the
//! responder's reactions.
//!
//! Each case has a new connection. First a call of NULL is made, which gives the requester credits. Then the message of
//! the case is sent, with advertised memory if needed, between octets that must not change. The answer, or the absence
//! of one, is compared with the specification; replies are also judged by the rules of [`rpcrdma::rules`]. At the end
//! another call of NULL shows that the responder still answers: on this connection, or, if the responder has ended the
//! connection, on another one.
//!
//! Servers also make calls, in the reverse direction. In those cases the server is made to call first, and the message
//! answers that call.
//!
//! The module runs over every provider, including the loopback:
//!
//! ```
//! use std::thread;
//!
//! use rpcrdma_tools::echo::programs;
//! use rpcrdma_tools::probe::{self, Suite};
//! use rpcrdma_verbs::loopback::Fabric;
//! use rpcrdma_verbs::{Server, Settings};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let fabric = Fabric::new();
//! let (here, there) = (fabric.adapter([192, 0, 2, 1].into())?, fabric.adapter([192, 0, 2, 2].into())?);
//! let address = "192.0.2.2:20049".parse()?;
//! let server = Server::bind(&there, address, Settings::server())?;
//! let stop = server.stopper();
//! let served = thread::spawn(move || server.serve(&programs()));
//!
//! let suite = Suite { cases: vec!["version-3".to_owned()], ..Suite::echo() };
//! let mut table = Vec::new();
//! let totals = probe::run(&here, address, &suite, &mut table)?;
//! assert_eq!((totals.conforms, totals.violates), (1, 0));
//!
//! stop.stop();
//! served.join().unwrap()?;
//! # Ok(())
//! # }
//! ```

mod case;
mod cases;
mod fuzz;
mod judge;
mod memory;
mod prober;
mod report;
mod reverse;
mod selection;
mod services;
mod session;
mod suite;

use std::io::Write;
use std::net::SocketAddr;

use rpcrdma_verbs::Verbs;

pub use case::Verdict;
pub use fuzz::{Bounds, Fuzzed, Recipe, fuzz, replay};
pub use report::{Judgement, Totals};
pub use suite::{OutputFormat, ProbeError, Suite};

pub(crate) use case::{About, Meanings, USUAL, expected, meaning};
pub(crate) use report::{Examined, heading, judgement, totals};
pub(crate) use session::{octets, word};

use prober::{Prober, Test};
use selection::Selected;

/// Runs all cases of the suite, and writes each verdict at once.
///
/// # Errors
/// A [`ProbeError`]. A responder that breaks a rule is no error.
pub fn run<V: Verbs>(verbs: &V, to: SocketAddr, suite: &Suite, out: &mut impl Write) -> Result<Totals, ProbeError> {
    let selected = Selected::from_suite(suite)?;
    let prober = Prober::new(verbs, to, suite);
    if !prober.is_alive()? {
        return Err(ProbeError::NoService);
    }
    let mut totals = Totals::default();
    report::heading(suite.form, out)?;
    let messages = selected.cases.into_iter().map(|case| (case, Test::Message));
    let services = selected.services.into_iter().map(|service| (&service.case, Test::Service(service)));
    let reversed = selected.reversed.into_iter().map(|reversed| (&reversed.case, Test::Reverse(reversed)));
    for (case, test) in messages.chain(services).chain(reversed) {
        let judged = prober.examine(case, test)?;
        totals.count(judged.verdict);
        report::judgement(suite.form, Examined::Responder(to), &judged, out)?;
        out.flush()?;
    }
    report::totals(suite.form, Examined::Responder(to), suite.version.to_string(), totals, out)?;
    Ok(totals)
}
