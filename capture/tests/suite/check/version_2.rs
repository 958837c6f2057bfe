//! Version 2.

use std::collections::BTreeSet;

use rpcrdma::rules::Severity;
use rpcrdma_dissector::check::Blame;

use crate::check::case::{Case, blind, case};
use crate::check::judging::*;
use crate::check::trace::*;
use crate::synthetic::By::{Client, Server};
use crate::synthetic::rpc::*;

const ANSWERED_IN_A: Case = Case {
    slug: "answer",
    besides: &["list-flag"],
    not_judged: &[],
    make: |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(Client, &a(A_MSG, XID, 0, &[0, 2, 0, 0], &null(XID)));
        trace.refuse_if(!bad, BAD_XDR);
    },
};

const ANSWERED_IN_B: Case = Case {
    slug: "answer",
    besides: &["list-flag"],
    not_judged: &[],
    make: |trace, bad| {
        *trace = Trace::version_2(Version::B);
        trace.send(Client, &unreadable(XID));
        if !bad {
            trace.refuse_v2(Server, XID, BAD_XDR);
        }
    },
};

/// A call of family B with bit 1 in a list flag.
fn unreadable(xid: u32) -> Vec<u8> {
    b(CALL_INLINE, xid, &[0, 2, 0, 0], &null(xid))
}

