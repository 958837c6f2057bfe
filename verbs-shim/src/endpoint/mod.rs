//! The interface for applications: a client, a server, and their connections, calls and requests.

pub(crate) mod client;
pub(crate) mod connection;
pub(crate) mod connection_attempt;
pub(crate) mod dispatcher;
pub(crate) mod reconnecting_client;
pub(crate) mod request;
pub(crate) mod server;
pub(crate) mod started_call;
mod thread_pool;
mod threads;
pub(crate) mod weak_connection;
