//! The user of a call, as the credential says (RFC 5531 section 8.2).

use core::fmt;

use rpcrdma::rpc::{AuthSys, Flavor};
use rpcrdma_dissector::Transaction;

/// User of a call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct RpcUser {
    /// Flavor of the credential: `sys` (AUTH_SYS), `none` (AUTH_NONE), `gss` (RPCSEC_GSS, which names no user in its calls), or the name
    /// or number of another.
    pub flavor: String,
    /// User ID; null unless the flavor is `sys`.
    pub uid: Option<u32>,
    /// Group ID.
    pub gid: Option<u32>,
    /// Name of the machine. Octets that are not printable are escaped.
    pub machine: Option<String>,
}

impl RpcUser {
    /// Returns the user of an RPC; `None` if the capture does not show the credential.
    #[must_use]
    pub fn from_transaction(transaction: &Transaction) -> Option<Self> {
        let credential = transaction.credential()?;
        let other = |flavor: &str| Self { flavor: flavor.to_owned(), uid: None, gid: None, machine: None };
        Some(match credential.flavor {
            Flavor::SYS => {
                let sys = AuthSys::decode(credential.body).ok()?;
                let machine = Some(sys.machine_name().escape_ascii().to_string());
                Self { uid: Some(sys.uid), gid: Some(sys.gid), machine, ..other("sys") }
            }
            Flavor::NONE => other("none"),
            Flavor::RPCSEC_GSS => other("gss"),
            flavor => flavor.name().map_or_else(|| other(&flavor.0.to_string()), other),
        })
    }
}

impl fmt::Display for RpcUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.flavor.as_str(), self.uid, self.gid, &self.machine) {
            (_, Some(uid), Some(gid), Some(machine)) => write!(f, "uid {uid}, gid {gid} of {machine}"),
            ("none", ..) => f.write_str("none (AUTH_NONE)"),
            ("gss", ..) => f.write_str("RPCSEC_GSS (its calls name no uid)"),
            (flavor, ..) => write!(f, "flavor {flavor}"),
        }
    }
}
