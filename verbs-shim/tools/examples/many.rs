//! Keeps many connections to a server, of which some make NULL calls, and prints what that costs.
//!
//! ```sh
//! many 192.0.2.1:20049 1000 10 20 connected   # 1,000 connections, 10 call for 20 seconds
//! ```
//! Makes the file `connected` before the calls, and then writes the number of calls and the median to that file. The
//! connections stay until the file is removed, so that their end is not measured.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::{Duration, Instant};
use std::{fs, thread};

use rpcrdma_verbs::rdma::{Device, raise_descriptor_limit};
use rpcrdma_verbs::{Call, Client, Settings};

/// Maximum time for which the connections stay after the calls.
const STAY: Duration = Duration::from_secs(120);
/// NFSv3, whose NULL every server of ours answers.
const PROGRAM: (u32, u32) = (100_003, 3);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match &*arguments {
        [address, numbers @ .., connected] if numbers.len() == 3 => run(address, numbers, connected),
        _ => Err("usage: many ADDRESS:PORT CONNECTIONS BUSY SECONDS FILE".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            eprintln!("many: {failed}");
            ExitCode::FAILURE
        }
    }
}

fn parse<T: FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error| format!("{text}: {error}"))
}

fn run(address: &str, numbers: &[String], connected: &str) -> Result<(), String> {
    let address: SocketAddr = parse(address)?;
    let numbers = numbers.iter().map(|number| parse(number)).collect::<Result<Vec<usize>, _>>()?;
    let [count, busy, seconds] = *numbers else { return Err("three numbers".to_owned()) };
    let failed = |error: rpcrdma_verbs::Error| error.to_string();
    raise_descriptor_limit(count).map_err(failed)?;
    let device = Device::towards(address).map_err(failed)?;
    let settings = Settings::builder().requested_credits(1).build().map_err(|error| error.to_string())?;
    let before = resident()?;
    let began = Instant::now();
    let clients = (0..count).map(|number| {
        let client = Client::connect(&device, address, &settings);
        client.map_err(|error| format!("connection {number}: {error}"))
    });
    let clients = clients.collect::<Result<Vec<_>, _>>()?;
    let each = (resident()? - before) / count.max(1);
    let descriptors = fs::read_dir("/proc/self/fd").map_err(|error| error.to_string())?.count();
    println!("{count} connections in {:.0?}: {each} KiB each, {descriptors} descriptors", began.elapsed());
    fs::write(connected, "").map_err(|error| format!("{connected}: {error}"))?;
    let busy: Vec<_> = clients.iter().step_by((count / busy.max(1)).max(1)).collect();
    let made = thread::scope(|scope| {
        let calling = |client| scope.spawn(move || calls(client, Duration::from_secs(seconds as u64)));
        let threads: Vec<_> = busy.iter().map(|client| calling(*client)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or(Err("a panic".to_owned())))
            .collect::<Result<Vec<_>, _>>()
    })?;
    let mut times: Vec<_> = made.concat();
    times.sort_unstable();
    let median = times.get(times.len() / 2).ok_or("no call was answered")?;
    let (calls, median) = (times.len(), median.as_micros());
    println!("{} connections of them made {calls} calls in {seconds} s, median {median} µs", busy.len());
    fs::write(connected, format!("{calls} {median}\n")).map_err(|error| format!("{connected}: {error}"))?;
    let called = Instant::now();
    while fs::exists(connected).is_ok_and(|exists| exists) && called.elapsed() < STAY {
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Makes calls, one after the other. Returns the time that each took.
fn calls(client: &Client<Device>, longest: Duration) -> Result<Vec<Duration>, String> {
    let (began, mut times) = (Instant::now(), Vec::new());
    let mut call = Call::rpc(PROGRAM.0, PROGRAM.1, 0);
    while began.elapsed() < longest {
        let begins = Instant::now();
        let reply = client.call(&mut call).map_err(|error| error.to_string())?;
        reply.results().map_err(|error| error.to_string())?;
        times.push(begins.elapsed());
    }
    Ok(times)
}

/// Resident memory of this process in KiB.
fn resident() -> Result<usize, String> {
    let status = fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    parse(line.trim().trim_end_matches(" kB"))
}
