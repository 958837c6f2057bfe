//! Sees to it that a test that fails stops its server too.

use rpcrdma_verbs::Stopper;

/// Stops a server when it is dropped.
pub(crate) struct Stopping(pub(crate) Stopper);

impl Drop for Stopping {
    fn drop(&mut self) {
        self.0.stop();
    }
}
