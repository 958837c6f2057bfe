//! Ctrl-C and SIGTERM: reading ends, and what was found until then is printed.
//!
//! A second one ends the program at once.

#[cfg(not(any(unix, windows)))]
pub(crate) use elsewhere::Interrupt;
#[cfg(unix)]
pub(crate) use unix::Interrupt;
#[cfg(windows)]
pub(crate) use windows::Interrupt;

/// Exit status after Ctrl-C, as shells report one.
pub(crate) const INTERRUPTED: u8 = 130;

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::io::{self, Write};
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex, PoisonError};

    use rustix::event::{PollFd, PollFlags, poll};
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::low_level::{pipe, unregister};
    use signal_hook::{SigId, flag};

    use crate::interrupt::INTERRUPTED;

    const SIGNALS: [i32; 2] = [SIGINT, SIGTERM];

    /// `true` if a signal came to the process; `None` until the signals are handled.
    static SIGNALLED: Mutex<Option<Arc<AtomicBool>>> = Mutex::new(None);

    /// Signal that reading has to end, which also wakes a thread that waits for input.
    #[derive(Clone, Debug)]
    pub(crate) struct Interrupt(Arc<Inner>);

    #[derive(Debug)]
    struct Inner {
        signalled: Arc<AtomicBool>,
        stopped: AtomicBool,
        wake: UnixStream,
        woken: UnixStream,
        /// Ids of the handlers that write to `wake` when a signal comes.
        wakers: Vec<SigId>,
    }

    impl Drop for Inner {
        fn drop(&mut self) {
            for waker in self.wakers.drain(..) {
                unregister(waker);
            }
        }
    }

    /// Handles the signals from now on: the first one sets a flag, and the second one ends the program.
    fn signalled() -> io::Result<Arc<AtomicBool>> {
        let mut signalled = SIGNALLED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(signalled) = &*signalled {
            return Ok(Arc::clone(signalled));
        }
        let flag = Arc::new(AtomicBool::new(false));
        for signal in SIGNALS {
            // In this order: the first signal sets the flag by which the second ends the program.
            flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(&flag))?;
            flag::register(signal, Arc::clone(&flag))?;
        }
        Ok(Arc::clone(signalled.insert(flag)))
    }

    impl Interrupt {
        /// Handles the signals from now on.
        ///
        /// # Errors
        /// Where the operating system has no descriptor left.
        pub(crate) fn new() -> io::Result<Self> {
            let (wake, woken) = UnixStream::pair()?;
            wake.set_nonblocking(true)?;
            // The flag is set before a thread is woken to look at it: actions run in the order of their registration.
            let (signalled, stopped) = (signalled()?, AtomicBool::new(false));
            let mut inner = Inner { signalled, stopped, wake, woken, wakers: Vec::new() };
            for signal in SIGNALS {
                inner.wakers.push(pipe::register(signal, inner.wake.try_clone()?)?);
            }
            Ok(Self(Arc::new(inner)))
        }

        /// Returns true if a signal came.
        pub(crate) fn is_signalled(&self) -> bool {
            self.0.signalled.load(Ordering::Relaxed)
        }

        /// Ends reading, because nobody wants any more.
        pub(crate) fn stop(&self) {
            self.0.stopped.store(true, Ordering::Relaxed);
            // If this does not block, it wakes the reader; if it would, there already is something to wake it.
            let _written = (&self.0.wake).write(&[0]);
        }

        /// Returns true if reading has to end.
        pub(crate) fn is_raised(&self) -> bool {
            self.is_signalled() || self.0.stopped.load(Ordering::Relaxed)
        }

        /// Waits until `file` has something to read, or reading has to end.
        ///
        /// # Errors
        /// Errors from the operating system.
        pub(crate) fn wait(&self, file: &File) -> io::Result<()> {
            let mut wanted = [PollFd::new(file, PollFlags::IN), PollFd::new(&self.0.woken, PollFlags::IN)];
            match poll(&mut wanted, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
                Err(error) => Err(error.into()),
            }
        }
    }
}

/// Nothing wakes a thread that waits for input: `live.rs` looks from time to time.
#[cfg(windows)]
mod windows {
    use std::io;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex, PoisonError};

    use crate::interrupt::INTERRUPTED;

    /// `true` if Ctrl-C was pressed; `None` until that is handled.
    static SIGNALLED: Mutex<Option<Arc<AtomicBool>>> = Mutex::new(None);

    /// Signal that reading has to end.
    #[derive(Clone, Debug)]
    pub(crate) struct Interrupt {
        signalled: Arc<AtomicBool>,
        stopped: Arc<AtomicBool>,
    }

    /// Handles Ctrl-C from now on: the first one sets a flag, and the second one ends the program.
    fn signalled() -> io::Result<Arc<AtomicBool>> {
        let mut signalled = SIGNALLED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(signalled) = &*signalled {
            return Ok(Arc::clone(signalled));
        }
        let flag = Arc::new(AtomicBool::new(false));
        let set = Arc::clone(&flag);
        let handler = move || {
            if set.swap(true, Ordering::Relaxed) {
                std::process::exit(INTERRUPTED.into());
            }
        };
        ctrlc::set_handler(handler).map_err(io::Error::other)?;
        Ok(Arc::clone(signalled.insert(flag)))
    }

    impl Interrupt {
        /// Handles Ctrl-C from now on.
        ///
        /// # Errors
        /// Errors from the operating system.
        pub(crate) fn new() -> io::Result<Self> {
            Ok(Self { signalled: signalled()?, stopped: Arc::default() })
        }

        /// Returns true if Ctrl-C was pressed.
        pub(crate) fn is_signalled(&self) -> bool {
            self.signalled.load(Ordering::Relaxed)
        }

        /// Ends reading, because nobody wants any more.
        pub(crate) fn stop(&self) {
            self.stopped.store(true, Ordering::Relaxed);
        }

        /// Returns true if reading has to end.
        pub(crate) fn is_raised(&self) -> bool {
            self.is_signalled() || self.stopped.load(Ordering::Relaxed)
        }
    }
}

/// Without signals, the program ends in the way of the system.
#[cfg(not(any(unix, windows)))]
mod elsewhere {
    #[derive(Clone, Debug)]
    pub(crate) struct Interrupt;

    impl Interrupt {
        pub(crate) fn new() -> std::io::Result<Self> {
            Ok(Self)
        }

        pub(crate) fn is_signalled(&self) -> bool {
            false
        }

        pub(crate) fn stop(&self) {}

        pub(crate) fn is_raised(&self) -> bool {
            false
        }
    }
}
