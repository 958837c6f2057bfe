//! Names of procedures and operations in the words of the kernel.

use crate::file::decimal;
use crate::nfs::{self, CompoundOperation, OperationCode, Procedure};

/// Procedure and operations of an RPC.
#[derive(Clone, Debug, Default)]
pub(super) struct TracedCall {
    pub(super) procedure: Option<Procedure>,
    /// Operations of a COMPOUND.
    pub(super) operations: Vec<CompoundOperation>,
    /// `true` if the server called the client.
    pub(super) is_reverse: bool,
}

/// Procedures of the Linux client for NFSv4 that are not named like their main operation.
const MAIN_OPERATIONS: [(&[u8], &[u8]); 12] = [
    (b"FSID_PRESENT", b"GETFH"),
    (b"FSINFO", b"GETATTR"),
    (b"FS_LOCATIONS", b"GETATTR"),
    (b"GETACL", b"GETATTR"),
    (b"GET_LEASE_TIME", b"GETATTR"),
    (b"LOOKUP_ROOT", b"PUTROOTFH"),
    (b"OPEN_NOATTR", b"OPEN"),
    (b"PATHCONF", b"GETATTR"),
    (b"SERVER_CAPS", b"GETATTR"),
    (b"SETACL", b"SETATTR"),
    (b"STATFS", b"GETATTR"),
    (b"SYMLINK", b"CREATE"),
];

impl TracedCall {
    /// Reads what a client calls: `nfsv4` and `WRITE`. Of a COMPOUND, the client's kernel names one operation.
    pub(super) fn by_client(program: &[u8], name: &[u8]) -> Self {
        let split = program.iter().rposition(|octet| *octet == b'v').unwrap_or(program.len());
        let (program, version) = program.split_at_checked(split).unwrap_or_default();
        let Some(version) = version.get(1..).and_then(decimal).and_then(|version| u32::try_from(version).ok()) else {
            return Self::default();
        };
        match program {
            b"nfs" if version == 4 && name != b"NULL" => {
                let operation =
                    MAIN_OPERATIONS.iter().find(|(kernel, _)| *kernel == name).map_or(name, |(_, main)| *main);
                let operations = OperationCode::of_name(operation).map(CompoundOperation::of_call);
                Self {
                    procedure: Some(nfs::v4::COMPOUND),
                    operations: operations.into_iter().collect(),
                    is_reverse: false,
                }
            }
            b"nfs4_cb" => Self { is_reverse: true, ..Self::default() },
            _ => Self { procedure: find_procedure(program, version, name), ..Self::default() },
        }
    }

    /// Reads what a server is called for: `nfsd`, `4` and `COMPOUND`. The operations follow one by one.
    pub(super) fn by_server(service: &[u8], version: u32, name: &[u8]) -> Self {
        let is_reverse = service.starts_with(b"NFSv4") || service == b"callback";
        let procedure = if is_reverse { None } else { find_procedure(service, version, name) };
        Self { procedure, operations: Vec::new(), is_reverse }
    }

    /// Adds an operation that the server has carried out: `OP_WRITE`.
    pub(super) fn add_operation(&mut self, name: &[u8], status: u32) {
        let name = name.strip_prefix(b"OP_").unwrap_or(name);
        if let Some(code) = OperationCode::of_name(name)
            && self.operations.len() < OPERATIONS
        {
            self.operations.push(CompoundOperation { status: Some(status), ..CompoundOperation::of_call(code) });
        }
    }
}

/// The most operations that are kept of a COMPOUND.
const OPERATIONS: usize = 256;

fn find_procedure(program: &[u8], version: u32, name: &[u8]) -> Option<Procedure> {
    let program = match program {
        b"nfs" | b"nfsd" => Procedure::NFS,
        b"mount" => Procedure::MOUNT,
        b"nfsacl" | b"nfs_acl" => Procedure::NFSACL,
        _ => return None,
    };
    Procedure::of_name(program, version, name)
}
