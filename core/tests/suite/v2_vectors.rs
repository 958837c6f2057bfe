//! The vectors made by hand from the version two drafts, of both wire formats.

use rpcrdma::error::{DecodeError, DecodeErrorKind, EncodeError, Role};
use rpcrdma::lists::{Chunks, ReadList};
use rpcrdma::rules::{self, SentV2};
use rpcrdma::segment::Segment;
use rpcrdma::v2::{
    ChunkLists, Credit, ErrorBodyV2, ErrorCode, Family, Properties, PropertySet, PropertySubset, PropertyValue,
    ReactionV2, ReverseDirection, family_a, family_b,
};

use crate::support::{self, names_of, vector_of};

const A: &str = "v2/family-a";
const B: &str = "v2/family-b";

type Tuple = (u32, u32, u64);
/// Position and segment of each read segment; the Write chunks; the Reply chunk.
type Lists<'a> = (&'a [(u32, u32, u32, u64)], &'a [&'a [Tuple]], Option<&'a [Tuple]>);

const NOTHING: Lists<'_> = (&[], &[], None);

fn tuple(segment: Segment) -> Tuple {
    (segment.handle, segment.length, segment.offset)
}

fn reads(list: ReadList<'_>) -> Vec<(u32, u32, u32, u64)> {
    list.iter().map(|read| (read.position, read.target.handle, read.target.length, read.target.offset)).collect()
}

fn same_lists(name: &str, chunks: Chunks<'_>, expected: Lists<'_>) {
    assert_eq!(reads(chunks.reads), expected.0, "{name}: Read list");
    let writes: Vec<Vec<_>> = chunks.writes.iter().map(|chunk| chunk.iter().map(tuple).collect()).collect();
    assert_eq!(writes, expected.1, "{name}: Write list");
    let reply: Option<Vec<_>> = chunks.reply.map(|chunk| chunk.iter().map(tuple).collect());
    assert_eq!(reply.as_deref(), expected.2, "{name}: Reply chunk");
}

/// `msg_sixteen_of_each` of version 1 has the same lists.
fn same_as_version_1(chunks: Chunks<'_>) {
    let octets = support::vector("msg_sixteen_of_each");
    assert_eq!(rpcrdma::v1::Header::decode(&octets).unwrap().0.chunks(), Some(chunks));
}

const TWO_READS: Lists<'_> =
    (&[(180, 0x101, 4096, 0x1000_0000), (180, 0x102, 801, 0x2000_0000)], &[], Some(&[(0x103, 8192, 0x7fff_0000_1000)]));

/// Each vector of a family is encoded to the same octets; no smaller buffer is taken; cut short it is an error within
/// what is there, or, from the end of its header on, the same header.
macro_rules! every_vector {
    ($test:ident, $family:ident, $folder:expr) => {
        #[test]
        fn $test() {
            let names = names_of($folder, "");
            assert!(names.len() > 20, "vectors");
            for name in names {
                let octets = vector_of($folder, &name);
                let whole = $family::Message::decode(&octets).unwrap_or_else(|error| panic!("{name}: {error}"));
                let $family::Message { header, header_length, payload } = whole;
                assert_eq!(header.encoded_len(), header_length, "{name}");
                let mut buffer = vec![0xa5; header_length + 3];
                assert_eq!(header.encode(&mut buffer), Ok(header_length), "{name}");
                assert_eq!([&buffer[..header_length], payload].concat(), octets, "{name}");
                assert_eq!(buffer[header_length..], [0xa5; 3]);
                for length in 0..header_length {
                    let mut buffer = vec![0xa5; length];
                    let error = EncodeError { needed: header_length, missing: header_length - length };
                    assert_eq!(header.encode(&mut buffer), Err(error), "{name}");
                    assert!(buffer.iter().all(|octet| *octet == 0xa5), "{name}: {length}");
                }
                for length in 0..octets.len() {
                    match $family::Message::decode(&octets[..length]) {
                        Ok(cut) => {
                            assert_eq!((cut.header, cut.header_length), (header, header_length), "{name}: {length}");
                            assert_eq!(cut.payload, &octets[header_length..length], "{name}: {length}");
                        }
                        Err(error) => {
                            assert!(length < header_length && error.offset <= length, "{name}: {length}: {error}");
                            let is_error = matches!(header.body, $family::Body::Error(_));
                            let short = length < $family::Header::PREFIX_LEN || is_error;
                            assert_eq!(error.kind == DecodeErrorKind::HeaderShort, short, "{name}: {length}: {error}");
                        }
                    }
                }
            }
        }
    };
}

