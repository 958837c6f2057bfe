//! Tests of NFSv4.1 as a whole: sessions, delegations and callbacks, with a simulated client.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a failed expectation fails the test")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rpcrdma_verbs::{Call, Stream};

use super::backchannel::{Called, ClientConnection};
use super::clients::{MOST_CLIENTS, MOST_SESSIONS};
use super::{Folder, Node, v4};

/// Length of the header of a call without credentials, in octets.
const OF_HEADER: usize = 40;

/// A connection that records the calls made on it, without the XID.
#[derive(Debug)]
struct FakeConnection {
    is_over: AtomicBool,
    calls: Sender<Vec<u32>>,
    answers: Mutex<Receiver<Called>>,
}

impl ClientConnection for FakeConnection {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn call(&self, mut call: Call) -> Called {
        self.calls.send(words(&call.message().head()[4..])).unwrap();
        self.answers.lock().unwrap().recv().unwrap_or(Called::Unknown)
    }
}

fn words(octets: &[u8]) -> Vec<u32> {
    assert_eq!(octets.len() % 4, 0);
    octets.as_chunks().0.iter().map(|word| u32::from_be_bytes(*word)).collect()
}

fn octets(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A name of up to four octets as XDR has it.
fn name(name: &str) -> [u32; 2] {
    let mut padded = [0; 4];
    padded[..name.len()].copy_from_slice(name.as_bytes());
    [name.len() as u32, u32::from_be_bytes(padded)]
}

/// A client on a connection of its own.
struct Peer {
    connection: Arc<FakeConnection>,
    calls: Receiver<Vec<u32>>,
    answers: Sender<Called>,
    id: [u32; 2],
    session: [u32; 4],
    sequence: u32,
}

const PROGRAM: u32 = 0x4000_0001;
const FILE: u32 = u32::from_be_bytes(*b"file");
/// Header padding, octets of calls, replies and replies to keep, operations, calls, no RDMA Reads.
const LIMITS: [u32; 7] = [0, 8192, 8192, 1024, 16, 4, 0];

fn exchange_id(owner: &str, verifier: u32, flags: u32) -> Vec<u32> {
    [&[42, 0, verifier][..], &name(owner), &[flags, 0, 0]].concat()
}

/// CREATE_SESSION for client and sequence number.
fn create_session(id: [u32; 2], sequence: u32, flags: u32) -> Vec<u32> {
    [&[43, id[0], id[1], sequence, flags], &LIMITS[..], &LIMITS, &[PROGRAM, 1, 0]].concat()
}

/// OPEN for reading, with `openflag4`, by name.
fn open(how: &[u32], file: &str) -> Vec<u32> {
    [&[18, 0, 1, 0, 0, 0, 0], how, &[0], &name(file)].concat()
}

/// GUARDED4, mode 0644.
const CREATES: &[u32] = &[1, 1, 2, 0, 2, 4, 0o644];
const ROOT: &[u32] = &[24];
/// CLOSE of the current stateid.
const CLOSE: &[u32] = &[4, 0, 1, 0, 0, 0];

fn remove(file: &str) -> Vec<u32> {
    [&[28], &name(file)[..]].concat()
}

impl Peer {
    /// A client without a session.
    fn stranger() -> Self {
        let ((calls_to, calls), (answers, answers_from)) = (channel(), channel());
        let answers_from = Mutex::new(answers_from);
        let connection = FakeConnection { is_over: AtomicBool::new(false), calls: calls_to, answers: answers_from };
        Self { connection: Arc::new(connection), calls, answers, id: [0; 2], session: [0; 4], sequence: 0 }
    }

    /// A client with a session, which has reclaimed its state.
    fn new(folder: &Folder, owner: &str) -> Self {
        let mut peer = Self::stranger();
        let known = peer.compound(folder, 1, &[&exchange_id(owner, 7, 0)]);
        peer.id = known[5..7].try_into().unwrap();
        assert_eq!(known[7..9], [1, 0x1_0000]);
        peer.begin_sequence(folder, 1);
        assert_eq!(peer.call(folder, &[&[58, 0]]), [58, 0]);
        peer
    }

    /// Creates a session.
    fn begin_sequence(&mut self, folder: &Folder, sequence: u32) {
        let created = self.compound(folder, 1, &[&create_session(self.id, sequence, 2)]);
        assert_eq!((created[0], created[9], created[10]), (0, sequence, 2));
        (self.session, self.sequence) = (created[5..9].try_into().unwrap(), 0);
    }

    /// Returns the results of a COMPOUND without a tag: status, no tag, number of operations, and their results.
    fn compound(&self, folder: &Folder, minor: u32, operations: &[&[u32]]) -> Vec<u32> {
        let arguments = [&[0, minor, operations.len() as u32], operations.concat().as_slice()].concat();
        words(&self.octets(folder, &octets(&arguments)).unwrap())
    }

    fn octets(&self, folder: &Folder, arguments: &[u8]) -> Option<Vec<u8>> {
        let mut stream = Stream::default();
        let caller = || Arc::clone(&self.connection) as Arc<dyn ClientConnection>;
        v4::compound(folder, OF_HEADER + arguments.len(), arguments, &mut stream, &caller)?;
        let items: Vec<u8> = stream.items().flatten().copied().collect();
        Some([stream.head(), &items].concat())
    }

    fn sequence(&self, keeps: u32) -> Vec<u32> {
        [&[53], &self.session[..], &[self.sequence, 0, 0, keeps]].concat()
    }

    /// Returns the results of operations in the session, without those of SEQUENCE.
    fn call(&mut self, folder: &Folder, operations: &[&[u32]]) -> Vec<u32> {
        self.sequence += 1;
        let sequence = self.sequence(0);
        let results = self.compound(folder, 1, &[&[&sequence[..]], operations].concat());
        assert_eq!((results[3], results[4]), (53, 0), "SEQUENCE succeeds");
        assert_eq!(results[5..13], [&self.session[..], &[self.sequence, 0, 0, 0]].concat());
        results[14..].to_vec()
    }

    /// Creates a file and closes it: its number, and its delegation if it is delegated.
    fn create(&mut self, folder: &Folder, file: &str) -> (u32, Option<[u32; 4]>) {
        let results = self.call(folder, &[ROOT, &open(CREATES, file), CLOSE]);
        assert_eq!((results[..4].to_vec(), results[6]), (vec![24, 0, 18, 0], results[6]));
        // Behind the stateid: change_info, rflags, the mode that was set.
        assert_eq!((results[8], results[13], &results[14..17]), (1, 0, &[2, 0, 2][..]));
        let delegation = (results[17] == 1).then(|| results[18..22].try_into().unwrap());
        let length = if delegation.is_some() { 27 } else { 18 };
        assert_eq!(results[length..], [4, 0, u32::MAX, 0, 0, 0], "{results:?}");
        (results[6], delegation)
    }

    fn called(&self) -> Vec<u32> {
        self.calls.recv_timeout(Duration::from_secs(10)).unwrap()
    }

    /// Sets the client's answer to a recall.
    fn answer(&self, sequence: u32, status: u32) {
        let head = [status, 0, 2, 11, 0];
        let results = [&head[..], &self.session, &[sequence, 0, 0, 0, 4, status]].concat();
        self.answers.send(Called::Answered(octets(&results))).unwrap();
    }

    /// Returns the expected recall.
    fn recall(&self, sequence: u32, stateid: [u32; 4]) -> Vec<u32> {
        let rpc = [0, 2, PROGRAM, 1, 1, 0, 0, 0, 0];
        let sequence = [0, 1, 0, 2, 11, self.session[0], self.session[1], self.session[2], self.session[3], sequence];
        let handle = [8, u32::from_be_bytes(*b"rpcr"), stateid[2]];
        [&rpc[..], &sequence, &[0, 0, 0, 0, 4], &stateid, &[0], &handle].concat()
    }

    fn give_back(&mut self, folder: &Folder, file: &str, stateid: [u32; 4]) -> Vec<u32> {
        let give_back = [&[8][..], &stateid].concat();
        self.call(folder, &[ROOT, &[&[15], &name(file)[..]].concat(), &give_back])
    }

    /// Waits until the last recall is over.
    fn settle(&self, folder: &Folder, is_recalled: bool, number: u32) {
        for _ in 0..10_000 {
            let mut state = folder.state();
            let delegation = state.files.delegation(Node::Created(number)).unwrap().as_ref().unwrap();
            if delegation.is_recalled.load(Ordering::Relaxed) == is_recalled {
                return;
            }
            drop(state);
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("a recall does not end");
    }

    /// Removes a file as a client of NFSv4.0: the status.
    fn removes(&self, folder: &Folder, file: &str) -> u32 {
        self.compound(folder, 0, &[ROOT, &remove(file)])[0]
    }
}

#[test]
fn a_delegated_file_is_removed_after_the_recall() {
    let folder = Folder::default();
    let (mut client, other) = (Peer::new(&folder, "a"), Peer::stranger());
    let [(first, one), (second, two)] = ["one", "two"].map(|file| client.create(&folder, file));
    assert_eq!((one.unwrap()[..3].to_vec(), two.unwrap()[2]), (vec![1, 2, first], second));
    assert_eq!(other.removes(&folder, "one"), 10_008);
    assert_eq!(client.called(), client.recall(1, one.unwrap()));
    // Once is enough; and the other waits, because the backchannel has one slot.
    assert_eq!([other.removes(&folder, "one"), other.removes(&folder, "two")], [10_008; 2]);
    assert!(client.calls.recv_timeout(Duration::from_millis(50)).is_err());
    client.answer(1, 0);
    assert_eq!(client.called(), client.recall(2, two.unwrap()));
    client.answer(2, 0);
    assert_eq!(client.give_back(&folder, "one", one.unwrap()), [24, 0, 15, 0, 8, 0]);
    assert_eq!(other.compound(&folder, 0, &[ROOT, &remove("one")]), [0, 0, 2, 24, 0, 28, 0, 1, 0, 2, 0, 3]);
    assert_eq!([other.removes(&folder, "one"), other.removes(&folder, "two")], [2, 10_008]);
    assert!(client.calls.try_recv().is_err());
}

#[test]
fn what_is_given_back_before_its_turn_is_not_recalled() {
    let folder = Folder::default();
    let mut client = Peer::new(&folder, "a");
    let [(_, _), (_, two), (_, last)] = ["one", "two", "last"].map(|file| client.create(&folder, file));
    assert_eq!(["one", "two", "last"].map(|file| client.removes(&folder, file)), [10_008; 3]);
    client.called();
    client.give_back(&folder, "two", two.unwrap());
    client.answer(1, 0);
    assert_eq!(client.called(), client.recall(2, last.unwrap()));
}

#[test]
fn a_recall_that_fails_is_made_again() {
    let folder = Folder::default();
    let mut client = Peer::new(&folder, "a");
    let (number, stateid) = client.create(&folder, "one");
    let (file, stateid) = ("one", stateid.unwrap());
    // Not carried out; then CB_SEQUENCE was, and CB_RECALL not: only that counts for the slot.
    for (sequence, status) in [(1, None), (1, Some(10_001)), (2, Some(0))] {
        assert_eq!(client.removes(&folder, file), 10_008);
        assert_eq!(client.called(), client.recall(sequence, stateid));
        match status {
            None => client.answers.send(Called::NotCarriedOut).unwrap(),
            Some(status) => client.answer(sequence, status),
        }
        client.settle(&folder, status == Some(0), number);
    }
}

#[test]
fn a_silent_client_is_told_and_called_no_more() {
    let folder = Folder::default();
    let mut client = Peer::new(&folder, "a");
    let (number, stateid) = client.create(&folder, "one");
    assert!(stateid.is_some());
    client.removes(&folder, "one");
    client.called();
    client.answers.send(Called::Unknown).unwrap();
    client.settle(&folder, false, number);
    assert_eq!(client.removes(&folder, "one"), 10_008);
    assert!(client.calls.recv_timeout(Duration::from_millis(50)).is_err());
    // CB_PATH_DOWN and CB_PATH_DOWN_SESSION.
    client.sequence += 1;
    assert_eq!(client.compound(&folder, 1, &[&client.sequence(0)])[13], 0x201);
    // Another session will do, but not this one.
    client.begin_sequence(&folder, 2);
    assert!(client.create(&folder, "two").1.is_some());
    client.removes(&folder, "one");
    assert_eq!(client.called(), client.recall(1, stateid.unwrap()));
}

#[test]
fn what_belongs_to_a_connection_ends_with_it() {
    let folder = Folder::default();
    let (mut client, mut other) = (Peer::new(&folder, "a"), Peer::new(&folder, "b"));
    assert!(client.create(&folder, "one").1.is_some());
    assert!(other.create(&folder, "two").1.is_some());
    client.connection.is_over.store(true, Ordering::Relaxed);
    client.sequence += 1;
    assert_eq!(client.compound(&folder, 1, &[&client.sequence(0)]), [10_052, 0, 1, 53, 10_052]);
    assert_eq!(client.compound(&folder, 1, &[&create_session(client.id, 2, 0)])[0], 10_022);
    // The file stays, and nobody has its delegation.
    assert_eq!([other.removes(&folder, "one"), other.removes(&folder, "two")], [0, 10_008]);
    // A session may be used on another connection as long as its own is there.
    let elsewhere = Peer { connection: Peer::stranger().connection, sequence: other.sequence + 1, ..other };
    assert_eq!(elsewhere.compound(&folder, 1, &[&elsewhere.sequence(0)])[0], 0);
}

#[test]
fn only_a_client_that_can_be_called_is_delegated_to() {
    let folder = Folder::default();
    let mut client = Peer::stranger();
    let known = client.compound(&folder, 1, &[&exchange_id("a", 7, 0)]);
    client.id = known[5..7].try_into().unwrap();
    // It does not ask for it; its credentials are those of RPCSEC_GSS, or of a machine with a name of 256 octets.
    let of_gss = [&create_session(client.id, 2, 2)[..20], &[1, 6, 1, 0, 0]].concat();
    let of_machine = [&create_session(client.id, 3, 2)[..20], &[1, 1, 9, 256], &[0x6d6d_6d6d; 64], &[0, 0, 0]].concat();
    for create in [create_session(client.id, 1, 0), of_gss, of_machine] {
        let created = client.compound(&folder, 1, &[&create]);
        assert_eq!((created[0], created[10]), (0, 0));
        (client.session, client.sequence) = (created[5..9].try_into().unwrap(), 0);
    }
    assert_eq!(client.call(&folder, &[ROOT, &open(CREATES, "one")]), [24, 0, 18, 10_013], "before RECLAIM_COMPLETE");
    assert_eq!(client.call(&folder, &[&[58, 0], &[58, 0]]), [58, 0, 58, 10_054]);
    assert_eq!(client.create(&folder, "one").1, None);
}

#[test]
fn callbacks_have_the_credentials_that_the_client_asks_for() {
    let folder = Folder::default();
    let mut client = Peer::new(&folder, "a");
    // The stamp, a name, user and group, a group; AUTH_NONE would do too, but comes later.
    let user = [9, 2, u32::from_be_bytes(*b"me\0\0"), 1000, 100, 1, 7];
    let create = [&create_session(client.id, 2, 2)[..20], &[2, 1], &user, &[0]].concat();
    let created = client.compound(&folder, 1, &[&create]);
    // The session that it had before.
    let destroyed = client.compound(&folder, 1, &[&[&[44], &client.session[..]].concat()]);
    assert_eq!(destroyed, [0, 0, 1, 44, 0]);
    (client.session, client.sequence) = (created[5..9].try_into().unwrap(), 0);
    assert!(client.create(&folder, "one").1.is_some());
    client.removes(&folder, "one");
    assert_eq!(client.called()[..16], [&[0, 2, PROGRAM, 1, 1, 1, 28], &user[..], &[0, 0]].concat());
}

#[test]
fn a_call_is_carried_out_once() {
    let folder = Folder::default();
    let mut client = Peer::new(&folder, "a");
    client.sequence += 1;
    let sequence = client.sequence(1);
    let create = [&sequence[..], ROOT, &open(CREATES, "one")];
    let first = client.compound(&folder, 1, &create);
    assert_eq!(first[0], 0);
    assert_eq!(client.compound(&folder, 1, &create), first);
    let failed = |change: &dyn Fn(&mut Vec<u32>)| {
        let mut sequence = sequence.clone();
        change(&mut sequence);
        client.compound(&folder, 1, &[&sequence])[4]
    };
    // Its number is neither the last nor the next; another slot, session, highest slot.
    assert_eq!(failed(&|sequence| sequence[5] += 2), 10_063);
    assert_eq!(failed(&|sequence| sequence[5] -= 1), 10_063);
    assert_eq!(failed(&|sequence| sequence[6] = 1), 10_053);
    assert_eq!(failed(&|sequence| sequence[7] = 1), 10_077);
    assert_eq!(failed(&|sequence| sequence[2] += 1), 10_052);
    client.begin_sequence(&folder, 2);
    assert_eq!(client.compound(&folder, 1, &[&client.sequence(0)])[4], 10_063, "0 comes before the first");
}

#[test]
fn a_call_is_no_longer_than_the_session_permits() {
    let folder = Folder::default();
    let client = Peer::new(&folder, "a");
    let mut small = create_session(client.id, 2, 0);
    small[6] = 512;
    let created = client.compound(&folder, 1, &[&small]);
    let client = Peer { session: created[5..9].try_into().unwrap(), sequence: 1, ..client };
    let look_up = |octets: usize| {
        let name = [&[15, octets as u32][..], &vec![0x6161_6161; octets / 4]].concat();
        client.compound(&folder, 1, &[&client.sequence(0), ROOT, &name])
    };
    // Octets around the name: the header, tag, minor version and number of operations, SEQUENCE, PUTROOTFH, and LOOKUP
    // itself.
    let around = OF_HEADER + 12 + 36 + 4 + 8;
    assert_eq!(look_up(512 - around + 4), [10_065, 0, 1, 53, 10_065]);
    assert_eq!(look_up(512 - around)[0], 63, "the sequence number was not used, and the name is too long");
}

#[test]
fn a_reply_is_no_longer_than_the_session_permits() {
    let folder = Folder::default();
    let mut client = Peer::new(&folder, "a");
    let look_up = [&[15], &name("file")[..]].concat();
    let read = |count| [25, 0, 0, 0, 0, 0, 0, count];
    assert_eq!(client.call(&folder, &[ROOT, &look_up, &read(8000)])[..6], [24, 0, 15, 0, 25, 0]);
    // It was too long to be kept.
    let again = client.compound(&folder, 1, &[&client.sequence(0), ROOT, &look_up, &read(8000)]);
    assert_eq!((again[0], again[2], &again[14..]), (10_068, 2, &[24, 10_068][..]));
    assert_eq!(client.call(&folder, &[ROOT, &look_up, &read(8192)]), [24, 0, 15, 0, 25, 10_066]);
    client.sequence += 1;
    let kept = client.compound(&folder, 1, &[&client.sequence(1), ROOT, &look_up, &read(1024)]);
    assert_eq!((kept[0], &kept[14..]), (10_067, &[24, 0, 15, 0, 25, 10_067][..]));
    // Nothing is changed without room to say so.
    client.sequence += 1;
    let crowded = [&client.sequence(1)[..], ROOT, &look_up, &read(800), ROOT, &open(CREATES, "one")];
    let results = client.compound(&folder, 1, &crowded);
    assert_eq!(results[0], 10_067);
    assert_eq!(client.removes(&folder, "one"), 2);
}

#[test]
fn operations_need_a_session_and_its_sequence_comes_first() {
    let folder = Folder::default();
    let mut client = Peer::new(&folder, "a");
    let alone = [ROOT, &[1][..], &[59], &[41], &[40]];
    let failures = alone.map(|operation| client.compound(&folder, 1, &[operation])[0]);
    assert_eq!(failures, [10_071, 10_044, 10_044, 10_004, 10_071]);
    let exchange = exchange_id("b", 7, 0);
    assert_eq!(client.compound(&folder, 1, &[&exchange, ROOT]), [10_081, 0, 1, 42, 10_081]);
    let sequence = client.sequence(0);
    assert_eq!(client.call(&folder, &[ROOT, &sequence]), [24, 0, 53, 10_064]);
    assert_eq!(client.call(&folder, &[CLOSE]), [4, 10_020]);
    // SETCLIENTID is of NFSv4.0 alone, LAYOUTGET of pNFS, COPY of NFSv4.2.
    for (number, failure) in [(35, 10_004), (50, 10_004), (60, 10_044)] {
        assert_eq!(client.call(&folder, &[ROOT, &[number]])[3], failure, "{number}");
    }
    for number in [4, 8, 18, 42, 43, 44, 53, 57, 58] {
        let expected = if number < 40 { 10_004 } else { 10_044 };
        assert_eq!(client.compound(&folder, 0, &[ROOT, &[number]])[0], expected, "{number} in NFSv4.0");
    }
}

#[test]
fn what_open_and_close_cannot_do_fails() {
    let folder = Folder::default();
    let mut client = Peer::new(&folder, "a");
    client.create(&folder, "one");
    let shared = |access, deny, file| [&[18, 0, access, deny, 0, 0, 0, 0, 0], &name(file)[..]].concat();
    for (operation, status) in [
        (open(CREATES, "one"), 17),
        (open(CREATES, "file"), 17),
        (open(&[0], "none"), 2),
        (open(&[0], "link"), 10_029),
        (open(CREATES, ""), 22),
        (open(CREATES, ".."), 10_041),
        // The mode is another; the size; EXCLUSIVE4; no such way.
        (open(&[1, 1, 2, 0, 2, 4, 0o600], "two"), 10_032),
        (open(&[1, 0, 1, 0x10, 8, 0, 0], "two"), 10_032),
        (open(&[1, 2, 0, 0], "two"), 10_004),
        (open(&[1, 4], "two"), 10_036),
        (open(&[2], "two"), 10_036),
        (shared(0, 0, "one"), 22),
        (shared(4, 0, "one"), 22),
        (shared(1, 4, "one"), 22),
        (shared(1, 1, "one"), 10_004),
        (shared(3, 0, "one"), 13),
        (shared(2, 0, "file"), 13),
        // CLAIM_FH.
        ([18, 0, 1, 0, 0, 0, 0, 0, 4].to_vec(), 21),
        // CLAIM_PREVIOUS, CLAIM_DELEGATE_CUR.
        ([18, 0, 1, 0, 0, 0, 0, 0, 1, 0].to_vec(), 10_033),
        ([18, 0, 1, 0, 0, 0, 0, 0, 2].to_vec(), 10_004),
        ([4, 0, 1, 0, 0, 0].to_vec(), 10_025),
        ([8, 1, 2, 5, 1].to_vec(), 10_025),
        (remove("file"), 13),
        (remove("none"), 2),
    ] {
        assert_eq!(client.call(&folder, &[ROOT, &operation])[2..], [operation[0], status], "{operation:?}");
    }
    let look_up = [&[15], &name("one")[..]].concat();
    // OPEN in a file; a stateid of nobody.
    assert_eq!(client.call(&folder, &[ROOT, &look_up, &open(&[0], "x")])[4..], [18, 20]);
    assert_eq!(client.call(&folder, &[ROOT, &look_up, &[4, 0, 1, 1, 9, 9]])[4..], [4, 10_025]);
    // The stateid of OPEN is that of its file only.
    let other = client.call(&folder, &[ROOT, &open(&[0], "file"), ROOT, &look_up, CLOSE]);
    assert_eq!(other[other.len() - 2..], [4, 10_025]);
    // Going to another file drops the current stateid.
    let look_up = [&[15], &name("file")[..]].concat();
    let again = client.call(&folder, &[ROOT, &open(&[0], "file"), ROOT, &look_up, CLOSE]);
    assert_eq!(again[again.len() - 2..], [4, 10_025]);
}

#[test]
fn each_open_by_an_owner_has_the_next_sequence_number() {
    let folder = Folder::default();
    let mut client = Peer::new(&folder, "a");
    let open_by = |owner: &str| [&[18, 0, 1, 0, 0, 0][..], &name(owner), &[0, 0], &name("file")].concat();
    let close = |stateid: [u32; 4]| [&[4, 0][..], &stateid].concat();
    let look_up = [&[15], &name("file")[..]].concat();
    let mut opened =
        |owner: &str| -> [u32; 4] { client.call(&folder, &[ROOT, &open_by(owner)])[4..8].try_into().unwrap() };
    let [first, second, other] = [opened("one"), opened("one"), opened("more")];
    assert_eq!((first[0], second[0], &first[1..]), (1, 2, &second[1..]));
    assert_eq!(other[0], 1);
    assert_ne!(first[1..], other[1..]);
    let mut closed = |stateid| client.call(&folder, &[ROOT, &look_up, &close(stateid)])[5];
    assert_eq!(closed(first), 10_024);
    assert_eq!(closed([3, second[1], second[2], second[3]]), 10_025);
    assert_eq!([closed(second), closed(second)], [0, 10_025]);
    // The latest, whatever its number.
    assert_eq!(closed([0, other[1], other[2], other[3]]), 0);
    // A client with an open file is not forgotten.
    let again: [u32; 4] = client.call(&folder, &[ROOT, &open_by("one")])[4..8].try_into().unwrap();
    assert_eq!(again[0], 1);
    assert_ne!(again[1], first[1]);
    assert_eq!(client.compound(&folder, 1, &[&[&[44][..], &client.session].concat()])[0], 0);
    assert_eq!(client.compound(&folder, 1, &[&[57, client.id[0], client.id[1]]])[0], 10_074);
}

#[test]
fn the_number_of_open_files_is_bounded() {
    let folder = Folder::default();
    let mut client = Peer::new(&folder, "a");
    let mut open_by = |owner: u32| client.call(&folder, &[ROOT, &[18, 0, 1, 0, 0, 0, 4, owner, 0, 0, 4, FILE]])[3];
    assert!((0..256).all(|owner| open_by(owner) == 0));
    assert_eq!([open_by(256), open_by(0)], [28, 0]);
}

#[test]
fn a_client_finds_its_way_as_linux_does() {
    let folder = Folder::default();
    let mut client = Peer::new(&folder, "a");
    let handle = [22, 8, u32::from_be_bytes(*b"rpcr")];
    // SECINFO_NO_NAME of the current file, which leaves none; of the parent. SECINFO of a name.
    assert_eq!(client.call(&folder, &[ROOT, &[52, 0]]), [24, 0, 52, 0, 2, 1, 0]);
    assert_eq!(client.call(&folder, &[ROOT, &[52, 0], &[10]])[7..], [10, 10_020]);
    assert_eq!(client.call(&folder, &[ROOT, &[52, 1]])[2..], [52, 2]);
    assert_eq!(client.call(&folder, &[ROOT, &[33, 4, FILE]])[2..], [33, 0, 2, 1, 0]);
    assert_eq!(client.call(&folder, &[ROOT, &[33, 4, 0x6e6f_6e65]])[2..], [33, 2]);
    // By handle: a file, OPEN of it (CLAIM_FH), what may be done with it, its type; and a file that is not there.
    let file = [&handle[..], &[2]].concat();
    let open = [18, 0, 1, 0, 0, 0, 0, 0, 4];
    let found = client.call(&folder, &[&file, &open, &[3, 0x3f], &[9, 1, 2]]);
    assert_eq!((&found[..4], found[4]), (&[22, 0, 18, 0][..], 1));
    assert_eq!(found[found.len() - 10..], [3, 0, 0x2d, 0x21, 9, 0, 1, 2, 4, 1]);
    assert_eq!(client.call(&folder, &[&[&handle[..], &[99]].concat()]), [22, 70]);
    for other in [&[22, 0][..], &[22, 4, handle[2]], &[22, 8, handle[2] + 1, 2]] {
        assert_eq!(client.call(&folder, &[other]), [22, 10_001], "{other:x?}");
    }
    // READDIR after the second entry: number, type and handle of the third.
    let list = [26, 0, 4, 0, 0, 4096, 4096, 1, 0x8_0002];
    let third =
        [1, 0, 5, 7, u32::from_be_bytes(*b"scra"), u32::from_be_bytes(*b"tch\0"), 1, 0x8_0002, 16, 1, 8, handle[2], 4];
    let whole = [&[26, 0, 0, 0][..], &third, &[0, 1]].concat();
    assert_eq!(client.call(&folder, &[ROOT, &list])[2..], whole);
    // They can only be set.
    assert_eq!(client.call(&folder, &[ROOT, &[9, 2, 0, 1 << 22]])[2..], [9, 22]);
}

#[test]
fn a_delegation_is_granted_once_on_request() {
    let folder = Folder::default();
    let (mut client, mut other) = (Peer::new(&folder, "a"), Peer::new(&folder, "b"));
    let (_, stateid) = client.create(&folder, "one");
    let wants = |wants: u32| [&[18, 0, 1 | wants, 0, 0, 0, 0, 0, 0], &name("one")[..]].concat();
    // NONE; or NONE_EXT, with the reason.
    for (wish, delegation) in [(0, &[0][..]), (0x400, &[3, 0]), (0x100, &[3, 2, 0])] {
        assert_eq!(&other.call(&folder, &[ROOT, &wants(wish)])[14..], [&[0], delegation].concat(), "{wish:#x}");
    }
    // Only its client can give it back, and once.
    assert_eq!(other.give_back(&folder, "one", stateid.unwrap())[4..], [8, 10_025]);
    let as_its = [stateid.unwrap()[0], 2, stateid.unwrap()[2], other.id[1]];
    assert_eq!(other.give_back(&folder, "one", as_its)[4..], [8, 10_025]);
    assert_eq!(client.give_back(&folder, "one", stateid.unwrap())[4..], [8, 0]);
    assert_eq!(client.give_back(&folder, "one", stateid.unwrap())[4..], [8, 10_025]);
    assert_eq!(other.call(&folder, &[ROOT, &wants(0x100)])[15], 1);
}

#[test]
fn a_client_that_restarts_loses_what_it_had() {
    let folder = Folder::default();
    let mut client = Peer::new(&folder, "a");
    client.create(&folder, "one");
    let exchange = |verifier, flags| client.compound(&folder, 1, &[&exchange_id("a", verifier, flags)]);
    // The same one again, which is confirmed and has created a session; an update; no update of another.
    assert_eq!(exchange(7, 0)[5..9], [client.id[0], client.id[1], 2, 0x8001_0000]);
    assert_eq!(exchange(7, 0x4000_0000)[0], 0);
    assert_eq!(exchange(8, 0x4000_0000)[0], 10_027);
    assert_eq!(client.compound(&folder, 1, &[&exchange_id("b", 7, 0x4000_0000)])[0], 2);
    // The second flag is of NFSv4.2.
    assert_eq!([8, 4].map(|flags| exchange(7, flags)[0]), [22, 22]);
    let again = exchange(8, 0);
    assert_eq!((again[0], again[7..9].to_vec()), (0, vec![1, 0x1_0000]));
    assert_eq!(client.removes(&folder, "one"), 10_008, "not before it is confirmed");
    let mut restarted = Peer { id: again[5..7].try_into().unwrap(), ..Peer::stranger() };
    restarted.begin_sequence(&folder, 1);
    assert_eq!(client.removes(&folder, "one"), 0);
    client.sequence += 1;
    assert_eq!(client.compound(&folder, 1, &[&client.sequence(0)])[0], 10_052);
}

#[test]
fn sessions_and_clients_are_destroyed_in_this_order() {
    let folder = Folder::default();
    let mut client = Peer::new(&folder, "a");
    let (_, stateid) = client.create(&folder, "one");
    let destroy = [57, client.id[0], client.id[1]];
    let end = [&[44], &client.session[..]].concat();
    assert_eq!(client.compound(&folder, 1, &[&destroy])[0], 10_074);
    assert_eq!([0, 1].map(|_| client.compound(&folder, 1, &[&end])[0]), [0, 10_052]);
    assert_eq!(client.compound(&folder, 1, &[&destroy])[0], 10_074, "it has a delegation");
    client.begin_sequence(&folder, 2);
    client.give_back(&folder, "one", stateid.unwrap());
    client.compound(&folder, 1, &[&[&[44], &client.session[..]].concat()]);
    assert_eq!([0, 1].map(|_| client.compound(&folder, 1, &[&destroy])[0]), [0, 10_022]);
}

#[test]
fn what_a_destroyed_session_was_to_recall_waits_for_another() {
    let folder = Folder::default();
    let mut client = Peer::new(&folder, "a");
    let [(one, _), (_, two)] = ["one", "two"].map(|file| client.create(&folder, file));
    assert_eq!(["one", "two"].map(|file| client.removes(&folder, file)), [10_008; 2]);
    client.called();
    client.compound(&folder, 1, &[&[&[44], &client.session[..]].concat()]);
    client.answers.send(Called::NotCarriedOut).unwrap();
    client.settle(&folder, false, one);
    client.begin_sequence(&folder, 2);
    assert!(client.calls.recv_timeout(Duration::from_millis(50)).is_err());
    assert_eq!(client.removes(&folder, "two"), 10_008);
    assert_eq!(client.called(), client.recall(1, two.unwrap()));
}

#[test]
fn a_session_is_created_once_for_each_number() {
    let folder = Folder::default();
    let client = Peer::new(&folder, "a");
    let create = |sequence| client.compound(&folder, 1, &[&create_session(client.id, sequence, 2)]);
    assert_eq!(create(1)[5..9], client.session);
    let second = create(2);
    assert_ne!(second[5..9], client.session);
    assert_eq!(create(2), second);
    assert_eq!([create(1)[0], create(4)[0]], [10_063; 2]);
    // The grant: one slot, and no more than the client has asked for or there is.
    assert_eq!(second[11..18], [0, 8192, 8192, 1024, 16, 1, 0]);
    // Too small for anything; too small for callbacks, which need two operations.
    for (index, value) in [(6, 511), (7, 511), (9, 0), (10, 0), (13, 511), (16, 1), (17, 0)] {
        let mut small = create_session(client.id, 3, 2);
        small[index] = value;
        assert_eq!(client.compound(&folder, 1, &[&small])[0], 10_005, "{index}");
    }
    assert_eq!(client.compound(&folder, 1, &[&create_session(client.id, 3, 8)])[0], 22);
    let mut short = create_session(client.id, 3, 0);
    short[9] = 2;
    let created = client.compound(&folder, 1, &[&short]);
    let client = Peer { session: created[5..9].try_into().unwrap(), sequence: 1, ..client };
    assert_eq!(client.compound(&folder, 1, &[&client.sequence(0), ROOT, ROOT])[0], 10_070);
    assert_eq!(client.compound(&folder, 1, &[&client.sequence(0), ROOT])[0], 0);
}

#[test]
fn clients_and_sessions_are_bounded() {
    let folder = Folder::default();
    let client = Peer::new(&folder, "a");
    let known = |number: usize| {
        let known = client.compound(&folder, 1, &[&exchange_id(&format!("{number}"), 7, 0)]);
        (known[0], [known[5], known[6]])
    };
    let first = known(0).1;
    (1..MOST_CLIENTS).for_each(|number| assert_eq!(known(number).0, 0));
    // The first unconfirmed client is replaced.
    assert_eq!(client.compound(&folder, 1, &[&create_session(first, 1, 0)])[0], 10_022);
    let sessions = (2..).map(|number| client.compound(&folder, 1, &[&create_session(client.id, number, 0)])[0]);
    let created = sessions.take_while(|status| *status == 0).take(2 * MOST_SESSIONS).count();
    assert_eq!(created, MOST_SESSIONS - 1);
    assert_eq!(client.compound(&folder, 1, &[&create_session(client.id, 1 + MOST_SESSIONS as u32, 0)])[0], 28);
    // They all go when their connection does.
    client.connection.is_over.store(true, Ordering::Relaxed);
    let others: Vec<Peer> = (0..MOST_CLIENTS).map(|number| Peer::new(&folder, &format!("{number}"))).collect();
    assert_eq!(others[0].compound(&folder, 1, &[&exchange_id("more", 7, 0)]), [10_008, 0, 1, 42, 10_008]);
}

#[test]
fn no_arguments_do_harm() {
    let folder = Folder::default();
    let mut client = Peer::new(&folder, "a");
    let mut all = vec![exchange_id("c", 7, 0), create_session(client.id, 2, 2)];
    all.push([&[44], &client.session[..]].concat());
    client.sequence += 1;
    let file = [&[15], &name("one")[..]].concat();
    let operations =
        [&client.sequence(1)[..], &[58, 1], ROOT, &open(CREATES, "one"), CLOSE, ROOT, &file, &[8, 1, 2, 5, 1]];
    let remove = remove("one");
    let operations = [&operations[..], &[ROOT, &remove]].concat();
    let long = [&[0, 1, operations.len() as u32], operations.concat().as_slice()].concat();
    all = all.into_iter().map(|one| [&[0, 1, 1], one.as_slice()].concat()).collect();
    for arguments in [&all[0], &all[1], &long, &all[2]] {
        let right = octets(arguments);
        for cut in 0..right.len() {
            let _ = client.octets(&folder, &right[..cut]);
        }
        for index in 0..right.len() {
            for value in [0, 1, 2, 4, 0x7f, 0xff] {
                let mut wrong = right.clone();
                wrong[index] = value;
                // The request may be senseless, but no answer is longer than the session permits.
                let reply = client.octets(&folder, &wrong).unwrap_or_default();
                assert!(reply.len() <= 8192, "{index}: {value}");
            }
        }
    }
    // All is as it was for others.
    let mut other = Peer::new(&folder, "b");
    assert!(other.create(&folder, "mine").1.is_some());
}