pub(crate) const CASES: &[Case] = &[
    case("v2-reserved-flag", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(Client, &a(A_MSG, XID, if bad { 0x10 } else { 0 }, &A_NO_CHUNKS, &null(XID)));
        trace.answer();
    }),
    case("v2-response-flag", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(Client, &a(A_MSG, XID, u32::from(bad), &A_NO_CHUNKS, &null(XID)));
        trace.answer();
    }),
    case("v2-response-flag", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(Client, &a(A_MSG, XID, 0, &A_NO_CHUNKS, &null(XID)));
        trace.send(Server, &a(A_MSG, XID, u32::from(!bad), &A_NO_CHUNKS, &reply(XID, &[])));
    }),
    case("v2-response-flag", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(Client, &a(A_MSG, XID, 0, &A_NO_CHUNKS, &null(XID)));
        trace.send(Server, &a(ERROR, XID, u32::from(!bad), &[BAD_XDR], &[]));
    }),
    case("v2-more-type", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(Server, &a(A_NOMSG, 0, if bad { MORE } else { 0 }, &A_NO_CHUNKS, &[]));
    }),
    // The drafts do not say under which of the two XIDs it is refused.
    blind("v2-more-sequence", &["answer"], |trace, bad| {
        *trace = Trace::version_2(Version::A);
        let (first, last) = parts();
        trace.send(Client, &a(A_MSG, XID, MORE, &A_NO_CHUNKS, &first));
        trace.send(Client, &a(A_MSG, if bad { XID + 1 } else { XID }, 0, &A_NO_CHUNKS, &last));
        if !bad {
            trace.answer();
        }
    }),
    blind("v2-more-sequence", &["answer"], |trace, bad| {
        *trace = Trace::version_2(Version::A);
        let (first, last) = parts();
        trace.send(Client, &a(A_MSG, XID, MORE, &A_NO_CHUNKS, &first));
        if bad {
            trace.send(Client, &a(A_CONNPROP, XID, 0, &[0], &[]));
        }
        trace.send(Client, &a(A_MSG, XID, 0, &A_NO_CHUNKS, &last));
        trace.answer();
    }),
    case("v2-more-chunks", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        let (first, last) = parts();
        let chunks = [0, 0, 0, 1, 1, MEMORY.0, 100, 0, 0x1000];
        let lists = if bad { [&chunks[..], &A_NO_CHUNKS] } else { [&A_NO_CHUNKS[..], &chunks] };
        trace.send(Client, &a(A_MSG, XID, MORE, lists[0], &first));
        trace.send(Client, &a(A_MSG, XID, 0, lists[1], &last));
        trace.refuse_if(bad, INVAL_CONT);
    }),
    case("v2-tpmore", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(Client, &a(A_CONNPROP, 70, if bad { 0 } else { TPMORE }, &[1, 1, 4, 8192], &[]));
        trace.send(Client, &a(A_CONNPROP, 71, 0, &[1, 2, 4, 8192], &[]));
        if bad {
            trace.refuse_v2(Server, 71, INVAL_HTYPE);
        }
    }),
    case("v2-tpmore", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(Client, &a(A_MSG, XID, if bad { TPMORE } else { 0 }, &A_NO_CHUNKS, &null(XID)));
        trace.refuse_if(bad, INVAL_HTYPE);
    }),
    case("v2-credit-zero", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        let call = a(A_MSG, XID, 0, &A_NO_CHUNKS, &null(XID));
        trace.send(Client, &patched(call, 8, if bad { 0x0020_0000 } else { 0x0000_0001 }));
        trace.answer();
    }),
    case("v2-first-message", |trace, bad| {
        *trace = Trace::silent(Version::A);
        // 36 octets of header: 1024 in all, or four more.
        let payload = call(XID, [100_003, 3, 0], &[0; 952]);
        trace.send(Client, &[a(A_MSG, XID, 0, &A_NO_CHUNKS, &payload[..988]), vec![0; usize::from(bad) * 4]].concat());
        trace.answer();
    }),
    case("v2-first-message", |trace, bad| {
        *trace = Trace::silent(Version::B);
        // 32 octets of header. What the server sends may be longer.
        let payload = call(XID, [100_003, 3, 0], &[0; 952]);
        trace.send(Client, &[b(CALL_INLINE, XID, &[0; 4], &payload), vec![0; usize::from(bad) * 4]].concat());
        trace.send(Server, &b(REPLY_INLINE, XID, &[0], &reply(XID, &[0; 2000])));
    }),
    case("v2-inv-handle", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        let chunks = [if bad { 0xa95 } else { MEMORY.0 }, 0, 0, 1, 1, MEMORY.0, 100, 0, 0x1000];
        trace.send(Client, &a(A_MSG, XID, 0, &chunks, &null(XID)));
        trace.answer();
    }),
    case("v2-inv-handle", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        // The Call chunk has the handle.
        let chunks = [if bad { 0xa95 } else { MEMORY.0 }, 1, 0, MEMORY.0, 40, 0, 0x1000, 0, 0, 0, 0];
        trace.send(Client, &b(CALL_EXTERNAL, XID, &chunks, &[]));
        trace.read(Server, (MEMORY.0, 0x1000), &null(XID));
        trace.answer();
    }),
    case("v2-inv-handle", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        let chunks = [MEMORY.0, 0, 0, 1, 2, MEMORY.0, 100, 0, 0x1000, 0xa95, 100, 0, 0x2000];
        trace.send(Client, &a(A_MSG, XID, 0, &chunks, &null(XID)));
        trace.invalidate(if bad { 0xa95 } else { MEMORY.0 }, &a(A_MSG, XID, RESPONSE, &A_NO_CHUNKS, &reply(XID, &[])));
    }),
    case("v2-inv-handle", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        let chunks = [if bad { 0 } else { MEMORY.0 }, 0, 0, 1, 1, MEMORY.0, 100, 0, 0x1000];
        trace.send(Client, &b(CALL_INLINE, XID, &chunks, &null(XID)));
        trace.invalidate(MEMORY.0, &b(REPLY_INLINE, XID, &[0], &reply(XID, &[])));
    }),
    case("v2-inv-handle", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        trace.send(Client, &b(CALL_INLINE, XID, &[MEMORY.0, 0, 0, 1, 1, MEMORY.0, 100, 0, 0x1000], &null(XID)));
        let error = b(ERROR, XID, &[BAD_XDR], &[]);
        if bad {
            trace.invalidate(MEMORY.0, &error);
        } else {
            trace.send(Server, &error);
        }
    }),
    case("v2-property", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(Client, &a(A_CONNPROP, XID, 0, &[1, 1, if bad { 3 } else { 4 }, 0x2000], &[]));
        if bad {
            trace.refuse_v2(Server, XID, BAD_PROPVAL);
        }
    }),
    case("v2-property", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        trace.send(Client, &b(CONNPROP_FINAL, XID, &[2, 1, 0, 5, if bad { 2 } else { 4 }, 1], &[]));
        if bad {
            trace.refuse_v2(Server, XID, BAD_PROPVAL);
        }
    }),
    blind("v2-continuation", &["answer"], |trace, bad| {
        *trace = Trace::version_2(Version::B);
        let (first, last) = parts();
        trace.send(Client, &b(CALL_MIDDLE, XID, &[20], &first));
        trace.send(Client, &b(CALL_INLINE, if bad { XID + 1 } else { XID }, &[0; 4], &last));
        if !bad {
            trace.answer();
        }
    }),
    case("v2-continuation", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        trace.send(Client, &b(CALL_INLINE, XID, &[0; 4], &null(XID)));
        // 24 octets in three parts; the octets of its own message count.
        let whole = reply(XID, &[]);
        trace.send(Server, &b(REPLY_MIDDLE, XID, &[24], &whole[..8]));
        trace.send(Server, &b(REPLY_MIDDLE, XID, &[if bad { 20 } else { 16 }], &whole[8..16]));
        trace.send(Server, &b(REPLY_INLINE, XID, &[0], &whole[16..]));
    }),
    case("v2-continuation", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        trace.send(Server, &b(if bad { CONNPROP_FINAL } else { CONNPROP_MIDDLE }, 70, &[1, 1, 4, 8192], &[]));
        trace.send(Server, &b(CONNPROP_FINAL, 71, &[1, 2, 4, 8192], &[]));
        if bad {
            trace.refuse_v2(Client, 71, INVAL_CONT);
        }
    }),
    case("write-length", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        let offered = [0, 0, 1, 1, MEMORY.0, 100, 0, 0x1000, 0, 0];
        trace.send(Client, &b(CALL_INLINE, XID, &offered, &read3(XID, 100)));
        trace.write((MEMORY.0, 0x1000), &octets(2, 100));
        let returned = [1, 1, MEMORY.0, if bad { 104 } else { 100 }, 0, 0x1000, 0];
        trace.send(Server, &b(REPLY_INLINE, XID, &returned, &reply(XID, &read3_results(100))));
    }),
    // The results are in the Reply chunk.
    case("write-length", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        let offered = [0, 0, 1, 1, MEMORY.0, 100, 0, 0x1000, 0, 1, 1, 0xbbb, 200, 0, 0x2000];
        trace.send(Client, &b(CALL_INLINE, XID, &offered, &read3(XID, 100)));
        trace.write((MEMORY.0, 0x1000), &octets(2, 100));
        let results = reply(XID, &read3_results(100));
        trace.write((0xbbb, 0x2000), &results);
        let (data, length) = (if bad { 104 } else { 100 }, results.len() as u32);
        let returned = [1, 1, MEMORY.0, data, 0, 0x1000, 0, 1, 1, 0xbbb, length, 0, 0x2000];
        trace.send(Server, &b(REPLY_EXTERNAL, XID, &returned, &[]));
    }),
    case("write-list-echo", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        let lists = [0, 0, 1, 1, MEMORY.0, 100, 0, 0x1000, 0, 0];
        trace.send(Client, &a(A_MSG, XID, 0, &lists, &read3(XID, 100)));
        trace.write((MEMORY.0, 0x1000), &octets(2, 100));
        let reply = a(A_MSG, XID, RESPONSE, &lists, &reply(XID, &read3_results(100)));
        trace.send(Server, &if bad { patched(reply, 48, 0x2000) } else { reply });
    }),
    case("v2-read-order", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        let lists = [0, 1, if bad { 70 } else { 68 }, MEMORY.0, 100, 0, 0x1000, 0, 0, 0];
        trace.send(Client, &b(CALL_INLINE, XID, &lists, &write3(XID, 100)));
        trace.read(Server, (MEMORY.0, 0x1000), &octets(1, 100));
        if bad {
            trace.refuse_v2(Server, XID, BAD_XDR);
        } else {
            trace.send(Server, &b(REPLY_INLINE, XID, &[0], &write3_reply(XID, 100)));
        }
    }),
    // A header of version 2 that does not parse.
    case("header-short", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(Server, &a(if bad { A_MSG } else { 6 }, 0, 0, &[], &[]));
    }),
    case("header-short", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        trace.send(Server, &b(if bad { REPLY_MIDDLE } else { GRANT }, 0, &[], &[]));
    }),
    case("list-flag", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        trace.send(Client, &b(CALL_INLINE, XID, &[0, 0, if bad { 2 } else { 0 }, 0], &null(XID)));
        trace.refuse_if(bad, BAD_XDR);
    }),
    case("list-truncated", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(
            Client,
            &a(
                A_MSG,
                XID,
                0,
                if bad { &[0, 1, 68, 0xa94] } else { &A_NO_CHUNKS },
                &null(XID)[..if bad { 0 } else { 40 }],
            ),
        );
        trace.refuse_if(bad, BAD_XDR);
    }),
    case("v2-htype", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(Server, &a(if bad { 10 } else { 6 }, 0, 0, &[], &[]));
    }),
    case("v2-htype", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        trace.send(Server, &b(if bad { 14 } else { GRANT }, 0, &[], &[]));
    }),
    case("v2-xid-mismatch", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(Client, &a(A_MSG, XID, 0, &A_NO_CHUNKS, &null(if bad { 8 } else { XID })));
        trace.refuse_if(bad, BAD_XDR);
    }),
    blind("v2-xid-mismatch", &["answer"], |trace, bad| {
        *trace = Trace::version_2(Version::B);
        // The first part of two tells.
        let whole = null(if bad { 8 } else { XID });
        trace.send(Client, &b(CALL_MIDDLE, XID, &[20], &whole[..20]));
        trace.send(Client, &b(CALL_INLINE, XID, &[0; 4], &whole[20..]));
        trace.answer();
    }),
    case("v2-xid-mismatch", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        // In the Call chunk.
        trace.send(Client, &b(CALL_EXTERNAL, XID, &[0, 1, 0, MEMORY.0, 40, 0, 0x1000, 0, 0, 0, 0], &[]));
        trace.read(Server, (MEMORY.0, 0x1000), &null(if bad { 8 } else { XID }));
        trace.answer();
    }),
    case("v2-no-payload", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(Client, &a(A_MSG, XID, 0, &A_NO_CHUNKS, &null(XID)[..if bad { 0 } else { 40 }]));
        trace.refuse_if(bad, BAD_XDR);
    }),
    blind("v2-no-payload", &["answer"], |trace, bad| {
        *trace = Trace::version_2(Version::B);
        let (first, last) = parts();
        trace.send(Client, &b(CALL_MIDDLE, XID, &[20], &first));
        if bad {
            trace.send(Client, &b(CALL_MIDDLE, XID, &[20], &[]));
        }
        trace.send(Client, &b(CALL_INLINE, XID, &[0; 4], &last));
        trace.answer();
    }),
    blind("v2-no-payload", &["v2-response-flag", "v2-xid-mismatch"], |trace, bad| {
        *trace = Trace::version_2(Version::A);
        // A call that asks for a long reply, and a grant of credits.
        trace.send(Server, &a(A_NOMSG, if bad { XID } else { 0 }, 0, &A_NO_CHUNKS, &[]));
        if bad {
            trace.refuse_v2(Client, XID, BAD_XDR);
        }
    }),
    blind("v2-external", &["v2-xid-mismatch", "v2-direction"], |trace, bad| {
        *trace = Trace::version_2(Version::B);
        let chunk: &[u32] = if bad { &[] } else { &[1, 0, MEMORY.0, 40, 0, 0x1000] };
        trace.send(Client, &b(CALL_EXTERNAL, XID, &[&[0], chunk, &[0; 4]].concat(), &[]));
        if bad {
            trace.send(Server, &b(ERROR, XID, &[BAD_XDR], &[]));
        } else {
            trace.read(Server, (MEMORY.0, 0x1000), &null(XID));
            trace.answer();
        }
    }),
    blind("v2-external", &["v2-xid-mismatch", "v2-direction"], |trace, bad| {
        *trace = Trace::version_2(Version::B);
        let chunk = [1, 1, MEMORY.0, 100, 0, 0x1000];
        trace.send(Client, &b(CALL_INLINE, XID, &[&[0; 3][..], &chunk].concat(), &null(XID)));
        trace.write((MEMORY.0, 0x1000), &reply(XID, &[]));
        let returned = [0, 1, 1, MEMORY.0, 24, 0, 0x1000];
        trace.send(Server, &b(REPLY_EXTERNAL, XID, if bad { &[0, 0] } else { &returned }, &[]));
    }),
    case("v2-external", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        let position = if bad { 0 } else { 68 };
        let lists = [0, 1, position, MEMORY.0, 100, 0, 0x1000, 0, 0, 0];
        trace.send(Client, &b(CALL_INLINE, XID, &lists, &write3(XID, 100)));
        if bad {
            trace.refuse_v2(Server, XID, BAD_XDR);
        } else {
            trace.read(Server, (MEMORY.0, 0x1000), &octets(1, 100));
            trace.send(Server, &b(REPLY_INLINE, XID, &[0], &write3_reply(XID, 100)));
        }
    }),
    case("v2-read-order", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        let positions = if bad { [68, 64] } else { [64, 68] };
        let [one, two] =
            positions.map(|position| [1, position, MEMORY.0, 4, 0, 0x1000 + u32::from(position == 64) * 4]);
        trace.send(Client, &b(CALL_INLINE, XID, &[&[0][..], &one, &two, &[0; 3]].concat(), &null(XID)));
        trace.refuse_if(bad, BAD_XDR);
    }),
    case("v2-direction", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        trace.send(Client, &b(CALL_INLINE, XID, &[0; 4], &null(XID)));
        let payload = if bad { null(XID) } else { reply(XID, &[]) };
        trace.send(Server, &b(REPLY_INLINE, XID, &[0], &payload));
    }),
    // In the Call chunk, in a Position Zero Read chunk, in the Reply chunk.
    case("v2-direction", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        let payload = if bad { [reply(XID, &[]), vec![0; 16]].concat() } else { null(XID) };
        trace.send(Client, &b(CALL_EXTERNAL, XID, &[0, 1, 0, MEMORY.0, 40, 0, 0x1000, 0, 0, 0, 0], &[]));
        trace.read(Server, (MEMORY.0, 0x1000), &payload);
        trace.refuse_if(bad, BAD_XDR);
    }),
    case("v2-direction", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        let payload = if bad { null(XID) } else { reply(XID, &[0; 16]) };
        trace.send(Client, &b(CALL_INLINE, XID, &[0, 0, 0, 1, 1, MEMORY.0, 100, 0, 0x1000], &null(XID)));
        trace.write((MEMORY.0, 0x1000), &payload);
        trace.send(Server, &b(REPLY_EXTERNAL, XID, &[0, 1, 1, MEMORY.0, payload.len() as u32, 0, 0x1000], &[]));
    }),
    case("v2-response-flag", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        let payload = if bad { [reply(XID, &[]), vec![0; 16]].concat() } else { null(XID) };
        trace.send(Client, &a(A_NOMSG, XID, 0, &[0, 1, 0, MEMORY.0, 40, 0, 0x1000, 0, 0, 0], &[]));
        trace.read(Server, (MEMORY.0, 0x1000), &payload);
        trace.refuse_if(bad, BAD_XDR);
    }),
    case("v2-response-flag", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        let payload = if bad { null(XID) } else { reply(XID, &[0; 16]) };
        trace.send(Client, &a(A_MSG, XID, 0, &[0, 0, 0, 1, 1, MEMORY.0, 100, 0, 0x1000], &null(XID)));
        trace.write((MEMORY.0, 0x1000), &payload);
        let chunk = [0, 0, 0, 1, 1, MEMORY.0, payload.len() as u32, 0, 0x1000];
        trace.send(Server, &a(A_NOMSG, XID, RESPONSE, &chunk, &[]));
    }),
    // A call with bit 1 in a list flag, answered by its reply, or by nothing.
    ANSWERED_IN_A,
    ANSWERED_IN_B,
    case("v2-grant-xid", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        trace.send(Server, &b(GRANT, if bad { XID } else { 0 }, &[], &[]));
    }),
    case("v2-trailing", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(Server, &a(A_CONNPROP, 0, 0, &[0], if bad { &[0; 4] } else { &[] }));
    }),
    case("v2-trailing", |trace, bad| {
        *trace = Trace::version_2(Version::B);
        trace.send(Client, &b(CALL_INLINE, XID, &[0; 4], &null(XID)));
        trace.send(Server, &b(ERROR, XID, &[BAD_XDR], if bad { &[0; 4] } else { &[] }));
    }),
    // RDMA2_ERR_VERS_MISMATCH came with draft -05: the wire format does not show whether a responder owes it.
    blind("v2-version-changed", &["answer"], |trace, bad| {
        *trace = Trace::version_2(Version::B);
        if bad {
            trace.send(Client, &null_message());
        } else {
            trace.null(XID);
        }
    }),
    blind("v2-version-changed", &["answer"], |trace, bad| {
        *trace = Trace::version_2(Version::A);
        if bad {
            trace.send(Server, &callback(50));
        } else {
            trace.send(Server, &a(A_NOMSG, 0, 0, &A_NO_CHUNKS, &[]));
        }
    }),
    // A refusal of a version, in the format of version 2.
    case("error-range", |trace, bad| {
        *trace = Trace::version_2(Version::A);
        trace.send(Client, &a(A_MSG, XID, 0, &A_NO_CHUNKS, &null(XID)));
        trace.send(Server, &a(ERROR, XID, RESPONSE, &[1, if bad { 4 } else { 3 }, 3], &[]));
    }),
    // As version 1 has it, on a connection of drafts -00 to -02.
    case("error-trailing", |trace, bad| {
        *trace = Trace { version: Version::A, ..Trace::connected(&PRIVATE_DATA, &PRIVATE_DATA) };
        trace.null(1);
        trace.send(Client, &a(A_MSG, XID, 0, &A_NO_CHUNKS, &null(XID)));
        trace.send(Server, &[words(&[XID, 2, 32, ERROR, 1, 1, 1]), vec![0; usize::from(bad)]].concat());
    }),
];

