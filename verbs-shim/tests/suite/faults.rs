//! Faults of adapters and networks, as both ends of a connection learn of them.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rpcrdma_verbs::loopback::{Adapter, Fabric, Fault, Faults, NO_ANSWER, PathMtu, PortState, SetupFault};
use rpcrdma_verbs::{
    Call, CallError, Client, EndReason, Error, Kind, Progress, Request, Server, Service, Settings, Status, Versions,
};

use crate::dissected::{File, dissect};
use crate::support::eventually::becomes_so;
use crate::support::stopping::Stopping;

pub(crate) const LONG: Duration = Duration::from_secs(10);
pub(crate) const ADDRESS: &str = "192.0.2.200:20049";

/// A call of the NULL procedure.
pub(crate) fn null() -> Call {
    Call::rpc(400_100, 1, 0)
}

/// Answers every call with nothing, and passes the reason for the end of each connection on.
pub(crate) struct Answering(pub(crate) mpsc::Sender<EndReason>);

impl Service<Adapter> for Answering {
    fn call(&self, mut request: Request<Adapter>) {
        request.accept();
        let _ = request.answer();
    }

    fn ended(&self, _: SocketAddr, why: &EndReason) {
        let _ = self.0.send(why.clone());
    }
}

/// Runs a server with these settings on an adapter of its own.
pub(crate) fn with_server_of(settings: Settings, run: impl FnOnce(&Fabric, &Adapter, &mpsc::Receiver<EndReason>)) {
    let fabric = Fabric::new();
    let there = fabric.adapter([192, 0, 2, 200].into()).unwrap();
    let server = Server::bind(&there, ADDRESS.parse().unwrap(), settings).unwrap();
    let (sender, ended) = mpsc::channel();
    thread::scope(|scope| {
        let stopping = Stopping(server.stopper());
        scope.spawn(|| server.serve(&Answering(sender)));
        run(&fabric, &there, &ended);
        drop(stopping);
    });
}

pub(crate) fn connect(adapter: &Adapter, settings: &Settings) -> Result<Client<Adapter>, Error> {
    Client::connect(adapter, ADDRESS.parse().unwrap(), settings)
}

#[test]
fn each_connection_setup_fault_has_a_distinct_error() {
    with_server_of(Settings::server(), |fabric, _, _| {
        let here = fabric.adapter([192, 0, 2, 1].into()).unwrap();
        let short = Settings::builder().connect_timeout(Duration::from_millis(50)).build().unwrap();
        let mut advice = Vec::new();
        for (fault, error) in [
            (SetupFault::NoRoute, Error::Unreachable),
            (SetupFault::NoHost, Error::NoHost),
            (SetupFault::PortDown, Error::PortDown),
            (SetupFault::Refused, Error::Refused),
            (SetupFault::Rejected, Error::Rejected(Vec::new())),
            (SetupFault::NotAccepted, Error::NotAccepted { reason: 3 }),
            (SetupFault::NoAnswer, Error::TimedOut),
        ] {
            let faulty = here.clone().with_faults(Faults::none().at(0, Fault::Setup(fault)));
            assert_eq!(connect(&faulty, &short).err(), Some(error.clone()), "{fault:?}");
            assert_eq!(faulty.injected().lost_before, 1, "{fault:?}");
            advice.push(error.advice().expect("there is something to do"));
        }
        advice.sort_unstable();
        advice.dedup();
        assert_eq!(advice.len(), 6, "both rejections have the same advice");
        connect(&here, &short).unwrap().call(&mut null()).unwrap().results().unwrap();
    });
}

#[test]
fn a_client_without_its_adapter_blames_no_server() {
    with_server_of(Settings::server(), |fabric, _, ended| {
        let here = fabric.adapter([192, 0, 2, 1].into()).unwrap();
        let client = connect(&here, &Settings::client()).unwrap();
        client.call(&mut null()).unwrap().results().unwrap();
        here.remove();
        assert_eq!(client.call(&mut null()).unwrap_err(), CallError::Lost(EndReason::Removed, Progress::NotSent));
        assert_eq!(client.connection().ended(), Some(EndReason::Removed));
        assert!(EndReason::Removed.advice().unwrap().contains("rdma link"));
        assert_eq!(ended.recv_timeout(LONG), Ok(EndReason::Peer), "the server");
        assert_eq!(connect(&here, &Settings::client()).err(), Some(Error::Removed));
        let again = fabric.adapter([192, 0, 2, 1].into()).unwrap();
        connect(&again, &Settings::client()).unwrap().call(&mut null()).unwrap().results().unwrap();
    });
}

