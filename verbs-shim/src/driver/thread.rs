//! The driver: a thread that runs slow operations and takes completions for futures, and attends to idle connections.
//!
//! There is one driver for the process, however many connections there are. The driver sleeps until there is work, or
//! something happens on a connection whose futures were polled, or the end of another connection is reported. The
//! thread starts with the first client, and stays. Only futures need the driver for completions: a thread that makes a
//! blocking call takes the reply itself, and the driver is not woken. The driver owns no connection: if futures of a
//! connection were polled, the last `Connection`, `StartedCall` or `Request` passes the connection to the driver when
//! dropped, and the driver ends the connection. Any other thread that ends a connection known to the driver notifies
//! the driver.

use std::collections::HashMap;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

use crate::verbs::Error;
use crate::verbs::waiter::{Waiter, Watch};

/// A connection that the driver polls.
pub(crate) trait Driven: Send + Sync {
    /// Does all pending work, and watches the connection again.
    fn drive(&self, watch: &Watch);

    /// Ends the connection: nobody owns the connection any more.
    fn end_connection(&self);
}

/// A connection that nobody holds any more. Dropping this value passes the connection to the driver.
pub(crate) struct DroppedConnection {
    driver: Watch,
    /// `None` if the connection has ended, and the driver only has to forget the entry.
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

/// `None` until the first connection is driven, or if no thread could be started.
static DRIVER: Mutex<Option<&'static Driver>> = Mutex::new(None);

impl Driver {
    fn start_driver() -> Result<&'static Self, Error> {
        let mut driver = DRIVER.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(driver) = *driver {
            return Ok(driver);
        }
        let (waiter, driven) = (Waiter::new()?, Mutex::default());
        let begun: &'static Self = Box::leak(Box::new(Self { waiter, driven }));
        let run = || begun.run();
        thread::Builder::new().name("rpcrdma driver".to_owned()).spawn(run).map_err(|_| Error::Threads)?;
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
            // A waker that panics is gone, but the other futures must not wait for ever.
            if let Some(dropped) = dropped {
                let _ = panic::catch_unwind(AssertUnwindSafe(|| dropped.end_connection()));
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
    /// Makes the driver end and destroy the connection. `driver` wakes the driver for this connection.
    pub(crate) fn to_be_ended(connection: Arc<dyn Driven>, driver: &Watch) -> Self {
        Self { driver: driver.clone(), connection: Some(connection) }
    }

    /// Makes the driver forget the connection.
    pub(crate) fn ended(driver: &Watch) -> Self {
        Self { driver: driver.clone(), connection: None }
    }
}

impl Drop for DroppedConnection {
    fn drop(&mut self) {
        // There is a driver, because it has driven this connection.
        if let (Some(connection), Ok(driver)) = (self.connection.take(), Driver::start_driver()) {
            driver.table().dropped.insert(self.driver.key(), connection);
        }
        self.driver.wake();
    }
}

/// Passes a connection to the driver. The returned watch wakes the driver for this connection.
pub(crate) fn drive(connection: Weak<dyn Driven>) -> Result<Watch, Error> {
    let driver = Driver::start_driver()?;
    let mut table = driver.table();
    table.last += 1;
    let key = table.last;
    table.connections.insert(key, connection);
    drop(table);
    Ok(Watch::new(&driver.waiter, key))
}
