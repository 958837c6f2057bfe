//! The headers in captures of Linux 6.1, client and server: counted as another dissector counts them, and the same
//! octets when encoded again.

use rpcrdma::error::{DecodeErrorKind, Reaction, Role};
use rpcrdma::prefix::{Prefix, Procedure};
use rpcrdma::rpc::{AuthSys, Flavor, RpcCall};
use rpcrdma::v1::{ErrorReply, Header, Message};

use crate::support::{self, recorded};

fn check(name: &str, expected: [usize; 2]) {
    let file = std::fs::read(support::testdata(&format!("captures/{name}.pcap"))).unwrap();
    let mut counts = [0; 2];
    for send in recorded::sends(&file) {
        let message = Message::decode(&send).unwrap_or_else(|error| panic!("{name}: {error}"));
        counts[message.header.procedure().0 as usize] += 1;
        let mut buffer = vec![0xa5; message.header_length];
        assert_eq!(message.header.encode(&mut buffer), Ok(message.header_length));
        assert_eq!(Header::decode(&buffer).unwrap().0, message.header);
        assert_eq!([&buffer, message.payload].concat(), send, "{name}");
    }
    assert_eq!(counts, expected, "{name}: RDMA_MSG, RDMA_NOMSG");
}

#[test]
fn headers_of_linux() {
    check("nfs3", [112, 8]);
    check("nfs3_ipv6", [124, 8]);
    check("nfs40", [124, 10]);
    check("nfs41", [123, 15]);
    check("nfs41_callback", [48, 4]);
    check("nfs42_mtu9000", [112, 12]);
    check("nfs41_krb5", [110, 12]);
    check("nfs41_krb5i", [99, 23]);
}

/// The credentials of Linux, forward and backward: the same octets when made from their parts.
#[test]
fn users_of_linux() {
    let mut users = Vec::new();
    for name in ["nfs3", "nfs40", "nfs41_callback"] {
        let file = std::fs::read(support::testdata(&format!("captures/{name}.pcap"))).unwrap();
        for send in recorded::sends(&file) {
            let Ok((call, _)) = RpcCall::decode(Message::decode(&send).unwrap().payload) else { continue };
            if call.credential.flavor != Flavor::SYS {
                continue;
            }
            let seen = AuthSys::decode(call.credential.body).unwrap();
            let gids: Vec<u32> = seen.gids().collect();
            let mut made = AuthSys::new(seen.machine_name(), seen.uid, seen.gid, &gids).unwrap();
            made.stamp = seen.stamp;
            let mut body = vec![0xa5; made.encoded_len()];
            made.encode(&mut body).unwrap();
            assert_eq!(body, call.credential.body, "{name}");
            users.push((name, String::from_utf8(seen.machine_name().to_vec()).unwrap(), seen.uid, seen.gid, gids));
        }
    }
    users.sort();
    users.dedup();
    let root = |capture, machine: &str| (capture, machine.to_owned(), 0, 0, vec![]);
    let (forward, backward) = (root("nfs41_callback", "client"), root("nfs41_callback", "server"));
    assert_eq!(users, [root("nfs3", "client"), root("nfs40", "client"), forward, backward]);
}

/// One bad request on each of many connections: this crate would answer exactly what Linux answered, octet for octet.
///
/// The exception is a message of fewer than 28 octets, which Linux answers but RFC 8166 section 4.5 has discarded.
#[test]
fn answers_of_linux() {
    let file = std::fs::read(support::testdata("captures/errors.pcap")).unwrap();
    let sends = recorded::sends(&file);
    let answer = |request: &Prefix| {
        let mut errors = sends.iter().filter(|send| {
            Prefix::decode(send)
                .is_ok_and(|prefix| prefix.xid == request.xid && prefix.procedure == Procedure::RDMA_ERROR)
        });
        errors.next().cloned()
    };
    let (mut answered, mut short) = (Vec::new(), 0);
    for send in &sends {
        let Err(error) = Header::decode(send) else { continue };
        let request = Prefix::decode(send).unwrap();
        if request.procedure == Procedure::RDMA_ERROR {
            // The answer to a request of another version, which has its version.
            continue;
        }
        let linux = answer(&request).unwrap_or_else(|| panic!("{request}: {error}"));
        if error.kind == DecodeErrorKind::HeaderShort {
            assert_eq!(error.reaction(Role::Responder), Reaction::Discard);
            short += 1;
            continue;
        }
        let reply = ErrorReply::new(&request, 64, error.reaction(Role::Responder)).unwrap();
        let mut buffer = vec![0xa5; reply.encoded_len()];
        reply.encode(&mut buffer).unwrap();
        assert_eq!(buffer, linux, "{request}: {error}");
        answered.push(error.kind);
    }
    use DecodeErrorKind::{ListFlag, ListTruncated, SegmentCount, Version};
    assert_eq!(
        answered,
        [Version, Version, DecodeErrorKind::Procedure, ListFlag, ListFlag, ListTruncated, SegmentCount]
    );
    assert_eq!(short, 2);
}
