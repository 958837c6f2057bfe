//! Credentials and verifiers (RFC 5531 section 8.2), `AUTH_SYS` (appendix A) and `RPCSEC_GSS` (RFC 2203 section 5).
//!
//! ```text
//! +--------+--------+------------------//--+
//! | flavor | length | body, padded         |
//! +--------+--------+------------------//--+
//! AUTH_SYS body:    stamp, machine name<255>, uid, gid, gids<16>
//! RPCSEC_GSS body:  version, procedure, sequence number, service, handle<>
//! ```

use core::fmt;
use core::hash::{Hash, Hasher};

use super::{RpcError, RpcErrorKind};
use crate::reader::Reader;
use crate::sink::{Emit, Sink, encodable};

/// A credential or a verifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Auth<'a> {
    /// Kind of credential or verifier.
    pub flavor: Flavor,
    /// Content, at most [`Self::MAX_BODY`] octets; [`AuthSys`] and [`GssCredential`] read the content.
    pub body: &'a [u8],
}

/// `auth_flavor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flavor(pub u32);

impl Flavor {
    /// `AUTH_NONE`.
    pub const NONE: Self = Self(0);
    /// `AUTH_SYS`: a user and groups, as claimed by the client.
    pub const SYS: Self = Self(1);
    /// `AUTH_SHORT`: a name the server gave for an `AUTH_SYS` credential.
    pub const SHORT: Self = Self(2);
    /// `AUTH_DH`.
    pub const DH: Self = Self(3);
    /// `RPCSEC_GSS` (RFC 2203).
    pub const RPCSEC_GSS: Self = Self(6);
    /// `AUTH_TLS` (RFC 9289).
    pub const TLS: Self = Self(7);

    /// Returns the name in the flavor's specification.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Self::NONE => Some("AUTH_NONE"),
            Self::SYS => Some("AUTH_SYS"),
            Self::SHORT => Some("AUTH_SHORT"),
            Self::DH => Some("AUTH_DH"),
            Self::RPCSEC_GSS => Some("RPCSEC_GSS"),
            Self::TLS => Some("AUTH_TLS"),
            _ => None,
        }
    }
}

impl<'a> Auth<'a> {
    /// `AUTH_NONE` without a body.
    pub const NONE: Self = Self { flavor: Flavor::NONE, body: &[] };

    /// Maximum length of a body in octets (RFC 5531 section 8.2).
    pub const MAX_BODY: usize = 400;

    #[inline]
    pub(super) fn decode(reader: &mut Reader<'a>) -> Result<Self, RpcError> {
        let flavor = Flavor(reader.u32()?);
        let offset = reader.offset();
        let body = reader.opaque()?;
        if body.len() > Self::MAX_BODY {
            return Err(RpcError::new(RpcErrorKind::AuthLength, offset));
        }
        Ok(Self { flavor, body })
    }
}

impl Emit for Auth<'_> {
    #[inline]
    fn emit<S: Sink>(&self, sink: &mut S) {
        sink.word(self.flavor.0);
        sink.opaque(self.body);
    }
}

impl fmt::Display for Flavor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "flavor {}", self.0),
        }
    }
}

/// The body of an `AUTH_SYS` credential.
///
/// ```
/// use rpcrdma::rpc::{Auth, AuthSys, Flavor};
///
/// let user = AuthSys::new(b"host1", 1000, 100, &[4, 24])?;
/// let mut body = [0; AuthSys::MAX_LEN];
/// let length = user.encode(&mut body)?;
/// let credential = Auth { flavor: Flavor::SYS, body: &body[..length] };
/// assert_eq!(AuthSys::decode(credential.body)?, user);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AuthSys<'a> {
    /// Any number the client chose.
    pub stamp: u32,
    machine_name: &'a [u8],
    /// The caller's user ID.
    pub uid: u32,
    /// The caller's group ID.
    pub gid: u32,
    gids: Gids<'a>,
}

/// Groups in wire format, or as a caller has them.
#[derive(Clone, Copy)]
enum Gids<'a> {
    Decoded(&'a [[u8; 4]]),
    Given(&'a [u32]),
}

/// Reason why such an `AUTH_SYS` credential is not possible (RFC 5531 appendix A).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AuthSysError {
    /// The machine name is this long: more than [`AuthSys::MAX_MACHINE_NAME`] octets.
    MachineName(usize),
    /// There are this many further groups: more than [`AuthSys::MAX_GIDS`].
    Gids(usize),
}

impl<'a> AuthSys<'a> {
    /// Maximum length of a machine name in octets.
    pub const MAX_MACHINE_NAME: usize = 255;
    /// Maximum number of groups besides the first.
    pub const MAX_GIDS: usize = 16;
    /// Length of the longest body in octets: five words, the padded name, and the groups.
    pub const MAX_LEN: usize = 5 * 4 + Self::MAX_MACHINE_NAME.next_multiple_of(4) + Self::MAX_GIDS * 4;

