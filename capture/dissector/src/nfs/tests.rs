//! Hand-made messages, for what the captures in `testdata` do not have; `tests/suite/nfs` steps through those.

use super::*;

/// Big-endian words, one after another.
fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

const COMPOUND: Procedure = v4::COMPOUND;
const READ3: Procedure = v3::READ;

fn names(walk: &Walk) -> Vec<&'static str> {
    walk.operations.iter().map(|operation| operation.name).collect()
}

#[test]
fn a_huge_count_does_not_spin() {
    for (procedure, words_before) in [(55, [0, 0, 1, 55]), (40, [0, 0, 1, 40]), (60, [0, 0, 1, 60])] {
        let mut body = words(&words_before);
        body.extend(words(&[u32::MAX; 64]));
        let walk = arguments(COMPOUND, false, &body, 0, Reduced::Call(&[]));
        assert!(walk.end.is_err(), "{procedure}");
    }
    let walk = arguments(COMPOUND, false, &words(&[0, 2, u32::MAX, 24, 24]), 0, Reduced::Call(&[]));
    assert_eq!(names(&walk), ["PUTROOTFH", "PUTROOTFH"]);
    assert_eq!(walk.end.unwrap_err().to_string(), "NFSv4 COMPOUND: ends inside (octet 20)");
}

#[test]
fn the_arguments_tell_how_long_the_results_may_be() {
    let handle = [4, 0x6861_6e64];
    let version_3 = |procedure, arguments: &[u32]| {
        let procedure = Procedure { program: Procedure::NFS, version: 3, procedure };
        result_room(procedure, false, &words(&[&handle, arguments].concat()))
    };
    let room =
        |data: &[Option<u32>], listings| Some(ResultRoom { data: data.to_vec(), listings, ..ResultRoom::default() });
    assert_eq!(version_3(6, &[0, 7, 5000]), room(&[Some(5000)], 0));
    assert_eq!(version_3(5, &[]), room(&[None], 0));
    assert_eq!(version_3(16, &[0, 0, 0, 0, 4096]), room(&[], 4096));
    assert_eq!(version_3(17, &[0, 0, 0, 0, 512, u32::MAX]), room(&[], u64::from(u32::MAX)));
    assert_eq!(version_3(1, &[]), room(&[], 0));
    assert_eq!(version_3(6, &[0, 7]), None);
    assert_eq!(version_3(99, &[]), None);

    let read = |count| [25, 0, 0, 0, 0, 0, 0, count];
    let list = |most| [26, 0, 0, 0, 0, 512, most, 0];
    let (one, other) = (read(1), read(1 << 20));
    let operations = [&[24][..], &one, &[27], &list(100), &other, &list(u32::MAX)].concat();
    let compound =
        |count, operations: &[u32]| result_room(COMPOUND, false, &words(&[&[0, 1, count], operations].concat()));
    assert_eq!(compound(6, &operations), room(&[Some(1), None, Some(1 << 20)], 100 + u64::from(u32::MAX)));
    assert_eq!(compound(1, &[24]), room(&[], 0));
    let in_session = [&[53][..], &[1, 2, 3, 4], &[5, 6, 7, 8], &read(7)].concat();
    let expected = room(&[Some(7)], 0).map(|room| ResultRoom { session: Some(session([1, 2, 3, 4])), ..room });
    assert_eq!(compound(2, &in_session), expected);
    // The second READ is cut.
    assert_eq!(compound(2, &[&one[..], &other[..7]].concat()), None);
}

