//! Location of a file on a server.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};

/// `nfs://HOST[:PORT]/PATH`. Nothing is escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    host: String,
    port: u16,
    /// The names on the path from the root.
    pub(crate) path: Vec<String>,
}

/// The port of NFS over RDMA (RFC 8267 section 9).
const PORT: u16 = 20_049;

impl Location {
    /// Parses a location. Returns `None` for a local file, without `nfs://`.
    pub(crate) fn parse(text: &str) -> Option<Result<Self, String>> {
        let rest = text.strip_prefix("nfs://")?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        Some(Self::from_parts(host, path).ok_or_else(|| format!("{text}: not nfs://HOST[:PORT]/PATH without `..`")))
    }

    fn from_parts(host: &str, path: &str) -> Option<Self> {
        let (host, port) = match host.strip_prefix('[') {
            Some(bracketed) => {
                let (host, port) = bracketed.split_once(']')?;
                (host, if port.is_empty() { None } else { Some(port.strip_prefix(':')?) })
            }
            None => host.rsplit_once(':').map_or((host, None), |(host, port)| (host, Some(port))),
        };
        let port = port.map_or(Some(PORT), |port| port.parse().ok().filter(|&port| port > 0))?;
        let path: Vec<String> =
            path.split('/').filter(|name| !name.is_empty() && *name != ".").map(str::to_owned).collect();
        // The server has no such name, and LOOKUPP would lead elsewhere than expected after a symbolic link.
        let known = !host.is_empty() && path.iter().all(|name| name != "..");
        known.then(|| Self { host: host.to_owned(), port, path })
    }

    /// Its address.
    pub(crate) fn address(&self) -> Result<SocketAddr, String> {
        let found = (self.host.as_str(), self.port).to_socket_addrs();
        let mut addresses = found.map_err(|error| format!("{}: {error}", self.host))?;
        addresses.next().ok_or_else(|| format!("{}: no address", self.host))
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nfs://")?;
        if self.host.contains(':') {
            write!(f, "[{}]", self.host)?;
        } else {
            f.write_str(&self.host)?;
        }
        if self.port != PORT {
            write!(f, ":{}", self.port)?;
        }
        write!(f, "/{}", self.path.join("/"))
    }
}
