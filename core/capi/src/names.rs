//! Names, as C has text: each ends in a NUL, and lasts as long as the program.

use core::ffi::{CStr, c_char};
use core::slice;

use rpcrdma::v2::ErrorCode;

use crate::argument::value;
use crate::endpoint::*;
use crate::rpc::*;
use crate::rules::rpcrdma_finding;
use crate::status::rpcrdma_status::*;
use crate::status::*;

/// Name of a number that has no other.
const UNKNOWN: &CStr = c"unknown";

/// Name of the constant that has the value of a number.
macro_rules! name {
    ($number:expr, $($constant:ident),+ $(,)?) => {{
        let name = match $number {
            $(_ if $number == $constant as u32 => concat!(stringify!($constant), "\0").as_bytes(),)+
            _ => UNKNOWN.to_bytes_with_nul(),
        };
        name.as_ptr().cast()
    }};
}

/// Returns the name of an rpcrdma_status: "RPCRDMA_OK" and so on, or "unknown".
#[unsafe(no_mangle)]
pub extern "C" fn rpcrdma_status_string(status: u32) -> *const c_char {
    name!(
        status,
        RPCRDMA_OK,
        RPCRDMA_NULL,
        RPCRDMA_UNALIGNED,
        RPCRDMA_OVERLAP,
        RPCRDMA_TOO_LONG,
        RPCRDMA_INVALID,
        RPCRDMA_NOT_DECODED,
        RPCRDMA_NO_ROOM,
        RPCRDMA_NOT_FOUND,
        RPCRDMA_CHUNK_TOO_SMALL,
        RPCRDMA_CLOSED,
        RPCRDMA_IN_USE,
        RPCRDMA_TOO_MANY,
        RPCRDMA_UNEXPECTED,
        RPCRDMA_POLL_FIRST,
        RPCRDMA_NOT_SUPPORTED,
        RPCRDMA_OTHER_BUILD
    )
}

/// Returns the name of the kind of an rpcrdma_decode_error: "RPCRDMA_HEADER_SHORT" and so on, or "unknown".
#[unsafe(no_mangle)]
pub extern "C" fn rpcrdma_decode_error_string(kind: u32) -> *const c_char {
    name!(
        kind,
        RPCRDMA_HEADER_SHORT,
        RPCRDMA_OTHER_VERSION,
        RPCRDMA_UNKNOWN_PROCEDURE,
        RPCRDMA_UNKNOWN_HEADER_TYPE,
        RPCRDMA_UNKNOWN_ERROR,
        RPCRDMA_LIST_FLAG,
        RPCRDMA_LIST_TRUNCATED,
        RPCRDMA_SEGMENT_COUNT,
        RPCRDMA_HEADER_TRUNCATED,
        RPCRDMA_PROPERTY_VALUE,
        RPCRDMA_OTHER_ERROR,
        RPCRDMA_RPC_TRUNCATED,
        RPCRDMA_RPC_MESSAGE_TYPE,
        RPCRDMA_RPC_AUTH_LENGTH,
        RPCRDMA_RPC_REPLY_STATUS,
        RPCRDMA_RPC_REJECT_STATUS
    )
}

/// Returns the name of the kind of an rpcrdma_input: "RPCRDMA_IN_RECEIVED" and so on, or "unknown".
#[unsafe(no_mangle)]
pub extern "C" fn rpcrdma_input_string(kind: u32) -> *const c_char {
    name!(
        kind,
        RPCRDMA_IN_RECEIVED,
        RPCRDMA_IN_RECEIVED_INVALIDATING,
        RPCRDMA_IN_REGISTERED,
        RPCRDMA_IN_NOT_REGISTERED,
        RPCRDMA_IN_INVALIDATED,
        RPCRDMA_IN_SENT,
        RPCRDMA_IN_COMPLETED,
        RPCRDMA_IN_NOT_POSTED,
        RPCRDMA_IN_FAILED,
        RPCRDMA_IN_DISCONNECTED,
        RPCRDMA_IN_BROKEN,
        RPCRDMA_IN_POSTPONED,
        RPCRDMA_IN_RESUMED
    )
}

/// Returns the name of the kind of an rpcrdma_output: "RPCRDMA_DO_SEND" and so on, or "unknown".
#[unsafe(no_mangle)]
pub extern "C" fn rpcrdma_output_string(kind: u32) -> *const c_char {
    name!(
        kind,
        RPCRDMA_DO_NOTHING,
        RPCRDMA_DO_SEND,
        RPCRDMA_DO_SEND_INVALIDATING,
        RPCRDMA_DO_RELEASE,
        RPCRDMA_DO_REGISTER_ARGUMENT,
        RPCRDMA_DO_REGISTER_RESULT,
        RPCRDMA_DO_REGISTER_REPLY,
        RPCRDMA_DO_INVALIDATE,
        RPCRDMA_DO_PLACE,
        RPCRDMA_DO_READ,
        RPCRDMA_DO_WRITE,
        RPCRDMA_DO_DELIVER,
        RPCRDMA_DO_DELIVER_ASSEMBLED,
        RPCRDMA_DO_DONE,
        RPCRDMA_DO_DISCONNECT,
        RPCRDMA_DO_PROVIDE_REPLY
    )
}