/// Room for one compound in a session of 100,000 octets for a reply, and in none.
#[test]
fn acls_and_extended_attributes_may_fill_the_session_limit() {
    const NONE: u32 = ResultRoom::UNLIMITED;
    let in_reply = |procedure, body: &[u32]| {
        let room = result_room(procedure, false, &words(body)).unwrap();
        assert_eq!(room.data, []);
        [room.in_reply(Some(100_000)), room.in_reply(None)]
    };
    let compound = |operation: &[u32]| in_reply(COMPOUND, &[&[0, 2, 1], operation].concat());
    // GETATTR: type and change; acl; fs_locations; dacl; sacl; fs_locations_info; sec_label.
    assert_eq!(compound(&[9, 1, 0b1010]), [0, 0]);
    assert_eq!(compound(&[9, 0]), [0, 0]);
    assert_eq!(compound(&[9, 1, 1 << 12]), [100_000, NONE]);
    assert_eq!(compound(&[9, 2, 1 << 24, 0]), [100_000, NONE]);
    assert_eq!(compound(&[9, 2, 0, 1 << 26]), [100_000, NONE]);
    assert_eq!(compound(&[9, 2, 0, 1 << 27]), [100_000, NONE]);
    assert_eq!(compound(&[9, 3, 0, 0, 1 << 3]), [100_000, NONE]);
    assert_eq!(compound(&[9, 3, 0, 1 << 12, 1 << 16]), [0, 0]);
    // GETXATTR of "user"; LISTXATTRS, READ_PLUS, GETDEVICEINFO and LAYOUTGET limit their results.
    assert_eq!(compound(&[72, 4, 0x7573_6572]), [100_000, NONE]);
    assert_eq!(compound(&[74, 0, 0, 5000]), [5000; 2]);
    assert_eq!(compound(&[68, 0, 0, 0, 0, 0, 0, 5000]), [5000; 2]);
    assert_eq!(compound(&[47, 0, 0, 0, 0, 1, 5000, 0]), [5000; 2]);
    assert_eq!(compound(&[50, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5000]), [5000; 2]);
    // Two access control lists share what a session allows.
    assert_eq!(in_reply(COMPOUND, &[0, 0, 2, 9, 1, 1 << 12, 9, 1, 1 << 12]), [100_000, 2 * NONE]);
    // NFSACL has no sessions.
    for version in [2, 3] {
        let handle = if version == 2 { &[0; 8][..] } else { &[4, 7] };
        let get = Procedure { program: Procedure::NFSACL, version, procedure: 1 };
        assert_eq!(in_reply(get, &[handle, &[0xf]].concat())[1], NONE);
        let set = Procedure { procedure: 2, ..get };
        assert_eq!(in_reply(set, &[handle, &[0; 5]].concat())[1], 0);
    }
}

fn session(numbers: [u32; 4]) -> SessionId {
    words(&numbers).try_into().unwrap()
}

/// A COMPOUND reply of operations, each given by its words.
fn reply(operations: &[&[u32]]) -> Vec<u8> {
    let mut body = words(&[0, 0, operations.len() as u32]);
    operations.iter().for_each(|operation| body.extend(words(operation)));
    body
}

#[test]
fn the_results_of_create_session_tell_its_limits() {
    let created = [&[43, 0][..], &[9; 6], &[1, 2, 3, 4, 5, 6, 1, 99], &[11, 12, 13, 14, 15, 16, 0]].concat();
    let limits = |call, reply, operations, calls| ChannelLimits { call, reply, operations, calls };
    let expected = SessionLimits { session: session([9; 4]), fore: limits(2, 3, 5, 6), back: limits(12, 13, 15, 16) };
    assert_eq!(session_limits(COMPOUND, &reply(&[&created])), Some(expected));
    assert_eq!(session_limits(COMPOUND, &reply(&[PUTROOTFH, &created])), Some(expected));
    for body in [reply(&[&[43, 22]]), reply(&[PUTROOTFH]), reply(&[&created[..created.len() - 1]])] {
        assert_eq!(session_limits(COMPOUND, &body), None);
    }
}

const READ_ERROR: &[u32] = &[25, 22];
const PUTROOTFH: &[u32] = &[24, 0];

/// READ of `count` octets whose data is not here.
fn read(count: u32) -> [u32; 4] {
    [25, 0, 1, count]
}

/// The chunk of each item, or why stepping ended.
fn pairing(operations: &[&[u32]], chunks: &[u64]) -> Result<Vec<Option<usize>>, &'static str> {
    let body = reply(operations);
    let walk = results(COMPOUND, false, &body, Reduced::Reply(chunks));
    walk.end.map_err(|error| error.reason)?;
    assert_eq!(walk.consumed, body.len());
    Ok(walk.items.iter().map(|item| item.chunk).collect())
}

