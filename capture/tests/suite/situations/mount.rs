//! Connections of a client and a server one after another, over RoCE or iWARP, with several calls in flight when one ends. What happens
//! is said in calls of [`Mount`]; its packets know nothing of what a dissector makes of them.

use crate::synthetic::By::{self, Client, Server};
use crate::synthetic::rpc::{Lists, MSG, call, message, padded, reply, words};
use crate::synthetic::tcp::{self, Iwarp, fpdu};
use crate::synthetic::trace::Trace;
use crate::synthetic::{Packet, Wire};

/// NFS3ERR_NOENT (RFC 1813 section 2.6).
pub(crate) const NOENT: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    Roce,
    Iwarp,
}

impl Carrier {
    pub(crate) const ALL: [Self; 2] = [Self::Roce, Self::Iwarp];
}

enum Link {
    Roce(Box<Trace>),
    Iwarp { trace: Box<Iwarp>, port: u16, sent: [u32; 2] },
}

/// A client and a server.
pub(crate) struct Mount {
    carrier: Carrier,
    links: Vec<Link>,
}

impl Mount {
    pub(crate) const fn new(carrier: Carrier) -> Self {
        Self { carrier, links: Vec::new() }
    }

    /// Begins a connection, which the next calls are about.
    pub(crate) fn connect(&mut self, time: u64) -> &mut Self {
        let number = self.links.len() as u32;
        self.links.push(match self.carrier {
            Carrier::Roce => {
                let mut wire = Wire { name: 0x1234 + number, ..Wire::default() };
                (wire.client.queue_pair, wire.server.queue_pair) = (0x11 + number, 0x22 + number);
                let packets = (time..).zip(wire.connect()).collect();
                Link::Roce(Box::new(Trace { wire, packets }))
            }
            Carrier::Iwarp => {
                let mut trace = Iwarp::default();
                trace.packets.iter_mut().for_each(|(sent, _)| *sent += time);
                Link::Iwarp { trace: Box::new(trace), port: 40_000 + number as u16, sent: [0, 0] }
            }
        });
        self
    }

    /// Begins a connection between two hosts over RoCE.
    pub(crate) fn connect_hosts(&mut self, time: u64, [client, server]: [u8; 2]) -> &mut Self {
        let number = self.links.len() as u32;
        let mut wire = Wire { name: 0x1234 + number, ..Wire::default() };
        (wire.client.host, wire.server.host) = (client, server);
        (wire.client.queue_pair, wire.server.queue_pair) = (0x11 + number, 0x22 + number);
        let packets = (time..).zip(wire.connect()).collect();
        self.links.push(Link::Roce(Box::new(Trace { wire, packets })));
        self
    }

    /// Sends an RPC message without chunks.
    pub(crate) fn send_rpc(&mut self, connection: usize, from: By, time: u64, xid: u32, rpc: &[u8]) -> &mut Self {
        self.send(connection, from, time, &message(MSG, xid, &Lists::default(), rpc))
    }

    /// Sends a message on the connection of this number, from 1.
    fn send(&mut self, connection: usize, from: By, time: u64, octets: &[u8]) -> &mut Self {
        match &mut self.links[connection - 1] {
            Link::Roce(trace) => {
                let packets = trace.wire.send(from, octets);
                trace.at(time, &packets);
            }
            Link::Iwarp { trace, sent, .. } => {
                let end = end_index(from);
                sent[end] += 1;
                trace.send(time, end, &fpdu(sent[end], octets));
            }
        }
        self
    }

    /// The client calls REMOVE of a file.
    pub(crate) fn remove(&mut self, connection: usize, time: u64, xid: u32, name: &str) -> &mut Self {
        let name = [words(&[4, 0xfeed, name.len() as u32]), padded(name.as_bytes())].concat();
        self.send(connection, Client, time, &message(MSG, xid, &Lists::default(), &call(xid, [100_003, 3, 12], &name)))
    }

