//! Programs and their procedures: finds the procedure of a call, or answers that there is none.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;

use rpcrdma::rpc::{self, AcceptStatus, Auth, AuthStatus, AuthSys, Denial, Flavor, Mismatch, ReplyBody};

use crate::driver::resources::Provider;
use crate::endpoint::request::{Request, accept};
use crate::endpoint::server::Service;
use crate::message::stream::Stream;

/// A [`Service`] made of procedures: each call goes to the handler of the program, version and procedure.
///
/// All other calls are answered according to RFC 5531 section 9:
/// - procedure 0, NULL, of each known program, with success;
/// - an unknown procedure, with `PROG_UNAVAIL`, `PROC_UNAVAIL`, or `PROG_MISMATCH` and the lowest and highest version
///   of the program;
/// - a version of RPC other than 2, with `RPC_MISMATCH`;
/// - credentials other than `AUTH_NONE` and `AUTH_SYS`, or malformed ones, with `AUTH_ERROR`;
/// - a call that ends within the header, with `GARBAGE_ARGS`.
///
/// ```
/// use rpcrdma_verbs::loopback::{Adapter, Fabric};
/// use rpcrdma_verbs::{Dispatcher, Refusal, Server, Settings};
///
/// # fn main() -> Result<(), rpcrdma_verbs::Error> {
/// // Procedure 1 of program 400100, version 1, adds two numbers.
/// let programs = Dispatcher::<Adapter>::default().with_procedure(400_100, 1, 1, |call, results| {
///     let ([left, right], []) = call.arguments.as_chunks::<4>() else {
///         return Err(Refusal::GarbageArguments);
///     };
///     let sum = u32::from_be_bytes(*left).wrapping_add(u32::from_be_bytes(*right));
///     results.push(&sum.to_be_bytes());
///     Ok(())
/// });
/// # let there = Fabric::new().adapter([192, 0, 2, 2].into())?;
/// # let server = Server::bind(&there, "192.0.2.2:20049".parse().unwrap(), Settings::server())?;
/// # server.stopper().stop();
/// server.serve(&programs)?;
/// # Ok(())
/// # }
/// ```
pub struct Dispatcher<'a, V: Provider> {
    programs: BTreeMap<u32, Versions<'a, V>>,
}

/// Versions of a program, each with procedures.
type Versions<'a, V> = BTreeMap<u32, BTreeMap<u32, Handler<'a, V>>>;

enum Handler<'a, V: Provider> {
    /// Handler that appends the results.
    Now(Box<Immediate<'a>>),
    /// Handler that gets the request.
    Later(Box<Deferred<'a, V>>),
}

type Immediate<'a> = dyn Fn(&ProcedureCall<'_>, &mut Stream) -> Result<(), Refusal> + Send + Sync + 'a;
type Deferred<'a, V> = dyn Fn(Request<V>) + Send + Sync + 'a;

/// A call of the other side, as a handler of a procedure sees the call.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ProcedureCall<'a> {
    /// Program, version, procedure and credentials.
    pub header: rpc::RpcCall<'a>,
    /// The arguments in XDR, with the data that came in Read chunks.
    pub arguments: &'a [u8],
    /// The address of the caller.
    pub peer: SocketAddr,
}

/// Reason of a handler not to carry out a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// `GARBAGE_ARGS`: the arguments are not valid for the procedure.
    GarbageArguments,
    /// `SYSTEM_ERR`: the server cannot carry out the call for another reason, such as a lack of memory.
    SystemError,
    /// `AUTH_ERROR`: these credentials are not accepted.
    Credentials(AuthStatus),
}

/// Further handling of a call.
enum Verdict<'s, 'a, V: Provider> {
    Answer,
    Defer(&'s Deferred<'a, V>),
    Refuse(ReplyBody<'static>),
}

impl<'a, V: Provider> Dispatcher<'a, V> {
    /// Adds a version of a program; so far the only procedure is NULL.
    #[must_use]
    pub fn with_program(mut self, program: u32, version: u32) -> Self {
        self.procedures(program, version);
        self
    }

    /// Adds a procedure whose handler appends the results, or returns the reason for a refusal. While the handler runs,
    /// no other call of the same connection is taken.
    #[must_use]
    pub fn with_procedure(
        mut self,
        program: u32,
        version: u32,
        procedure: u32,
        handler: impl Fn(&ProcedureCall<'_>, &mut Stream) -> Result<(), Refusal> + Send + Sync + 'a,
    ) -> Self {
        self.procedures(program, version).insert(procedure, Handler::Now(Box::new(handler)));
        self
    }

    /// Adds a procedure whose handler gets the whole [`Request`], for an answer elsewhere and later.
    #[must_use]
    pub fn with_deferred(
        mut self,
        program: u32,
        version: u32,
        procedure: u32,
        handler: impl Fn(Request<V>) + Send + Sync + 'a,
    ) -> Self {
        self.procedures(program, version).insert(procedure, Handler::Later(Box::new(handler)));
        self
    }

    fn procedures(&mut self, program: u32, version: u32) -> &mut BTreeMap<u32, Handler<'a, V>> {
        self.programs.entry(program).or_default().entry(version).or_default()
    }

