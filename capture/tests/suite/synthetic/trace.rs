//! A connection of RoCE, and its packets with their times in microseconds.

use super::By::{Client, Server};
use super::rpc::{Lists, MSG, message, null, reply};
use super::{Packet, Wire};

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
    /// A connection whose set-up was captured.
    pub fn new() -> Self {
        Self::of(Wire::default())
    }

    pub fn of(mut wire: Wire) -> Self {
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
}
