//! A connection of RoCE, and its packets with their times in microseconds.

use super::By::{Client, Server};
use super::rpc::{Lists, MSG, call, message, null, reply};
use super::v2::Family;
use super::{Packet, Wire, v2};

pub struct Trace {
    pub wire: Wire,
    pub packets: Vec<(u64, Packet)>,
}

impl Default for Trace {
    fn default() -> Self {
        Self::new()
    }
}

impl Trace {
    /// A connection whose setup was captured.
    pub fn new() -> Self {
        Self::from_wire(Wire::default())
    }

    pub fn from_wire(mut wire: Wire) -> Self {
        let packets = (0..).zip(wire.connect()).collect();
        Self { wire, packets }
    }

    /// Adds packets, one microsecond apart.
    pub fn at(&mut self, time: u64, packets: &[Packet]) -> &mut Self {
        self.packets.extend((time..).zip(packets.iter().cloned()));
        self
    }

    pub fn call(&mut self, xid: u32) -> Vec<Packet> {
        self.wire.send(Client, &message(MSG, xid, &Lists::default(), &null(xid)))
    }

    pub fn reply(&mut self, xid: u32) -> Vec<Packet> {
        self.wire.send(Server, &message(MSG, xid, &Lists::default(), &reply(xid, &[])))
    }

    /// The client acknowledges all that the server sent.
    pub fn acknowledge(&mut self, time: u64) -> &mut Self {
        let packet = self.wire.ack_all(Client);
        self.at(time, &[packet])
    }

    /// The server acknowledges all that the client sent.
    pub fn accept(&mut self, time: u64) -> &mut Self {
        let packet = self.wire.ack_all(Server);
        self.at(time, &[packet])
    }

    /// The call at 100, accepted at 110, and the reply at 200, which is returned too.
    pub fn exchange() -> (Self, Vec<Packet>) {
        let mut trace = Self::new();
        let (call, reply) = (trace.call(1), trace.reply(1));
        trace.at(100, &call).accept(110).at(200, &reply);
        (trace, reply)
    }

    /// Version 2: a call in two Sends. The first is lost behind the capture, and sent again after a time-out, before or after the
    /// second was captured.
    pub fn part_again(family: Family, is_before: bool) -> Self {
        let mut trace = Self::new();
        let (payload, none) = (call(1, [400_000, 1, 7], &[7; 100]), Lists::default());
        let (first, second) = payload.split_at(60);
        let shown = [v2::call(family, 9, 0, &none, &null(9)), v2::reply(family, 9, &[], &reply(9, &[]))];
        let shown = [trace.wire.send(Client, &shown[0]), trace.wire.send(Server, &shown[1])].concat();
        let first = trace.wire.send(Client, &v2::call_part(family, 1, second.len(), first));
        let second = trace.wire.send(Client, &v2::call(family, 1, 0, &none, second));
        let answer = trace.wire.send(Server, &v2::reply(family, 1, &[], &reply(1, &[])));
        trace.at(10, &shown).at(100, &first);
        if !is_before {
            trace.at(110, &second);
        }
        trace.at(500_000, &first).at(500_010, &second).accept(500_020).at(500_100, &answer).acknowledge(500_110);
        trace
    }
}
