//! A gateway: NFS clients connect over RDMA, and each gets a TCP connection to a server. Callbacks go the other way.
//!
//! ```sh
//! cargo run -p rpcrdma-verbs --features rdma --example gateway -- 192.0.2.1:20049 198.51.100.7:2049
//! ```
//! The data of a READ goes from the buffer of the TCP connection by RDMA Write; it is not copied in between. Tasks of tokio
//! do the work of all connections. If either connection of a client ends, so does the other: the client connects again
//! and repeats the calls that were not answered.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rpcrdma::rpc::{MessageType, RpcReply};
use rpcrdma_dissector::nfs::{self, Procedure, Reduced};
use rpcrdma_verbs::{Call, Connection, Ended, Provider, Request, Service, Settings, Stream, WeakConnection};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Maximum length of a message that comes over TCP: data of 1 MiB, and what is around it.
const MOST_OF_MESSAGE: usize = (1 << 20) + (64 << 10);
/// Maximum length of the reply to a callback in octets.
const MOST_OF_CALLBACK: u32 = 1024;
/// Maximum number of callbacks in flight on a connection.
const CALLBACKS: u32 = 4;

/// A service that passes each call on to a server at a TCP address.
pub(crate) struct Gateway<V: Provider> {
    server: SocketAddr,
    runtime: Handle,
    /// Queues for the calls of each client, which are at most as long as its credits.
    links: Mutex<HashMap<SocketAddr, UnboundedSender<Request<V>>>>,
}

impl<V: Provider> Gateway<V> {
    /// A gateway whose tasks run in `runtime`.
    pub(crate) fn new(server: SocketAddr, runtime: Handle) -> Self {
        Self { server, runtime, links: Mutex::default() }
    }

    /// Settings of its RDMA connections.
    pub(crate) fn settings() -> Result<Settings, rpcrdma_verbs::SettingsError> {
        Settings::server().to_builder().calls(CALLBACKS).build()
    }
}

impl<V: Provider> Service<V> for Gateway<V> {
    fn connected(&self, connection: &Connection<V>) {
        let (calls, received) = unbounded_channel();
        lock(&self.links).insert(connection.peer(), calls);
        self.runtime.spawn(link(self.server, connection.downgrade(), received));
    }

    fn call(&self, request: Request<V>) {
        let link = lock(&self.links).get(&request.peer()).cloned();
        // A request that cannot be passed on is dropped, and so answered with SYSTEM_ERR.
        if let Some(link) = link {
            let _ = link.send(request);
        }
    }

    fn ended(&self, peer: SocketAddr, _why: &Ended) {
        lock(&self.links).remove(&peer);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls that wait for the server's reply, by XID.
type Waiting<V> = Mutex<HashMap<u32, (Option<Procedure>, Request<V>)>>;
/// Messages to the server.
type Outgoing = UnboundedSender<Vec<u8>>;

/// Joins a client's connection with a TCP connection of its own, until one of them ends.
async fn link<V: Provider>(server: SocketAddr, client: WeakConnection<V>, calls: UnboundedReceiver<Request<V>>) {
    let waiting = Waiting::default();
    if let Err(error) = pass(server, &client, calls, &waiting).await {
        eprintln!("{server}: {error}");
    }
    // Before the calls that wait are dropped, which would answer them.
    if let Some(client) = client.upgrade() {
        let _ = tokio::task::spawn_blocking(move || client.disconnect()).await;
    }
}

async fn pass<V: Provider>(
    server: SocketAddr,
    client: &WeakConnection<V>,
    calls: UnboundedReceiver<Request<V>>,
    waiting: &Waiting<V>,
) -> io::Result<()> {
    let tcp = TcpStream::connect(server).await?;
    tcp.set_nodelay(true)?;
    let (reader, writer) = tcp.into_split();
    let (outgoing, messages) = unbounded_channel();
    tokio::select! {
        done = send(messages, writer) => done,
        done = receive(reader, client, waiting, &outgoing) => done,
        () = take(calls, waiting, &outgoing) => Ok(()),
    }
}

/// Takes the client's calls, until its connection has ended.
async fn take<V: Provider>(mut calls: UnboundedReceiver<Request<V>>, waiting: &Waiting<V>, outgoing: &Outgoing) {
    while let Some(mut request) = calls.recv().await {
        let call = request.decode().ok().map(|(call, _)| call);
        let procedure =
            call.map(|call| Procedure { program: call.program, version: call.version, procedure: call.procedure });
        let (xid, message) = (request.xid(), request.take_message());
        lock(waiting).insert(xid, (procedure, request));
        // If this fails, the TCP connection has ended, and with it everything here.
        let _ = outgoing.send(message);
    }
}

/// Sends messages, each in a record of one fragment (RFC 5531 section 11).
async fn send(mut messages: UnboundedReceiver<Vec<u8>>, mut writer: OwnedWriteHalf) -> io::Result<()> {
    while let Some(message) = messages.recv().await {
        let length = u32::try_from(message.len()).map_err(io::Error::other)?;
        writer.write_u32(LAST_FRAGMENT | length).await?;
        writer.write_all(&message).await?;
    }
    Ok(())
}

/// Takes the server's messages: replies and callbacks.
async fn receive<V: Provider>(
    mut reader: OwnedReadHalf,
    client: &WeakConnection<V>,
    waiting: &Waiting<V>,
    outgoing: &Outgoing,
) -> io::Result<()> {
    loop {
        let message = record(&mut reader).await?;
        match MessageType::peek(&message) {
            Some((xid, MessageType::REPLY)) => {
                // A reply to nothing that waits is ignored.
                if let Some((procedure, request)) = { lock(waiting).remove(&xid) } {
                    answer(request, procedure, message);
                }
            }
            Some((_, MessageType::CALL)) => {
                let client = client.upgrade().ok_or(io::ErrorKind::NotConnected)?;
                tokio::spawn(call_back(client, message, outgoing.clone()));
            }
            _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "neither a call nor a reply")),
        }
    }
}