#[test]
fn a_server_whose_adapter_is_removed_says_so_and_ends() {
    let fabric = Fabric::new();
    let [here, there] = [1, 200].map(|number| fabric.adapter([192, 0, 2, number].into()).unwrap());
    let server = Server::bind(&there, ADDRESS.parse().unwrap(), Settings::server()).unwrap();
    let (sender, ended) = mpsc::channel();
    let served = thread::spawn(move || server.serve(&Answering(sender)));
    let client = connect(&here, &Settings::client()).unwrap();
    client.call(&mut null()).unwrap().results().unwrap();
    there.remove();
    assert_eq!(ended.recv_timeout(LONG), Ok(EndReason::Removed));
    assert_eq!(served.join().unwrap(), Err(Error::Removed));
    let lost = client.call(&mut null()).map(drop);
    assert!(matches!(lost, Err(CallError::Lost(EndReason::Peer, _))), "{lost:?}");
}

#[test]
fn only_the_own_side_names_a_port_down() {
    with_server_of(Settings::server(), |fabric, there, _| {
        let here = fabric.adapter([192, 0, 2, 1].into()).unwrap();
        for (port, status, refused) in
            [(&here, Status::PortDown, Error::PortDown), (there, Status::NoAnswer, Error::TimedOut)]
        {
            let short = Settings::builder().connect_timeout(NO_ANSWER).build().unwrap();
            let client = connect(&here, &short).unwrap();
            client.call(&mut null()).unwrap().results().unwrap();
            port.set_port(PortState::Down);
            let begun = Instant::now();
            let lost = Err(CallError::Lost(EndReason::Failed(Kind::Send, status), Progress::Sent));
            assert_eq!(client.call(&mut null()).map(drop), lost);
            assert!(begun.elapsed() >= NO_ANSWER, "{:?}", begun.elapsed());
            assert_eq!(connect(&here, &short).err(), Some(refused));
            port.set_port(PortState::Up);
            connect(&here, &short).unwrap().call(&mut null()).unwrap().results().unwrap();
        }
    });
}

#[test]
fn a_link_that_comes_back_in_time_loses_nothing() {
    with_server_of(Settings::server(), |fabric, there, _| {
        let here = fabric.adapter([192, 0, 2, 1].into()).unwrap();
        let client = connect(&here, &Settings::client()).unwrap();
        there.set_port(PortState::Down);
        thread::scope(|scope| {
            let called = scope.spawn(|| client.call(&mut null()).map(drop));
            thread::sleep(NO_ANSWER / 5);
            assert!(!called.is_finished());
            there.set_port(PortState::Up);
            called.join().unwrap().unwrap();
        });
    });
}

#[test]
fn an_idle_client_learns_of_the_end_at_once() {
    with_server_of(Settings::server(), |fabric, there, _| {
        let ends = |end: &dyn Fn(&Adapter), expected: EndReason| {
            let here = fabric.adapter([192, 0, 2, 1].into()).unwrap();
            let client = connect(&here, &Settings::client()).unwrap();
            client.call(&mut null()).unwrap().results().unwrap();
            end(&here);
            becomes_so(|| client.connection().ended().is_some());
            assert_eq!(client.connection().ended(), Some(expected));
            here.remove();
        };
        ends(&Adapter::remove, EndReason::Removed);
        ends(&|_| there.remove(), EndReason::Peer);
    });
}

/// Settings with a keep-alive.
fn alive(settings: Settings, interval: Duration) -> Settings {
    settings.to_builder().keep_alive(Some(interval)).build().unwrap()
}

