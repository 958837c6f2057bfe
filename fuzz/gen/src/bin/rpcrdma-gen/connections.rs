//! A RoCEv2 capture, with a connection around each message.

use std::error::Error;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use rpcrdma_gen::{Case, Role};
use rpcrdma_verbs::loopback::{Adapter, Fabric, PathMtu};
use rpcrdma_verbs::{Access, Depths, Local, Operation, Verbs, Work};

/// Addresses of the requesters and the responder, from the blocks for documentation.
pub(crate) const REQUESTER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub(crate) const RESPONDER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
/// The port of NFS over RDMA.
pub(crate) const PORT: u16 = 20049;
/// Nothing here waits for anybody else.
const SOON: Duration = Duration::from_secs(10);
/// Octets of a Receive: no message is longer.
const RECEIVE: usize = 8192;

/// Writes the capture: each message has a connection, on which a Reply may follow a Call.
pub(crate) fn capture(path: &Path, cases: &[Case]) -> Result<(), Box<dyn Error>> {
    let fabric = Fabric::captured(std::io::BufWriter::new(File::create(path)?), PathMtu::Octets4096)?;
    let (requester, responder) = (fabric.adapter(REQUESTER)?, fabric.adapter(RESPONDER)?);
    let address = SocketAddr::from((RESPONDER, PORT));
    let listener = responder.listen(address, 1)?;
    for case in cases {
        let end = End::new(&requester)?;
        requester.connect(&end.queue_pair, address, &[])?;
        let request = responder.request(&listener, SOON)?.ok_or("no connection request")?;
        let other = End::new(&responder)?;
        responder.accept(request, &other.queue_pair, &[])?;
        requester.connected(&end.queue_pair, SOON)?.ok_or("no connection")?;
        let call = case.call.iter().map(|call| (&end, call));
        let sender = if case.role == Role::Call { &end } else { &other };
        for (sender, octets) in call.chain([(sender, &case.octets)]) {
            sender.send(octets)?;
        }
        requester.disconnect(&end.queue_pair)?;
    }
    fabric.end_capture()?;
    Ok(())
}

/// An end of a connection.
struct End<'a> {
    adapter: &'a Adapter,
    domain: <Adapter as Verbs>::Domain,
    queue_pair: <Adapter as Verbs>::QueuePair,
    /// The memory of the Receive that is posted.
    _receive: <Adapter as Verbs>::Region,
}

impl<'a> End<'a> {
    fn new(adapter: &'a Adapter) -> Result<Self, Box<dyn Error>> {
        let domain = adapter.domain()?;
        let queue_pair = adapter.queue_pair(&domain, Depths::default())?;
        let receive = adapter.register(&domain, vec![0; RECEIVE], Access::LOCAL_WRITE)?;
        adapter.post_receive(&queue_pair, 0, Local::whole_region(&receive, RECEIVE))?;
        Ok(Self { adapter, domain, queue_pair, _receive: receive })
    }

    /// Sends a message, and waits for the completion.
    fn send(&self, octets: &[u8]) -> Result<(), Box<dyn Error>> {
        let region = self.adapter.register(&self.domain, octets.to_vec(), Access::LOCAL_WRITE)?;
        self.adapter
            .post(&self.queue_pair, Work::new(1, Operation::Send, Local::whole_region(&region, octets.len())))?;
        while self.adapter.completion(&self.queue_pair, SOON)?.ok_or("a Send was not completed")?.id != 1 {}
        Ok(())
    }
}