/// Negotiation: a client begins with version 2, and a server of version 1 refuses it in its own layout.
#[test]
fn a_client_may_go_back_from_version_2_to_1() {
    let calls = [a(A_MSG, XID, 0, &A_NO_CHUNKS, &null(XID)), b(CALL_INLINE, XID, &[0; 4], &null(XID))];
    // An empty RDMA2_GRANT of family A is an empty RDMA2_CONNPROP_MIDDLE of family B: it does not show which it is.
    let unknown = b(6, 0, &[0], &[]);
    let properties = [a(5, 0, 0, &[0], &[]), b(7, 0, &[0], &[])];
    for first in calls.into_iter().chain([unknown]).chain(properties) {
        let xid = u32::from_be_bytes(first[..4].try_into().unwrap());
        let mut trace = Trace::connected(&PRIVATE_DATA, &PRIVATE_DATA);
        trace.send(Client, &first);
        trace.send(Server, &words(&[xid, 2, 32, ERROR, 1, 1, 1]));
        trace.null(8);
        trace.null(9);
        assert_eq!(slugs(&trace.packets), BTreeSet::new(), "{first:x?}");
        for slug in ["error-from-requester", "credit-initial"] {
            assert_eq!(not_judged(&trace.packets, slug), 0, "{slug} {first:x?}");
        }
    }
}

