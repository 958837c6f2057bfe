//! Makes calls of random sizes from eight threads at once over one connection to a server, over an RDMA adapter, and
//! drops half of the unanswered calls, until this many are dropped. No other call may be harmed, the buffers of all
//! dropped calls have to come back, and no memory may stay registered.
//!
//! ```sh
//! give-up 192.0.2.1:20049 10000                      # the echo program of rpcrdma-serve
//! give-up 192.0.2.1:20049 10000 file /tmp/file       # READs of a file of an NFSv4.0 server, and what is in it
//! ```

use std::mem;
use std::net::SocketAddr;
use std::process::{self, Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use rpcrdma::rpc::AuthSys;
use rpcrdma_tools::echo::{Caller, Carry};
use rpcrdma_verbs::rdma::Device;
use rpcrdma_verbs::{Call, Client, Progress, Settings, StartedCall};

const THREADS: u32 = 8;
/// One call in this many is dropped.
const ONE_IN: u64 = 2;
/// The most octets of data in a call.
const MOST: u32 = 20_000;
/// Maximum time for the Send of a call to be dropped: without a free slot no Send is posted, because nobody waits for
/// the slot.
const SEND: Duration = Duration::from_millis(100);
/// Maximum time for the replies to dropped calls.
const PATIENCE: Duration = Duration::from_secs(30);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            eprintln!("give-up: {failed}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<(), String> {
    let (address, drops, file) = match *arguments {
        [address, drops] => (address, drops, None),
        [address, drops, name, contents] => (address, drops, Some((name, contents))),
        _ => return Err("give-up ADDRESS:PORT DROPS [NAME CONTENTS]".to_owned()),
    };
    let address: SocketAddr = address.parse().map_err(|error| format!("{address}: {error}"))?;
    let drops: u32 = drops.parse().map_err(|error| format!("{drops}: {error}"))?;
    let file = match file {
        Some((name, contents)) => {
            let octets = std::fs::read(contents).map_err(|error| format!("{contents}: {error}"))?;
            Some(File { name: name.to_owned(), octets })
        }
        None => None,
    };
    let device = Device::towards(address).map_err(|error| error.to_string())?;
    let settings = Settings::builder().kept_given_up_calls(usize::MAX).build().map_err(|error| error.to_string())?;
    let client = Client::connect(&device, address, &settings).map_err(|error| error.to_string())?;
    let (regions, begun) = (regions()?, Instant::now());
    let answered = thread::scope(|scope| {
        let threads: Vec<_> = (1..=THREADS)
            .map(|number| {
                let (client, file) = (&client, file.as_ref());
                let drops = drops / THREADS + u32::from(number <= drops % THREADS);
                scope.spawn(move || call(client, file, drops, &mut Random(u64::from(number))))
            })
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err("a panic".to_owned())));
        joined.sum::<Result<u32, String>>()
    })?;
    settle(&client, drops)?;
    let seconds = begun.elapsed().as_secs();
    println!("{drops} calls dropped and come back, {answered} others answered right, in {seconds} s");
    still_registered(regions)
}

/// Makes calls one after the other, until this many are dropped, and returns how many were answered.
fn call(client: &Client<Device>, file: Option<&File>, drops: u32, random: &mut Random) -> Result<u32, String> {
    let (mut dropped, mut answered) = (0, 0);
    while dropped < drops {
        let asked = match file {
            Some(file) => file.read(random)?,
            None => Asked::echo(client, random)?,
        };
        if random.below(ONE_IN) > 0 {
            asked.make(client)?;
            answered += 1;
            continue;
        }
        let pending = client.start(asked.into_call());
        wait_for_send(&pending);
        // Right after its Send, or at any time until the reply.
        thread::sleep(Duration::from_micros(random.below(3) * random.below(2000)));
        drop(pending);
        dropped += 1;
    }
    Ok(answered)
}

/// Only a call that was sent is worth dropping: another thread registers the memory, and then sends the call.
fn wait_for_send(pending: &StartedCall<Device>) {
    let until = Instant::now() + SEND;
    while pending.progress() == Progress::NotSent && Instant::now() < until {
        thread::sleep(Duration::from_micros(100));
    }
}

