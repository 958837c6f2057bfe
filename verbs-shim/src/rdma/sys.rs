//! The used parts of libibverbs and librdmacm, as declared in the headers.
//!
//! The ABI of both is stable: symbols are versioned, and the structures here have not changed since the first version
//! (libibverbs 1.1, librdmacm 1.0). Structures that a library creates and that are only read here are declared up to
//! the last field that is needed; structures created here are complete. A test compares all structures with the
//! headers.
#![allow(non_camel_case_types, reason = "the names are those of the headers")]

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr;

use libc::{sockaddr, sockaddr_storage};

macro_rules! opaque {
    ($($name:ident),+) => {
        $(
            #[repr(C)]
            pub(super) struct $name {
                _opaque: [u8; 0],
            }
        )+
    };
}

opaque!(ibv_pd, ibv_mw, ibv_sa_path_rec);

/// A C enumeration, with only some values named.
macro_rules! constants {
    ($type:ty: $($name:ident = $value:expr),+ $(,)?) => {
        $(pub(super) const $name: $type = $value;)+
    };
}

constants!(c_int:
    IBV_TRANSPORT_IWARP = 1,
    IBV_ACCESS_LOCAL_WRITE = 1,
    IBV_ACCESS_REMOTE_WRITE = 2,
    IBV_ACCESS_REMOTE_READ = 4,
    IBV_QPT_RC = 2,
    IBV_PORT_DOWN = 1,
    IBV_QP_MIN_RNR_TIMER = 0x8000,
);
constants!(c_int:
    IBV_WR_RDMA_WRITE = 0,
    IBV_WR_SEND = 2,
    IBV_WR_RDMA_READ = 4,
    IBV_WR_SEND_WITH_INV = 9,
);
constants!(c_uint:
    IBV_SEND_FENCE = 1,
    IBV_SEND_SIGNALED = 2,
    IBV_WC_WITH_INV = 8,
);
constants!(c_int:
    IBV_WC_SUCCESS = 0,
    IBV_WC_LOC_LEN_ERR = 1,
    IBV_WC_LOC_PROT_ERR = 4,
    IBV_WC_WR_FLUSH_ERR = 5,
    IBV_WC_LOC_ACCESS_ERR = 8,
    IBV_WC_REM_INV_REQ_ERR = 9,
    IBV_WC_REM_ACCESS_ERR = 10,
    IBV_WC_REM_OP_ERR = 11,
    IBV_WC_RETRY_EXC_ERR = 12,
    IBV_WC_RNR_RETRY_EXC_ERR = 13,
    IBV_WC_RESP_TIMEOUT_ERR = 20,
);
constants!(c_int:
    RDMA_PS_TCP = 0x0106,
    RDMA_CM_EVENT_ADDR_RESOLVED = 0,
    RDMA_CM_EVENT_ADDR_ERROR = 1,
    RDMA_CM_EVENT_ROUTE_RESOLVED = 2,
    RDMA_CM_EVENT_ROUTE_ERROR = 3,
    RDMA_CM_EVENT_CONNECT_REQUEST = 4,
    RDMA_CM_EVENT_CONNECT_ERROR = 6,
    RDMA_CM_EVENT_UNREACHABLE = 7,
    RDMA_CM_EVENT_REJECTED = 8,
    RDMA_CM_EVENT_ESTABLISHED = 9,
    RDMA_CM_EVENT_DISCONNECTED = 10,
    RDMA_CM_EVENT_DEVICE_REMOVAL = 11,
);

/// Declared up to the transport.
#[repr(C)]
pub(super) struct ibv_device {
    _ops: [*mut c_void; 2],
    _node_type: c_int,
    pub(super) transport_type: c_int,
}

type Unused = *mut c_void;

#[repr(C)]
pub(super) struct ibv_context_ops {
    _before_poll_cq: [Unused; 11],
    pub(super) poll_cq: Option<unsafe extern "C" fn(*mut ibv_cq, c_int, *mut ibv_wc) -> c_int>,
    pub(super) req_notify_cq: Option<unsafe extern "C" fn(*mut ibv_cq, c_int) -> c_int>,
    _before_post_srq_recv: [Unused; 7],
    pub(super) post_srq_recv:
        Option<unsafe extern "C" fn(*mut ibv_srq, *mut ibv_recv_wr, *mut *mut ibv_recv_wr) -> c_int>,
    _before_post_send: [Unused; 4],
    pub(super) post_send: Option<unsafe extern "C" fn(*mut ibv_qp, *mut ibv_send_wr, *mut *mut ibv_send_wr) -> c_int>,
    pub(super) post_recv: Option<unsafe extern "C" fn(*mut ibv_qp, *mut ibv_recv_wr, *mut *mut ibv_recv_wr) -> c_int>,
    _after_post_recv: [Unused; 5],
}