every_vector!(every_vector_of_family_a_comes_back, family_a, A);
every_vector!(every_vector_of_family_b_comes_back, family_b, B);

/// Each refused vector of a family: what is wrong, where, and what Responder and Requester answer.
macro_rules! refused {
    ($test:ident, $family:ident, $folder:expr, $table:expr) => {
        #[test]
        fn $test() {
            let table = $table;
            assert_eq!(names_of($folder, "invalid"), table.map(|(name, ..)| name), "every vector is in the table");
            for (name, kind, offset, responder, requester) in table {
                let octets = vector_of($folder, &format!("invalid/{name}"));
                let error = $family::Header::decode(&octets).unwrap_err();
                assert_eq!(error, DecodeError { kind, offset }, "{name}");
                let answer = |code: Option<ErrorCode>| code.map_or(ReactionV2::Discard, ReactionV2::Answer);
                assert_eq!(ReactionV2::to(error, Role::Responder), answer(responder), "{name}");
                assert_eq!(ReactionV2::to(error, Role::Requester), answer(requester), "{name}");
            }
        }
    };
}

const BAD_XDR: Option<ErrorCode> = Some(ErrorCode::BAD_XDR);
const BAD_PROPVAL: Option<ErrorCode> = Some(ErrorCode::BAD_PROPVAL);
const INVAL_HTYPE: Option<ErrorCode> = Some(ErrorCode::INVAL_HTYPE);
const VERS: Option<ErrorCode> = Some(ErrorCode::VERS);

refused!(
    what_family_a_refuses,
    family_a,
    A,
    [
        ("connprop_count_cut", DecodeErrorKind::HeaderTruncated, 20, BAD_XDR, None),
        ("connprop_counts_too_many", DecodeErrorKind::HeaderTruncated, 36, BAD_XDR, None),
        ("error_code_cut", DecodeErrorKind::HeaderShort, 20, None, None),
        ("error_vers_cut", DecodeErrorKind::HeaderShort, 28, None, None),
        ("header_type_2", DecodeErrorKind::HeaderType, 12, INVAL_HTYPE, INVAL_HTYPE),
        ("header_type_7", DecodeErrorKind::HeaderType, 12, INVAL_HTYPE, INVAL_HTYPE),
        ("hostauth_longer_than_its_value", DecodeErrorKind::PropertyValue, 28, BAD_PROPVAL, BAD_PROPVAL),
        ("hostauth_with_more_behind", DecodeErrorKind::PropertyValue, 28, BAD_PROPVAL, BAD_PROPVAL),
        ("inv_handle_cut", DecodeErrorKind::HeaderTruncated, 20, BAD_XDR, None),
        ("property_longer_than_the_message", DecodeErrorKind::PropertyValue, 28, BAD_PROPVAL, BAD_PROPVAL),
        ("property_of_eight_octets", DecodeErrorKind::PropertyValue, 28, BAD_PROPVAL, BAD_PROPVAL),
        ("property_of_three_octets", DecodeErrorKind::PropertyValue, 40, BAD_PROPVAL, BAD_PROPVAL),
        ("read_list_cut", DecodeErrorKind::ListTruncated, 24, BAD_XDR, None),
        ("reply_chunk_counts_too_many", DecodeErrorKind::SegmentCount, 36, BAD_XDR, None),
        ("shorter_than_20", DecodeErrorKind::HeaderShort, 16, None, None),
        ("version_1", DecodeErrorKind::Version, 4, VERS, None),
        ("write_list_flag_2", DecodeErrorKind::ListFlag, 28, BAD_XDR, None),
    ]
);