/// Waits until the dropped calls have come back.
fn settle(client: &Client<Device>, dropped: u32) -> Result<(), String> {
    let (until, connection, mut returned) = (Instant::now() + PATIENCE, client.connection(), 0);
    while returned < dropped {
        if Instant::now() > until {
            return Err(format!("{returned} of {dropped} calls that were dropped have come back"));
        }
        connection.request(Duration::from_millis(20)).map_err(|ended| ended.to_string())?;
        while connection.take_given_up_call().is_some() {
            returned += 1;
        }
    }
    Ok(())
}

/// Memory regions of this process, by the kernel's count.
fn regions() -> Result<usize, String> {
    let shown = Command::new("rdma").args(["resource", "show", "mr"]).output();
    let shown = shown.map_err(|error| format!("rdma: {error}"))?;
    let mine = format!(" pid {} ", process::id());
    match String::from_utf8_lossy(&shown.stdout).lines().filter(|line| line.contains(&mine)).count() {
        0 => Err("`rdma resource show mr` does not show the regions of this process".to_owned()),
        count => Ok(count),
    }
}

/// Compares with the regions from before any call, which the connection keeps.
fn still_registered(before: usize) -> Result<(), String> {
    let after = regions()?;
    println!("{before} memory regions before, {after} after");
    if after == before { Ok(()) } else { Err("memory is still registered for calls that have ended".to_owned()) }
}

/// A call with the expected reply.
enum Asked<'a> {
    Echo(Caller),
    /// With the expected data.
    Read(Call, &'a [u8]),
}

impl Asked<'_> {
    /// A call of the echo program, with data carried in any way.
    fn echo(client: &Client<Device>, random: &mut Random) -> Result<Self, String> {
        let number = random.below(Carry::ALL.len() as u64) as usize;
        let carry = Carry::ALL.get(number).copied().unwrap_or(Carry::Inline);
        let terms = client.connection().terms();
        let length = random.below(carry.most(&terms).min(MOST).into()) as u32;
        let caller = Caller::echo(carry, length, &terms);
        caller.map(Self::Echo).map_err(|error| error.to_string())
    }

    fn into_call(self) -> Call {
        match self {
            Self::Echo(mut caller) => mem::take(caller.prepare()),
            Self::Read(call, _) => call,
        }
    }

    /// Makes the call, waits for the reply, and checks the reply.
    fn make(self, client: &Client<Device>) -> Result<(), String> {
        match self {
            Self::Echo(mut caller) => caller.call(client).map_err(|fault| fault.to_string()),
            Self::Read(mut call, data) => {
                let reply = client.call(&mut call).map_err(|error| error.to_string())?;
                reply.results().map_err(|error| error.to_string())?;
                if call.result(0) == data { Ok(()) } else { Err(format!("the wrong {} octets came", data.len())) }
            }
        }
    }
}

/// A file on the server, with the content.
struct File {
    name: String,
    octets: Vec<u8>,
}

impl File {
    /// A COMPOUND of NFSv4.0: PUTROOTFH, LOOKUP, READ with the anonymous stateid, of a piece of the file.
    fn read(&self, random: &mut Random) -> Result<Asked<'_>, String> {
        /// Octets of the results without the data.
        const RESULTS: u32 = 44;
        let offset = random.below(self.octets.len() as u64) as usize;
        let rest = self.octets.get(offset..).unwrap_or_default();
        let data = rest.get(..1 + random.below(MOST.into()) as usize).unwrap_or(rest);
        let user = AuthSys::new(b"", 0, 0, &[]).map_err(|error| error.to_string())?;
        let call = Call::rpc(100_003, 4, 1).with_credentials(&user).with_results_length(RESULTS);
        let mut call = call.with_result(vec![0; data.len()]);
        let message = call.message();
        [0, 0, 3, 24, 15, self.name.len() as u32].iter().for_each(|word| message.push(&word.to_be_bytes()));
        message.push(self.name.as_bytes());
        message.push_zeros(self.name.len().next_multiple_of(4) - self.name.len());
        let read = [25, 0, 0, 0, 0, 0, offset as u32, data.len() as u32];
        read.iter().for_each(|word| message.push(&word.to_be_bytes()));
        Ok(Asked::Read(call, data))
    }
}

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) % end.max(1)
    }
}