/// An RDMA_ERROR says nothing of the version that its sender's calls are of, nor does a Send of no known version. So
/// private data is not missed, and version 2 goes on.
#[test]
fn what_refuses_a_version_makes_no_connection_of_version_1() {
    for version in [Version::A, Version::B] {
        for low in [1, 2] {
            let mut trace = Trace::version_2(version);
            trace.send(Client, &patched(null_message(), 4, 3));
            trace.send(Server, &words(&[XID, 3, 32, ERROR, 1, low, 2]));
            trace.null(8);
            assert_eq!(slugs(&trace.packets), BTreeSet::from(["version"]), "{version:?}: {low} to 2");
        }
        // The server knows version 1 alone, and answers the first call in its own version: that is wrong by itself.
        let mut trace = Trace::silent(version);
        let call = |xid| match version {
            Version::A => a(A_MSG, xid, 0, &A_NO_CHUNKS, &null(xid)),
            _ => b(CALL_INLINE, xid, &[0; 4], &null(xid)),
        };
        trace.send(Client, &call(1));
        trace.send(Server, &words(&[1, 1, 32, ERROR, 1, 1, 1]));
        trace.send(Client, &call(2));
        trace.send(Server, &words(&[2, 2, 32, ERROR, 1, 1, 1]));
        assert_eq!(slugs(&trace.packets), BTreeSet::from(["error-echo", "error-range"]), "{version:?}");
    }
}