    /// Creates the credential of a user, with the stamp 0. `gids` are the further groups.
    ///
    /// # Errors
    /// An [`AuthSysError`] if the name is too long, or there are too many groups.
    pub const fn new(machine_name: &'a [u8], uid: u32, gid: u32, gids: &'a [u32]) -> Result<Self, AuthSysError> {
        if machine_name.len() > Self::MAX_MACHINE_NAME {
            return Err(AuthSysError::MachineName(machine_name.len()));
        }
        if gids.len() > Self::MAX_GIDS {
            return Err(AuthSysError::Gids(gids.len()));
        }
        Ok(Self { stamp: 0, machine_name, uid, gid, gids: Gids::Given(gids) })
    }

    /// Reads the body of a credential of flavor [`Flavor::SYS`].
    ///
    /// # Errors
    /// An [`RpcError`] if `body` is malformed; the offset is from the start of `body`.
    pub fn decode(body: &'a [u8]) -> Result<Self, RpcError> {
        let mut reader = Reader::new(body);
        let stamp = reader.u32()?;
        let offset = reader.offset();
        let machine_name = reader.opaque()?;
        if machine_name.len() > Self::MAX_MACHINE_NAME {
            return Err(RpcError::new(RpcErrorKind::AuthSysLength, offset));
        }
        let (uid, gid) = (reader.u32()?, reader.u32()?);
        let offset = reader.offset();
        let count = reader.u32()? as usize;
        if count > Self::MAX_GIDS {
            return Err(RpcError::new(RpcErrorKind::AuthSysLength, offset));
        }
        Ok(Self { stamp, machine_name, uid, gid, gids: Gids::Decoded(reader.arrays(count)?) })
    }

    /// Returns the name of the client's machine, at most [`Self::MAX_MACHINE_NAME`] octets.
    #[must_use]
    pub const fn machine_name(&self) -> &'a [u8] {
        self.machine_name
    }

    /// Returns the further groups of the caller, at most [`Self::MAX_GIDS`].
    pub fn gids(&self) -> impl ExactSizeIterator<Item = u32> + DoubleEndedIterator + Clone + use<'a> {
        let gids = self.gids;
        (0..gids.len()).map(move |number| gids.at(number))
    }
}

encodable! {
    AuthSys<'_>, "body"
}

impl Gids<'_> {
    const fn len(self) -> usize {
        match self {
            Self::Decoded(gids) => gids.len(),
            Self::Given(gids) => gids.len(),
        }
    }

    fn at(self, number: usize) -> u32 {
        let gid = match self {
            Self::Decoded(gids) => gids.get(number).map(|gid| u32::from_be_bytes(*gid)),
            Self::Given(gids) => gids.get(number).copied(),
        };
        gid.unwrap_or_default()
    }

    fn iter(self) -> impl Iterator<Item = u32> {
        (0..self.len()).map(move |number| self.at(number))
    }
}

impl PartialEq for Gids<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Gids<'_> {}

impl Hash for Gids<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.len().hash(state);
        self.iter().for_each(|gid| gid.hash(state));
    }
}

impl fmt::Debug for Gids<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Emit for AuthSys<'_> {
    fn emit<S: Sink>(&self, sink: &mut S) {
        sink.word(self.stamp);
        sink.opaque(self.machine_name);
        sink.word(self.uid);
        sink.word(self.gid);
        sink.count(self.gids.len());
        sink.put_arrays(self.gids().map(u32::to_be_bytes));
    }
}

impl fmt::Display for AuthSysError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MachineName(octets) => {
                write!(f, "a machine name of {octets} octets; AUTH_SYS allows {}", AuthSys::MAX_MACHINE_NAME)
            }
            Self::Gids(count) => write!(f, "{count} further groups; AUTH_SYS allows {}", AuthSys::MAX_GIDS),
        }
    }
}

impl core::error::Error for AuthSysError {}

/// The body of an `RPCSEC_GSS` credential; versions 1 to 3 have the same fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GssCredential<'a> {
    /// The version of `RPCSEC_GSS`: 1, 2 (RFC 5403) or 3 (RFC 7861).
    pub version: u32,
    /// `gss_proc`: data, or the control of a context.
    pub procedure: GssProcedure,
    /// `seq_num`.
    pub sequence: u32,
    /// `service`: what is done to arguments and results.
    pub service: GssService,
    /// The context.
    pub handle: &'a [u8],
}

/// `gss_proc` (RFC 2203 section 5, RFC 5403, RFC 7861).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GssProcedure(pub u32);

impl GssProcedure {
    /// An RPC of the upper layer.
    pub const DATA: Self = Self(0);
    /// Begins a context.
    pub const INIT: Self = Self(1);
    /// Continues to create a context.
    pub const CONTINUE_INIT: Self = Self(2);
    /// Ends it.
    pub const DESTROY: Self = Self(3);
    /// Binds a context to a secure channel (RFC 5403).
    pub const BIND_CHANNEL: Self = Self(4);
    /// Makes assertions (RFC 7861).
    pub const CREATE: Self = Self(5);
    /// Lists what the server supports (RFC 7861).
    pub const LIST: Self = Self(6);
}

/// `rpc_gss_service_t` (RFC 2203 section 5.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GssService(pub u32);