refused!(
    what_family_b_refuses,
    family_b,
    B,
    [
        ("call_chunk_cut", DecodeErrorKind::ListTruncated, 20, BAD_XDR, None),
        ("call_chunk_flag_3", DecodeErrorKind::ListFlag, 20, BAD_XDR, None),
        ("call_external_three_lists", DecodeErrorKind::ListTruncated, 56, BAD_XDR, None),
        ("connprop_which_cut", DecodeErrorKind::HeaderTruncated, 20, BAD_XDR, None),
        ("error_code_cut", DecodeErrorKind::HeaderShort, 16, None, None),
        ("error_segments_cut", DecodeErrorKind::HeaderShort, 20, None, None),
        ("header_type_0", DecodeErrorKind::HeaderType, 12, INVAL_HTYPE, INVAL_HTYPE),
        ("header_type_14", DecodeErrorKind::HeaderType, 12, INVAL_HTYPE, INVAL_HTYPE),
        ("hostauth_without_count", DecodeErrorKind::PropertyValue, 24, BAD_PROPVAL, BAD_PROPVAL),
        ("inv_handle_cut", DecodeErrorKind::HeaderTruncated, 16, BAD_XDR, None),
        ("property_of_five_octets", DecodeErrorKind::PropertyValue, 24, BAD_PROPVAL, BAD_PROPVAL),
        ("property_without_length", DecodeErrorKind::PropertyValue, 24, BAD_PROPVAL, BAD_PROPVAL),
        ("remaining_cut", DecodeErrorKind::HeaderTruncated, 16, BAD_XDR, None),
        ("reply_external_write_list_cut", DecodeErrorKind::ListTruncated, 24, BAD_XDR, None),
        ("reply_inline_counts_4294967295", DecodeErrorKind::SegmentCount, 20, BAD_XDR, None),
        ("reply_middle_remaining_cut", DecodeErrorKind::HeaderTruncated, 16, BAD_XDR, None),
        ("shorter_than_16", DecodeErrorKind::HeaderShort, 12, None, None),
        ("version_3", DecodeErrorKind::Version, 4, VERS, None),
    ]
);

/// Checks a vector of family A with lists: xid, granted, maximum, flags, header length, `rdma_inv_handle`; its lists.
fn check_a(name: &str, fixed: (u32, u16, u16, u32, usize, u32), expected: Lists<'_>) {
    let octets = vector_of(A, name);
    let family_a::Message { header, header_length, .. } = family_a::Message::decode(&octets).unwrap();
    let (granted, maximum) = (header.credit.granted(), header.credit.maximum());
    let found = (header.xid, granted, maximum, header.flags.bits(), header_length, header.inv_handle().unwrap());
    assert_eq!(found, fixed, "{name}");
    let htype = if name.starts_with("msg") { family_a::HeaderType(0) } else { family_a::HeaderType(1) };
    assert_eq!(header.header_type(), htype, "{name}");
    same_lists(name, header.chunks().unwrap(), expected);
}

#[test]
fn family_a_messages_with_lists() {
    check_a("msg_no_chunks", (0x5a7a_4583, 1, 128, 0, 36, 0), NOTHING);
    check_a("msg_short_call", (7, 1, 64, 0, 36, 0), NOTHING);
    check_a("msg_reserved_flags", (0x12, 1, 64, 0x8000_0010, 36, 0), NOTHING);
    let write = |length| (0xa94, length, 0xa506_4bf4_ce8c_6000);
    check_a("msg_one_write_chunk", (0x0b5e_55ed, 1, 128, 0, 60, 0xa94), (&[], &[&[write(131_072)]], None));
    check_a("msg_reply_one_write_chunk", (0x0b5e_55ed, 1, 128, 1, 60, 0), (&[], &[&[write(801)]], None));
    check_a("msg_two_read_segments_and_reply_chunk", (0x11, 1, 64, 0, 104, 0x103), TWO_READS);
    check_a("msg_continued_1_of_3", (0x51, 1, 64, 2, 36, 0), NOTHING);
    check_a("msg_continued_2_of_3", (0x51, 1, 64, 2, 36, 0), NOTHING);
    check_a("msg_continued_3_of_3", (0x51, 1, 64, 0, 60, 0), (&[], &[&[(9, 64, 0x900)]], None));
    let call = [(0, 0xbeef, 0x1234, 0xc0ff_ee00)];
    check_a("nomsg_call_position_zero", (0x31, 1, 128, 0, 60, 0xbeef), (&call, &[], None));
    check_a("nomsg_reply", (0x32, 1, 128, 1, 56, 0), (&[], &[], Some(&[(0xbeef, 0xabc, 0xc0ff_ee00)])));
    check_a("nomsg_grant", (0, 16, 128, 0, 36, 0), NOTHING);
    let octets = vector_of(A, "msg_sixteen_of_each");
    same_as_version_1(family_a::Header::decode(&octets).unwrap().0.chunks().unwrap());
}