/// Version two draft -07 section 4.3.3. Whether the server refuses it, with the error of draft -05 or that of any draft, or answers
/// it in the same version, is another matter.
#[test]
fn version_1_on_a_version_2_connection_breaks_a_rule() {
    const VERS_MISMATCH: u32 = 11;
    let mismatch = words(&[XID, 1, 0x0020_0001, ERROR, VERS_MISMATCH]);
    let range = words(&[XID, 1, 0x0020_0001, ERROR, 1, 2, 2]);
    let answered = message(MSG, XID, &Lists::default(), &reply(XID, &[]));
    for (version, answer, replies) in [
        (Version::B, Some(&mismatch), false),
        (Version::B, Some(&range), false),
        (Version::A, Some(&range), false),
        (Version::B, Some(&answered), true),
        (Version::A, None, false),
    ] {
        let mut trace = Trace::version_2(version);
        trace.send(Client, &null_message());
        answer.into_iter().for_each(|answer| trace.send(Server, answer));
        trace.null(8);
        trace.null(9);
        let broken = ("v2-version-changed", Severity::Error, Blame::Sender);
        assert_eq!(blamed(&trace.packets), vec![broken; 1 + usize::from(replies)], "{version:?} {answer:x?}");
        assert_eq!(not_judged(&trace.packets, "v2-version-changed"), 0);
    }
}

#[test]
fn version_2_on_a_version_1_connection_breaks_a_rule() {
    for octets in [a(A_MSG, XID, 0x10, &A_NO_CHUNKS, &null(XID)), b(CALL_INLINE, XID, &[0; 4], &null(XID))] {
        let mut trace = Trace::new();
        trace.send(Client, &octets);
        trace.send(Server, &words(&[XID, 2, 32, ERROR, 1, 1, 1]));
        trace.null(8);
        assert_eq!(slugs(&trace.packets), BTreeSet::from(["version"]));
        let mut trace = Trace::new();
        trace.send(Server, &octets);
        trace.send(Client, &words(&[XID, 2, 32, ERROR, 1, 1, 1]));
        assert_eq!(slugs(&trace.packets), BTreeSet::from(["reverse-version"]));
    }
}

