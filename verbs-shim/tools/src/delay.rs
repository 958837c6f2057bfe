//! A service time of known length, to compare with measurements of calls.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rpcrdma_verbs::{Dispatcher, Provider, Request, Service};

/// A service that carries out each call after a delay. Each call waits in another thread, so that the delays of
/// simultaneous calls do not add up. Without a thread for a call, the answer is `SYSTEM_ERR`. Without a delay, calls
/// are carried out by the connection's thread.
pub struct Delayed<V: Provider> {
    programs: Arc<Dispatcher<'static, V>>,
    delay: Duration,
}

impl<V: Provider> Delayed<V> {
    /// Makes each call of the programs wait this long after the arrival.
    #[must_use]
    pub fn new(programs: Dispatcher<'static, V>, delay: Duration) -> Self {
        Self { programs: Arc::new(programs), delay }
    }
}

impl<V: Provider> Service<V> for Delayed<V> {
    fn call(&self, request: Request<V>) {
        if self.delay.is_zero() {
            return self.programs.call(request);
        }
        let (begun, delay, programs) = (Instant::now(), self.delay, Arc::clone(&self.programs));
        let carry_out = move || {
            thread::sleep(delay.saturating_sub(begun.elapsed()));
            programs.call(request);
        };
        // A request that is dropped answers itself.
        let _thread = thread::Builder::new().name("rpcrdma delay".to_owned()).spawn(carry_out);
    }
}