#[test]
fn family_a_grants() {
    for name in names_of(A, "") {
        let octets = vector_of(A, &name);
        let (header, _) = family_a::Header::decode(&octets).unwrap();
        assert_eq!(header.is_grant(), name.ends_with("grant"), "{name}");
    }
    let octets = vector_of(A, "grant");
    let (header, rest) = family_a::Header::decode(&octets).unwrap();
    assert_eq!((header.body, header.credit.granted(), rest), (family_a::Body::Grant, 16, &[][..]));
}

/// Returns the expected contents of a family's vectors with `RDMA2_ERROR`.
fn errors(max_read_chunks: u32, write_resource: (u32, u32)) -> Vec<(&'static str, u32, ErrorBodyV2)> {
    let void = |code| ErrorBodyV2::Void(code);
    let (chunk_index, length_needed) = write_resource;
    vec![
        ("error_vers", 0x61, ErrorBodyV2::Vers { low: 1, high: 1 }),
        ("error_bad_xdr", 0x62, void(ErrorCode(2))),
        ("error_bad_propval", 0x63, void(ErrorCode(3))),
        ("error_inval_htype", 0x64, void(ErrorCode(4))),
        ("error_inval_cont", 0x65, void(ErrorCode(5))),
        ("error_read_chunks", 0x66, ErrorBodyV2::ReadChunks { max_chunks: max_read_chunks }),
        ("error_write_chunks", 0x67, ErrorBodyV2::WriteChunks { max_chunks: 1 }),
        ("error_segments", 0x68, ErrorBodyV2::Segments { max_segments: 16 }),
        ("error_write_resource", 0x69, ErrorBodyV2::WriteResource { chunk_index, length_needed }),
        ("error_reply_resource", 0x6a, ErrorBodyV2::ReplyResource { length_needed: 8192 }),
        ("error_system", 0x6b, void(ErrorCode(100))),
        ("error_unknown", 0x6c, void(ErrorCode(77))),
    ]
}

#[test]
fn family_a_errors() {
    for (name, xid, error) in errors(2, (2, 131_072)) {
        let octets = vector_of(A, name);
        let body = family_a::Body::Error(error);
        let header = family_a::Header { xid, credit: Credit::new(1, 32), flags: family_a::HeaderFlags::RESPONSE, body };
        assert_eq!(family_a::Header::decode(&octets), Ok((header, &[][..])), "{name}");
        assert_eq!(error.code().name().is_none(), name == "error_unknown");
    }
}

#[test]
fn family_b_errors() {
    let mut errors = errors(0, (0, 0));
    errors.push(("error_vers_mismatch", 0x6d, ErrorBodyV2::Void(ErrorCode(11))));
    for (name, xid, error) in errors {
        let octets = vector_of(B, name);
        let header = family_b::Header { xid, credit: Credit::new(1, 32), body: family_b::Body::Error(error) };
        assert_eq!(family_b::Header::decode(&octets), Ok((header, &[][..])), "{name}");
    }
}

fn values(set: PropertySet<'_>) -> Vec<(u32, PropertyValue<'_>)> {
    set.iter().map(|property| (property.id.0, property.value)).collect()
}