#[test]
fn a_missed_part_leaves_the_rest_in_its_message() {
    for version in [Version::A, Version::B] {
        let mut trace = Trace::version_2(version);
        let whole = call(XID, [100_003, 3, 0], &[0; 60]);
        for part in 0..4 {
            let octets = &whole[part * 20..part * 20 + 20];
            trace.send(
                Client,
                &match version {
                    Version::A => a(A_MSG, XID, MORE, &A_NO_CHUNKS, octets),
                    _ => b(CALL_MIDDLE, XID, &[100 - part as u32 * 20], octets),
                },
            );
        }
        trace.send(
            Client,
            &match version {
                Version::A => a(A_MSG, XID, 0, &A_NO_CHUNKS, &whole[80..]),
                _ => b(CALL_INLINE, XID, &[0; 4], &whole[80..]),
            },
        );
        trace.answer();
        trace.null(8);
        let last = trace.packets.len();
        for missed in (3..last).flat_map(|first| (first..last).map(move |end| first..end)) {
            let mut packets = trace.packets.clone();
            packets.drain(missed.clone());
            assert_eq!(slugs(&packets), BTreeSet::new(), "{missed:?}");
        }
        // Joined in the middle.
        for first in 1..last {
            assert_eq!(slugs(&trace.packets[first..]), BTreeSet::new(), "{first}");
        }
    }
}

/// A Send that may continue a Payload stream does not begin with an XID.
#[test]
fn a_later_part_has_no_xid_to_judge() {
    let whole = call(XID, [100_003, 3, 0], &[0; 60]);
    let part = |remaining, place: usize| b(CALL_MIDDLE, XID, &[remaining], &whole[place..place + 20]);
    // Of a connection that was joined after the first part, and whose two directions an acknowledgement shows to be one.
    let mut trace = Trace::version_2(Version::B);
    trace.send(Client, &b(CALL_INLINE, 20, &[0; 4], &null(20)));
    trace.send(Client, &part(100, 0));
    let joined = trace.packets.len();
    trace.reply(20);
    let ack = trace.wire.ack_all(Client);
    trace.packets.push(ack);
    trace.send(Client, &part(80, 20));
    let ack = trace.wire.ack_all(Server);
    trace.packets.push(ack);
    trace.send(Client, &b(CALL_INLINE, XID, &[0; 4], &whole[40..]));
    trace.answer();
    trace.null(8);
    assert_eq!(slugs(&trace.packets[joined..]), BTreeSet::new());
    // Behind a message of another RPC, which is dropped.
    let mut trace = Trace::version_2(Version::B);
    trace.send(Client, &part(100, 0));
    trace.send(Client, &b(CALL_INLINE, XID + 1, &[0; 4], &null(XID + 1)));
    trace.send(Client, &part(80, 20));
    trace.send(Client, &b(CALL_INLINE, XID, &[0; 4], &whole[40..]));
    trace.answer();
    assert_eq!(slugs(&trace.packets), BTreeSet::from(["v2-continuation"]));
    // Behind a first part that nobody can read.
    let mut trace = Trace::version_2(Version::B);
    trace.send(Client, &b(CALL_MIDDLE, XID, &[], &[]));
    trace.send(Client, &b(CALL_INLINE, XID, &[0; 4], &whole[20..]));
    assert_eq!(slugs(&trace.packets), BTreeSet::from(["header-short"]));
}

#[test]
fn what_is_not_known_of_version_2_is_counted() {
    let mut trace = Trace::version_2(Version::B);
    let before = trace.packets.len();
    trace.send(Client, &b(CALL_INLINE, XID, &[MEMORY.0, 0, 0, 1, 1, MEMORY.0, 100, 0, 0x1000], &null(XID)));
    trace.invalidate(0xa95, &b(REPLY_INLINE, XID, &[0], &reply(XID, &[])));
    // The call is missed: an acknowledgement tells that there was one.
    trace.packets.remove(before);
    let ack = trace.wire.ack_all(Server);
    trace.packets.insert(before, ack);
    trace.null(8);
    let (found, counts) = judge(&trace.packets);
    assert!(found.is_empty(), "{found:?}");
    let not_judged = |slug: &str| counts.iter().find(|count| count.rule.slug == slug).unwrap().not_judged;
    assert_eq!((not_judged("v2-inv-handle"), not_judged("v2-htype")), (1, 0));
    // Without the setup nobody knows which message is the first.
    let (_, counts) = judge(&trace.packets[3..]);
    let not_judged = |slug: &str| counts.iter().find(|count| count.rule.slug == slug).unwrap().not_judged;
    assert!(not_judged("v2-first-message") > 0);
    // An RDMA2_GRANT or an RDMA2_CONNPROP_MIDDLE.
    let mut trace = Trace::silent(Version::A);
    trace.send(Client, &b(6, 0, &[0], &[]));
    let (found, counts) = judge(&trace.packets);
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(counts.iter().find(|count| count.rule.slug == "v2-reserved-flag").unwrap().not_judged, 1);
}

/// The first message of the client is short; later ones, and those of the server, need not be.
#[test]
fn only_the_first_message_of_version_2_is_short() {
    for version in [Version::A, Version::B] {
        let mut trace = Trace::version_2(version);
        let payload = call(XID, [100_003, 3, 0], &[0; 2000]);
        trace.send(
            Client,
            &match version {
                Version::A => a(A_MSG, XID, 0, &A_NO_CHUNKS, &payload),
                _ => b(CALL_INLINE, XID, &[0; 4], &payload),
            },
        );
        trace.answer();
        trace.null(8);
        assert_eq!(slugs(&trace.packets), BTreeSet::new());
    }
}

