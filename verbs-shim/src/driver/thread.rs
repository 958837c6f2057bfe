//! The thread that takes completions for futures.
//!
//! There is one per process, however many connections there are. It sleeps until something happens on a connection that
//! futures have waited for. It starts with the first of them and stays. It owns none of the connections: dropping the
//! last `Connection`, `Pending` or `Request` of a connection ends it.

use std::collections::HashMap;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

use crate::verbs::Error;
use crate::verbs::waiter::{Waiter, Watch};

/// A connection that is driven.
pub(crate) trait Driven: Send + Sync {
    /// Does what there is to do, and has itself watched again; false if there will be nothing any more.
    fn drive(&self, watch: &Watch) -> bool;
}

struct Driver {
    waiter: Waiter,
    driven: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    last: u64,
    connections: HashMap<u64, Weak<dyn Driven>>,
}

/// None until the first connection is driven, or if the operating system has no thread for it.
static DRIVER: Mutex<Option<&'static Driver>> = Mutex::new(None);

impl Driver {
    fn begin() -> Result<&'static Self, Error> {
        let mut driver = DRIVER.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(driver) = *driver {
            return Ok(driver);
        }
        let (waiter, driven) = (Waiter::new()?, Mutex::default());
        let begun: &'static Self = Box::leak(Box::new(Self { waiter, driven }));
        let run = || begun.run();
        thread::Builder::new().name("rpcrdma driver".to_owned()).spawn(run).map_err(|_| Error::Exhausted)?;
        Ok(driver.insert(begun))
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.driven.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        // Waiting fails if the operating system no longer works. Futures then time out.
        while let Ok(key) = self.waiter.wait(None) {
            let Some(key) = key else { continue };
            let connection = self.table().connections.get(&key).and_then(Weak::upgrade);
            let watch = Watch::new(&self.waiter, key);
            let goes_on = connection.is_some_and(|connection| {
                // A waker that panics is gone, but the other futures must not wait for ever.
                panic::catch_unwind(AssertUnwindSafe(|| connection.drive(&watch))).unwrap_or_else(|_| {
                    watch.wake();
                    true
                })
            });
            if !goes_on {
                self.table().connections.remove(&key);
                self.waiter.forget(key);
            }
        }
    }
}

/// Drives a connection from now on. The returned watch wakes the driver for it.
pub(crate) fn drive(connection: Weak<dyn Driven>) -> Result<Watch, Error> {
    let driver = Driver::begin()?;
    let mut table = driver.table();
    table.last += 1;
    let key = table.last;
    table.connections.insert(key, connection);
    drop(table);
    Ok(Watch::new(&driver.waiter, key))
}
