//! A gateway for NFS between RDMA and TCP, in either direction, with callbacks the other way.
//!
//! ```sh
//! gateway from-rdma 192.0.2.1:20049 198.51.100.7:2049     # clients come over RDMA, the server is reached over TCP
//! gateway to-rdma 198.51.100.7:2049 192.0.2.1:20049       # clients come over TCP, the server is reached over RDMA
//! ```
//! Each client has a connection of its own to the server. If one of the two ends, so does the other: the client connects again and
//! repeats the calls that were not answered. Data of READ is not copied. There is no more room for it than it asks for, and for a
//! reply in a session of NFSv4.1 no more than that allows.

mod records;

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rpcrdma::rpc::{MessageType, RpcCall, RpcReply};
use rpcrdma_dissector::nfs::{self, DataItem, Procedure, Reduced, Walk};
use rpcrdma_verbs::{
    Call, Client, Connection, EndReason, Provider, ReducedResult, Request, Service, Settings, Stream, WeakConnection,
};
use tokio::net::{TcpListener, TcpStream, tcp::OwnedReadHalf};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{Sender, UnboundedReceiver, UnboundedSender, channel, unbounded_channel};
use tokio::time::{sleep, timeout};

use self::records::{MAX_DATA, MAX_MESSAGE};

/// Maximum length of the rest of a reply over RDMA, in octets. With this, it usually fits in a Send.
const MAX_REPLY: u32 = 4000;
/// Room for a data item whose length the call does not say, such as a symbolic link.
const MAX_ITEM: u32 = 1 << 16;
/// Maximum number of callbacks in flight on a connection.
const CALLBACKS: u32 = 4;
/// Maximum number of calls that have come over one TCP connection and wait.
const CALLS: usize = 64;
/// Time without completions after which a peer is asked if it is still there.
const KEEP_ALIVE: Option<Duration> = Some(Duration::from_secs(10));
/// Time after which an attempt to connect over TCP is given up.
const CONNECT: Duration = Duration::from_secs(10);
/// Pause after a connection could not be accepted, such as for lack of descriptors.
const PAUSE: Duration = Duration::from_millis(100);

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
        Settings::server().to_builder().requested_credits(CALLBACKS).keep_alive(KEEP_ALIVE).build()
    }
}

impl<V: Provider> Service<V> for Gateway<V> {
    fn connected(&self, connection: &Connection<V>) {
        let (calls, received) = unbounded_channel();
        lock(&self.links).insert(connection.peer(), calls);
        let (server, client) = (self.server, connection.downgrade());
        self.runtime.spawn(async move {
            // Calls over RDMA are callbacks here, which create no session.
            let tcp = async { timeout(CONNECT, TcpStream::connect(server)).await? };
            let passed = pass(tcp, &client, received, &Sessions::default()).await;
            passed.unwrap_or_else(|error| eprintln!("{server}: {error}"));
        });
    }

    fn call(&self, request: Request<V>) {
        // A request that cannot be passed on is dropped, and so answered with SYSTEM_ERR.
        if let Some(link) = { lock(&self.links).get(&request.peer()).cloned() } {
            let _ = link.send(request);
        }
    }

    fn ended(&self, peer: SocketAddr, _why: &EndReason) {
        lock(&self.links).remove(&peer);
    }
}