#[test]
fn joined_late_the_first_version_2_message_is_not_judged() {
    for version in [Version::A, Version::B] {
        let mut trace = Trace::version_2(version);
        trace.null(8);
        trace.null(9);
        let first_call = 3;
        assert_eq!(not_judged(&trace.packets, "v2-first-message"), 0);
        // Joined in the middle: what comes after the first call is not the first.
        for calls in 1..3 {
            let mut joined = trace.packets[first_call..].to_vec();
            joined.retain(|packet| packet[15] == 1);
            assert_eq!(not_judged(&joined[..calls], "v2-first-message"), 1, "{version:?}");
        }
    }
}

#[test]
fn version_2_errors_and_calls_return_no_chunks() {
    let offered = [0, 0, 1, 1, MEMORY.0, 100, 0, 0x1000, 0, 0];
    for version in [Version::A, Version::B] {
        let mut trace = Trace::version_2(version);
        match version {
            Version::A => {
                trace.send(Client, &a(A_MSG, XID, 0, &offered, &read3(XID, 100)));
                trace.send(Server, &a(ERROR, XID, RESPONSE, &[BAD_XDR], &[]));
            }
            _ => {
                trace.send(Client, &b(CALL_INLINE, XID, &offered, &read3(XID, 100)));
                trace.send(Server, &b(ERROR, XID, &[BAD_XDR], &[]));
            }
        }
        trace.null(8);
        assert_eq!(slugs(&trace.packets), BTreeSet::new(), "{version:?}");
    }
}

/// Returns the findings of the rule `answer` about the answer to a Send of the client, and the number of times that the
/// rule was not judged.
fn answered(version: Version, sent: &[u8], answer: &[u8]) -> (Vec<String>, u64) {
    let mut trace = Trace::version_2(version);
    trace.send(Client, sent);
    trace.send(Server, answer);
    trace.null(0x99);
    let (found, counts) = judge(&trace.packets);
    let said = found.into_iter().filter(|found| found.rule.slug == "answer").map(|found| found.message);
    (said.collect(), counts.iter().find(|count| count.rule.slug == "answer").unwrap().not_judged)
}

#[test]
fn a_version_2_responder_answers_with_the_right_error() {
    const READ_CHUNKS: u32 = 6;
    const SYSTEM: u32 = 100;
    let error = |body: &[u32]| b(ERROR, XID, body, &[]);
    let unknown = b(14, XID, &[0; 4], &null(XID));
    let two = patched(unreadable(XID), 16, 0x77);
    assert_eq!(two.len(), unreadable(XID).len());
    for (sent, answer, expected, not_judged) in [
        (unreadable(XID), error(&[BAD_XDR]), None, 0),
        (
            unreadable(XID),
            error(&[INVAL_HTYPE]),
            Some("RDMA2_ERR_INVAL_HTYPE answers frame 6 (list-flag); RDMA2_ERR_BAD_XDR should"),
            0,
        ),
        (unknown.clone(), error(&[INVAL_HTYPE]), None, 0),
        (
            unknown,
            error(&[BAD_XDR]),
            Some("RDMA2_ERR_BAD_XDR answers frame 6 (v2-htype); RDMA2_ERR_INVAL_HTYPE should"),
            0,
        ),
        // Missing resources and other faults of the server do not show.
        (unreadable(XID), error(&[READ_CHUNKS, 0]), None, 1),
        (unreadable(XID), error(&[SYSTEM]), None, 1),
        // An error of an extension.
        (unreadable(XID), error(&[0x1000]), None, 1),
        // It has no XID that can be trusted.
        (
            words(&[XID, 2, 0x0020_0001]),
            error(&[BAD_XDR]),
            Some("RDMA2_ERR_BAD_XDR answers frame 6 of 12 octets (header-short), which has to be dropped"),
            0,
        ),
        // A whole prefix, but fewer octets than a receiver answers.
        (b(CALL_MIDDLE, XID, &[], &[]), error(&[BAD_XDR]), None, 1),
    ] {
        let expected = (Vec::from_iter(expected.map(str::to_owned)), not_judged);
        assert_eq!(answered(Version::B, &sent, &answer), expected, "{sent:x?} {answer:x?}");
    }
}

/// Draft -00 has other numbers, in the same wire format.
#[test]
fn family_a_error_numbers_are_not_judged() {
    let sent = a(10, XID, 0, &[], &[]);
    for (code, not_judged) in [(INVAL_HTYPE, 0), (BAD_PROPVAL, 1), (BAD_XDR, 1)] {
        let answer = a(ERROR, XID, RESPONSE, &[code], &[]);
        assert_eq!(answered(Version::A, &sent, &answer), (vec![], not_judged), "{code}");
    }
    let reply = a(A_MSG, XID, RESPONSE, &A_NO_CHUNKS, &reply(XID, &[]));
    assert_eq!(
        answered(Version::A, &sent, &reply).0,
        ["a reply answers frame 6 (v2-htype); RDMA2_ERR_INVAL_HTYPE should"]
    );
}

