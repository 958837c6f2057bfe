//! Calls a server that comes and goes, from four threads, with a client that connects again; afterwards compares what the
//! server has carried out with what the calls have returned.
//!
//! ```sh
//! reconnect serve 0.0.0.0:20049 executed           # appends the number of each call that it carries out
//! reconnect call 192.0.2.1:20049 executed stop     # calls until the file `stop` exists, then judges
//! ```
//!
//! Every second call may be made again. No other is carried out twice, and none that was answered is missing.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use rpcrdma_verbs::rdma::Device;
use rpcrdma_verbs::{Call, CallError, Client, Progress, ReconnectingClient, Request, Server, Service, Settings};

const PROGRAM: u32 = 400_100;
const THREADS: u32 = 4;
/// Length of the argument and of the result in chunks, in octets.
const DATA: usize = 8000;
/// Time without completions after which this end checks the other side.
const KEEP_ALIVE: Duration = Duration::from_secs(2);
/// Maximum time for a call, on all connections together.
const CALL: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match *arguments {
        ["serve", address, executed] => parse(address).and_then(|address| serve(address, executed)),
        ["call", address, executed, stop] => {
            parse(address).and_then(|address| call(address, executed, Path::new(stop)))
        }
        _ => Err("usage: reconnect serve ADDRESS:PORT FILE, or reconnect call ADDRESS:PORT FILE STOP".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            eprintln!("reconnect: {failed}");
            ExitCode::FAILURE
        }
    }
}

fn parse<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error| format!("{text}: {error}"))
}

/// Answers calls, after writing the number of each to a file.
struct Executing(Mutex<File>);

impl Service<Device> for Executing {
    fn call(&self, mut request: Request<Device>) {
        let number = request.decode().ok().and_then(|(_, arguments)| arguments.first_chunk().copied());
        let Some(number) = number else { return };
        if let Ok(mut file) = self.0.lock() {
            // In one write, so that a process that is killed leaves no half line.
            let line = format!("{}\n", u32::from_be_bytes(number));
            let _written = file.write_all(line.as_bytes());
        }
        let reply = request.accept();
        reply.push(&(DATA as u32).to_be_bytes());
        reply.push_item(number.repeat(DATA / 4));
        let _sent = request.answer();
    }
}

fn serve(address: SocketAddr, executed: &str) -> Result<(), String> {
    let file = OpenOptions::new().create(true).append(true).open(executed);
    let service = Executing(Mutex::new(file.map_err(|error| format!("{executed}: {error}"))?));
    let device = Device::first().map_err(|error| error.to_string())?;
    let settings = Settings::server().to_builder().keep_alive(Some(KEEP_ALIVE)).build();
    let server = Server::bind(&device, address, settings.map_err(|error| error.to_string())?);
    let server = server.map_err(|error| error.to_string())?;
    println!("listening");
    server.serve(&service).map_err(|error| error.to_string())
}

/// A call that was made, with the outcome.
struct Made {
    number: u32,
    outcome: Result<(), CallError>,
    is_right: bool,
}

/// Returns true for calls that may be made again: those of odd numbers.
const fn is_repeatable(number: u32) -> bool {
    number % 2 == 1
}

fn call(address: SocketAddr, executed: &str, stop: &Path) -> Result<(), String> {
    let settings = Settings::builder().keep_alive(Some(KEEP_ALIVE)).build();
    let settings = settings.map_err(|error| error.to_string())?;
    let connect = move || Client::connect(&Device::towards(address)?, address, &settings);
    let client = ReconnectingClient::new(connect).with_pauses(Duration::from_millis(100), Duration::from_secs(2));
    let made = thread::scope(|scope| {
        let client = &client;
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || calls(client, thread, stop))).collect();
        threads.into_iter().map(thread::ScopedJoinHandle::join).collect::<Result<Vec<_>, _>>()
    });
    let made = made.map_err(|_| "a panic".to_owned())?;
    judge(made.iter().flatten(), executed)
}

/// Makes calls one after the other, until this file exists.
fn calls(client: &ReconnectingClient<Device>, thread: u32, stop: &Path) -> Vec<Made> {
    let mut made = Vec::new();
    for number in (0..u32::MAX / THREADS).map(|count| count * THREADS + thread) {
        if stop.exists() {
            break;
        }
        // Threads make calls of both kinds.
        let number = number ^ (number / THREADS % 2);
        let mut call = Call::rpc(PROGRAM, 1, 1).with_results_length(4).with_result(vec![0; DATA]).with_timeout(CALL);
        call.message().push(&number.to_be_bytes());
        call.message().push(&(DATA as u32).to_be_bytes());
        call.message().push_item(vec![7; DATA]);
        if is_repeatable(number) {
            call = call.repeatable();
        }
        let outcome = client.call(&mut call).map(drop);
        let is_right = call.result(0) == number.to_be_bytes().repeat(DATA / 4);
        made.push(Made { number, outcome, is_right });
    }
    made
}

/// Compares the outcomes with what the server has carried out.
fn judge<'a>(made: impl Iterator<Item = &'a Made>, executed: &str) -> Result<(), String> {
    let text = std::fs::read_to_string(executed).map_err(|error| format!("{executed}: {error}"))?;
    let mut executions: HashMap<u32, u32> = HashMap::new();
    for line in text.lines() {
        *executions.entry(parse(line)?).or_default() += 1;
    }
    let (mut answered, mut unanswered, mut not_sent, mut repeated) = (0, 0, 0, 0);
    for Made { number, outcome, is_right } in made {
        let count = executions.get(number).copied().unwrap_or(0);
        repeated += u32::from(count > 1);
        let limits = match outcome {
            Ok(()) if *is_right => {
                answered += 1;
                1..=1
            }
            Ok(()) => return Err(format!("call {number}: the result is wrong")),
            Err(
                CallError::Lost(_, Progress::Sent)
                | CallError::TimedOut(Progress::Sent)
                | CallError::NotConnected(_, Progress::Sent),
            ) => {
                unanswered += 1;
                0..=1
            }
            Err(CallError::NotConnected(_, Progress::NotSent) | CallError::TimedOut(Progress::NotSent)) => {
                not_sent += 1;
                0..=0
            }
            Err(error) => return Err(format!("call {number}: {error}")),
        };
        let is_possible = limits.contains(&count) || is_repeatable(*number) && count > 1;
        if !is_possible {
            return Err(format!("call {number} was carried out {count} times, and ended with {outcome:?}"));
        }
    }
    println!(
        "answered {answered}, {unanswered} sent and not answered, {not_sent} not sent, {repeated} carried out again"
    );
    Ok(())
}
