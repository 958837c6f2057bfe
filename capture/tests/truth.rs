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