#[test]
fn write_chunks_pair_with_reads_in_order() {
    let (a, b) = (&read(1000)[..], &read(6)[..]);
    let inline = &[25, 0, 1, 6, 0x6865_6c6c, 0x6f0a_0000][..];
    let link = &[27, 0, 9][..];
    let empty = &read(0)[..];
    // RFC 8267 section 6.4.3: READ, READLINK, READ to chunks A, B, C.
    assert_eq!(pairing(&[PUTROOTFH, a, link, b], &[1000, 9, 6]), Ok(vec![Some(0), Some(1), Some(2)]));
    // The chunk for READLINK is empty: "The Responder MUST return the corresponding result data item inline".
    let inline_link = &[27, 0, 3, 0x612f_6200][..];
    assert_eq!(pairing(&[a, inline_link, b], &[1000, 0, 6]), Ok(vec![Some(0), None, Some(2)]));
    // More READs than chunks: "return their results inline".
    assert_eq!(pairing(&[a, inline], &[1000]), Ok(vec![Some(0), None]));
    assert_eq!(pairing(&[inline], &[]), Ok(vec![None]));
    // An arm without data: the chunk is returned empty (RFC 8267), or holds the next item (RFC 8166 section 4.3.2.2).
    assert_eq!(pairing(&[READ_ERROR], &[0]), Ok(vec![]));
    assert_eq!(pairing(&[READ_ERROR, b], &[0, 6]), Ok(vec![Some(1)]));
    assert_eq!(pairing(&[READ_ERROR, b], &[6, 0]), Ok(vec![Some(0)]));
    // An error of an operation that never has data leaves the chunks alone.
    assert_eq!(pairing(&[&[15, 2], inline, b], &[0, 6]), Ok(vec![None, Some(1)]));
    // At the end of a file there is no data: likewise.
    assert_eq!(pairing(&[empty], &[0]), Ok(vec![None]));
    assert_eq!(pairing(&[empty, b], &[0, 6]), Ok(vec![None, Some(1)]));
    assert_eq!(pairing(&[empty, b], &[6]), Ok(vec![None, Some(0)]));
    // Nothing that can fail silently.
    assert_eq!(pairing(&[a], &[999]), Err(WalkError::WRITE_CHUNK_LENGTH));
    assert_eq!(pairing(&[b], &[7]), Err(WalkError::WRITE_CHUNK_LENGTH));
    assert_eq!(pairing(&[b], &[6, 6]), Err(WalkError::WRITE_CHUNK_LEFT));
    assert_eq!(pairing(&[READ_ERROR], &[6]), Err(WalkError::WRITE_CHUNK_LEFT));
    assert_eq!(pairing(&[PUTROOTFH], &[6]), Err(WalkError::WRITE_CHUNK_LEFT));
    // A responder of RFC 5666 may have written the padding.
    assert_eq!(pairing(&[b], &[8]), Ok(vec![Some(0)]));
}

#[test]
fn items_say_where_they_belong() {
    let body = reply(&[&read(5), PUTROOTFH, &read(8), &[10, 0, 4, 7]]);
    let walk = results(COMPOUND, false, &body, Reduced::Reply(&[5, 8]));
    assert_eq!(walk.end, Ok(()));
    let item =
        |at, inline_at, length, chunk, operation| DataItem { at, inline_at, length, chunk: Some(chunk), operation };
    // 12 octets, READ's 16, 5 + 3 of data, PUTROOTFH's 8, READ's 16.
    assert_eq!(walk.items, [item(28, 28, 5, 0, 0), item(60, 52, 8, 1, 2)]);
}

/// NFSv3 READ (RFC 1813 section 3.3.6): post_op_attr, count, eof, data.
#[test]
fn nfs3_read() {
    let head = [vec![0, 1], vec![0; 21], vec![5, 1, 5]].concat();
    let reduced = words(&head);
    let walk = results(READ3, false, &reduced, Reduced::Reply(&[5]));
    assert_eq!((walk.end, walk.consumed, walk.status), (Ok(()), 104, Some(0)));
    assert_eq!(walk.items, [DataItem { at: 104, inline_at: 104, length: 5, chunk: Some(0), operation: 0 }]);

    let failed = words(&[70, 0]);
    let walk = results(READ3, false, &failed, Reduced::Reply(&[0]));
    assert_eq!((walk.end, walk.consumed, walk.status), (Ok(()), 8, Some(70)));
    assert_eq!(walk.items, []);
    // NFSv3 has one item: a chunk too many is not passed over.
    assert_eq!(
        results(READ3, false, &failed, Reduced::Reply(&[5])).end.unwrap_err().reason,
        WalkError::WRITE_CHUNK_LEFT
    );
}