/// Declared up to the descriptors.
#[repr(C)]
pub(super) struct ibv_context {
    pub(super) device: *mut ibv_device,
    pub(super) ops: ibv_context_ops,
    pub(super) cmd_fd: c_int,
    pub(super) async_fd: c_int,
}

#[repr(C)]
pub(super) struct ibv_device_attr {
    _fw_ver: [c_char; 64],
    _guids: [u64; 2],
    _max_mr_size: u64,
    _page_size_cap: u64,
    _vendor: [u32; 3],
    _max_qp: c_int,
    pub(super) max_qp_wr: c_int,
    _device_cap_flags: c_uint,
    _max_sge: [c_int; 2],
    _max_cq: c_int,
    pub(super) max_cqe: c_int,
    _max_mr: c_int,
    _max_pd: c_int,
    pub(super) max_qp_rd_atom: c_int,
    _max_ee_rd_atom: c_int,
    _max_res_rd_atom: c_int,
    pub(super) max_qp_init_rd_atom: c_int,
    _others: [c_int; 13],
    pub(super) max_srq: c_int,
    pub(super) max_srq_wr: c_int,
    _max_srq_sge: c_int,
    _max_pkeys: u16,
    _local_ca_ack_delay: u8,
    pub(super) phys_port_cnt: u8,
}

#[repr(C)]
pub(super) struct ibv_port_attr {
    pub(super) state: c_int,
    _mtu: [c_int; 2],
    _gid_tbl_len: c_int,
    _port_cap_flags: u32,
    pub(super) max_msg_sz: u32,
    _counters: [u32; 2],
    _identifiers: [u16; 3],
    _others: [u8; 10],
    _port_cap_flags2: u16,
}

#[repr(C)]
pub(super) struct ibv_mr {
    _context: *mut ibv_context,
    _pd: *mut ibv_pd,
    _addr: *mut c_void,
    _length: usize,
    _handle: u32,
    pub(super) lkey: u32,
    pub(super) rkey: u32,
}

/// Declared up to the descriptor.
#[repr(C)]
pub(super) struct ibv_comp_channel {
    _context: *mut ibv_context,
    pub(super) fd: c_int,
}

/// Declared up to the context.
#[repr(C)]
pub(super) struct ibv_cq {
    pub(super) context: *mut ibv_context,
}

/// Declared up to the context.
#[repr(C)]
pub(super) struct ibv_qp {
    pub(super) context: *mut ibv_context,
}

/// Declared up to the context.
#[repr(C)]
pub(super) struct ibv_srq {
    pub(super) context: *mut ibv_context,
}

#[repr(C)]
pub(super) struct ibv_srq_attr {
    pub(super) max_wr: u32,
    pub(super) max_sge: u32,
    pub(super) srq_limit: u32,
}