/// Returns the name of the end of a Call, from an rpcrdma_output: "RPCRDMA_END_REPLY" and so on, or "unknown".
#[unsafe(no_mangle)]
pub extern "C" fn rpcrdma_end_string(end: u32) -> *const c_char {
    name!(
        end,
        RPCRDMA_END_REPLY,
        RPCRDMA_END_LONG_REPLY,
        RPCRDMA_END_ERROR,
        RPCRDMA_END_NOT_REGISTERED,
        RPCRDMA_END_CANCELLED,
        RPCRDMA_END_LOST,
        RPCRDMA_END_ERROR_V2,
        RPCRDMA_END_CONTINUED_REPLY,
        RPCRDMA_END_SENT,
        RPCRDMA_END_BAD_REPLY,
        RPCRDMA_END_NO_ROOM
    )
}

/// Returns the name of an rdma_err in the specification of a version, RPCRDMA_VERSION_...: "ERR_CHUNK" in version 1,
/// "RDMA2_ERR_SYSTEM" in version 2, and so on; or "unknown".
#[unsafe(no_mangle)]
pub extern "C" fn rpcrdma_error_string(version: u32, error: u32) -> *const c_char {
    let name = match (version, error) {
        (RPCRDMA_VERSION_1, RPCRDMA_ERR_VERS) => c"ERR_VERS",
        (RPCRDMA_VERSION_1, RPCRDMA_ERR_CHUNK) => c"ERR_CHUNK",
        (RPCRDMA_VERSION_2A | RPCRDMA_VERSION_2B, error) => match ErrorCode(error) {
            ErrorCode::VERS => c"RDMA2_ERR_VERS",
            ErrorCode::BAD_XDR => c"RDMA2_ERR_BAD_XDR",
            ErrorCode::BAD_PROPVAL => c"RDMA2_ERR_BAD_PROPVAL",
            ErrorCode::INVAL_HTYPE => c"RDMA2_ERR_INVAL_HTYPE",
            ErrorCode::INVAL_CONT => c"RDMA2_ERR_INVAL_CONT",
            ErrorCode::READ_CHUNKS => c"RDMA2_ERR_READ_CHUNKS",
            ErrorCode::WRITE_CHUNKS => c"RDMA2_ERR_WRITE_CHUNKS",
            ErrorCode::SEGMENTS => c"RDMA2_ERR_SEGMENTS",
            ErrorCode::WRITE_RESOURCE => c"RDMA2_ERR_WRITE_RESOURCE",
            ErrorCode::REPLY_RESOURCE => c"RDMA2_ERR_REPLY_RESOURCE",
            ErrorCode::VERS_MISMATCH => c"RDMA2_ERR_VERS_MISMATCH",
            ErrorCode::SYSTEM => c"RDMA2_ERR_SYSTEM",
            _ => UNKNOWN,
        },
        _ => UNKNOWN,
    };
    name.as_ptr()
}

/// The names of the rules by which this library judges, in alphabetical order.
const RULES: [&CStr; 57] = [
    c"credit-exceeded",
    c"credit-initial",
    c"credit-zero-grant",
    c"credit-zero-request",
    c"done-sent",
    c"error-from-requester",
    c"error-range",
    c"error-trailing",
    c"header-short",
    c"inline-exceeded",
    c"list-flag",
    c"list-truncated",
    c"long-call-roundup",
    c"long-reply-roundup",
    c"msg-no-payload",
    c"msgp-sent",
    c"nomsg-empty",
    c"nomsg-trailing",
    c"proc-unknown",
    c"read-in-reply",
    c"read-overlap",
    c"read-position-align",
    c"read-position-beyond",
    c"read-position-order",
    c"read-position-zero-in-msg",
    c"reply-chunk-echo",
    c"reply-chunk-in-msg",
    c"reply-chunk-unused-nomsg",
    c"reverse-credit",
    c"segment-empty",
    c"segment-wraps",
    c"v2-continuation",
    c"v2-credit-zero",
    c"v2-direction",
    c"v2-external",
    c"v2-first-message",
    c"v2-grant-xid",
    c"v2-htype",
    c"v2-inv-handle",
    c"v2-more-chunks",
    c"v2-more-sequence",
    c"v2-more-type",
    c"v2-no-payload",
    c"v2-property",
    c"v2-read-order",
    c"v2-reserved-flag",
    c"v2-response-flag",
    c"v2-tpmore",
    c"v2-trailing",
    c"v2-xid-mismatch",
    c"version",
    c"write-empty-respected",
    c"write-fill-order",
    c"write-length",
    c"write-list-echo",
    c"write-unused-form",
    c"xid-mismatch",
];

/// Returns the slug of a finding as text that ends in a NUL: "msg-no-payload" and so on. "unknown" if the finding is
/// not one that this library has written, or finding is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rpcrdma_rule_string(finding: *const rpcrdma_finding) -> *const c_char {
    // SAFETY: the header asks the caller for what this needs.
    let slug = unsafe { value(finding) }.map(|finding| finding.slug);
    let name = slug.ok().filter(|slug| !slug.characters.is_null()).and_then(|slug| {
        // SAFETY: the slug of a finding names characters that last as long as the program; a finding is written by this library.
        let slug = unsafe { slice::from_raw_parts(slug.characters.cast::<u8>(), slug.length) };
        RULES.iter().find(|rule| rule.to_bytes() == slug)
    });
    name.unwrap_or(&UNKNOWN).as_ptr()
}

#[cfg(test)]
mod tests {
    use super::RULES;

    #[test]
    fn each_rule_has_its_name_here() {
        for rule in rpcrdma::rules::all_rules() {
            assert!(RULES.iter().any(|name| name.to_str() == Ok(rule.slug)), "{}", rule.slug);
        }
        assert_eq!(RULES.len(), rpcrdma::rules::all_rules().count());
        assert!(RULES.is_sorted());
    }
}