/// NFSv2 (RFC 1094 section 2.2): WRITE, and SYMLINK whose attributes follow the data item.
#[test]
fn nfs2_calls() {
    let call = |procedure| Procedure { program: Procedure::NFS, version: 2, procedure };
    let write = words(&[[0; 11].to_vec(), vec![3]].concat());
    let walk = arguments(call(8), false, &write, 40, Reduced::Call(&[(88, 3)]));
    assert_eq!((walk.end, walk.consumed), (Ok(()), 48));
    assert_eq!(walk.items, [DataItem { at: 48, inline_at: 48, length: 3, chunk: Some(0), operation: 0 }]);

    // fhandle, name "a", path of 2100 octets, sattr
    let symlink = words(&[vec![0; 8], vec![1, 0x6100_0000, 2100], vec![0; 8]].concat());
    let walk = arguments(call(13), false, &symlink, 40, Reduced::Call(&[(84, 2100)]));
    assert_eq!((walk.end, walk.consumed), (Ok(()), 76));
}

#[test]
fn read_chunks_are_matched_by_position() {
    let write = |count| [38, 0, 0, 0, 0, 0, 0, 0, count];
    let body = |counts: &[u32]| {
        let mut all = vec![0, 2, counts.len() as u32];
        counts.iter().for_each(|&count| all.extend(write(count)));
        words(&all)
    };
    let end = |body: &[u8], chunks: &[(u64, u64)]| {
        let walk = arguments(COMPOUND, false, body, 100, Reduced::Call(chunks));
        walk.end.map(|()| walk.items.iter().map(|item| item.chunk).collect::<Vec<_>>()).map_err(|error| error.reason)
    };
    // The second item is 12 + 36 + 36 octets into the reduced body, and 8 more into the whole one.
    let two = body(&[5, 64]);
    assert_eq!(end(&two, &[(148, 5), (192, 64)]), Ok(vec![Some(0), Some(1)]));
    // In any order; with padding ("its total length MUST be the sum"); beside a Position Zero Read chunk.
    assert_eq!(end(&two, &[(192, 64), (0, 9), (148, 8)]), Ok(vec![Some(2), Some(0)]));
    assert_eq!(end(&two, &[(148, 6), (192, 64)]), Err(WalkError::READ_CHUNK_LENGTH));
    assert_eq!(end(&two, &[(148, 5), (192, 64), (300, 1)]), Err(WalkError::READ_CHUNK_LEFT));
    assert_eq!(end(&two, &[(148, 5), (152, 4), (192, 64)]), Err(WalkError::READ_CHUNK_LEFT));
    assert_eq!(end(&two, &[(148, 5)]), Err(WalkError::ENDS_INSIDE));
    // CREATE of a symbolic link (RFC 7530 section 16.4): linkdata, name, attributes.
    let create = words(&[0, 0, 1, 6, 5, 7, 1, 0x6100_0000, 0, 0]);
    assert_eq!(end(&create, &[(124, 7)]), Ok(vec![Some(0)]));
}

#[test]
fn what_is_unknown_is_said() {
    let walk = arguments(COMPOUND, false, &words(&[0, 2, 2, 24, 9999, 1]), 0, Reduced::Call(&[]));
    assert_eq!(
        walk.operations[1],
        CompoundOperation { code: OperationCode::Compound(9999), name: "unknown", status: None }
    );
    assert_eq!(
        walk.end.unwrap_err(),
        WalkError { at: 16, operation: Some("NFSv4 COMPOUND"), reason: WalkError::UNKNOWN_OPERATION }
    );
    let nlm = Procedure { program: 100_021, version: 4, procedure: 2 };
    assert_eq!(nlm.name(false), None);
    assert_eq!(results(nlm, false, &[], Reduced::Reply(&[])).end.unwrap_err().reason, WalkError::UNKNOWN_PROCEDURE);
    // LOCK whose locker is neither of the two (RFC 7530 section 16.10.2).
    let lock = words(&[0, 0, 1, 12, 1, 0, 0, 0, 0, 0, 2]);
    let error = arguments(COMPOUND, false, &lock, 0, Reduced::Call(&[])).end.unwrap_err();
    assert_eq!(error, WalkError { at: 40, operation: Some("LOCK"), reason: WalkError::UNKNOWN_ARM });
    // SETATTR3 with a mode that is neither there nor not.
    let setattr = Procedure { procedure: 2, ..READ3 };
    let error = arguments(setattr, false, &words(&[0, 2]), 0, Reduced::Call(&[])).end.unwrap_err();
    assert_eq!((error.at, error.reason), (4, WalkError::NOT_A_BOOL));
}

