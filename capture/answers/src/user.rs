//! The user of a call, as the credential says (RFC 5531 section 8.2).

use core::fmt;

use rpcrdma::rpc::{AuthSys, Flavor};
use rpcrdma_dissector::Transaction;

/// User of a call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Returns true if `name` is the user ID, the name of the machine, or the text of the user.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        let (uid, machine) = (self.uid, self.machine.as_deref().unwrap_or_default());
        UserNames { uid, machine, shown: &self.to_string() }.include(name)
    }

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

/// Names of a user: a selection names a user by any of these.
#[derive(Clone, Copy, Debug)]
pub struct UserNames<'a> {
    /// User ID of AUTH_SYS.
    pub uid: Option<u32>,
    /// Name of the machine; empty unless AUTH_SYS names one.
    pub machine: &'a str,
    /// The user as text, as `top --by user` shows the user.
    pub shown: &'a str,
}

impl UserNames<'_> {
    /// Returns true if one of the names is `name`.
    #[must_use]
    pub fn include(&self, name: &str) -> bool {
        let is_machine = !self.machine.is_empty() && self.machine.eq_ignore_ascii_case(name);
        is_machine || self.shown == name || self.uid.is_some_and(|uid| name.parse() == Ok(uid))
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
