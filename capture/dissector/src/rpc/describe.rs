//! Content of an RPC message's Payload stream: the RPC header, the effect of RPCSEC_GSS on the body, and the walk over
//! the body.

use rpcrdma::reader::Reader;
use rpcrdma::rpc::{
    AcceptStatus, Denial, Flavor, GssCredential, GssProcedure, GssService, MessageType, ReplyBody, RpcCall, RpcReply,
};

use crate::nfs::{self, Callback, DataItem, Procedure, Reduced, RpcBody, WalkError};
use crate::rpc::properties::{MessageDirection, Rpc, Security, Status, Walked};

/// Fields of a call that the reply does not repeat.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Called {
    pub(crate) procedure: Procedure,
    pub(crate) security: Result<Option<Security>, CutCredential>,
    pub(crate) reverse: bool,
    pub(crate) callback: Callback,
}

/// The capture does not hold enough of a call's credential to show what RPCSEC_GSS does to the bodies of call and
/// reply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CutCredential;

/// The most program numbers of a client's callbacks that are remembered.
const ANNOUNCED: usize = 4;

/// The direction of a call, and what is known about callbacks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Way {
    /// True if the server calls the client.
    pub(crate) reverse: bool,
    /// Program numbers that the client has announced for callbacks, the latest first.
    announced: [Option<u32>; ANNOUNCED],
}

impl Way {
    /// Records what a call announces.
    pub(crate) fn announce(&mut self, described: &Described) {
        if described.announces.is_some() && !self.announced.contains(&described.announces) {
            self.announced.rotate_right(1);
            self.announced.first_mut().into_iter().for_each(|first| *first = described.announces);
        }
    }

    pub(super) fn callback(self, program: u32) -> Callback {
        if !self.reverse {
            Callback::No
        } else if self.announced.contains(&Some(program)) {
            Callback::Announced
        } else if self.announced.iter().all(Option::is_none) && Callback::TRANSIENT.contains(&program) {
            Callback::Guessed
        } else {
            Callback::No
        }
    }
}

/// A Payload stream that was examined.
#[derive(Clone, Debug)]
pub(crate) struct Described {
    pub(crate) rpc: Rpc,
    /// DDP-eligible data items; their offsets count from the start of the Payload stream.
    pub(crate) items: Vec<DataItem>,
    /// Octets of the Payload stream before the body.
    pub(crate) start: usize,
    /// `Ok` if the walk reached the end of the body.
    pub(crate) walked: Result<(), WalkError>,
    /// The program number that a call announces for the client's callbacks.
    pub(crate) announces: Option<u32>,
}

/// A call that was examined.
#[derive(Clone, Debug)]
pub(crate) struct DescribedCall {
    pub(crate) called: Called,
    pub(crate) described: Described,
}

impl Described {
    /// Forgets the fields read from the body, because the body may contain padding.
    pub(crate) fn forget_body(&mut self) {
        self.rpc.operations.clear();
        self.items.clear();
        self.announces = None;
        self.walked = Err(PADDED);
    }

    /// Returns the result of the walk, as the message reports the result.
    pub(crate) fn to_walked(&self) -> Walked {
        Walked { items: self.items.clone(), start: self.start, end: self.walked }
    }
}

/// Examines a call. `reads` are the call's Read chunks: Position and length.
pub(crate) fn call(payload: &[u8], way: Way, reads: &[(u64, u64)]) -> Option<DescribedCall> {
    let Ok((header, arguments)) = RpcCall::decode(payload) else { return cut_call(payload, way) };
    let RpcCall { program, version, procedure, credential, .. } = header;
    let procedure = Procedure { program, version, procedure };
    let security = match credential.flavor {
        Flavor::RPCSEC_GSS => {
            GssCredential::decode(credential.body).ok().map(|gss| Security::of_gss(gss.procedure, gss.service))
        }
        _ => None,
    };
    let called = Called { procedure, security: Ok(security), reverse: way.reverse, callback: way.callback(program) };
    let at = payload.len() - arguments.len();
    let described = describe(&called, RpcBody { octets: arguments, position: at }, None, Reduced::Call(reads));
    Some(DescribedCall { called, described })
}

/// A call of which the capture holds only what is called.
fn cut_call(payload: &[u8], way: Way) -> Option<DescribedCall> {
    let mut reader = Reader::new(payload);
    let [_xid, kind, rpc_version] = [reader.u32().ok()?, reader.u32().ok()?, reader.u32().ok()?];
    if (MessageType(kind), rpc_version) != (MessageType::CALL, RpcCall::RPC_VERSION) {
        return None;
    }
    let procedure =
        Procedure { program: reader.u32().ok()?, version: reader.u32().ok()?, procedure: reader.u32().ok()? };
    let callback = way.callback(procedure.program);
    let security = cut_credential(reader.rest());
    let called = Called { procedure, security, reverse: way.reverse, callback };
    let body = RpcBody { octets: &[], position: payload.len() };
    Some(DescribedCall { called, described: describe(&called, body, None, Reduced::Call(&[])) })
}