/// Results of errors that say more than their status, by the XDR of RFC 7531, RFC 5662 and RFC 7863.
#[test]
fn errors_with_a_body() {
    let denied = [10010, 0, 0, 0, 9, 1, 0, 7, 3, 0x6f77_6e00];
    let operations = [
        [&[12][..], &denied].concat(),
        [&[13][..], &denied].concat(),
        vec![13, 0],
        vec![34, 13, 2, 0, 0],
        vec![35, 10017, 3, 0x7463_7000, 3, 0x312e_3200],
        vec![47, 10005, 4096],
        vec![50, 10058, 1],
        vec![60, 10094, 1, 0],
        vec![53, 10052],
        vec![25, 10025],
        vec![10044, 10044],
    ];
    let operations: Vec<_> = operations.iter().map(Vec::as_slice).collect();
    let body = reply(&operations);
    let walk = results(COMPOUND, false, &body, Reduced::Reply(&[]));
    assert_eq!((&walk.end, walk.consumed), (&Ok(()), body.len()));
    let seen: Vec<_> = walk.operations.iter().map(|operation| (operation.code.number(), operation.status)).collect();
    let expected: Vec<_> = operations.iter().map(|operation| (operation[0], Some(operation[1]))).collect();
    assert_eq!(seen, expected);
}

/// Arms the captures do not have, each before a PUTROOTFH that would not be found if a step were wrong.
#[test]
fn rare_arguments() {
    let stateid = [1, 2, 3, 4];
    for (code, arguments_of) in [
        // OPEN, exclusive, in a reclaim with a delegation: createverf; CLAIM_PREVIOUS
        (18, [&[0, 1, 0, 0, 7, 1, 0x6100_0000, 1, 2, 8, 9, 1, 2][..]].concat()),
        // OPEN, EXCLUSIVE4_1 with attributes, CLAIM_DELEG_CUR_FH
        (18, [&[0, 1, 0, 0, 7, 0, 1, 3, 8, 9, 1, 0x10, 4, 7, 5][..], &stateid].concat()),
        // OPEN without create, CLAIM_DELEGATE_CUR
        (18, [&[0, 1, 0, 0, 7, 0, 0, 2][..], &stateid, &[2, 0x6162_0000]].concat()),
        // LOCK by a new lock-owner
        (12, [&[2, 0, 0, 0, 0, 9, 1, 5][..], &stateid, &[6, 0, 7, 1, 0x6100_0000]].concat()),
        // EXCHANGE_ID with SP4_SSV: operations, two hash OIDs, one encryption OID, window, handles; no implementation
        (42, vec![1, 2, 1, 0x6100_0000, 0, 2, 1, 3, 0, 2, 1, 0x2a00_0000, 0, 1, 1, 0x2b00_0000, 4, 1, 0]),
        // CREATE_SESSION: ca_rdma_ird in one channel; AUTH_SYS with two groups, and RPCSEC_GSS
        (
            43,
            [
                &[0, 7, 1, 3, 0, 1, 1, 1, 1, 1, 1, 16, 0, 1, 1, 1, 1, 1, 0, 0x4000_0000, 2][..],
                &[1, 9, 1, 0x6100_0000, 0, 0, 2, 5, 6],
                &[6, 1, 0, 1, 0x6100_0000],
            ]
            .concat(),
        ),
        // LAYOUTRETURN of a file
        (51, [&[0, 1, 1, 1, 0, 0, 0, 9][..], &stateid, &[3, 0x6162_6300]].concat()),
        // LAYOUTCOMMIT with offset and time
        (49, [&[0, 0, 0, 9, 0][..], &stateid, &[1, 0, 8, 1, 0, 1, 2, 4, 0]].concat()),
        // COPY from two servers: a name, an address
        (60, [&stateid[..], &stateid, &[0, 1, 0, 2, 0, 3, 1, 0, 2, 1, 1, 0x6100_0000, 3, 1, 0x6200_0000, 0]].concat()),
        // WRITE_SAME
        (70, [&stateid[..], &[2, 0, 1, 0, 2, 0, 3, 0, 4, 5, 0, 6, 1, 0xff00_0000]].concat()),
        // GET_DIR_DELEGATION, SET_SSV, WANT_DELEGATION with CLAIM_PREVIOUS
        (46, vec![1, 1, 7, 0, 1, 2, 0, 3, 4, 0, 1, 9]),
        (54, vec![1, 0x6100_0000, 2, 0x6162_0000]),
        (56, vec![0x100, 1, 2]),
        (56, vec![0x100, 4]),
        // SETXATTR
        (73, vec![1, 2, 0x6162_0000, 1, 0x6300_0000]),
    ] {
        let body = [words(&[0, 2, 2, code]), words(&arguments_of), words(&[24])].concat();
        let walk = arguments(COMPOUND, false, &body, 0, Reduced::Call(&[]));
        assert_eq!((walk.end, walk.consumed), (Ok(()), body.len()), "{code}");
        assert_eq!(names(&walk)[1], "PUTROOTFH");
    }
}

