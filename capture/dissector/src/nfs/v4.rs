//! NFS version 4: minor versions 0 (RFC 7530, XDR in RFC 7531), 1 (RFC 8881, XDR in RFC 5662), 2 (RFC 7862, XDR in
//! RFC 7863), and extended attributes (RFC 8276).
//!
//! One table serves all minor versions: none changes the meaning of an operation number or the operation's XDR.

use super::grammar::Item::{Array, CallbackProgram, Data, Fixed, LinkText, List, Opaque, OperationResults, Operations};
use super::grammar::Item::{Marked, Number, Optional, Structure, Union, Words};
use super::grammar::{
    Arm, BOOL, COUNT, HYPER, Item, LISTING, NAME, OFFSET, OperationTable, Results, Row, STABLE, WORD, WRITTEN, Xdr, ok,
    ok_else, ok_or, operations, plain, procedures, row,
};
use super::operation::CompoundRole::{Attributes, Leading};
use super::operation::FilehandleStep::{Forget, Get, Name, Put, Restore, Save, UseSaved};
use super::operation::{DelegationConflict, OperationCode};
use super::procedure::Procedure;
use super::walk::Mark;

procedures!(
    PROCEDURES,
    (Procedure::NFS, 4, "NFSv4 "),
    row(0, NULL, &[], plain(&[])),
    row(
        1,
        COMPOUND,
        // tag, minorversion, argarray; status, tag, resarray
        &[Opaque, Number, Operations(OPERATIONS)],
        ok_else(&[Opaque, OperationResults(OPERATIONS)], &[Opaque, OperationResults(OPERATIONS)]),
    ),
);

// Basic types (RFC 8881 section 3.2, RFC 7862 section 4 onwards).
pub(super) const STATEID: Item = Marked(Mark::Stateid, &Fixed(16));
pub(super) const NFS_FH: Item = Marked(Mark::Handle, &Opaque);
pub(super) const BITMAP: Item = Words;
const ASKED_ATTRIBUTES: Item = Marked(Mark::Attributes, &BITMAP);
pub(super) const FATTR: Item = Structure(&[BITMAP, Opaque]);
pub(super) const SESSIONID: Item = Fixed(16);
const SESSION: Item = Marked(Mark::Session, &SESSIONID);
pub(super) const FSID: Item = Fixed(16);
const VERIFIER: Item = Fixed(8);
const CLIENTID: Item = HYPER;
const CLIENT: Item = Marked(Mark::Client, &CLIENTID);
const DEVICEID: Item = Fixed(16);
const COMPONENT: Item = NAME;
const NFSTIME: Item = Fixed(12);
const CHANGE_INFO: Item = Fixed(20);
const NETADDR: Item = Structure(&[Opaque, Opaque]);
/// `state_owner4`, so open_owner4 and lock_owner4.
pub(super) const OWNER: Item = Structure(&[CLIENTID, Opaque]);
/// `layoutupdate4`, `device_addr4`, `layout_content4`: a layout type, and data that only that type defines.
const LAYOUT_BODY: Item = Structure(&[WORD, Opaque]);

// OPEN and its delegations (RFC 7530 section 16.16, RFC 8881 section 18.16).
const CREATEHOW: Item = Union(&[(0, &[FATTR]), (1, &[FATTR]), (2, &[VERIFIER]), (3, &[VERIFIER, FATTR])], None);
const OPENFLAG: Item = Union(&[(1, &[CREATEHOW])], Some(&[]));
/// CLAIM_NULL, PREVIOUS, DELEGATE_CUR, DELEGATE_PREV, FH, DELEG_CUR_FH, DELEG_PREV_FH.
const OPEN_CLAIM: Item = Union(
    &[
        (0, &[COMPONENT]),
        (1, &[WORD]),
        (2, &[STATEID, COMPONENT]),
        (3, &[COMPONENT]),
        (4, &[]),
        (5, &[STATEID]),
        (6, &[]),
    ],
    None,
);
const SPACE_LIMIT: Item = Union(&[(1, &[HYPER]), (2, &[WORD, WORD])], None);
const NFSACE: Item = Structure(&[WORD, WORD, WORD, Opaque]);
const READ_DELEGATION: Xdr = &[STATEID, BOOL, NFSACE];
const WRITE_DELEGATION: Xdr = &[STATEID, BOOL, SPACE_LIMIT, NFSACE];
/// OPEN_DELEGATE_NONE, READ, WRITE, NONE_EXT, and the two of RFC 9754 that come with attributes. Of the reasons for
/// no delegation, WND4_CONTENTION and WND4_RESOURCE have a bool.
pub(super) const OPEN_DELEGATION: Item = Union(
    &[
        (0, &[]),
        (1, READ_DELEGATION),
        (2, WRITE_DELEGATION),
        (3, &[Union(&[(1, &[BOOL]), (2, &[BOOL])], Some(&[]))]),
        (4, READ_DELEGATION),
        (5, WRITE_DELEGATION),
    ],
    None,
);
const DELEG_CLAIM: Item = Union(&[(1, &[WORD]), (4, &[]), (6, &[])], None);

