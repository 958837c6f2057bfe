//! A server, and a caller that reuses the buffers of the previous call, for tests and benchmarks that measure.

use std::sync::Mutex;
use std::time::Duration;
use std::{mem, thread};

use rpcrdma_verbs::loopback::{Adapter, Fabric};
use rpcrdma_verbs::{Call, Client, Connection, Request, Server, Settings, Stream};

use super::header::header;
use super::service::with_service;

/// Contents of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// Nothing.
    Null,
    /// This many octets to the server, in a Read chunk.
    Read(usize),
    /// This many octets back, in a Write chunk.
    Write(usize),
    /// This many octets there and back, in the Sends.
    Inline(usize),
    /// So many octets there in a Read chunk with as many around it in a Position Zero Read chunk, and back in a Reply
    /// chunk if there is no Write chunk for them.
    Around(usize),
    /// This many octets there in a Position Zero Read chunk, and back in a Reply chunk.
    Long(usize),
}

impl Kind {
    pub(crate) const fn procedure(self) -> u32 {
        match self {
            Self::Null => 0,
            Self::Read(_) => 1,
            Self::Write(_) => 2,
            Self::Inline(_) | Self::Long(_) => 3,
            Self::Around(_) => 2,
        }
    }
}

/// A NULL call.
pub(crate) fn null(client: &Client<Adapter>) -> Call {
    Call::new(Stream::from(header(client.xid(), Kind::Null.procedure())), 24)
}

/// Runs a server on a thread of its own, with a client that is connected to it.
pub(crate) fn with_server(run: impl FnOnce(&Fabric, &Client<Adapter>)) {
    with_service(&answer, |fabric, address| {
        let here = fabric.adapter([192, 0, 2, 1].into()).unwrap();
        run(fabric, &Client::connect(&here, address, &Settings::client()).unwrap());
    });
}

/// The value of each octet of a result.
const FILL: u8 = 0x5a;

/// A buffer that the threads of the server share.
static ARGUMENTS: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Answers a call, with buffers that were used before.
pub(crate) fn answer(mut request: Request<Adapter>) {
    let (call, arguments) = request.decode().unwrap();
    match call.procedure {
        2 => {
            let count = *arguments.first_chunk::<4>().unwrap();
            let mut buffer = request.reply().buffer();
            buffer.resize(u32::from_be_bytes(count) as usize, FILL);
            let reply = request.accept();
            reply.push(&count);
            reply.push_item(buffer);
        }
        3 => {
            let mut kept = ARGUMENTS.lock().unwrap();
            kept.clear();
            kept.extend_from_slice(arguments);
            request.accept().push(&kept);
        }
        _ => {
            request.accept();
        }
    }
    request.answer().unwrap();
}

/// Makes the same call again and again.
pub(crate) struct Caller<'a> {
    client: &'a Client<Adapter>,
    kind: Kind,
    call: Call,
    header: [u8; 40],
}

impl<'a> Caller<'a> {
    pub(crate) fn new(client: &'a Client<Adapter>, kind: Kind) -> Self {
        let call = match kind {
            Kind::Null | Kind::Read(_) => Call::new(Stream::default(), 24),
            Kind::Write(length) => Call::new(Stream::default(), 28).with_result(vec![0; length]),
            Kind::Inline(length) | Kind::Long(length) | Kind::Around(length) => {
                Call::new(Stream::default(), 28 + length as u32 + 3)
            }
        };
        let mut caller = Self { client, kind, call, header: header(0, kind.procedure()).try_into().unwrap() };
        if let Kind::Read(length) | Kind::Around(length) = kind {
            caller.call.message().push_item(vec![FILL; length]);
        }
        caller
    }

    pub(crate) fn call(&mut self) {
        self.prepare();
        self.client.call(&mut self.call).unwrap().results().unwrap();
        self.look();
    }

    /// The same for a call without chunks, with this thread at the other end too.
    pub(crate) fn call_alone(&mut self, server: &Connection<Adapter>) {
        self.prepare();
        let pending = self.client.start(mem::take(&mut self.call));
        let request = loop {
            if let Some(request) = server.request(Duration::ZERO).unwrap() {
                break request;
            }
        };
        answer(request);
        let ended = pending.wait();
        ended.reply().map(drop).unwrap();
        let call = ended.into_call();
        self.call = call;
        self.look();
    }

    fn prepare(&mut self) {
        let xid = self.client.xid();
        let message = self.call.message();
        message.clear();
        self.header[..4].copy_from_slice(&xid.to_be_bytes());
        message.push(&self.header);
        match self.kind {
            Kind::Null => {}
            Kind::Read(length) => {
                let item = message.buffer();
                assert_eq!(item.len(), length);
                message.push(&(length as u32).to_be_bytes());
                message.push_item(item);
            }
            Kind::Around(length) => {
                let item = message.buffer();
                message.push(&(length as u32).to_be_bytes());
                message.push_item(item);
                for _ in 0..length.div_ceil(4) {
                    message.push(&[FILL; 4]);
                }
            }
            Kind::Write(length) => message.push(&(length as u32).to_be_bytes()),
            Kind::Inline(length) | Kind::Long(length) => {
                message.push(&(length as u32).to_be_bytes());
                for _ in 0..length.div_ceil(4) {
                    message.push(&[FILL; 4]);
                }
            }
        }
    }

    fn look(&self) {
        if let Kind::Write(length) = self.kind {
            let result = self.call.result(0);
            assert!(result.len() == length && result.last() == Some(&FILL));
        }
    }
}

/// Both ends of a connection, for one thread.
pub(crate) fn alone(run: impl FnOnce(&Fabric, &Client<Adapter>, &Connection<Adapter>)) {
    let fabric = Fabric::new();
    let [here, there] = [1, 2].map(|number| fabric.adapter([192, 0, 2, number].into()).unwrap());
    let address = "192.0.2.2:20049".parse().unwrap();
    let server = Server::bind(&there, address, Settings::server()).unwrap();
    let connecting = thread::spawn(move || Client::connect(&here, address, &Settings::client()).unwrap());
    let server = server.accept(Duration::from_secs(10)).unwrap().unwrap();
    run(&fabric, &connecting.join().unwrap(), &server);
}