/// Callbacks that no capture has (RFC 8881 section 20).
#[test]
fn rare_callbacks() {
    let stateid = [1, 2, 3, 4];
    for (code, arguments_of) in [
        // CB_NOTIFY, CB_PUSH_DELEG, CB_RECALL_ANY, CB_RECALLABLE_OBJ_AVAIL
        (6, [&stateid[..], &[1, 0x6600_0000, 2, 1, 1, 3, 0x6162_6300, 0, 0]].concat()),
        (7, [&[1, 0x6600_0000, 1][..], &stateid, &[0, 0, 0, 7, 1, 0x6100_0000]].concat()),
        (8, vec![5, 1, 3]),
        (9, vec![5, 0]),
        // CB_RECALL_SLOT, CB_SEQUENCE with a referring call, CB_WANTS_CANCELLED, CB_NOTIFY_DEVICEID
        (10, vec![7]),
        (11, [&stateid[..], &[1, 2, 3, 0, 1], &stateid, &[1, 8, 9]].concat()),
        (12, vec![0, 1]),
        (14, vec![1, 1, 2, 4, 7]),
    ] {
        let body = [words(&[0, 1, 0, 2, code]), words(&arguments_of), words(&[10044])].concat();
        let walk = arguments(COMPOUND, true, &body, 0, Reduced::Call(&[]));
        assert_eq!((walk.end, walk.consumed), (Ok(()), body.len()), "{code}");
        assert_eq!(names(&walk)[1], "CB_ILLEGAL");
    }
    // A reply whose status is not 0 has its tag and its results all the same.
    let refused = words(&[10071, 1, 0x6100_0000, 1, 11, 10071]);
    let walk = results(COMPOUND, true, &refused, Reduced::Reply(&[]));
    assert_eq!((walk.end, walk.consumed, walk.status), (Ok(()), refused.len(), Some(10071)));
    assert_eq!(
        walk.operations,
        [CompoundOperation { code: OperationCode::CB_SEQUENCE, name: "CB_SEQUENCE", status: Some(10071) }]
    );
}