/// Passes the calls of clients that come over TCP on to a server over RDMA, by the adapter that leads there.
pub(crate) async fn to_rdma<V: Provider>(listener: TcpListener, adapter: V, server: SocketAddr) -> io::Result<()> {
    let settings = Settings::builder().granted_credits(CALLBACKS).keep_alive(KEEP_ALIVE);
    let settings = settings.build().map_err(io::Error::other)?;
    let sessions = Sessions::default();
    loop {
        let Ok((tcp, peer)) = listener.accept().await.inspect_err(|error| eprintln!("{error}")) else {
            sleep(PAUSE).await;
            continue;
        };
        let sessions = Arc::clone(&sessions);
        let connecting = Client::connecting(&adapter, server, &settings);
        tokio::spawn(async move {
            let client = match connecting.await {
                Ok(client) => client,
                Err(error) => return eprintln!("{server}: {error}"),
            };
            let (calls, received) = unbounded_channel();
            let connection = client.connection().clone();
            // Waiting for callbacks blocks. It ends with the connection.
            tokio::task::spawn_blocking(move || {
                while let Ok(callback) = connection.request(Duration::MAX) {
                    callback.into_iter().for_each(|callback| drop(calls.send(callback)));
                }
            });
            let passed = pass(async { Ok(tcp) }, &client.connection().downgrade(), received, &sessions).await;
            passed.unwrap_or_else(|error| eprintln!("{peer}: {error}"));
        });
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls from RDMA that wait for a reply from TCP, by XID.
type Waiting<V> = Mutex<HashMap<u32, (Option<Procedure>, Request<V>)>>;
/// The sessions of the server, with the limits of their replies.
type Sessions = Arc<Mutex<nfs::Sessions>>;
/// Messages to TCP, in parts.
type Outgoing = Sender<Vec<Vec<u8>>>;

/// Passes messages between a TCP and an RDMA connection, until one of them ends. `calls`: those that come over RDMA.
async fn pass<V: Provider>(
    tcp: impl Future<Output = io::Result<TcpStream>>,
    connection: &WeakConnection<V>,
    calls: UnboundedReceiver<Request<V>>,
    sessions: &Sessions,
) -> io::Result<()> {
    let waiting = Waiting::default();
    let passing = async {
        let (reader, writer) = tcp.await?.into_split();
        writer.as_ref().set_nodelay(true)?;
        let (outgoing, messages) = channel(CALLS);
        tokio::select! {
            done = records::send(messages, writer) => done,
            done = receive(reader, connection, &waiting, &outgoing, sessions) => done,
            () = pass_requests(calls, &waiting, &outgoing) => Ok(()),
        }
    };
    let done = passing.await;
    // Before the calls that wait are dropped, which would answer them.
    if let Some(connection) = connection.upgrade() {
        let _ = tokio::task::spawn_blocking(move || connection.disconnect()).await;
    }
    done
}

/// Takes the calls that come over RDMA, until the connection has ended.
async fn pass_requests<V: Provider>(
    mut calls: UnboundedReceiver<Request<V>>,
    waiting: &Waiting<V>,
    outgoing: &Outgoing,
) {
    while let Some(mut request) = calls.recv().await {
        let procedure = request.decode().ok().map(|(call, _)| Procedure::from(&call));
        let (xid, message) = (request.xid(), request.take_message());
        lock(waiting).insert(xid, (procedure, request));
        // If this fails, the TCP connection has ended, and with it everything here.
        let _ = outgoing.send(vec![message]).await;
    }
}

/// Takes the messages that come over TCP: replies, and calls.
async fn receive<V: Provider>(
    mut reader: OwnedReadHalf,
    connection: &WeakConnection<V>,
    waiting: &Waiting<V>,
    outgoing: &Outgoing,
    sessions: &Sessions,
) -> io::Result<()> {
    let calls = Arc::new(Semaphore::new(CALLS));
    loop {
        let message = records::receive(&mut reader).await?;
        match MessageType::peek(&message) {
            Some((xid, MessageType::REPLY)) => {
                // A reply to nothing that waits is ignored.
                if let Some((procedure, request)) = { lock(waiting).remove(&xid) } {
                    answer(request, procedure, message);
                }
            }
            Some((_, MessageType::CALL)) => {
                let connection = connection.upgrade().ok_or(io::ErrorKind::NotConnected)?;
                let place = Arc::clone(&calls).acquire_owned().await.map_err(io::Error::other)?;
                let (outgoing, sessions) = (outgoing.clone(), Arc::clone(sessions));
                tokio::spawn(async move {
                    if let Some(reply) = pass_call(&connection, message, &sessions).await {
                        let _ = outgoing.send(reply).await;
                    }
                    drop(place);
                });
            }
            _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "neither a call nor a reply")),
        }
    }
}

