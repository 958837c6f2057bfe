//! The ground truth of the shipped captures: how many messages there are, and every octet that was read and written.

mod common;

use common::{captures, dissect};
use rpcrdma_capture::dissector::Config;

#[test]
fn smoke() {
    for name in captures() {
        let found = dissect(&common::read(name), Config::default());
        println!("{name} {:?}", found.counts());
        for t in &found.transactions {
            let c = t.call.as_ref().map(|h| (h.stamp.frame, h.form, h.message.as_ref().map(|m| m.octets.len())));
            let r = t.reply.as_ref().map(|h| (h.stamp.frame, h.form, h.message.as_ref().map(|m| m.octets.len())));
            println!("  {} {:x} {:?} {:?} {:?} {:?} r{} w{}", t.connection, t.xid, t.name, c, r, t.status, t.read_octets, t.write_octets);
        }
        for r in &found.reports {
            println!("  {:?} {:?} {} {:?}", r.number, r.connection, r.unclaimed, r.counts);
        }
    }
}
#[test]
fn errors_list() {
    let found = dissect(&common::read("errors"), Config::default());
    for m in &found.messages {
        println!("{} c{} {:?} len {} {:?} {:?}", m.stamp.frame, m.connection, m.sender, m.length, m.prefix().map(|p| (p.version, p.procedure.to_string())), m.is_malformed());
    }
    let found = dissect(&common::read("nfs41_lossy"), Config::default());
    println!("{:?}", found.messages.iter().map(|m| m.retransmitted).sum::<u32>());
    for m in &found.messages { if m.retransmitted > 0 { println!("{} {}", m.stamp.frame, m.retransmitted); } }
    for r in &found.reports { println!("{r:?}"); }
}