// Locks (RFC 7530 section 16.10).
const LOCKER: Item = Union(&[(0, &[STATEID, WORD]), (1, &[WORD, STATEID, WORD, OWNER])], None);
const DENIED: &[Arm] = &[(NFS4ERR_DENIED, &[HYPER, HYPER, WORD, OWNER])];

// Sessions (RFC 8881 sections 18.33 to 18.36).
/// `callback_sec_parms4`: AUTH_NONE, AUTH_SYS, RPCSEC_GSS.
const CALLBACK_SEC_PARMS: Item =
    Union(&[(0, &[]), (1, &[WORD, Opaque, WORD, WORD, Array(&[WORD])]), (6, &[WORD, Opaque, Opaque])], None);
const STATE_PROTECT_OPS: Item = Structure(&[BITMAP, BITMAP]);
/// `state_protect4_a`: SP4_NONE, SP4_MACH_CRED, SP4_SSV.
const STATE_PROTECT_ARGS: Item = Union(
    &[(0, &[]), (1, &[STATE_PROTECT_OPS]), (2, &[STATE_PROTECT_OPS, Array(&[Opaque]), Array(&[Opaque]), WORD, WORD])],
    None,
);
/// `state_protect4_r`.
const STATE_PROTECT_RES: Item =
    Union(&[(0, &[]), (1, &[STATE_PROTECT_OPS]), (2, &[STATE_PROTECT_OPS, Fixed(16), Array(&[Opaque])])], None);
/// `server_owner4` and the server scope.
const SERVER_OWNER: Item = Marked(Mark::ServerOwner, &Structure(&[HYPER, Opaque, Opaque]));
const IMPL_ID: Item = Optional(&[Opaque, Opaque, NFSTIME]);
/// `channel_attrs4`: six counts, and ca_rdma_ird<1>.
const CHANNEL_ATTRS: Item = Structure(&[Marked(Mark::Channel, &Fixed(24)), Optional(&[WORD])]);

/// `secinfo4<>` (RFC 7530 section 16.31): only RPCSEC_GSS says more than the flavor.
const SECINFO: Results = ok(&[Array(&[Union(&[(6, &[Opaque, WORD, WORD])], Some(&[]))])]);

// Copies (RFC 7862 sections 4 and 15).
/// `netloc4`: a name, a URL, an address.
const NETLOC: Item = Union(&[(1, &[Opaque]), (2, &[Opaque]), (3, &[NETADDR])], None);
/// Number of octets that were copied: two words.
pub(super) const COPIED: Item = Structure(&[Number, Number]);
/// `write_response4`.
pub(super) const WRITE_RESPONSE: Item =
    Marked(Mark::WriteResponse, &Structure(&[Optional(&[STATEID]), COPIED, Number, VERIFIER]));
const COPY_REQUIREMENTS: Item = Marked(Mark::CopyRequirements, &Structure(&[Number, Number]));

// Errors whose results have an arm.
const NFS4ERR_TOOSMALL: u32 = 10005;
const NFS4ERR_DENIED: u32 = 10010;
const NFS4ERR_CLID_INUSE: u32 = 10017;
const NFS4ERR_LAYOUTTRYLATER: u32 = 10058;
const NFS4ERR_OFFLOAD_NO_REQS: u32 = 10094;