fn properties_a(name: &str, use_it: impl FnOnce(PropertySet<'_>, family_a::HeaderFlags, usize)) {
    let octets = vector_of(A, name);
    let family_a::Message { header, header_length, .. } = family_a::Message::decode(&octets).unwrap();
    let family_a::Body::Connprop(set) = header.body else { panic!("{name}") };
    use_it(set, header.flags, header_length);
}

#[test]
fn family_a_properties() {
    use PropertyValue::{Default, Opaque, Uint32, Unknown};
    properties_a("connprop_empty", |set, flags, length| {
        assert_eq!((set.len(), set.is_empty(), flags.bits(), length), (0, true, 0, 24));
        assert_eq!(Properties::default().with(&set), Properties::default());
    });
    properties_a("connprop_five_numbers", |set, _, length| {
        let numbers = [4096, 8192, 1_048_576, 16, 2].map(Uint32);
        assert_eq!((values(set), length), ((1..=5).zip(numbers).collect(), 84));
        let properties = Properties::default().with(&set);
        assert_eq!((properties.receive_buffer_size, properties.reverse_direction), (8192, ReverseDirection::CONT));
    });
    properties_a("connprop_defaults", |set, _, _| {
        assert_eq!(values(set), [(2, Default), (6, Default), (1000, Default)]);
        let before =
            Properties { receive_buffer_size: 8192, host_authentication: Some(b"before"), ..Properties::default() };
        assert_eq!(before.with(&set), Properties::default());
    });
    properties_a("connprop_hostauth_then_more", |set, flags, length| {
        assert_eq!((values(set), flags.bits(), length), (vec![(6, Opaque(b"krb5p"))], 4, 44));
        assert_eq!(Properties::default().with(&set).host_authentication, Some(&b"krb5p"[..]));
    });
    properties_a("connprop_unknown", |set, _, _| {
        assert_eq!(values(set), [(0xabcd, Unknown(&[1, 2, 3, 4, 5, 6])), (4, Uint32(32))]);
        assert_eq!(Properties::default().with(&set).maximum_segment_count, 32);
    });
}

#[test]
fn a_subset_has_a_bit_for_each_property() {
    let octets = vector_of("v2", "property_subset");
    let (subset, rest) = PropertySubset::decode(&octets).unwrap();
    assert!((0..1000).filter(|index| subset.contains(*index)).eq([0, 31, 33]));
    assert!(rest.is_empty());
    let mut again = [0xa5; 12];
    assert_eq!((subset.encoded_len(), subset.encode(&mut again)), (12, Ok(12)));
    assert_eq!(again[..], octets);
    for length in 0..octets.len() {
        let offset = if length < 4 { 0 } else { 4 };
        let error = DecodeError { kind: DecodeErrorKind::HeaderTruncated, offset };
        assert_eq!(PropertySubset::decode(&octets[..length]).unwrap_err(), error, "{length}");
    }
}

/// Slug, offset, and what a Responder does, of what is found in a Send.
fn broken(sent: &SentV2<'_>) -> Vec<(&'static str, usize, Option<ReactionV2>)> {
    let mut found = Vec::new();
    rules::send_v2(sent, &mut |finding| {
        found.push((finding.rule.slug, finding.offset, sent.reaction(finding.rule, Role::Responder)));
    });
    found
}

/// Of what parses, these alone break a rule.
#[test]
fn vectors_that_break_a_rule() {
    for (family, folder) in [(Family::A, A), (Family::B, B)] {
        for name in names_of(folder, "") {
            let octets = vector_of(folder, &name);
            let mut sent = SentV2::new(family, &octets);
            // Of a Payload stream in several messages, only the first part begins with the XID.
            sent.begins = !["2_of_2", "2_of_3", "3_of_3"].iter().any(|part| name.ends_with(part));
            // Some are headers alone, which a Payload stream would follow.
            let is_alone = sent.decoded.is_ok_and(|message| message.header.has_payload() && message.payload.is_empty());
            sent.length += if is_alone { 40 } else { 0 };
            let expected = match name.as_str() {
                "reply_external_without_reply_chunk" => {
                    vec![("v2-external", 20, Some(ReactionV2::Answer(ErrorCode::BAD_XDR)))]
                }
                "msg_reserved_flags" => vec![("v2-reserved-flag", 16, None)],
                _ => vec![],
            };
            assert_eq!(broken(&sent), expected, "{folder}/{name}");
        }
    }
}

#[test]
fn broken_vectors() {
    let bad_xdr = Some(ReactionV2::Answer(ErrorCode::BAD_XDR));
    let (a, b) = (names_of(A, "broken"), names_of(B, "broken"));
    let expected = [
        (Family::A, "error_vers_low_above_high", "error-range", 24, None),
        (Family::A, "error_with_trailing_octets", "v2-trailing", 24, None),
        (Family::A, "msg_positions_descend", "v2-read-order", 52, bad_xdr),
        (Family::A, "msg_without_payload", "v2-no-payload", 36, bad_xdr),
        (Family::A, "msg_xid_of_another_rpc", "v2-xid-mismatch", 36, bad_xdr),
        (Family::A, "nomsg_call_without_position_zero", "v2-no-payload", 24, bad_xdr),
        (Family::A, "nomsg_reply_without_reply_chunk", "v2-no-payload", 56, bad_xdr),
        (Family::A, "nomsg_with_an_xid_and_no_chunks", "v2-no-payload", 24, bad_xdr),
        (Family::B, "call_external_position_in_call_chunk", "v2-external", 48, bad_xdr),
        (Family::B, "call_external_without_call_chunk", "v2-external", 20, bad_xdr),
        (Family::B, "call_inline_position_42", "v2-read-order", 24, bad_xdr),
        (Family::B, "call_inline_position_zero", "v2-external", 24, bad_xdr),
        (Family::B, "call_inline_positions_descend", "v2-read-order", 48, bad_xdr),
        (Family::B, "call_inline_with_a_reply", "v2-direction", 36, None),
        (Family::B, "call_inline_xid_of_another_rpc", "v2-xid-mismatch", 32, bad_xdr),
        (Family::B, "connprop_final_with_trailing_octets", "v2-trailing", 20, None),
        (Family::B, "grant_with_an_xid", "v2-grant-xid", 0, None),
        (Family::B, "reply_inline_without_payload", "v2-no-payload", 20, bad_xdr),
    ];
    let names = expected.map(|(family, name, ..)| (family, name.to_owned()));
    assert!(a.into_iter().map(|name| (Family::A, name)).chain(b.into_iter().map(|name| (Family::B, name))).eq(names));
    for (family, name, slug, offset, reaction) in expected {
        let octets = vector_of(if family == Family::A { A } else { B }, &format!("broken/{name}"));
        assert_eq!(broken(&SentV2::new(family, &octets)), [(slug, offset, reaction)], "{name}");
    }
}

#[test]
fn family_b_properties() {
    use PropertyValue::{Default, Opaque, Uint32, Unknown};
    let numbers = [4096, 8192, 1_048_576, 16, 3].map(Uint32);
    for (name, htype, length, expected) in [
        ("connprop_final_five_numbers", 7, 80, (1..=5).zip(numbers).collect()),
        ("connprop_final_empty", 7, 20, vec![]),
        ("connprop_middle_hostauth", 6, 40, vec![(6, Opaque(&b"krb5p"[..]))]),
        ("connprop_middle_unknown_and_default", 6, 44, vec![(0xabcd, Unknown(&[1, 2, 3, 4, 5, 6])), (1, Default)]),
    ] {
        let octets = vector_of(B, name);
        let family_b::Message { header, header_length, .. } = family_b::Message::decode(&octets).unwrap();
        let (family_b::Body::ConnpropMiddle(set) | family_b::Body::ConnpropFinal(set)) = header.body else {
            panic!("{name}")
        };
        assert_eq!((header.header_type().0, header_length, values(set)), (htype, length, expected), "{name}");
    }
}

/// Checks a vector of family B with lists: xid, header type, header length, `rdma_inv_handle`; its lists.
fn check_b(name: &str, fixed: (u32, u32, usize, Option<u32>), expected: Lists<'_>) {
    let octets = vector_of(B, name);
    let family_b::Message { header, header_length, .. } = family_b::Message::decode(&octets).unwrap();
    let found = (header.xid, header.header_type().0, header_length, header.inv_handle());
    assert_eq!(found, fixed, "{name}");
    same_lists(name, header.chunks().unwrap(), expected);
}

#[test]
fn family_b_messages_with_lists() {
    check_b("call_inline_no_chunks", (0x5a7a_4583, 10, 32, Some(0)), NOTHING);
    check_b("call_inline_null", (7, 10, 32, Some(0)), NOTHING);
    let write = |length| (0xa94, length, 0xa506_4bf4_ce8c_6000);
    let room = [write(131_072)];
    check_b("call_inline_one_write_chunk", (0x0b5e_55ed, 10, 56, Some(0xa94)), (&[], &[&room], None));
    check_b("call_inline_two_read_segments_and_reply_chunk", (0x11, 10, 100, Some(0x103)), TWO_READS);
    check_b("call_middle_3_of_3", (0x51, 10, 56, Some(0)), (&[], &[&[(9, 64, 0x900)]], None));
    check_b("reply_inline_no_chunks", (7, 13, 20, None), NOTHING);
    check_b("reply_inline_one_write_chunk", (0x0b5e_55ed, 13, 44, None), (&[], &[&[write(801)]], None));
    check_b("reply_middle_2_of_2", (0x52, 13, 20, None), NOTHING);
    check_b("reply_external", (0x32, 11, 44, None), (&[], &[], Some(&[(0xbeef, 0xabc, 0xc0ff_ee00)])));
    check_b("reply_external_without_reply_chunk", (0x34, 11, 24, None), NOTHING);
    check_b("call_external", (0x31, 8, 60, Some(0xbeef)), NOTHING);
    check_b(
        "call_external_all_lists",
        (0x33, 8, 152, Some(0)),
        (&[(128, 3, 768, 0x3_0000)], &[&[(4, 1024, 0x4_0000)]], Some(&[(5, 1280, 0x5_0000)])),
    );
    let octets = vector_of(B, "call_inline_sixteen_of_each");
    same_as_version_1(family_b::Header::decode(&octets).unwrap().0.chunks().unwrap());
}

#[test]
fn family_b_call_chunks() {
    for (name, expected) in [
        ("call_external", vec![(0, 0xbeef, 0x1234, 0xc0ff_ee00)]),
        ("call_external_all_lists", vec![(0, 1, 4096, 0x1_0000), (0, 2, 564, 0x2_0000)]),
    ] {
        let octets = vector_of(B, name);
        let (header, _) = family_b::Header::decode(&octets).unwrap();
        assert_eq!(reads(header.call_chunk().unwrap()), expected, "{name}");
    }
    let octets = vector_of(B, "call_inline_null");
    assert_eq!(family_b::Header::decode(&octets).unwrap().0.call_chunk(), None);
}

#[test]
fn family_b_parts_and_grants() {
    for (name, body, header_length, payload) in [
        ("call_middle_1_of_3", family_b::Body::CallMiddle { remaining: 28 }, 20, 12),
        ("call_middle_2_of_3", family_b::Body::CallMiddle { remaining: 14 }, 20, 14),
        ("reply_middle_1_of_2", family_b::Body::ReplyMiddle { remaining: 24 }, 20, 8),
        ("grant", family_b::Body::Grant, 16, 0),
    ] {
        let octets = vector_of(B, name);
        let message = family_b::Message::decode(&octets).unwrap();
        assert_eq!((message.header.body, message.header_length), (body, header_length), "{name}");
        assert_eq!(message.payload.len(), payload, "{name}");
        assert_eq!(message.header.chunks(), None, "{name}");
    }
}

#[test]
fn a_handle_to_invalidate_occurs_in_its_header() {
    let offers = |octets: &[u8]| match family_b::Header::decode(octets).unwrap().0.body {
        family_b::Body::CallInline(lists) => lists.offers_foreign_handle(),
        _ => panic!(),
    };
    for name in
        ["call_inline_no_chunks", "call_inline_one_write_chunk", "call_inline_two_read_segments_and_reply_chunk"]
    {
        let mut octets = vector_of(B, name);
        assert!(!offers(&octets), "{name}");
        octets[16..20].copy_from_slice(&[9; 4]);
        assert!(offers(&octets), "{name}");
    }
    assert!(!ChunkLists::default().offers_foreign_handle());
}