#[test]
fn rare_results() {
    let stateid = [1, 2, 3, 4];
    let open = [&stateid[..], &[1, 0, 1, 0, 2, 4, 0]].concat();
    for (code, results_of) in [
        // OPEN with a write delegation limited by blocks, with none for contention
        (18, [&open[..], &[2], &stateid, &[0, 2, 8, 512, 0, 0, 7, 1, 0x6100_0000]].concat()),
        (18, [&open[..], &[3, 1, 1]].concat()),
        (18, [&open[..], &[3, 2, 0]].concat()),
        (18, [&open[..], &[3, 0]].concat()),
        // EXCHANGE_ID with SP4_SSV: two handles; an implementation
        (
            42,
            vec![
                0,
                7,
                1,
                0,
                2,
                0,
                0,
                1,
                2,
                3,
                4,
                2,
                1,
                0x6100_0000,
                0,
                0,
                5,
                1,
                0x6200_0000,
                0,
                1,
                0,
                1,
                0x6300_0000,
                0,
                9,
                0,
            ],
        ),
        // GET_DIR_DELEGATION: given, and not to be had
        (46, [&[0, 1, 2][..], &stateid, &[0, 1, 5, 0]].concat()),
        (46, vec![1, 0]),
        // SET_SSV; WANT_DELEGATION: a read delegation
        (54, vec![3, 0x6162_6300]),
        (56, [&[1][..], &stateid, &[1, 0, 0, 7, 1, 0x6100_0000]].concat()),
        // GETDEVICEINFO
        (47, vec![1, 3, 0x6162_6300, 1, 2]),
        // LAYOUTGET: two layouts
        (50, [&[1][..], &stateid, &[2, 0, 0, 0, 9, 1, 1, 0, 0, 9, 0, 9, 2, 1, 3, 0x6162_6300]].concat()),
        // LAYOUTRETURN with and without a stateid
        (51, [&[1][..], &stateid].concat()),
        (51, vec![0]),
        // COPY that goes on (a callback id), and one that is done
        (60, [&[1][..], &stateid, &[0, 0, 0, 1, 2, 1, 0]].concat()),
        (60, vec![0, 0, 77, 2, 1, 2, 1, 1]),
        // WRITE_SAME
        (70, vec![0, 0, 77, 2, 1, 2]),
        // COPY_NOTIFY: two servers
        (61, [&[0, 1, 2][..], &stateid, &[2, 2, 1, 0x6100_0000, 3, 0, 0]].concat()),
        // READ_PLUS: data and a hole; nothing of it is an item
        (68, vec![1, 2, 0, 0, 0, 3, 0x6162_6300, 1, 0, 3, 0, 9]),
        // SECINFO: AUTH_SYS, RPCSEC_GSS
        (33, vec![2, 1, 6, 9, 0, 0, 0, 0, 1]),
        // READDIR: one entry with attributes
        (26, vec![0, 0, 1, 0, 5, 2, 0x6162_0000, 1, 0x10, 4, 7, 0, 1]),
        // LISTXATTRS
        (74, vec![0, 1, 2, 1, 0x6100_0000, 0, 1]),
    ] {
        let results_of = [&[code, 0][..], &results_of].concat();
        let body = reply(&[&results_of, PUTROOTFH]);
        let walk = results(COMPOUND, false, &body, Reduced::Reply(&[]));
        assert_eq!((walk.end, walk.consumed), (Ok(()), body.len()), "{code}");
        assert_eq!(names(&walk)[1], "PUTROOTFH");
        assert_eq!(walk.items, []);
    }
}