/// The bit of the last fragment of a record.
const LAST_FRAGMENT: u32 = 1 << 31;

/// Receives a record.
async fn record(reader: &mut OwnedReadHalf) -> io::Result<Vec<u8>> {
    let mut message = Vec::new();
    loop {
        let header = reader.read_u32().await?;
        let (start, length) = (message.len(), (header & !LAST_FRAGMENT) as usize);
        if start + length > MOST_OF_MESSAGE {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a message that is too long"));
        }
        message.resize(start + length, 0);
        reader.read_exact(message.get_mut(start..).unwrap_or_default()).await?;
        if header & LAST_FRAGMENT != 0 {
            return Ok(message);
        }
    }
}

/// Calls the client back, and passes its reply on. Without one, the server has to notice by itself.
async fn call_back<V: Provider>(client: Connection<V>, message: Vec<u8>, outgoing: Outgoing) {
    let (call, outcome) = client.start(Call::new(Stream::from(message), MOST_OF_CALLBACK)).await;
    match outcome {
        Ok(()) => drop(outgoing.send(call.reply().to_vec())),
        Err(error) => eprintln!("callback to {}: {error}", client.peer()),
    }
}

/// Answers a request with the server's reply.
fn answer<V: Provider>(mut request: Request<V>, procedure: Option<Procedure>, message: Vec<u8>) {
    let items = procedure.map(|procedure| items(procedure, &message)).unwrap_or_default();
    put(request.reply(), message, &items);
    if let Err(fault) = request.answer() {
        eprintln!("a reply is not passed on: {fault}");
    }
}

/// The data items of a reply that may be reduced (RFC 8267).
fn items(procedure: Procedure, message: &[u8]) -> Vec<Range<usize>> {
    let Ok((_, results)) = RpcReply::decode(message) else { return Vec::new() };
    let before = message.len() - results.len();
    let walk = nfs::results(procedure, false, results, Reduced::Reply(&[]));
    let places = walk.items.iter().map(|item| before + item.inline_at..before + item.inline_at + item.length as usize);
    // Of results that are not understood, nothing is reduced.
    if walk.end.is_ok() { places.collect() } else { Vec::new() }
}

/// Puts a message into a reply. The first data item stays where it is; what follows it is copied.
fn put(reply: &mut Stream, message: Vec<u8>, items: &[Range<usize>]) {
    let octets = |range: Range<usize>| message.get(range).unwrap_or_default().to_vec();
    let behind = |item: &Range<usize>| item.start + item.len().next_multiple_of(4);
    let Some((first, others)) = items.split_first() else { return reply.push(&message) };
    reply.push(message.get(..first.start).unwrap_or_default());
    let mut copies = Vec::new();
    let mut at = behind(first);
    for item in others {
        copies.push((octets(at..item.start), octets(item.clone())));
        at = behind(item);
    }
    let end = octets(at..message.len());
    // `nfs` has found the item within the message.
    let _placed = reply.push_part(message, first.clone());
    for (before, item) in copies {
        reply.push(&before);
        reply.push_item(item);
    }
    reply.push(&end);
}

#[cfg(feature = "rdma")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let usage = "usage: gateway ADDRESS:PORT SERVER:PORT";
    let mut arguments = std::env::args().skip(1);
    let address: SocketAddr = arguments.next().ok_or(usage)?.parse()?;
    let server = arguments.next().ok_or(usage)?.parse()?;
    let adapter = rpcrdma_verbs::rdma::Device::with_address(address.ip())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_io().build()?;
    let gateway = Gateway::new(server, runtime.handle().clone());
    println!("listening at {address} for {server}");
    Ok(rpcrdma_verbs::Server::bind(&adapter, address, Gateway::<rpcrdma_verbs::rdma::Device>::settings()?)?
        .serve(&gateway)?)
}
