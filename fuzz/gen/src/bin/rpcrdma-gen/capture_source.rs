//! Valid messages of a capture.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use rpcrdma::error;
use rpcrdma::rules::{self, Exchange, Finding, Sent, SentV2};
use rpcrdma::v1;
use rpcrdma::v2::{Family, MessageV2};
use rpcrdma_dissector::{Capture, Captured, Config, Dialect, Events, MessageDirection};
use rpcrdma_gen::{Base, Format, Message, Role};

/// The valid Calls or Replies in a capture, one of each shape: two of the same shape have the same cases.
///
/// # Errors
/// If the capture cannot be read, or has no such message.
pub(crate) fn bases(path: &Path, format: Format, role: Role) -> Result<Vec<Base>, String> {
    let mut config = Config::default();
    config.transactions = false;
    let mut calls: HashMap<(u32, u32), Message> = HashMap::new();
    let (mut bases, mut shapes) = (Vec::new(), HashSet::new());
    for send in Events::new(Capture::from_paths([path]), config).messages() {
        let send = send.map_err(|error| format!("{}: {error}", path.display()))?;
        if send.captured != Captured::Whole || send.dialect != dialect(format) || send.earlier.is_some() {
            continue;
        }
        if let Some(call) = valid(format, Role::Call, &send) {
            if role == Role::Call && shapes.insert(shape(&call)) {
                bases.push(Base { name: format!("frame_{}", send.stamp.frame), message: call.clone(), call: None });
            }
            calls.insert((send.connection, call.xid), call);
        } else if role == Role::Reply
            && let Some(reply) = valid(format, role, &send)
            && let Some(call) = calls.get(&(send.connection, reply.xid)).filter(|call| is_answered(call, &reply))
            && shapes.insert(shape(&reply))
        {
            let name = format!("frame_{}", send.stamp.frame);
            bases.push(Base { name, message: reply, call: Some(call.clone()) });
        }
    }
    if bases.is_empty() {
        return Err(format!("{}: no valid {} of version {}", path.display(), role.name(), format.name()));
    }
    Ok(bases)
}

const fn dialect(format: Format) -> Dialect {
    match format {
        Format::V1 => Dialect::Version1,
        Format::V2a => Dialect::Version2(Family::A),
        Format::V2b => Dialect::Version2(Family::B),
    }
}

/// Properties in which the cases of one message differ from the cases of another.
#[derive(PartialEq, Eq, Hash)]
struct MessageShape {
    positions: Vec<u32>,
    /// Number of segments of each Write chunk.
    writes: Vec<usize>,
    /// Number of segments of the Reply chunk.
    reply: Option<usize>,
    is_inline: bool,
}

fn shape(message: &Message) -> MessageShape {
    let mut positions: Vec<u32> = message.long.iter().chain(&message.reads).map(|read| read.position).collect();
    positions.push(message.reads.len() as u32);
    let writes = message.writes.iter().map(Vec::len).collect();
    let reply = message.reply.as_ref().map(Vec::len);
    MessageShape { positions, writes, reply, is_inline: message.inline.is_some() }
}

/// The message, if sent as a Call or Reply and valid by all rules.
fn valid(format: Format, role: Role, send: &rpcrdma_dissector::Message) -> Option<Message> {
    let direction = if role == Role::Call { MessageDirection::Call } else { MessageDirection::Reply };
    let is_of_role = send.rpc.as_ref().is_some_and(|rpc| rpc.direction == direction);
    let message = rpcrdma_gen::read(format, role, &send.octets).filter(|_| is_of_role)?;
    let mut is_valid = true;
    let mut take = |_: &Finding<'_>| is_valid = false;
    match format {
        Format::V1 => {
            let sender = if role == Role::Call { error::Role::Requester } else { error::Role::Responder };
            rules::send(&Sent::new(&send.octets, Some(sender)), &mut take);
        }
        _ => rules::send_v2(&SentV2::new(family(format), &send.octets), &mut take),
    }
    is_valid.then_some(message)
}

const fn family(format: Format) -> Family {
    if matches!(format, Format::V2a) { Family::A } else { Family::B }
}

/// Returns true if the Reply returns the chunks that the Call offers.
fn is_answered(call: &Message, reply: &Message) -> bool {
    let (call_octets, octets) = (call.octets(), reply.octets());
    let mut is_valid = true;
    let mut take = |_: &Finding<'_>| is_valid = false;
    if reply.format == Format::V1 {
        let (Ok(call), Ok(reply)) = (v1::Message::decode(&call_octets), v1::Message::decode(&octets)) else {
            return false;
        };
        rules::exchange(&Exchange::new(&call, &reply), &mut take);
    } else {
        let decoded = [&call_octets, &octets].map(|octets| MessageV2::decode(family(reply.format), octets));
        let [Ok(call), Ok(reply)] = decoded else { return false };
        rules::exchange_v2(&Exchange::new(&call.header, &reply.header), &mut take);
    }
    is_valid
}