/// One line of `vectors.txt`: what is called, arguments, results.
fn vector(line: &'static str) -> (&'static str, Vec<u8>, Vec<u8>) {
    let hex = |digits: &str| -> Vec<u8> {
        let digits = digits.trim_matches('-');
        (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
    };
    let [called, arguments, results] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
    (called, hex(arguments), hex(results))
}

/// `NFSv3_READ` as numbers.
fn procedure(name: &str) -> Procedure {
    let programs = [("NFSACL", Procedure::NFSACL), ("NFS", Procedure::NFS), ("MOUNT", Procedure::MOUNT)];
    let mut all = programs.iter().flat_map(|&(_, program)| {
        (1..5).flat_map(move |version| (0..40).map(move |procedure| Procedure { program, version, procedure }))
    });
    all.find(|procedure| procedure.name(false).is_some_and(|known| known.replace(' ', "_") == name)).unwrap()
}

#[test]
fn what_tshark_dissects_is_stepped_over() {
    let vectors = include_str!("vectors.txt").lines().filter(|line| !line.starts_with('#'));
    for (called, call, reply) in vectors.map(vector) {
        let (program, code) = called.split_once(':').unwrap_or((called, "0"));
        let code: u32 = code.parse().unwrap();
        let reverse = program == "cb";
        let procedure = if matches!(program, "op" | "cb") { COMPOUND } else { procedure(program) };
        let calling = arguments(procedure, reverse, &call, 0, Reduced::Call(&[]));
        let replying = results(procedure, reverse, &reply, Reduced::Reply(&[]));
        for (walk, body) in [(calling, call), (replying, reply)] {
            assert_eq!((walk.end, walk.consumed), (Ok(()), body.len()), "{called}");
            let codes: Vec<_> = walk.operations.iter().map(|operation| operation.code.number()).collect();
            match program {
                "op" => assert_eq!(codes, [code, 22]),
                "cb" => assert_eq!(codes, [code, 10]),
                _ => assert!(codes.is_empty()),
            }
        }
    }
}

/// The operations without a vector of their own. CB_RECALL_SLOT is the second one in each vector of a callback.
const WITHOUT_VECTOR: [OperationCode; 11] = [
    OperationCode::GET_DIR_DELEGATION,
    OperationCode::SET_SSV,
    OperationCode::WANT_DELEGATION,
    OperationCode::WRITE_SAME,
    OperationCode::CB_NOTIFY,
    OperationCode::CB_PUSH_DELEG,
    OperationCode::CB_RECALL_ANY,
    OperationCode::CB_RECALLABLE_OBJ_AVAIL,
    OperationCode::CB_RECALL_SLOT,
    OperationCode::CB_WANTS_CANCELLED,
    OperationCode::CB_NOTIFY_DEVICEID,
];

#[test]
fn every_operation_has_a_vector_but_for_these() {
    let vectors = include_str!("vectors.txt");
    let has_vector = |called: String| vectors.lines().any(|line| line.split(' ').next() == Some(&called));
    let compound = v4::OPERATIONS.rows.iter().map(|row| ("op", OperationCode::Compound(row.code)));
    let callback = callback::OPERATIONS.rows.iter().map(|row| ("cb", OperationCode::Callback(row.code)));
    let without =
        compound.chain(callback).filter(|(program, code)| !has_vector(format!("{program}:{}", code.number())));
    assert_eq!(without.map(|(_, code)| code).collect::<Vec<_>>(), WITHOUT_VECTOR);
}

/// MOUNT version 2 PATHCONF, which no RFC has: link_max, five shorts, two chars, two shorts, a word each.
#[test]
fn mount_pathconf() {
    let pathconf = Procedure { program: Procedure::MOUNT, version: 2, procedure: 7 };
    let walk = results(pathconf, false, &[0; 40], Reduced::Reply(&[]));
    assert_eq!((walk.end, walk.consumed, walk.status), (Ok(()), 40, None));
    let walk = arguments(pathconf, false, &words(&[2, 0x2f61_0000]), 40, Reduced::Call(&[]));
    assert_eq!((walk.end, walk.consumed), (Ok(()), 8));
}

#[test]
fn names_of_procedures() {
    for (program, version, procedure, name) in [
        (100_003, 2, 8, Some("NFSv2 WRITE")),
        (100_003, 3, 21, Some("NFSv3 COMMIT")),
        (100_003, 4, 0, Some("NFSv4 NULL")),
        (100_003, 4, 2, None),
        (100_005, 3, 1, Some("MOUNTv3 MNT")),
        (100_227, 3, 1, Some("NFSACLv3 GETACL")),
        (100_000, 2, 3, None),
    ] {
        assert_eq!(Procedure { program, version, procedure }.name(false), name);
    }
}

#[test]
fn the_two_programs_of_version_4_count_their_operations_separately() {
    let names = |number| [OperationCode::Compound(number), OperationCode::Callback(number)].map(OperationCode::name);
    assert_eq!(names(4), [Some("CLOSE"), Some("CB_RECALL")]);
    assert_eq!(names(22), [Some("PUTFH"), None]);
    assert_eq!(OperationCode::CB_RECALL, OperationCode::Callback(4));
    let roles = [OperationCode::GETATTR, OperationCode::SEQUENCE, OperationCode::READ, OperationCode::Compound(76)];
    let roles = roles.map(|code| code.traits().role);
    assert_eq!(roles, [CompoundRole::Attributes, CompoundRole::Leading, CompoundRole::Subject, CompoundRole::Subject]);
    let compound = [(v4::COMPOUND, false), (v4::COMPOUND, true), (v4::NULL, false), (v3::READ, false)];
    assert_eq!(compound.map(|(procedure, callback)| procedure.is_compound(callback)), [true, true, false, false]);
}