impl GssService {
    /// Only the header is protected: krb5.
    pub const NONE: Self = Self(1);
    /// Arguments and results have a checksum: krb5i.
    pub const INTEGRITY: Self = Self(2);
    /// Arguments and results are encrypted: krb5p.
    pub const PRIVACY: Self = Self(3);
    /// The channel below protects arguments and results (RFC 5403).
    pub const CHANNEL_PROTECTION: Self = Self(4);
}

impl<'a> GssCredential<'a> {
    /// Reads the body of a credential of flavor [`Flavor::RPCSEC_GSS`].
    ///
    /// # Errors
    /// An [`RpcError`] if `body` ends early; the offset is from the start of `body`.
    pub fn decode(body: &'a [u8]) -> Result<Self, RpcError> {
        let mut reader = Reader::new(body);
        Ok(Self {
            version: reader.u32()?,
            procedure: GssProcedure(reader.u32()?),
            sequence: reader.u32()?,
            service: GssService(reader.u32()?),
            handle: reader.opaque()?,
        })
    }
}

encodable! {
    GssCredential<'_>, "body"
}

impl Emit for GssCredential<'_> {
    fn emit<S: Sink>(&self, sink: &mut S) {
        sink.word(self.version);
        sink.word(self.procedure.0);
        sink.word(self.sequence);
        sink.word(self.service.0);
        sink.opaque(self.handle);
    }
}

#[cfg(test)]
mod tests {
    use std::vec;
    use std::vec::Vec;

    use super::*;

    const SYS: [u8; 36] = [
        0, 0, 0, 9, 0, 0, 0, 5, b'h', b'o', b's', b't', b'1', 0, 0, 0, // stamp, machine name
        0, 0, 3, 0xe8, 0, 0, 0, 100, // uid 1000, gid 100
        0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 24, // gids
    ];

    #[test]
    fn auth_sys_has_a_name_and_groups() {
        let sys = AuthSys::decode(&SYS).unwrap();
        assert_eq!((sys.stamp, sys.machine_name(), sys.uid, sys.gid), (9, &b"host1"[..], 1000, 100));
        assert_eq!(sys.gids().collect::<Vec<_>>(), [4, 24]);
        assert_eq!(sys.gids().next_back(), Some(24));
        for length in 0..SYS.len() {
            assert_eq!(AuthSys::decode(&SYS[..length]).unwrap_err().kind, RpcErrorKind::Truncated, "{length}");
        }
    }

    #[test]
    fn a_user_is_written_as_appendix_a_has_it() {
        let sys = AuthSys { stamp: 9, ..AuthSys::new(b"host1", 1000, 100, &[4, 24]).unwrap() };
        assert_eq!(sys.encoded_len(), SYS.len());
        let mut again = [0xa5; 40];
        assert_eq!(sys.encode(&mut again), Ok(36));
        assert_eq!(again, [&SYS[..], &[0xa5; 4]].concat()[..]);
        assert_eq!(AuthSys::decode(&SYS), Ok(sys));
        assert_ne!(AuthSys::decode(&SYS), Ok(AuthSys::new(b"host1", 1000, 100, &[4, 25]).unwrap()));
        let mut short = [0xa5; 35];
        assert!(sys.encode(&mut short).is_err());
        assert_eq!(short, [0xa5; 35]);
    }

    #[test]
    fn the_longest_body_fits_a_credential() {
        let (name, gids) = ([b'x'; 256], [7; 17]);
        let longest = AuthSys::new(&name[..255], 0, 0, &gids[..16]).unwrap();
        assert_eq!(longest.encoded_len(), AuthSys::MAX_LEN);
        let mut body = [0xa5; Auth::MAX_BODY];
        let length = longest.encode(&mut body).unwrap();
        assert_eq!(AuthSys::decode(&body[..length]), Ok(longest));
        assert_eq!(AuthSys::new(&name, 0, 0, &[]), Err(AuthSysError::MachineName(256)));
        assert_eq!(AuthSys::new(b"", 0, 0, &gids), Err(AuthSysError::Gids(17)));
    }

    #[test]
    fn seventeen_groups_are_too_many() {
        let mut body = vec![0; 16];
        body.extend([0, 0, 0, 17]);
        body.extend([0; 68]);
        let error = AuthSys::decode(&body).unwrap_err();
        assert_eq!(error, RpcError { kind: RpcErrorKind::AuthSysLength, offset: 16 });
    }

    #[test]
    fn gss_names_context_and_service() {
        let body = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 77, 0, 0, 0, 2, 0, 0, 0, 3, 0xa, 0xb, 0xc, 0];
        let gss = GssCredential::decode(&body).unwrap();
        assert_eq!((gss.version, gss.procedure, gss.sequence), (1, GssProcedure::DATA, 77));
        assert_eq!((gss.service, gss.handle), (GssService::INTEGRITY, &[0xa, 0xb, 0xc][..]));
        let mut again = [0xa5; 24];
        assert_eq!(gss.encode(&mut again), Ok(24));
        assert_eq!(again, body);
    }
}
