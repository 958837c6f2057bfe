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

use super::{RpcError, RpcErrorKind};
use crate::error::EncodeError;
use crate::reader::Reader;
use crate::sink::{self, Emit, Sink};

/// A credential or a verifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Auth<'a> {
    /// What kind it is.
    pub flavor: Flavor,
    /// What it says, at most [`Self::MAX_BODY`] octets; [`AuthSys`] and [`GssCredential`] read it.
    pub body: &'a [u8],
}

/// `auth_flavor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flavor(pub u32);

impl Flavor {
    /// `AUTH_NONE`.
    pub const NONE: Self = Self(0);
    /// `AUTH_SYS`: a user and groups, as the client says.
    pub const SYS: Self = Self(1);
    /// `AUTH_SHORT`: a name the server gave for an `AUTH_SYS` credential.
    pub const SHORT: Self = Self(2);
    /// `AUTH_DH`.
    pub const DH: Self = Self(3);
    /// `RPCSEC_GSS` (RFC 2203).
    pub const RPCSEC_GSS: Self = Self(6);
    /// `AUTH_TLS` (RFC 9289).
    pub const TLS: Self = Self(7);

    /// The name its specification has for it.
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

    /// Octets a body may have (RFC 5531 section 8.2).
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AuthSys<'a> {
    /// Any number the client chose.
    pub stamp: u32,
    /// The name of the client's machine, at most 255 octets.
    pub machine_name: &'a [u8],
    /// The caller's user ID.
    pub uid: u32,
    /// The caller's group ID.
    pub gid: u32,
    gids: &'a [[u8; 4]],
}

impl<'a> AuthSys<'a> {
    const MAX_NAME: usize = 255;
    const MAX_GIDS: usize = 16;

    /// Reads the body of a credential of flavor [`Flavor::SYS`].
    ///
    /// # Errors
    /// An [`RpcError`] where it is not one; the offset is from the start of `body`.
    pub fn decode(body: &'a [u8]) -> Result<Self, RpcError> {
        let mut reader = Reader::new(body);
        let stamp = reader.u32()?;
        let offset = reader.offset();
        let machine_name = reader.opaque()?;
        if machine_name.len() > Self::MAX_NAME {
            return Err(RpcError::new(RpcErrorKind::AuthSysLength, offset));
        }
        let (uid, gid) = (reader.u32()?, reader.u32()?);
        let offset = reader.offset();
        let count = reader.u32()? as usize;
        if count > Self::MAX_GIDS {
            return Err(RpcError::new(RpcErrorKind::AuthSysLength, offset));
        }
        Ok(Self { stamp, machine_name, uid, gid, gids: reader.arrays(count)? })
    }

    /// The further groups of the caller, at most 16.
    pub fn gids(&self) -> impl ExactSizeIterator<Item = u32> + DoubleEndedIterator + Clone + use<'a> {
        self.gids.iter().map(|gid| u32::from_be_bytes(*gid))
    }
}

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
    /// Goes on with it.
    pub const CONTINUE_INIT: Self = Self(2);
    /// Ends it.
    pub const DESTROY: Self = Self(3);
    /// Binds it to a secure channel (RFC 5403).
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
    /// The channel below protects them (RFC 5403).
    pub const CHANNEL_PROTECTION: Self = Self(4);
}

impl<'a> GssCredential<'a> {
    /// Reads the body of a credential of flavor [`Flavor::RPCSEC_GSS`].
    ///
    /// # Errors
    /// An [`RpcError`] where it ends early; the offset is from the start of `body`.
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

    /// Octets the body has on the wire.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        sink::encoded_len(self)
    }

    /// Writes the body at the start of `buffer`; gives its length.
    ///
    /// # Errors
    /// An [`EncodeError`] where it does not fit; `buffer` is as before then.
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        sink::encode(self, buffer)
    }
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
    use super::*;
    use std::vec;
    use std::vec::Vec;

    const SYS: [u8; 36] = [
        0, 0, 0, 9, 0, 0, 0, 5, b'h', b'o', b's', b't', b'1', 0, 0, 0, // stamp, machine name
        0, 0, 3, 0xe8, 0, 0, 0, 100, // uid 1000, gid 100
        0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 24, // gids
    ];

    #[test]
    fn auth_sys_has_a_name_and_groups() {
        let sys = AuthSys::decode(&SYS).unwrap();
        assert_eq!((sys.stamp, sys.machine_name, sys.uid, sys.gid), (9, &b"host1"[..], 1000, 100));
        assert_eq!(sys.gids().collect::<Vec<_>>(), [4, 24]);
        for length in 0..SYS.len() {
            assert_eq!(AuthSys::decode(&SYS[..length]).unwrap_err().kind, RpcErrorKind::Truncated, "{length}");
        }
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