/// Returns the protection that a credential asks for, or the part that was captured.
fn cut_credential(credential: &[u8]) -> Result<Option<Security>, CutCredential> {
    let mut reader = Reader::new(credential);
    let mut word = || reader.u32().map_err(|_| CutCredential);
    if Flavor(word()?) != Flavor::RPCSEC_GSS {
        return Ok(None);
    }
    let [_length, _version, procedure, _sequence, service] = [word()?, word()?, word()?, word()?, word()?];
    Ok(Some(Security::of_gss(GssProcedure(procedure), GssService(service))))
}

/// Examines a reply. `written` are the lengths of the reply's Write chunks.
pub(crate) fn reply(payload: &[u8], called: Option<&Called>, written: &[u64]) -> Option<Described> {
    let (header, results) = RpcReply::decode(payload).ok()?;
    let status = match header.body {
        ReplyBody::Accepted { status: AcceptStatus::SUCCESS, .. } => Status::Success(None),
        ReplyBody::Accepted { status, .. } => {
            Status::Refused { name: status.name().unwrap_or("unknown accept_stat"), number: status.0 }
        }
        ReplyBody::Denied(Denial::RpcMismatch(_)) => Status::Denied { name: "RPC_MISMATCH", number: 0 },
        ReplyBody::Denied(Denial::AuthError(status)) => {
            Status::Denied { name: status.name().unwrap_or("unknown auth_stat"), number: status.0 }
        }
    };
    let at = payload.len() - results.len();
    let Some(called) = called else {
        let rpc = Rpc { status: Some(status), ..Rpc::unknown(MessageDirection::Reply) };
        return Some(Described { rpc, items: Vec::new(), start: at, walked: Err(UNKNOWN), announces: None });
    };
    Some(describe(called, RpcBody { octets: results, position: at }, Some(status), Reduced::Reply(written)))
}

const UNKNOWN: WalkError = WalkError { at: 0, operation: None, reason: WalkError::UNKNOWN_PROCEDURE };
const PADDED: WalkError = WalkError { at: 0, operation: None, reason: "padding in a place that is not known" };
const CUT: WalkError = WalkError { at: 0, operation: None, reason: WalkError::UNKNOWN_CREDENTIAL };
const SEALED: WalkError = WalkError { at: 0, operation: None, reason: "sealed by RPCSEC_GSS" };

fn describe(called: &Called, body: RpcBody<'_>, status: Option<Status>, reduced: Reduced<'_>) -> Described {
    let direction = if status.is_some() { MessageDirection::Reply } else { MessageDirection::Call };
    let Called { procedure, security, reverse, callback } = *called;
    let mut rpc = Rpc {
        direction,
        reverse,
        callback,
        procedure: Some(procedure),
        name: procedure.name(callback.is_callback()),
        operations: Vec::new(),
        security: security.unwrap_or_default(),
        status,
    };
    if let Ok(Some(Security::Control(name))) = security {
        rpc.name = Some(name);
    }
    let has_body = matches!(status, None | Some(Status::Success(_)));
    let without = |rpc, walked| Described { rpc, items: Vec::new(), start: body.position, walked, announces: None };
    let body = match security {
        _ if !has_body => return without(rpc, Ok(())),
        Ok(None | Some(Security::Authentication)) => body,
        Ok(Some(Security::Integrity)) => protected(body),
        Ok(Some(Security::Control(_))) => return without(rpc, Ok(())),
        Ok(Some(Security::Privacy)) => return without(rpc, Err(SEALED)),
        Err(CutCredential) => return without(rpc, Err(CUT)),
    };
    let mut walk = match direction {
        MessageDirection::Call => {
            nfs::arguments(procedure, callback.is_callback(), body.octets, body.position, reduced)
        }
        MessageDirection::Reply => nfs::results(procedure, callback.is_callback(), body.octets, reduced),
    };
    if let Some(Status::Success(inner)) = &mut rpc.status {
        *inner = walk.status;
    }
    for item in &mut walk.items {
        item.at += body.position;
        item.inline_at += body.position;
    }
    rpc.operations = walk.operations;
    Described { rpc, items: walk.items, start: body.position, walked: walk.end, announces: walk.callback_program }
}

/// Length of `databody_integ` and of the sequence number inside (RFC 2203 section 5.3.2.2).
const PROTECTED_HEADER: usize = 8;

/// Returns the captured part of the arguments or results within an integrity-protected body.
pub(super) fn protected(body: RpcBody<'_>) -> RpcBody<'_> {
    let mut reader = Reader::new(body.octets);
    let data = reader.u32().map_or(&[][..], |length| {
        let rest = reader.rest();
        rest.get(..length as usize).unwrap_or(rest)
    });
    RpcBody { octets: data.get(4..).unwrap_or_default(), position: body.position + PROTECTED_HEADER }
}