#[repr(C)]
pub(super) struct ibv_srq_init_attr {
    pub(super) srq_context: *mut c_void,
    pub(super) attr: ibv_srq_attr,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct ibv_qp_cap {
    pub(super) max_send_wr: u32,
    pub(super) max_recv_wr: u32,
    pub(super) max_send_sge: u32,
    pub(super) max_recv_sge: u32,
    pub(super) max_inline_data: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct ibv_qp_attr {
    _states: [c_int; 4],
    _numbers: [u32; 5],
    _cap: ibv_qp_cap,
    _ah_attrs: [[u64; 4]; 2],
    _pkey_indexes: [u16; 2],
    _before_min_rnr_timer: [u8; 4],
    pub(super) min_rnr_timer: u8,
    _after_min_rnr_timer: [u8; 6],
    _rate_limit: u32,
}

#[repr(C)]
pub(super) struct ibv_qp_init_attr {
    pub(super) qp_context: *mut c_void,
    pub(super) send_cq: *mut ibv_cq,
    pub(super) recv_cq: *mut ibv_cq,
    pub(super) srq: *mut ibv_srq,
    pub(super) cap: ibv_qp_cap,
    pub(super) qp_type: c_int,
    pub(super) sq_sig_all: c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct ibv_sge {
    pub(super) addr: u64,
    pub(super) length: u32,
    pub(super) lkey: u32,
}

/// The member for RDMA operations, of a union.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct ibv_send_wr_rdma {
    remote_addr: u64,
    rkey: u32,
    _atomic: u64,
    _atomic_rkey: u32,
}

impl ibv_send_wr_rdma {
    pub(super) fn new(remote_addr: u64, rkey: u32) -> Self {
        Self { remote_addr, rkey, ..Self::default() }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct ibv_send_wr_bind {
    _mw: *mut ibv_mw,
    _rkey: u32,
    _mr: *mut ibv_mr,
    _addr: u64,
    _length: u64,
    _access: c_uint,
}

impl ibv_send_wr_bind {
    /// For work that binds no memory window.
    pub(super) const NONE: Self =
        Self { _mw: ptr::null_mut(), _rkey: 0, _mr: ptr::null_mut(), _addr: 0, _length: 0, _access: 0 };
}

#[repr(C)]
pub(super) struct ibv_send_wr {
    pub(super) wr_id: u64,
    pub(super) next: *mut ibv_send_wr,
    pub(super) sg_list: *mut ibv_sge,
    pub(super) num_sge: c_int,
    pub(super) opcode: c_int,
    pub(super) send_flags: c_uint,
    pub(super) invalidate_rkey: u32,
    pub(super) rdma: ibv_send_wr_rdma,
    pub(super) remote_srqn: u32,
    pub(super) bind_mw: ibv_send_wr_bind,
}

#[repr(C)]
pub(super) struct ibv_recv_wr {
    pub(super) wr_id: u64,
    pub(super) next: *mut ibv_recv_wr,
    pub(super) sg_list: *mut ibv_sge,
    pub(super) num_sge: c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct ibv_wc {
    pub(super) wr_id: u64,
    pub(super) status: c_int,
    _opcode: c_int,
    _vendor_err: u32,
    pub(super) byte_len: u32,
    pub(super) invalidated_rkey: u32,
    _qp_num: u32,
    _src_qp: u32,
    pub(super) wc_flags: c_uint,
    _pkey_index: u16,
    _slid: u16,
    _sl: u8,
    _dlid_path_bits: u8,
}

#[repr(C)]
pub(super) struct rdma_event_channel {
    pub(super) fd: c_int,
}

#[repr(C)]
pub(super) struct rdma_ib_addr {
    _gids: [u64; 4],
    _pkey: u16,
}

#[repr(C)]
pub(super) struct rdma_addr {
    pub(super) src_storage: sockaddr_storage,
    pub(super) dst_storage: sockaddr_storage,
    _ibaddr: rdma_ib_addr,
}

#[repr(C)]
pub(super) struct rdma_route {
    pub(super) addr: rdma_addr,
    _path_rec: *mut ibv_sa_path_rec,
    _num_paths: c_int,
}

/// Declared up to the port.
#[repr(C)]
pub(super) struct rdma_cm_id {
    pub(super) verbs: *mut ibv_context,
    _channel: *mut rdma_event_channel,
    _context: *mut c_void,
    pub(super) qp: *mut ibv_qp,
    pub(super) route: rdma_route,
    _ps: c_int,
    pub(super) port_num: u8,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct rdma_conn_param {
    pub(super) private_data: *const c_void,
    pub(super) private_data_len: u8,
    pub(super) responder_resources: u8,
    pub(super) initiator_depth: u8,
    pub(super) flow_control: u8,
    pub(super) retry_count: u8,
    pub(super) rnr_retry_count: u8,
    pub(super) srq: u8,
    pub(super) qp_num: u32,
}

/// Declared up to the parameters of a connection, in a union with the parameters of datagrams.
#[repr(C)]
pub(super) struct rdma_cm_event {
    pub(super) id: *mut rdma_cm_id,
    _listen_id: *mut rdma_cm_id,
    pub(super) event: c_int,
    pub(super) status: c_int,
    pub(super) conn: rdma_conn_param,
}

#[link(name = "ibverbs")]
unsafe extern "C" {
    pub(super) fn ibv_get_device_list(num_devices: *mut c_int) -> *mut *mut ibv_device;
    pub(super) fn ibv_free_device_list(list: *mut *mut ibv_device);
    pub(super) fn ibv_get_device_name(device: *mut ibv_device) -> *const c_char;
    pub(super) fn ibv_query_device(context: *mut ibv_context, attr: *mut ibv_device_attr) -> c_int;
    pub(super) fn ibv_query_port(context: *mut ibv_context, port_num: u8, port_attr: *mut ibv_port_attr) -> c_int;
    pub(super) fn ibv_alloc_pd(context: *mut ibv_context) -> *mut ibv_pd;
    pub(super) fn ibv_dealloc_pd(pd: *mut ibv_pd) -> c_int;
    pub(super) fn ibv_reg_mr(pd: *mut ibv_pd, addr: *mut c_void, length: usize, access: c_int) -> *mut ibv_mr;
    pub(super) fn ibv_reg_mr_iova(
        pd: *mut ibv_pd,
        addr: *mut c_void,
        length: usize,
        iova: u64,
        access: c_int,
    ) -> *mut ibv_mr;
    pub(super) fn ibv_dereg_mr(mr: *mut ibv_mr) -> c_int;
    pub(super) fn ibv_create_comp_channel(context: *mut ibv_context) -> *mut ibv_comp_channel;
    pub(super) fn ibv_destroy_comp_channel(channel: *mut ibv_comp_channel) -> c_int;
    pub(super) fn ibv_create_cq(
        context: *mut ibv_context,
        cqe: c_int,
        cq_context: *mut c_void,
        channel: *mut ibv_comp_channel,
        comp_vector: c_int,
    ) -> *mut ibv_cq;
    pub(super) fn ibv_destroy_cq(cq: *mut ibv_cq) -> c_int;
    pub(super) fn ibv_get_cq_event(
        channel: *mut ibv_comp_channel,
        cq: *mut *mut ibv_cq,
        cq_context: *mut *mut c_void,
    ) -> c_int;
    pub(super) fn ibv_ack_cq_events(cq: *mut ibv_cq, nevents: c_uint);
    pub(super) fn ibv_create_srq(pd: *mut ibv_pd, srq_init_attr: *mut ibv_srq_init_attr) -> *mut ibv_srq;
    pub(super) fn ibv_destroy_srq(srq: *mut ibv_srq) -> c_int;
    pub(super) fn ibv_modify_qp(qp: *mut ibv_qp, attr: *mut ibv_qp_attr, attr_mask: c_int) -> c_int;
    pub(super) fn ibv_destroy_qp(qp: *mut ibv_qp) -> c_int;
}

#[link(name = "rdmacm")]
unsafe extern "C" {
    pub(super) fn rdma_get_devices(num_devices: *mut c_int) -> *mut *mut ibv_context;
    pub(super) fn rdma_free_devices(list: *mut *mut ibv_context);
    pub(super) fn rdma_create_event_channel() -> *mut rdma_event_channel;
    pub(super) fn rdma_destroy_event_channel(channel: *mut rdma_event_channel);
    pub(super) fn rdma_create_id(
        channel: *mut rdma_event_channel,
        id: *mut *mut rdma_cm_id,
        context: *mut c_void,
        ps: c_int,
    ) -> c_int;
    pub(super) fn rdma_destroy_id(id: *mut rdma_cm_id) -> c_int;
    pub(super) fn rdma_bind_addr(id: *mut rdma_cm_id, addr: *mut sockaddr) -> c_int;
    pub(super) fn rdma_resolve_addr(
        id: *mut rdma_cm_id,
        src_addr: *mut sockaddr,
        dst_addr: *mut sockaddr,
        timeout_ms: c_int,
    ) -> c_int;
    pub(super) fn rdma_resolve_route(id: *mut rdma_cm_id, timeout_ms: c_int) -> c_int;
    pub(super) fn rdma_create_qp(id: *mut rdma_cm_id, pd: *mut ibv_pd, qp_init_attr: *mut ibv_qp_init_attr) -> c_int;
    pub(super) fn rdma_connect(id: *mut rdma_cm_id, conn_param: *mut rdma_conn_param) -> c_int;
    pub(super) fn rdma_listen(id: *mut rdma_cm_id, backlog: c_int) -> c_int;
    pub(super) fn rdma_accept(id: *mut rdma_cm_id, conn_param: *mut rdma_conn_param) -> c_int;
    pub(super) fn rdma_reject(id: *mut rdma_cm_id, private_data: *const c_void, private_data_len: u8) -> c_int;
    pub(super) fn rdma_disconnect(id: *mut rdma_cm_id) -> c_int;
    pub(super) fn rdma_migrate_id(id: *mut rdma_cm_id, channel: *mut rdma_event_channel) -> c_int;
    pub(super) fn rdma_get_cm_event(channel: *mut rdma_event_channel, event: *mut *mut rdma_cm_event) -> c_int;
    pub(super) fn rdma_ack_cm_event(event: *mut rdma_cm_event) -> c_int;
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::mem::{offset_of, size_of};
    use std::process::Command;

    use super::*;

    /// Expressions in C and the values in Rust that have to be equal, in the same order.
    #[derive(Default)]
    struct Comparison {
        questions: String,
        answers: Vec<(String, u64)>,
    }

    impl Comparison {
        fn add_comparison(&mut self, question: String, answer: u64) {
            writeln!(self.questions, "    printf(\"%llu\\n\", (unsigned long long)({question}));").unwrap();
            self.answers.push((question, answer));
        }
    }

    macro_rules! compare {
        ($to:ident: struct $type:ident whole { $($field:ident = $theirs:expr),* $(,)? }) => {
            $to.add_comparison(format!("sizeof(struct {})", stringify!($type)), size_of::<$type>() as u64);
            compare!($to: struct $type { $($field = $theirs),* });
        };
        ($to:ident: struct $type:ident { $($field:ident = $theirs:expr),* $(,)? }) => {
            $($to.add_comparison(
                format!("offsetof(struct {}, {})", stringify!($type), $theirs),
                offset_of!($type, $field) as u64,
            );)*
        };
        ($to:ident: $($constant:ident),+ $(,)?) => {
            $($to.add_comparison(stringify!($constant).to_owned(), $constant as u64);)+
        };
    }

    fn structures(to: &mut Comparison) {
        compare!(to: struct ibv_device { transport_type = "transport_type" });
        compare!(to: struct ibv_context_ops whole {
            poll_cq = "poll_cq", req_notify_cq = "req_notify_cq", post_srq_recv = "post_srq_recv",
            post_send = "post_send", post_recv = "post_recv",
        });
        compare!(to: struct ibv_context {
            device = "device", ops = "ops", cmd_fd = "cmd_fd", async_fd = "async_fd",
        });
        compare!(to: struct ibv_device_attr whole {
            max_qp_wr = "max_qp_wr", max_cqe = "max_cqe", max_qp_rd_atom = "max_qp_rd_atom",
            max_qp_init_rd_atom = "max_qp_init_rd_atom", max_srq = "max_srq", max_srq_wr = "max_srq_wr",
            phys_port_cnt = "phys_port_cnt",
        });
        compare!(to: struct ibv_port_attr whole { max_msg_sz = "max_msg_sz", _port_cap_flags2 = "port_cap_flags2" });
        compare!(to: struct ibv_mr whole { lkey = "lkey", rkey = "rkey" });
        compare!(to: struct ibv_comp_channel { fd = "fd" });
        compare!(to: struct ibv_cq { context = "context" });
        compare!(to: struct ibv_qp { context = "context" });
        compare!(to: struct ibv_srq { context = "context" });
        compare!(to: struct ibv_srq_attr whole { max_wr = "max_wr", max_sge = "max_sge", srq_limit = "srq_limit" });
        compare!(to: struct ibv_srq_init_attr whole { srq_context = "srq_context", attr = "attr" });
        compare!(to: struct ibv_qp_cap whole {
            max_send_wr = "max_send_wr", max_recv_wr = "max_recv_wr", max_send_sge = "max_send_sge",
            max_recv_sge = "max_recv_sge", max_inline_data = "max_inline_data",
        });
        compare!(to: struct ibv_qp_attr whole { _rate_limit = "rate_limit", min_rnr_timer = "min_rnr_timer" });
        compare!(to: struct ibv_qp_init_attr whole {
            qp_context = "qp_context", send_cq = "send_cq", recv_cq = "recv_cq", srq = "srq", cap = "cap",
            qp_type = "qp_type", sq_sig_all = "sq_sig_all",
        });
        compare!(to: struct ibv_sge whole { addr = "addr", length = "length", lkey = "lkey" });
        compare!(to: struct ibv_send_wr whole {
            wr_id = "wr_id", next = "next", sg_list = "sg_list", num_sge = "num_sge", opcode = "opcode",
            send_flags = "send_flags", invalidate_rkey = "invalidate_rkey", rdma = "wr.rdma.remote_addr",
            remote_srqn = "qp_type.xrc.remote_srqn", bind_mw = "bind_mw",
        });
        to.add_comparison(
            "offsetof(struct ibv_send_wr, wr.rdma.rkey) - offsetof(struct ibv_send_wr, wr)".to_owned(),
            offset_of!(ibv_send_wr_rdma, rkey) as u64,
        );
        compare!(to: struct ibv_recv_wr whole {
            wr_id = "wr_id", next = "next", sg_list = "sg_list", num_sge = "num_sge",
        });
        compare!(to: struct ibv_wc whole {
            wr_id = "wr_id", status = "status", byte_len = "byte_len", invalidated_rkey = "invalidated_rkey",
            wc_flags = "wc_flags",
        });
        compare!(to: struct rdma_event_channel whole { fd = "fd" });
        compare!(to: struct rdma_addr whole { src_storage = "src_storage", dst_storage = "dst_storage" });
        compare!(to: struct rdma_route whole { addr = "addr" });
        compare!(to: struct rdma_cm_id { port_num = "port_num", verbs = "verbs", qp = "qp", route = "route" });
        compare!(to: struct rdma_conn_param whole {
            private_data = "private_data", private_data_len = "private_data_len",
            responder_resources = "responder_resources", initiator_depth = "initiator_depth",
            flow_control = "flow_control", retry_count = "retry_count", rnr_retry_count = "rnr_retry_count",
            srq = "srq", qp_num = "qp_num",
        });
        compare!(to: struct rdma_cm_event { id = "id", event = "event", status = "status", conn = "param.conn" });
    }

    fn numbers(to: &mut Comparison) {
        compare!(to: IBV_TRANSPORT_IWARP, IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_READ,
            IBV_QPT_RC, IBV_QP_MIN_RNR_TIMER, IBV_WR_RDMA_WRITE, IBV_WR_SEND, IBV_WR_RDMA_READ,
            IBV_WR_SEND_WITH_INV, IBV_SEND_FENCE, IBV_SEND_SIGNALED, IBV_WC_WITH_INV);
        compare!(to: IBV_WC_SUCCESS, IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_PROT_ERR, IBV_WC_WR_FLUSH_ERR,
            IBV_WC_LOC_ACCESS_ERR, IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_OP_ERR,
            IBV_WC_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_RESP_TIMEOUT_ERR);
        compare!(to: IBV_PORT_DOWN, RDMA_PS_TCP, RDMA_CM_EVENT_ADDR_RESOLVED, RDMA_CM_EVENT_ADDR_ERROR,
            RDMA_CM_EVENT_ROUTE_RESOLVED, RDMA_CM_EVENT_ROUTE_ERROR,
            RDMA_CM_EVENT_CONNECT_REQUEST,
            RDMA_CM_EVENT_CONNECT_ERROR, RDMA_CM_EVENT_UNREACHABLE, RDMA_CM_EVENT_REJECTED,
            RDMA_CM_EVENT_ESTABLISHED, RDMA_CM_EVENT_DISCONNECTED, RDMA_CM_EVENT_DEVICE_REMOVAL);
    }

    /// The declarations of the functions, as C would repeat each: a compiler refuses one that differs. Functions that
    /// the header also has as macros come after these are undefined.
    const FUNCTIONS: &str = "
#undef ibv_reg_mr
#undef ibv_reg_mr_iova
#undef ibv_query_port
struct ibv_device **ibv_get_device_list(int *);
void ibv_free_device_list(struct ibv_device **);
const char *ibv_get_device_name(struct ibv_device *);
int ibv_query_device(struct ibv_context *, struct ibv_device_attr *);
int ibv_query_port(struct ibv_context *, uint8_t, struct _compat_ibv_port_attr *);
struct ibv_pd *ibv_alloc_pd(struct ibv_context *);
int ibv_dealloc_pd(struct ibv_pd *);
struct ibv_mr *ibv_reg_mr(struct ibv_pd *, void *, size_t, int);
struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *, void *, size_t, uint64_t, int);
int ibv_dereg_mr(struct ibv_mr *);
struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *);
int ibv_destroy_comp_channel(struct ibv_comp_channel *);
struct ibv_cq *ibv_create_cq(struct ibv_context *, int, void *, struct ibv_comp_channel *, int);
int ibv_destroy_cq(struct ibv_cq *);
int ibv_get_cq_event(struct ibv_comp_channel *, struct ibv_cq **, void **);
void ibv_ack_cq_events(struct ibv_cq *, unsigned int);
struct ibv_srq *ibv_create_srq(struct ibv_pd *, struct ibv_srq_init_attr *);
int ibv_destroy_srq(struct ibv_srq *);
int ibv_modify_qp(struct ibv_qp *, struct ibv_qp_attr *, int);
int ibv_destroy_qp(struct ibv_qp *);
struct ibv_context **rdma_get_devices(int *);
void rdma_free_devices(struct ibv_context **);
struct rdma_event_channel *rdma_create_event_channel(void);
void rdma_destroy_event_channel(struct rdma_event_channel *);
int rdma_create_id(struct rdma_event_channel *, struct rdma_cm_id **, void *, enum rdma_port_space);
int rdma_destroy_id(struct rdma_cm_id *);
int rdma_bind_addr(struct rdma_cm_id *, struct sockaddr *);
int rdma_resolve_addr(struct rdma_cm_id *, struct sockaddr *, struct sockaddr *, int);
int rdma_resolve_route(struct rdma_cm_id *, int);
int rdma_create_qp(struct rdma_cm_id *, struct ibv_pd *, struct ibv_qp_init_attr *);
int rdma_connect(struct rdma_cm_id *, struct rdma_conn_param *);
int rdma_listen(struct rdma_cm_id *, int);
int rdma_accept(struct rdma_cm_id *, struct rdma_conn_param *);
int rdma_reject(struct rdma_cm_id *, const void *, uint8_t);
int rdma_disconnect(struct rdma_cm_id *);
int rdma_migrate_id(struct rdma_cm_id *, struct rdma_event_channel *);
int rdma_get_cm_event(struct rdma_event_channel *, struct rdma_cm_event **);
int rdma_ack_cm_event(struct rdma_cm_event *);
static int (*poll_cq)(struct ibv_cq *, int, struct ibv_wc *);
static int (*req_notify_cq)(struct ibv_cq *, int);
static int (*post_srq_recv)(struct ibv_srq *, struct ibv_recv_wr *, struct ibv_recv_wr **);
static int (*post_send)(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **);
static int (*post_recv)(struct ibv_qp *, struct ibv_recv_wr *, struct ibv_recv_wr **);
void functions(struct ibv_context_ops *ops) {
    ops->poll_cq = poll_cq; ops->req_notify_cq = req_notify_cq; ops->post_srq_recv = post_srq_recv;
    ops->post_send = post_send; ops->post_recv = post_recv;
}
";

    #[test]
    fn all_is_declared_as_in_the_headers() {
        let mut comparison = Comparison::default();
        structures(&mut comparison);
        numbers(&mut comparison);
        let program = format!(
            "#include <stddef.h>\n#include <stdio.h>\n#include <rdma/rdma_cma.h>\n{FUNCTIONS}\n\
            int main(void) {{\n{}}}\n",
            comparison.questions
        );
        let directory = std::env::temp_dir().join(format!("rpcrdma-verbs-layout-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let (source, output) = (directory.join("layout.c"), directory.join("layout"));
        std::fs::write(&source, program).unwrap();
        let compiled = Command::new("cc")
            .args(["-Werror=incompatible-pointer-types", "-o"])
            .args([&output, &source])
            .output()
            .expect("a C compiler, as links this test too");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let said = Command::new(&output).output().unwrap();
        std::fs::remove_dir_all(&directory).unwrap();
        let said: Vec<u64> =
            String::from_utf8(said.stdout).unwrap().lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(said.len(), comparison.answers.len());
        for ((question, answer), said) in comparison.answers.iter().zip(said) {
            assert_eq!(*answer, said, "{question}");
        }
    }
}
