//! The interface for applications: a client, a server, and their connections, calls and requests.

pub(crate) mod client;
pub(crate) mod connecting;
pub(crate) mod connection;
pub(crate) mod dispatcher;
pub(crate) mod pending;
pub(crate) mod reconnecting;
pub(crate) mod request;
pub(crate) mod server;
mod thread_pool;
mod threads;
pub(crate) mod weak;