/// Makes a call over RDMA. Returns its reply in parts, or nothing if the message is no call.
async fn pass_call<V: Provider>(
    connection: &Connection<V>,
    message: Vec<u8>,
    sessions: &Sessions,
) -> Option<Vec<Vec<u8>>> {
    let (header, arguments) = RpcCall::decode(&message).ok()?;
    let (procedure, before) = (Procedure::from(&header), message.len() - arguments.len());
    let item = first_item(&nfs::arguments(procedure, false, arguments, before, Reduced::Call(&[])), before);
    let room = nfs::result_room(procedure, false, arguments).unwrap_or_default();
    let session = lock(sessions).limits(&room).map(|limits| limits.fore.reply);
    let limit = session.unwrap_or(MAX_MESSAGE);
    let mut stream = Stream::default();
    stream.push_message(message, item);
    let mut call = Call::new(stream, MAX_REPLY.saturating_add(room.in_reply(session)).min(limit));
    for item in room.data {
        call = call.with_result(vec![0; item.unwrap_or(MAX_ITEM).min(MAX_DATA).min(limit) as usize]);
    }
    let ended = connection.start(call).await;
    let (done, call) = (ended.reply().map(drop), ended.into_call());
    Some(match done {
        Ok(()) => whole_reply(call, procedure, sessions),
        Err(error) => {
            eprintln!("a call to {}: {error}", connection.peer());
            // SYSTEM_ERR (RFC 5531 section 9). If the connection has ended, this goes nowhere.
            vec![[call.xid(), 1, 0, 0, 0, 5].iter().flat_map(|word| word.to_be_bytes()).collect()]
        }
    })
}

/// The reply to a call, with the data that came apart from it, in parts. Keeps the limits of a session that it has created.
fn whole_reply(mut call: Call, procedure: Procedure, sessions: &Sessions) -> Vec<Vec<u8>> {
    let buffers = call.result_buffers().len();
    let Ok(results) = call.accepted() else { return call.take_unreduced_reply([]) };
    lock(sessions).learn(procedure, results);
    let before = call.reply().len() - results.len();
    let chunks: Vec<_> = (0..buffers).map(|number| call.result(number).len() as u64).collect();
    let items = nfs::results(procedure, false, results, Reduced::Reply(&chunks)).items;
    let place = |item: DataItem| {
        let (position, buffer) = (before + item.inline_at, item.chunk?);
        Some(ReducedResult { position, buffer, length: item.length as usize })
    };
    call.take_unreduced_reply(items.into_iter().filter_map(place))
}

/// Answers a request with the server's reply.
fn answer<V: Provider>(mut request: Request<V>, procedure: Option<Procedure>, message: Vec<u8>) {
    let item = procedure.zip(RpcReply::decode(&message).ok()).and_then(|(procedure, (_, results))| {
        first_item(&nfs::results(procedure, false, results, Reduced::Reply(&[])), message.len() - results.len())
    });
    request.reply().push_message(message, item);
    if let Err(fault) = request.answer() {
        eprintln!("a reply is not passed on: {fault}");
    }
}

/// The first data item of a message that may be reduced (RFC 8267). Clients hardly send more. Of a body that is not understood, and
/// begins after this many octets, nothing is reduced.
fn first_item(body: &Walk, before: usize) -> Option<Range<usize>> {
    let item = body.items.first().filter(|_| body.end.is_ok())?;
    Some(before + item.inline_at..before + item.inline_at + item.length as usize)
}

#[cfg(feature = "rdma")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use rpcrdma_verbs::{Server, rdma::Device};

    let arguments: Vec<_> = std::env::args().collect();
    let [_, direction, address, server] = &*arguments else {
        return Err("usage: gateway from-rdma|to-rdma ADDRESS:PORT SERVER:PORT".into());
    };
    let (address, server) = (address.parse::<SocketAddr>()?, server.parse::<SocketAddr>()?);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    println!("listening at {address} for {server}");
    if direction == "to-rdma" {
        let listener = runtime.block_on(TcpListener::bind(address))?;
        return Ok(runtime.block_on(to_rdma(listener, Device::towards(server)?, server))?);
    }
    let gateway = Gateway::new(server, runtime.handle().clone());
    Ok(Server::bind(&Device::with_address(address.ip())?, address, Gateway::<Device>::settings()?)?.serve(&gateway)?)
}