    /// The server sends the reply to REMOVE, with this status and no attributes.
    pub(crate) fn reply(&mut self, connection: usize, time: u64, xid: u32, status: u32) -> &mut Self {
        let results = reply(xid, &words(&[status, 0, 0]));
        self.send(connection, Server, time, &message(MSG, xid, &Lists::default(), &results))
    }

    /// An end acknowledges all that the other sent.
    pub(crate) fn acknowledge(&mut self, connection: usize, by: By, time: u64) -> &mut Self {
        match &mut self.links[connection - 1] {
            Link::Roce(trace) => {
                let packet = trace.wire.ack_all(by);
                trace.at(time, &[packet]);
            }
            Link::Iwarp { trace, .. } => trace.acknowledge(time, end_index(by), 0),
        }
        self
    }

    /// An end ends the connection, and acknowledges nothing by that.
    pub(crate) fn end_connection(&mut self, connection: usize, by: By, time: u64) -> &mut Self {
        match &mut self.links[connection - 1] {
            Link::Roce(trace) => {
                let packet = trace.wire.disconnect(by);
                trace.at(time, &[packet]);
            }
            Link::Iwarp { trace, .. } => trace.segment(time, end_index(by), 0, tcp::RST, &[]),
        }
        self
    }

    /// All packets with their times in microseconds.
    pub(crate) fn packets(&self) -> Vec<(u64, Packet)> {
        let of_link = |link: &Link| match link {
            Link::Roce(trace) => trace.packets.clone(),
            Link::Iwarp { trace, port, .. } => {
                let mut packets = trace.packets.clone();
                packets.iter_mut().for_each(|(_, packet)| set_port(packet, *port));
                packets
            }
        };
        let mut packets: Vec<_> = self.links.iter().flat_map(of_link).collect();
        packets.sort_by_key(|(time, _)| *time);
        packets
    }
}

const fn end_index(by: By) -> usize {
    match by {
        Client => tcp::CLIENT,
        Server => tcp::SERVER,
    }
}

/// A REMOVE that is answered before the next call.
fn alone(mount: &mut Mount, connection: usize, time: u64, xid: u32) {
    mount.remove(connection, time, xid, "alone").acknowledge(connection, Server, time + 2);
    mount.reply(connection, time + 10, xid, 0).acknowledge(connection, Client, time + 12);
}

/// Gives the client of a segment another port.
fn set_port(packet: &mut Packet, port: u16) {
    let at = if packet[15] == 1 { 20 } else { 22 };
    packet[at..at + 2].copy_from_slice(&port.to_be_bytes());
}

/// One REMOVE, as there is one credit before the first reply; then eight in flight, of which three are answered, then the server ends the connection. On the next one the client makes the other five again, in
/// another order and among new ones: the server had removed two of the files.
pub(crate) fn server_ends(carrier: Carrier) -> Mount {
    let mut mount = Mount::new(carrier);
    mount.connect(0);
    alone(&mut mount, 1, 50, 20);
    (1..9).for_each(|xid| _ = mount.remove(1, 100 + u64::from(xid), xid, &format!("file{xid}")));
    mount.acknowledge(1, Server, 120);
    (1..4).for_each(|xid| _ = mount.reply(1, 200 + u64::from(xid), xid, 0));
    mount.acknowledge(1, Client, 210).end_connection(1, Server, 1_000).connect(20_000);
    alone(&mut mount, 2, 20_050, 21);
    for (place, xid) in (0..).zip([9, 8, 7, 6, 10, 5, 4]) {
        mount.remove(2, 20_100 + place, xid, &format!("file{xid}"));
    }
    mount.acknowledge(2, Server, 20_120);
    for xid in 4..11 {
        mount.reply(2, 20_200 + u64::from(xid), xid, if xid == 5 || xid == 7 { NOENT } else { 0 });
    }
    mount.acknowledge(2, Client, 20_300);
    mount
}