#[test]
fn an_idle_client_finds_a_dead_server() {
    // The adapter finds it first, or the interval is over first.
    let cases = [(2 * NO_ANSWER, EndReason::Failed(Kind::Write, Status::NoAnswer)), (NO_ANSWER / 5, EndReason::Silent)];
    for (interval, expected) in cases {
        with_server_of(Settings::server(), |fabric, there, _| {
            let here = fabric.adapter([192, 0, 2, 1].into()).unwrap();
            let client = connect(&here, &alive(Settings::client(), interval)).unwrap();
            client.call(&mut null()).unwrap().results().unwrap();
            there.set_port(PortState::Down);
            let begun = Instant::now();
            becomes_so(|| client.connection().ended().is_some());
            let ended = client.connection().ended().unwrap();
            assert!(ended == expected || ended == EndReason::Silent, "{ended}");
            assert!(
                begun.elapsed() >= interval && begun.elapsed() < 10 * interval + LONG / 10,
                "{:?}",
                begun.elapsed()
            );
            assert!(ended.advice().is_some());
        });
    }
}

#[test]
fn a_server_finds_a_dead_client() {
    with_server_of(alive(Settings::server(), NO_ANSWER / 5), |fabric, _, ended| {
        let here = fabric.adapter([192, 0, 2, 1].into()).unwrap();
        let client = connect(&here, &Settings::client()).unwrap();
        client.call(&mut null()).unwrap().results().unwrap();
        here.set_port(PortState::Down);
        assert_eq!(ended.recv_timeout(LONG), Ok(EndReason::Silent));
    });
}

/// Without keep-alive, its connections are as they were until then.
#[test]
fn a_server_stops_although_clients_have_vanished() {
    let mut gone = None;
    with_server_of(Settings::server(), |fabric, _, ended| {
        let here = fabric.adapter([192, 0, 2, 1].into()).unwrap();
        let client = connect(&here, &Settings::client()).unwrap();
        client.call(&mut null()).unwrap().results().unwrap();
        here.set_port(PortState::Down);
        assert_eq!(ended.recv_timeout(NO_ANSWER / 5).ok(), None);
        gone = Some((client, Instant::now()));
    });
    assert!(gone.is_some_and(|(_, stopped)| stopped.elapsed() < LONG));
}

#[test]
fn keep_alives_go_to_idle_connections_only() {
    const INTERVAL: Duration = Duration::from_millis(20);
    for versions in [Versions::ONE, Versions::all()] {
        let settings = |settings: Settings| {
            let settings = settings.to_builder().versions(versions).build().unwrap();
            alive(settings, INTERVAL)
        };
        with_server_of(settings(Settings::server()), |fabric, _, ended| {
            let here = fabric.adapter([192, 0, 2, 1].into()).unwrap();
            let client = connect(&here, &settings(Settings::client())).unwrap();
            let begun = Instant::now();
            client.call(&mut null()).unwrap().results().unwrap();
            while begun.elapsed() < 4 * INTERVAL {
                client.call(&mut null()).unwrap().results().unwrap();
            }
            assert!(fabric.counts().writes <= 1, "a machine may be slow, but {}", fabric.counts().writes);
            becomes_so(|| fabric.counts().writes > 10);
            client.call(&mut null()).unwrap().results().unwrap();
            assert_eq!((client.connection().ended(), ended.try_recv().ok()), (None, None));
        });
    }
}

#[test]
fn a_keep_alive_breaks_no_rule() {
    let file = File::default();
    let fabric = Fabric::captured(file.clone(), PathMtu::default()).unwrap();
    let [here, there] = [1, 200].map(|number| fabric.adapter([192, 0, 2, number].into()).unwrap());
    let settings = |settings| alive(settings, Duration::from_millis(20));
    let server = Server::bind(&there, ADDRESS.parse().unwrap(), settings(Settings::server())).unwrap();
    thread::scope(|scope| {
        let stopping = Stopping(server.stopper());
        scope.spawn(|| server.serve(&Answering(mpsc::channel().0)));
        let client = connect(&here, &settings(Settings::client())).unwrap();
        client.call(&mut null()).unwrap().results().unwrap();
        becomes_so(|| fabric.counts().writes > 10);
        client.call(&mut null()).unwrap().results().unwrap();
        drop((client, stopping));
    });
    fabric.end_capture().unwrap();
    let found = dissect(&file.octets());
    assert_eq!((found.slugs(), found.transactions.len()), (vec![], 2));
}
