//! A server of all versions over the loopback that runs as long as the test does.

use std::net::SocketAddr;
use std::thread;

use rpcrdma_verbs::loopback::{Adapter, Fabric};
use rpcrdma_verbs::{Server, Service, Settings, SettingsBuilder, Versions};

use super::stopping::Stopping;

/// Runs a server of this service on a thread of its own: on a fabric where all addresses but its own are free.
pub(crate) fn with_service<T>(service: &impl Service<Adapter>, run: impl FnOnce(&Fabric, SocketAddr) -> T) -> T {
    with_calls(0, service, run)
}

/// The same; the server makes up to so many calls at the same time, too.
pub(crate) fn with_calls<T>(
    calls: u32,
    service: &impl Service<Adapter>,
    run: impl FnOnce(&Fabric, SocketAddr) -> T,
) -> T {
    with_settings(Settings::server().to_builder().versions(Versions::all()).requested_credits(calls), service, run)
}

/// The same with these settings.
pub(crate) fn with_settings<T>(
    settings: SettingsBuilder,
    service: &impl Service<Adapter>,
    run: impl FnOnce(&Fabric, SocketAddr) -> T,
) -> T {
    let fabric = Fabric::new();
    let there = fabric.adapter([192, 0, 2, 200].into()).unwrap();
    let address = "192.0.2.200:20049".parse().unwrap();
    let server = Server::bind(&there, address, settings.build().unwrap()).unwrap();
    let stopping = Stopping(server.stopper());
    thread::scope(|scope| {
        let served = scope.spawn(|| server.serve(service).unwrap());
        let done = run(&fabric, address);
        drop(stopping);
        served.join().unwrap();
        done
    })
}
