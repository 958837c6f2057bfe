//! The errors of the libraries: error numbers of functions, and events of connections.
//!
//! A function of libibverbs or librdmacm fails with an error number, an event comes with a status, and each means
//! something else in another place. This has all meanings in one place.

use std::ffi::c_int;

use super::sys;
use crate::verbs::Error;

/// Returns the error that a function of the libraries left in `errno`.
pub(super) fn last_error(function: &'static str) -> Error {
    of_function(function, errno(), locking_is_limited)
}

/// The error number of the last failure in this thread.
pub(super) fn errno() -> c_int {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// Returns the meaning of an error number of a function. Some functions return the number with the other sign.
/// `locking_is_limited`: returns true if there is a limit to the memory that the process may lock.
fn of_function(function: &'static str, number: c_int, locking_is_limited: fn() -> bool) -> Error {
    match (function, number.wrapping_abs()) {
        // The kernel locks the memory that it registers. EPERM: the limit is 0.
        ("ibv_reg_mr", libc::ENOMEM | libc::EAGAIN | libc::EPERM) if locking_is_limited() => Error::LockedMemory,
        // The kernel has taken the adapter away from its users; the functions of librdmacm do not report that so.
        (function, libc::EIO) if function.starts_with("ibv_") => Error::Removed,
        ("rdma_bind_addr", libc::EADDRINUSE | libc::EADDRNOTAVAIL | libc::ENODEV | libc::EINVAL)
        | ("rdma_listen", libc::EADDRINUSE)
        | ("rdma_resolve_addr", libc::EADDRNOTAVAIL) => Error::Address,
        ("rdma_resolve_addr" | "rdma_resolve_route", number) => of_resolving(function, number),
        // Soft iWARP waits here for the TCP connection, so it may already be refused.
        ("rdma_connect", libc::ECONNREFUSED | libc::ECONNRESET) => Error::Refused,
        ("rdma_connect", libc::ENETUNREACH | libc::EHOSTUNREACH) => Error::Unreachable,
        ("rdma_connect", libc::ETIMEDOUT) => Error::TimedOut,
        ("rdma_connect", libc::ENETDOWN) => Error::PortDown,
        // The kernel no longer has the request.
        ("rdma_accept", libc::EINVAL | libc::ENOTCONN | libc::ECONNRESET) => Error::Disconnected,
        (function, number) => Error::of_number(function, number),
    }
}

/// Returns the reason why no way to an address was found.
const fn of_resolving(function: &'static str, number: c_int) -> Error {
    match number {
        // Nobody answers ARP or neighbour discovery.
        libc::ETIMEDOUT => Error::NoHost,
        libc::ENETDOWN => Error::PortDown,
        // The route has no adapter (ENODEV), or there is no route.
        libc::ENODEV | libc::ENETUNREACH | libc::EHOSTUNREACH | libc::EINVAL | libc::ENOENT | libc::EACCES => {
            Error::Unreachable
        }
        number => Error::of_number(function, number),
    }
}

/// Returns the meaning of an error number that a function returns: [`last_error`].
pub(super) fn returned(function: &'static str, number: c_int) -> Error {
    of_function(function, number, locking_is_limited)
}

/// Returns the reason for the end of a connection or of an attempt to connect. `None` for an event that ends nothing.
pub(super) fn of_event(kind: c_int, status: c_int, private_data: Vec<u8>) -> Option<Error> {
    Some(match kind {
        sys::RDMA_CM_EVENT_ADDR_ERROR => of_resolving("rdma_resolve_addr", status.wrapping_abs()),
        sys::RDMA_CM_EVENT_ROUTE_ERROR => match status.wrapping_abs() {
            // It is the subnet manager that does not answer, and not the host.
            libc::ETIMEDOUT => Error::Unreachable,
            number => of_resolving("rdma_resolve_route", number),
        },
        sys::RDMA_CM_EVENT_REJECTED => rejection(status, private_data),
        sys::RDMA_CM_EVENT_UNREACHABLE => match status.wrapping_abs() {
            libc::ETIMEDOUT => Error::TimedOut,
            _ => Error::Unreachable,
        },
        sys::RDMA_CM_EVENT_CONNECT_ERROR => match status {
            0 => Error::Disconnected,
            number => of_function("rdma_connect", number, || false),
        },
        sys::RDMA_CM_EVENT_DISCONNECTED => Error::Disconnected,
        sys::RDMA_CM_EVENT_DEVICE_REMOVAL => Error::Removed,
        _ => return None,
    })
}

/// Returns the meaning of a rejection. Connection managers report in different ways that there is no listener:
/// InfiniBand's with reason 8, invalid service ID (InfiniBand Architecture, CM REJ); the kernel, for iWARP adapters
/// that make the TCP connection themselves, with the error number of a reset TCP connection. A program that rejects has
/// the same error number on iWARP, but usually adds private data.
fn rejection(status: c_int, private_data: Vec<u8>) -> Error {
    const INVALID_SERVICE: c_int = 8;
    const CONSUMER: c_int = 28;
    const RESET: [c_int; 2] = [-libc::ECONNREFUSED, -libc::ECONNRESET];
    match (status, u16::try_from(status)) {
        (INVALID_SERVICE, _) => Error::Refused,
        (CONSUMER, _) | (_, Err(_)) if !(RESET.contains(&status) && private_data.is_empty()) => {
            Error::Rejected(private_data)
        }
        (_, Ok(reason)) => Error::NotAccepted { reason },
        (_, Err(_)) => Error::Refused,
    }
}

/// Returns true if there is a limit to the memory that the process may lock, or if that is not known.
fn locking_is_limited() -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` can be written.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit) } == 0;
    !known || limit.rlim_cur != libc::RLIM_INFINITY
}

/// Checks an error number, which drivers return with either sign.
pub(super) fn was_posted(function: &'static str, number: c_int) -> Result<(), Error> {
    match number.wrapping_abs() {
        0 => Ok(()),
        libc::ENOMEM => Err(Error::QueueFull),
        number => Err(returned(function, number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn system(function: &'static str, number: c_int) -> Error {
        Error::System { function, number }
    }

    #[test]
    fn each_error_number_has_its_own_meaning() {
        let cases = [
            ("ibv_create_cq", libc::EMFILE, Error::OpenFiles),
            ("ibv_create_comp_channel", libc::ENFILE, Error::SystemOpenFiles),
            ("rdma_create_event_channel", libc::EMFILE, Error::OpenFiles),
            ("rdma_create_event_channel", libc::EACCES, Error::Permission),
            ("ibv_reg_mr", libc::ENOMEM, Error::LockedMemory),
            ("ibv_reg_mr", libc::EAGAIN, Error::LockedMemory),
            ("ibv_reg_mr", libc::EPERM, Error::LockedMemory),
            ("ibv_create_cq", libc::ENOMEM, Error::Exhausted),
            ("rdma_create_qp", libc::ENOMEM, Error::Exhausted),
            ("rdma_create_qp", libc::EINVAL, system("rdma_create_qp", libc::EINVAL)),
            ("ibv_reg_mr", libc::EIO, Error::Removed),
            ("ibv_poll_cq", -libc::EIO, Error::Removed),
            ("rdma_connect", libc::EIO, system("rdma_connect", libc::EIO)),
            ("rdma_bind_addr", libc::EADDRINUSE, Error::Address),
            ("rdma_bind_addr", libc::ENODEV, Error::Address),
            ("rdma_bind_addr", libc::EACCES, Error::Permission),
            ("rdma_listen", libc::EADDRINUSE, Error::Address),
            ("rdma_listen", libc::EMFILE, Error::OpenFiles),
            ("rdma_resolve_addr", libc::ENETUNREACH, Error::Unreachable),
            ("rdma_resolve_addr", libc::ENODEV, Error::Unreachable),
            ("rdma_resolve_addr", libc::ENETDOWN, Error::PortDown),
            ("rdma_resolve_addr", libc::EADDRNOTAVAIL, Error::Address),
            ("rdma_resolve_addr", libc::EMFILE, Error::OpenFiles),
            ("rdma_resolve_route", libc::ENOMEM, Error::Exhausted),
            ("rdma_connect", libc::ECONNREFUSED, Error::Refused),
            ("rdma_connect", libc::EHOSTUNREACH, Error::Unreachable),
            ("rdma_connect", libc::ETIMEDOUT, Error::TimedOut),
            ("rdma_connect", libc::ENETDOWN, Error::PortDown),
            ("rdma_accept", libc::EINVAL, Error::Disconnected),
            ("fcntl", libc::EBADF, system("fcntl", libc::EBADF)),
        ];
        for (function, number, meaning) in cases {
            assert_eq!(of_function(function, number, || true), meaning, "{function}: {number}");
        }
        let unlimited = of_function("ibv_reg_mr", libc::ENOMEM, || false);
        assert_eq!(unlimited, Error::Exhausted, "no limit of locked memory is to blame");
    }

    #[test]
    fn each_event_has_its_own_meaning() {
        let timed_out = -libc::ETIMEDOUT;
        let cases = [
            (sys::RDMA_CM_EVENT_ADDR_ERROR, timed_out, Error::NoHost),
            (sys::RDMA_CM_EVENT_ADDR_ERROR, -libc::ENETUNREACH, Error::Unreachable),
            (sys::RDMA_CM_EVENT_ROUTE_ERROR, timed_out, Error::Unreachable),
            (sys::RDMA_CM_EVENT_UNREACHABLE, timed_out, Error::TimedOut),
            (sys::RDMA_CM_EVENT_UNREACHABLE, -libc::EHOSTUNREACH, Error::Unreachable),
            (sys::RDMA_CM_EVENT_CONNECT_ERROR, timed_out, Error::TimedOut),
            (sys::RDMA_CM_EVENT_CONNECT_ERROR, 0, Error::Disconnected),
            (sys::RDMA_CM_EVENT_CONNECT_ERROR, -libc::EMFILE, Error::OpenFiles),
            (sys::RDMA_CM_EVENT_DISCONNECTED, 0, Error::Disconnected),
            (sys::RDMA_CM_EVENT_DEVICE_REMOVAL, 0, Error::Removed),
        ];
        for (kind, status, meaning) in cases {
            assert_eq!(of_event(kind, status, Vec::new()), Some(meaning), "event {kind}, status {status}");
        }
        assert_eq!(of_event(sys::RDMA_CM_EVENT_ESTABLISHED, 0, Vec::new()), None);
    }

    #[test]
    fn missing_listeners_refuse_and_programs_reject() {
        assert_eq!(rejection(8, vec![0; 148]), Error::Refused, "InfiniBand and RoCE: the field is there, and zeros");
        assert_eq!(rejection(28, vec![1]), Error::Rejected(vec![1]), "InfiniBand and RoCE: consumer reject");
        assert_eq!(rejection(-libc::ECONNREFUSED, Vec::new()), Error::Refused, "iWARP");
        assert_eq!(rejection(-libc::ECONNRESET, Vec::new()), Error::Refused, "iWARP");
        assert_eq!(rejection(-libc::ECONNREFUSED, vec![1]), Error::Rejected(vec![1]), "iWARP: a program says why");
        assert_eq!(rejection(3, vec![0; 148]), Error::NotAccepted { reason: 3 }, "no resources");
    }
}