    /// Builds the reply, if the call can be answered at once.
    fn carry_out(&self, peer: SocketAddr, message: &[u8], reply: &mut Stream) -> Verdict<'_, 'a, V> {
        // The version is at the same offset in every version of RPC; nothing else is known (RFC 5531 section 9).
        let version = message.get(8..12).and_then(<[u8]>::first_chunk).copied().map(u32::from_be_bytes);
        if version.is_some_and(|version| version != rpc::RpcCall::RPC_VERSION) {
            let only = Mismatch { low: rpc::RpcCall::RPC_VERSION, high: rpc::RpcCall::RPC_VERSION };
            return Verdict::Refuse(ReplyBody::Denied(Denial::RpcMismatch(only)));
        }
        let Ok((header, arguments)) = rpc::RpcCall::decode(message) else {
            return Verdict::Refuse(Refusal::GarbageArguments.body());
        };
        if !is_known(&header.credential) {
            return Verdict::Refuse(Refusal::Credentials(AuthStatus::BADCRED).body());
        }
        match self.find(&header) {
            Err(refused) => Verdict::Refuse(refused),
            Ok(Some(Handler::Later(handler))) => Verdict::Defer(handler),
            Ok(handler) => {
                accept(header.xid, reply);
                let done = match handler {
                    Some(Handler::Now(handler)) => handler(&ProcedureCall { header, arguments, peer }, reply),
                    _ => Ok(()),
                };
                done.map_or_else(|refusal| Verdict::Refuse(refusal.body()), |()| Verdict::Answer)
            }
        }
    }

    /// Finds the handler of a procedure. Returns `None` for NULL, which needs none.
    fn find(&self, call: &rpc::RpcCall<'_>) -> Result<Option<&Handler<'a, V>>, ReplyBody<'static>> {
        let versions = self.programs.get(&call.program).ok_or(not_carried_out(AcceptStatus::PROG_UNAVAIL, None))?;
        let Some(procedures) = versions.get(&call.version) else {
            let range = versions.first_key_value().zip(versions.last_key_value());
            let mismatch = range.map(|((&low, _), (&high, _))| Mismatch { low, high });
            return Err(not_carried_out(AcceptStatus::PROG_MISMATCH, mismatch));
        };
        match procedures.get(&call.procedure) {
            None if call.procedure != 0 => Err(not_carried_out(AcceptStatus::PROC_UNAVAIL, None)),
            handler => Ok(handler),
        }
    }
}

/// Returns true if these credentials identify the caller.
fn is_known(credential: &Auth<'_>) -> bool {
    match credential.flavor {
        Flavor::NONE => true,
        Flavor::SYS => AuthSys::decode(credential.body).is_ok(),
        _ => false,
    }
}

const fn not_carried_out(status: AcceptStatus, mismatch: Option<Mismatch>) -> ReplyBody<'static> {
    ReplyBody::Accepted { verifier: Auth::NONE, status, mismatch }
}

impl Refusal {
    const fn body(self) -> ReplyBody<'static> {
        match self {
            Self::GarbageArguments => not_carried_out(AcceptStatus::GARBAGE_ARGS, None),
            Self::SystemError => not_carried_out(AcceptStatus::SYSTEM_ERR, None),
            Self::Credentials(status) => ReplyBody::Denied(Denial::AuthError(status)),
        }
    }
}

impl ProcedureCall<'_> {
    /// The calling user, according to the client. `None` with `AUTH_NONE`.
    #[must_use]
    pub fn user(&self) -> Option<AuthSys<'_>> {
        let credential = &self.header.credential;
        if credential.flavor == Flavor::SYS { AuthSys::decode(credential.body).ok() } else { None }
    }
}

impl<V: Provider> Service<V> for Dispatcher<'_, V> {
    fn call(&self, mut request: Request<V>) {
        let peer = request.peer();
        let (message, reply) = request.message_and_reply();
        // If this fails, the client has been answered with `SYSTEM_ERR`, or is gone.
        let _ = match self.carry_out(peer, message, reply) {
            Verdict::Answer => request.answer(),
            Verdict::Refuse(body) => request.answer_with(body),
            Verdict::Defer(handler) => return handler(request),
        };
    }
}

impl<V: Provider> Default for Dispatcher<'_, V> {
    fn default() -> Self {
        Self { programs: BTreeMap::new() }
    }
}

/// The procedures, by program and version.
impl<V: Provider> fmt::Debug for Dispatcher<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let versions = self.programs.iter().flat_map(|(program, versions)| {
            versions
                .iter()
                .map(move |(version, procedures)| ((program, version), procedures.keys().collect::<Vec<_>>()))
        });
        f.debug_map().entries(versions).finish()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GarbageArguments => f.write_str("the arguments are not those of the procedure"),
            Self::SystemError => f.write_str("the server cannot carry out the call"),
            Self::Credentials(status) => write!(f, "these credentials are not accepted: {status}"),
        }
    }
}

impl std::error::Error for Refusal {}