/// `entry4` (RFC 7530 section 16.24).
const ENTRIES: Item = List(&[HYPER, COMPONENT, FATTR]);

/// A status and nothing else.
pub(super) const STATUS: Results = ok(&[]);
const CHANGED: Results = ok(&[CHANGE_INFO]);

operations!(
    OPERATIONS,
    Compound,
    // Minor version 0 (RFC 7530 section 16).
    row(3, ACCESS, &[Number], ok(&[Number, Number])),
    row(4, CLOSE, &[WORD, STATEID], ok(&[STATEID])),
    row(5, COMMIT, &[OFFSET, COUNT], ok(&[VERIFIER])).flushes(),
    row(
        6,
        CREATE,
        // createtype4: NF4BLK, NF4CHR, NF4LNK; objname; createattrs
        &[Union(&[(3, &[Fixed(8)]), (4, &[Fixed(8)]), (5, &[LinkText])], Some(&[])), COMPONENT, FATTR],
        ok(&[CHANGE_INFO, BITMAP]),
    )
    .filehandle(Name),
    row(7, DELEGPURGE, &[CLIENTID], STATUS),
    row(8, DELEGRETURN, &[STATEID], STATUS),
    row(9, GETATTR, &[ASKED_ATTRIBUTES], ok(&[Marked(Mark::AttributeValues, &FATTR)])).role(Attributes),
    row(10, GETFH, &[], ok(&[NFS_FH])).role(Leading).filehandle(Get),
    row(11, LINK, &[COMPONENT], CHANGED).conflict(DelegationConflict::Entry),
    row(
        12,
        LOCK,
        &[Marked(Mark::Variant, &Structure(&[Number, Number, Number, Number, Number, Number])), LOCKER],
        ok_or(&[STATEID], DENIED)
    ),
    row(13, LOCKT, &[WORD, HYPER, HYPER, OWNER], ok_or(&[], DENIED)),
    row(14, LOCKU, &[WORD, WORD, STATEID, HYPER, HYPER], ok(&[STATEID])),
    row(15, LOOKUP, &[COMPONENT], STATUS).filehandle(Name),
    row(16, LOOKUPP, &[], STATUS).filehandle(Forget),
    row(17, NVERIFY, &[FATTR], STATUS).role(Leading),
    row(
        18,
        OPEN,
        &[WORD, WORD, WORD, OWNER, OPENFLAG, Marked(Mark::Variant, &OPEN_CLAIM)],
        ok(&[STATEID, CHANGE_INFO, WORD, BITMAP, OPEN_DELEGATION]),
    )
    .filehandle(Name)
    .conflict(DelegationConflict::Opened),
    row(19, OPENATTR, &[BOOL], STATUS).filehandle(Forget),
    row(20, OPEN_CONFIRM, &[STATEID, WORD], ok(&[STATEID])),
    row(21, OPEN_DOWNGRADE, &[STATEID, WORD, WORD, WORD], ok(&[STATEID])),
    row(22, PUTFH, &[NFS_FH], STATUS).role(Leading).filehandle(Put),
    row(23, PUTPUBFH, &[], STATUS).role(Leading).filehandle(Forget),
    row(24, PUTROOTFH, &[], STATUS).role(Leading).filehandle(Forget),
    row(25, READ, &[STATEID, OFFSET, COUNT], ok(&[Number, Data])).conflict(DelegationConflict::Data),
    row(
        26,
        READDIR,
        &[HYPER, VERIFIER, Number, LISTING, BITMAP],
        ok(&[VERIFIER, Marked(Mark::Entries, &ENTRIES), Number]),
    ),
    row(27, READLINK, &[], ok(&[LinkText])),
    row(28, REMOVE, &[COMPONENT], CHANGED).conflict(DelegationConflict::Entry),
    row(29, RENAME, &[COMPONENT, COMPONENT], ok(&[CHANGE_INFO, CHANGE_INFO]))
        .filehandle(UseSaved)
        .conflict(DelegationConflict::Entry),
    row(30, RENEW, &[CLIENTID], STATUS),
    row(31, RESTOREFH, &[], STATUS).role(Leading).filehandle(Restore),
    row(32, SAVEFH, &[], STATUS).role(Leading).filehandle(Save),
    row(33, SECINFO, &[COMPONENT], SECINFO),
    row(34, SETATTR, &[STATEID, FATTR], ok_else(&[BITMAP], &[BITMAP]))
        .conflict(DelegationConflict::Attributes)
        .flushes(),
    row(
        35,
        SETCLIENTID,
        // client (verifier, id), callback (program, location), callback_ident
        &[VERIFIER, Opaque, CallbackProgram, NETADDR, WORD],
        ok_or(&[CLIENTID, VERIFIER], &[(NFS4ERR_CLID_INUSE, &[NETADDR])]),
    ),
    row(36, SETCLIENTID_CONFIRM, &[CLIENTID, VERIFIER], STATUS),
    row(37, VERIFY, &[FATTR], STATUS).role(Leading),
    row(38, WRITE, &[STATEID, OFFSET, STABLE, Data], ok(&[WRITTEN, STABLE, VERIFIER]))
        .conflict(DelegationConflict::Data)
        .flushes(),
    row(39, RELEASE_LOCKOWNER, &[OWNER], STATUS),
    // Minor version 1 (RFC 8881 section 18).
    row(40, BACKCHANNEL_CTL, &[CallbackProgram, Array(&[CALLBACK_SEC_PARMS])], STATUS),
    row(41, BIND_CONN_TO_SESSION, &[SESSIONID, WORD, BOOL], ok(&[SESSIONID, WORD, BOOL])),
    row(
        42,
        EXCHANGE_ID,
        &[VERIFIER, Opaque, WORD, STATE_PROTECT_ARGS, IMPL_ID],
        // clientid, sequenceid, flags, state_protect, server_owner (minor, major), server_scope, server_impl_id
        ok(&[CLIENT, WORD, WORD, STATE_PROTECT_RES, SERVER_OWNER, IMPL_ID]),
    ),
    row(
        43,
        CREATE_SESSION,
        &[CLIENT, WORD, WORD, CHANNEL_ATTRS, CHANNEL_ATTRS, CallbackProgram, Array(&[CALLBACK_SEC_PARMS])],
        ok(&[SESSION, WORD, WORD, CHANNEL_ATTRS, CHANNEL_ATTRS]),
    ),
    row(44, DESTROY_SESSION, &[SESSIONID], STATUS),
    row(45, FREE_STATEID, &[STATEID], STATUS),
    row(
        46,
        GET_DIR_DELEGATION,
        &[BOOL, BITMAP, NFSTIME, NFSTIME, BITMAP, BITMAP],
        // GDD4_OK, GDD4_UNAVAIL
        ok(&[Union(&[(0, &[VERIFIER, STATEID, BITMAP, BITMAP, BITMAP]), (1, &[BOOL])], None)]),
    ),
    row(
        47,
        GETDEVICEINFO,
        &[DEVICEID, WORD, LISTING, BITMAP],
        ok_or(&[LAYOUT_BODY, BITMAP], &[(NFS4ERR_TOOSMALL, &[WORD])]),
    ),
    row(48, GETDEVICELIST, &[WORD, WORD, HYPER, VERIFIER], ok(&[HYPER, VERIFIER, Array(&[DEVICEID]), BOOL])),
    row(
        49,
        LAYOUTCOMMIT,
        // offset, length, reclaim, stateid, last_write_offset, time_modify, layoutupdate
        &[HYPER, HYPER, BOOL, STATEID, Optional(&[HYPER]), Optional(&[NFSTIME]), LAYOUT_BODY],
        ok(&[Optional(&[HYPER])]),
    )
    .flushes(),
    row(
        50,
        LAYOUTGET,
        &[BOOL, WORD, WORD, HYPER, HYPER, HYPER, STATEID, LISTING],
        ok_or(&[BOOL, STATEID, Array(&[HYPER, HYPER, WORD, LAYOUT_BODY])], &[(NFS4ERR_LAYOUTTRYLATER, &[BOOL])]),
    ),
    row(
        51,
        LAYOUTRETURN,
        // only LAYOUTRETURN4_FILE says more
        &[BOOL, WORD, WORD, Union(&[(1, &[HYPER, HYPER, STATEID, Opaque])], Some(&[]))],
        ok(&[Optional(&[STATEID])]),
    ),
    row(52, SECINFO_NO_NAME, &[WORD], SECINFO),
    row(
        53,
        SEQUENCE,
        &[SESSION, Number, Number, Number, Number],
        ok(&[SESSIONID, Number, Number, Number, Number, Number]),
    )
    .role(Leading),
    row(54, SET_SSV, &[Opaque, Opaque], ok(&[Opaque])),
    row(55, TEST_STATEID, &[Array(&[STATEID])], ok(&[Words])),
    row(56, WANT_DELEGATION, &[WORD, DELEG_CLAIM], ok(&[OPEN_DELEGATION])),
    row(57, DESTROY_CLIENTID, &[CLIENTID], STATUS),
    row(58, RECLAIM_COMPLETE, &[BOOL], STATUS),
    // Minor version 2 (RFC 7862 section 15).
    row(59, ALLOCATE, &[STATEID, HYPER, HYPER], STATUS),
    row(
        60,
        COPY,
        &[STATEID, STATEID, HYPER, HYPER, HYPER, BOOL, BOOL, Array(&[NETLOC])],
        ok_or(&[WRITE_RESPONSE, COPY_REQUIREMENTS], &[(NFS4ERR_OFFLOAD_NO_REQS, &[COPY_REQUIREMENTS])]),
    ),
    row(61, COPY_NOTIFY, &[STATEID, NETLOC], ok(&[NFSTIME, STATEID, Array(&[NETLOC])])),
    row(62, DEALLOCATE, &[STATEID, HYPER, HYPER], STATUS),
    row(63, IO_ADVISE, &[STATEID, HYPER, HYPER, BITMAP], ok(&[BITMAP])),
    row(64, LAYOUTERROR, &[HYPER, HYPER, STATEID, Array(&[DEVICEID, WORD, WORD])], STATUS),
    row(65, LAYOUTSTATS, &[HYPER, HYPER, STATEID, Fixed(16), Fixed(16), DEVICEID, LAYOUT_BODY], STATUS),
    row(66, OFFLOAD_CANCEL, &[STATEID], STATUS),
    row(67, OFFLOAD_STATUS, &[STATEID], ok(&[Marked(Mark::OffloadStatus, &Structure(&[COPIED, Optional(&[Number])]))]),),
    row(
        68,
        READ_PLUS,
        &[STATEID, OFFSET, Marked(Mark::Listing, &COUNT)],
        // NFS4_CONTENT_DATA, NFS4_CONTENT_HOLE; the data is not DDP-eligible (RFC 8267 section 6.1)
        ok(&[BOOL, Array(&[Union(&[(0, &[HYPER, Opaque]), (1, &[HYPER, HYPER])], Some(&[]))])]),
    ),
    row(69, SEEK, &[STATEID, HYPER, WORD], ok(&[BOOL, HYPER])),
    row(
        70,
        WRITE_SAME,
        // stateid, stable, app_data_block4
        &[STATEID, WORD, HYPER, HYPER, HYPER, HYPER, WORD, HYPER, Opaque],
        ok(&[WRITE_RESPONSE]),
    ),
    row(71, CLONE, &[STATEID, STATEID, HYPER, HYPER, HYPER], STATUS),
    // Extended attributes (RFC 8276 section 8.4).
    row(72, GETXATTR, &[COMPONENT], ok(&[Marked(Mark::Unlimited, &Opaque)])),
    row(73, SETXATTR, &[WORD, COMPONENT, Opaque], CHANGED),
    row(74, LISTXATTRS, &[HYPER, LISTING], ok(&[HYPER, Array(&[COMPONENT]), BOOL])),
    row(75, REMOVEXATTR, &[COMPONENT], CHANGED),
    row(10044, ILLEGAL, &[], STATUS),
);
