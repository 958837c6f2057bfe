//! A single Send, without a capture.

use rpcrdma::rpc::MessageType;
use rpcrdma::v2::Family;

use crate::carrier::operation::{Side, Stamp};
use crate::link::Address;
use crate::rpc::describe::{self, Described, Way};
use crate::rpc::header::{Dialect, PayloadPlace, read_chunks, write_lengths};
use crate::rpc::message::{Captured, Message};
use crate::rpc::placement::Placements;

/// The message in a Send that is not from a capture: frame, time, connection and addresses have no meaning.
///
/// The results of a reply stay unknown: a reply does not name the procedure. `family` is the wire format of version 2;
/// without a format, only the fixed words are decoded.
#[must_use]
pub fn lone_message(octets: Vec<u8>, mut family: Option<Family>) -> Message {
    let mut message = Message {
        dialect: Dialect::recognise(&octets, true, &mut family),
        stamp: Stamp::default(),
        connection: 0,
        sender: Side::Active,
        from: Address::Lid(0),
        to: Address::Lid(0),
        length: octets.len(),
        octets,
        captured: Captured::Whole,
        mirror_session: None,
        invalidates: None,
        credit_use: None,
        retransmitted: 0,
        earlier: None,
        padding: Some(Vec::new()),
        placements: Placements::default(),
        dropped: None,
        rpc: None,
        detail: None,
    };
    if let Some((msgp, payload, chunks)) = message.msgp() {
        message.padding = msgp.padding_of_call(payload, Way::default(), &read_chunks(&chunks));
    }
    message.rpc = described(&message).map(|described| described.rpc);
    message
}

fn described(message: &Message) -> Option<Described> {
    let decoded = message.decode().ok().filter(|decoded| decoded.header.place() == PayloadPlace::Inline)?;
    let chunks = decoded.header.chunks()?;
    let written = write_lengths(&chunks);
    match MessageType::peek(decoded.payload)?.1 {
        MessageType::CALL => {
            let mut described =
                describe::call(&message.stream(&decoded), Way::default(), &read_chunks(&chunks))?.described;
            if message.padding.is_none() {
                described.forget_body();
            }
            Some(described)
        }
        MessageType::REPLY => describe::reply(decoded.payload, None, &written),
        _ => None,
    }
}