#[test]
fn a_server_without_version_2_owes_no_version_2_error() {
    for speaks in [false, true] {
        let mut trace = Trace::silent(Version::B);
        if speaks {
            trace.send(Server, &b(CONNPROP_FINAL, 0, &[0], &[]));
        }
        trace.null(1);
        trace.packets.pop();
        trace.send(Client, &unreadable(XID));
        trace.disconnect(Client);
        let count = judge(&trace.packets).1.into_iter().find(|count| count.rule.slug == "answer").unwrap();
        assert_eq!((count.broken, count.not_judged), (u64::from(speaks), u64::from(!speaks)));
    }
}

/// Parts of a sequence, of which one is wrong: the rest of it is dropped without another answer.
#[test]
fn a_sequence_that_is_refused_is_answered_once() {
    for answers in 0..3 {
        let mut trace = Trace::version_2(Version::B);
        let whole = null(XID);
        trace.send(Client, &b(CALL_MIDDLE, XID, &[32], &whole[..8]));
        trace.send(Client, &b(CALL_MIDDLE, XID, &[0x100], &whole[8..20]));
        // It is wrong by itself, too.
        trace.send(Client, &b(CALL_INLINE, XID, &[0, 1, 70, MEMORY.0, 4, 0, 0x1000, 0, 0, 0], &whole[20..]));
        (0..answers).for_each(|_| trace.refuse_v2(Server, XID, INVAL_CONT));
        trace.null(0x99);
        let found: Vec<_> = blamed(&trace.packets).into_iter().map(|(slug, ..)| slug).collect();
        let expected = ["v2-continuation", "v2-read-order", "answer"];
        assert_eq!(found, expected[..if answers == 0 { 3 } else { 2 }], "{answers}");
    }
}

#[test]
fn a_reply_belongs_to_the_call_beside_a_bad_send() {
    for both in [
        [unreadable(XID), b(CALL_INLINE, XID, &[0; 4], &null(XID))],
        [b(CALL_INLINE, XID, &[0; 4], &null(XID)), unreadable(XID)],
    ] {
        let mut trace = Trace::version_2(Version::B);
        both.iter().for_each(|octets| trace.send(Client, octets));
        trace.answer();
        trace.refuse_v2(Server, XID, BAD_XDR);
        trace.null(0x99);
        assert_eq!(slugs(&trace.packets), BTreeSet::from(["list-flag"]));
    }
}

/// A responder may end a Call of several Sends in the middle, with an error. If the capture lacks that, the next Call seems to
/// interrupt the first.
#[test]
fn an_error_that_the_capture_lacks_makes_no_interruption() {
    let mut trace = Trace::version_2(Version::B);
    let (first, _) = parts();
    trace.send(Client, &b(CALL_MIDDLE, XID, &[20], &first));
    let error = trace.packets.len();
    trace.send(Server, &b(ERROR, XID, &[BAD_XDR], &[]));
    let end = trace.packets.len();
    trace.send(Client, &b(CALL_INLINE, XID + 1, &[0; 4], &null(XID + 1)));
    trace.reply(XID + 1);
    trace.null(XID + 2);
    let without = [&trace.packets[..error], &trace.packets[end..]].concat();
    assert!(!slugs(&without).contains("v2-continuation"));
    assert!(!slugs(&trace.packets).contains("v2-continuation"));
}

/// An error may have ended the sequence at the responder, which is then in the middle of another one. So it is not said of any later
/// Send that it should be answered.
#[test]
fn after_an_interruption_no_answer_is_missed() {
    for interrupts in [false, true] {
        let mut trace = Trace::version_2(Version::B);
        let (first, rest) = parts();
        trace.send(Client, &b(CALL_MIDDLE, XID, &[20], &first));
        if interrupts {
            trace.null(XID + 1);
        }
        trace.send(Client, &b(CALL_INLINE, XID, &[0; 4], &rest));
        trace.answer();
        trace.send(Client, &unreadable(XID + 2));
        trace.null(0x99);
        let count = judge(&trace.packets).1.into_iter().find(|count| count.rule.slug == "answer").unwrap();
        assert_eq!((count.broken, count.not_judged > 0), (u64::from(!interrupts), interrupts), "{interrupts}");
    }
}

/// A connection of version 1 keeps it. If something was missed, the ends may have agreed on version 2 in that.
#[test]
fn version_2_after_1_is_judged_if_nothing_was_missed() {
    for is_missed in [false, true] {
        let mut trace = Trace::new();
        trace.wire.client.next += u32::from(is_missed);
        trace.send(Client, &b(CALL_INLINE, XID, &[0; 4], &null(XID)));
        trace.send(Server, &b(REPLY_INLINE, XID, &[0], &reply(XID, &[])));
        trace.send(Client, &message(MSG, 8, &Lists::default(), &null(8)));
        let found = slugs(&trace.packets);
        assert_eq!(found.is_empty(), is_missed, "{found:?}");
    }
}

/// A server that refuses version 2 in the layout of version 2 need not speak it.
#[test]
fn who_refuses_version_2_may_go_on_with_version_1() {
    for version in [Version::A, Version::B] {
        let mut trace = Trace::silent(version);
        let (call, refusal) = match version {
            Version::A => (a(A_MSG, XID, 0, &A_NO_CHUNKS, &null(XID)), a(ERROR, XID, RESPONSE, &[1, 1, 1], &[])),
            _ => (b(CALL_INLINE, XID, &[0; 4], &null(XID)), b(ERROR, XID, &[1, 1, 1], &[])),
        };
        trace.send(Client, &call);
        trace.send(Server, &refusal);
        trace.version = Version::One;
        trace.null(8);
        let found = slugs(&trace.packets);
        assert!(!found.contains("v2-version-changed"), "{version:?}: {found:?}");
    }
}
