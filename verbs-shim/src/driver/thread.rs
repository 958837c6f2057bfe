//! The driver: the thread that does for futures what takes an adapter long, and takes completions for them.
//!
//! There is one for the process, however many connections there are. It sleeps until something is left to it, or
//! happens on a connection whose futures were polled. It starts with the first of these, and stays. It holds no
//! connection of its own: if futures of a connection were polled, the last `Connection`, `Pending` or `Request` that is
//! dropped leaves the connection to it, and it ends it. Whoever else ends a connection that it knows tells it so.

use std::collections::HashMap;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

use crate::verbs::Error;
use crate::verbs::waiter::{Waiter, Watch};

/// A connection that is driven.
pub(crate) trait Driven: Send + Sync {
    /// Does what there is to do, and has itself watched again.
    fn drive(&self, watch: &Watch);

    /// Ends the connection: nobody holds it any more.
    fn end(&self);
}

/// A connection that nobody holds any more. Dropping this passes it to the driver.
pub(crate) struct DroppedConnection {
    driver: Watch,
    /// None if the connection has been ended, and the driver only has to forget it.
    connection: Option<Arc<dyn Driven>>,
}

struct Driver {
    waiter: Waiter,
    driven: Mutex<DriverTable>,
}

#[derive(Default)]
struct DriverTable {
    last: u64,
    connections: HashMap<u64, Weak<dyn Driven>>,
    dropped: HashMap<u64, Arc<dyn Driven>>,
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

    fn table(&self) -> MutexGuard<'_, DriverTable> {
        self.driven.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        // Waiting fails if the operating system no longer works. Futures then time out.
        while let Ok(key) = self.waiter.wait(None) {
            let Some(key) = key else { continue };
            let mut table = self.table();
            let dropped = table.dropped.remove(&key);
            let connection = table.connections.get(&key).and_then(Weak::upgrade);
            drop(table);
            // A waker that panics is gone, and the other futures are not to wait for ever.
            if let Some(dropped) = dropped {
                let _ = panic::catch_unwind(AssertUnwindSafe(|| dropped.end()));
                self.forget(key);
            } else if let Some(connection) = connection {
                let watch = Watch::new(&self.waiter, key);
                let driven = panic::catch_unwind(AssertUnwindSafe(|| connection.drive(&watch)));
                driven.unwrap_or_else(|_| watch.wake());
            } else {
                self.forget(key);
            }
        }
    }

    fn forget(&self, key: u64) {
        self.table().connections.remove(&key);
        self.waiter.forget(key);
    }
}

impl DroppedConnection {
    /// For the driver to end and to destroy. `driver` wakes it for this connection.
    pub(crate) fn to_be_ended(connection: Arc<dyn Driven>, driver: &Watch) -> Self {
        Self { driver: driver.clone(), connection: Some(connection) }
    }

    /// For the driver to forget.
    pub(crate) fn ended(driver: &Watch) -> Self {
        Self { driver: driver.clone(), connection: None }
    }
}

impl Drop for DroppedConnection {
    fn drop(&mut self) {
        // There is a driver: it has driven this.
        if let (Some(connection), Ok(driver)) = (self.connection.take(), Driver::begin()) {
            driver.table().dropped.insert(self.driver.key(), connection);
        }
        self.driver.wake();
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
