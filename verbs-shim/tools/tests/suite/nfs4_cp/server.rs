//! A server of NFSv4.0 for tests: what `nfs4-cp` needs, with files in memory, and peculiarities that tests choose.
//!
//! It has its own code for XDR, so that it proves something about the client's.

use std::sync::Mutex;

use rpcrdma_verbs::loopback::Adapter;
use rpcrdma_verbs::{Request, Stream};

const NOENT: u32 = 2;
const EXIST: u32 = 17;
const NOTDIR: u32 = 20;
const ISDIR: u32 = 21;
const INVAL: u32 = 22;
const DELAY: u32 = 10_008;
const GRACE: u32 = 10_013;
const BAD_STATEID: u32 = 10_025;
const BAD_SEQID: u32 = 10_026;
const CONFIRM: u32 = 2;
/// Parent of what was removed.
const REMOVED: usize = usize::MAX;

/// Peculiarities of the server.
#[derive(Clone, Debug)]
pub(crate) struct Whims {
    /// Octets that a READ or WRITE does at most, whatever `maxread` and `maxwrite` say.
    pub(crate) most: usize,
    /// `maxread` and `maxwrite`.
    pub(crate) said: u64,
    /// Every how many COMPOUNDs it answers NFS4ERR_DELAY; 0: never.
    pub(crate) delays: usize,
    /// OPENs that come too early.
    pub(crate) grace: usize,
    /// Entries of a page of READDIR.
    pub(crate) page: usize,
    /// READs have no end of file.
    pub(crate) endless: bool,
    /// READs end after this many octets.
    pub(crate) ends_at: Option<usize>,
    /// It is another instance at each COMMIT.
    pub(crate) restarts: bool,
    /// It wants new owners to confirm an OPEN, and gives delegations.
    pub(crate) wary: bool,
    /// COMPOUNDs after which it no longer answers.
    pub(crate) silent_after: Option<usize>,
}

impl Default for Whims {
    fn default() -> Self {
        Self {
            most: usize::MAX,
            said: 1 << 20,
            delays: 0,
            grace: 0,
            page: 100,
            endless: false,
            ends_at: None,
            restarts: false,
            wary: true,
            silent_after: None,
        }
    }
}

#[derive(Debug)]
struct Node {
    parent: usize,
    name: Vec<u8>,
    /// None of a directory.
    data: Option<Vec<u8>>,
    mode: u32,
}

#[derive(Debug, Default)]
struct State {
    nodes: Vec<Node>,
    compounds: usize,
    /// The next sequence number of the one owner.
    sequence: u32,
    /// A stateid, and whether it is confirmed; its sequence number grows.
    open: Option<(u32, bool)>,
    delegated: bool,
    confirmed: bool,
    saved: Option<usize>,
    /// Octets that were not committed.
    uncommitted: usize,
}

pub(crate) struct Nfsd {
    whims: Whims,
    state: Mutex<State>,
}

/// Arguments.
struct Arguments<'a>(&'a [u8]);

impl<'a> Arguments<'a> {
    fn octets(&mut self, length: usize) -> &'a [u8] {
        let (octets, rest) = self.0.split_at(length);
        self.0 = rest;
        octets
    }

    fn word(&mut self) -> u32 {
        u32::from_be_bytes(self.octets(4).try_into().unwrap())
    }

    fn hyper(&mut self) -> u64 {
        u64::from(self.word()) << 32 | u64::from(self.word())
    }

    fn opaque(&mut self) -> &'a [u8] {
        let length = self.word() as usize;
        let opaque = self.octets(length);
        assert!(self.octets(length.next_multiple_of(4) - length).iter().all(|&octet| octet == 0), "padding");
        opaque
    }
}

/// Results of an operation, followed by data that may be reduced.
#[derive(Default)]
struct Results {
    octets: Vec<u8>,
    data: Option<Vec<u8>>,
}

impl Results {
    fn words(&mut self, words: &[u32]) -> &mut Self {
        words.iter().for_each(|word| self.octets.extend(word.to_be_bytes()));
        self
    }

    fn hyper(&mut self, value: u64) -> &mut Self {
        self.octets.extend(value.to_be_bytes());
        self
    }

    fn opaque(&mut self, opaque: &[u8]) -> &mut Self {
        self.words(&[opaque.len() as u32]).octets.extend(opaque);
        self.octets.resize(self.octets.len().next_multiple_of(4), 0);
        self
    }
}

const STATEID_REST: &[u32] = &[0x7374_6174, 0x6569_6421, 0x3132_3334];
const VERIFIER: u64 = 0x7665_7269_6669_6572;

impl Nfsd {
    pub(crate) fn new(whims: Whims) -> Self {
        let state =
            State { nodes: vec![Node { parent: 0, name: Vec::new(), data: None, mode: 0o755 }], ..State::default() };
        Self { whims, state: Mutex::new(state) }
    }

    /// Creates a file, and the directories that lead to it.
    pub(crate) fn create_file(&self, path: &[String], data: Vec<u8>) {
        let mut state = self.state.lock().unwrap();
        let (name, directories) = path.split_last().unwrap();
        let mut at = 0;
        for directory in directories {
            at = state
                .child(at, directory.as_bytes())
                .unwrap_or_else(|| state.add_node(at, directory.as_bytes(), None, 0o755));
        }
        state.add_node(at, name.as_bytes(), Some(data), 0o600);
    }

    /// The names and permissions of the files in a directory.
    pub(crate) fn names(&self, path: &[String]) -> Vec<(String, u32)> {
        let state = self.state.lock().unwrap();
        let at = path.iter().fold(0, |at, name| state.child(at, name.as_bytes()).unwrap());
        let inside = state.nodes.iter().skip(1).filter(|node| node.parent == at);
        inside.map(|node| (String::from_utf8(node.name.clone()).unwrap(), node.mode)).collect()
    }

    /// The data of a file that is on stable storage, where all files are closed.
    pub(crate) fn get(&self, path: &[String]) -> Vec<u8> {
        let state = self.state.lock().unwrap();
        assert_eq!((state.open, state.delegated, state.uncommitted), (None, false, 0));
        drop(state);
        self.octets(path)
    }

    /// The data of a file, whatever is open.
    pub(crate) fn octets(&self, path: &[String]) -> Vec<u8> {
        let state = self.state.lock().unwrap();
        let node = path.iter().fold(0, |at, name| state.child(at, name.as_bytes()).unwrap());
        state.nodes[node].data.clone().unwrap()
    }

    /// Returns true if it stops answering.
    pub(crate) fn falls_silent(&self) -> bool {
        self.whims.silent_after.is_some()
    }

    pub(crate) fn compounds(&self) -> usize {
        self.state.lock().unwrap().compounds
    }

    /// Answers a COMPOUND.
    pub(crate) fn answer(&self, mut request: Request<Adapter>) {
        let (call, arguments) = request.decode().unwrap();
        assert_eq!((call.program, call.version, call.procedure), (100_003, 4, 1));
        assert_eq!(call.credential.flavor.0, 1);
        let mut arguments = Arguments(arguments);
        assert_eq!((arguments.opaque(), arguments.word()), (&b""[..], 0));
        let mut state = self.state.lock().unwrap();
        state.compounds += 1;
        if self.whims.silent_after.is_some_and(|most| state.compounds > most) {
            drop(state);
            // A request that is dropped is answered with an error.
            while request.connection().ended().is_none() {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            return;
        }
        let delayed = self.whims.delays > 0 && state.compounds.is_multiple_of(self.whims.delays);
        let (mut handle, mut status, mut all) = (None, 0, Vec::new());
        for number in 0..arguments.word() {
            let code = arguments.word();
            let mut results = Results::default();
            status = match code {
                // Only ever the first, so that no state changes.
                _ if delayed && number == 0 => DELAY,
                _ => self.operation(&mut state, code, &mut handle, &mut arguments, &mut results),
            };
            all.push((code, status, results));
            if status != 0 {
                break;
            }
        }
        assert!(status != 0 || arguments.0.is_empty(), "{} octets behind the operations", arguments.0.len());
        drop(state);
        write_results(request.accept(), status, all);
        request.answer().unwrap();
    }

    fn operation(
        &self,
        state: &mut State,
        code: u32,
        handle: &mut Option<usize>,
        arguments: &mut Arguments<'_>,
        results: &mut Results,
    ) -> u32 {
        match code {
            24 => *handle = Some(0),
            22 => {
                *handle = Some(u64::from_be_bytes(arguments.opaque()[8..].try_into().unwrap()) as usize);
            }
            15 => match state.child(handle.unwrap(), arguments.opaque()) {
                Some(child) => *handle = Some(child),
                None if state.nodes[handle.unwrap()].data.is_some() => return NOTDIR,
                None => return NOENT,
            },
            10 => {
                results.opaque(&[&b"a handle"[..], &(handle.unwrap() as u64).to_be_bytes()].concat());
            }
            9 => {
                let mask = match arguments.word() {
                    1 => [arguments.word(), 0],
                    2 => [arguments.word(), arguments.word()],
                    many => panic!("{many} words"),
                };
                self.attributes(&state.nodes[handle.unwrap()], mask, results);
            }
            25 => return self.read(&state.nodes[handle.unwrap()], arguments, results),
            38 => return self.write(state, handle.unwrap(), arguments, results),
            26 => return self.entries(state, handle.unwrap(), arguments, results),
            5 => {
                let _all = (arguments.hyper(), arguments.word());
                state.uncommitted = 0;
                results.hyper(if self.whims.restarts { 1 } else { VERIFIER });
            }
            35 => {
                let (_verifier, _id) = (arguments.hyper(), arguments.opaque());
                let _callback = (arguments.word(), arguments.opaque(), arguments.opaque(), arguments.word());
                // Another client, with another owner.
                state.sequence = 0;
                results.hyper(77).hyper(88);
            }
            36 => {
                assert_eq!((arguments.hyper(), arguments.hyper()), (77, 88));
                state.confirmed = true;
            }
            28 => {
                let Some(child) = state.child(handle.unwrap(), arguments.opaque()) else { return NOENT };
                state.nodes[child].parent = REMOVED;
                results.words(&[1]).hyper(1).hyper(2);
            }
            29 => {
                let Some(child) = state.child(state.saved.unwrap(), arguments.opaque()) else { return NOENT };
                assert_eq!(state.open, None, "it is renamed when it is closed");
                let name = arguments.opaque().to_vec();
                if let Some(replaced) = state.child(handle.unwrap(), &name) {
                    state.nodes[replaced].parent = REMOVED;
                }
                (state.nodes[child].parent, state.nodes[child].name) = (handle.unwrap(), name);
                results.words(&[1]).hyper(1).hyper(2).words(&[1]).hyper(1).hyper(2);
            }
            32 => state.saved = *handle,
            18 => return self.open(state, handle, arguments, results),
            8 => {
                assert!(state.delegated && arguments.octets(16)[4..] == *b"delegation!!");
                state.delegated = false;
            }
            20 | 4 => return state.confirm_or_close(code == 4, arguments, results),
            _ => panic!("operation {code}"),
        }
        0
    }

    fn attributes(&self, node: &Node, masks: [u32; 2], results: &mut Results) {
        let mut values = Results::default();
        for number in (0..64).filter(|number| masks[number / 32] & 1 << (number % 32) != 0) {
            match number {
                1 => values.words(&[if node.data.is_some() { 1 } else { 2 }]),
                4 => values.hyper(node.data.as_ref().map_or(4096, Vec::len) as u64),
                11 => values.words(&[0]),
                30 | 31 => values.hyper(self.whims.said),
                33 => values.words(&[node.mode]),
                _ => panic!("attribute {number}"),
            };
        }
        let words = if masks[1] == 0 { 1 } else { 2 };
        results.words(&[words]).words(&masks[..words as usize]).opaque(&values.octets);
    }

    fn read(&self, node: &Node, arguments: &mut Arguments<'_>, results: &mut Results) -> u32 {
        assert_eq!(arguments.octets(16), [0; 16], "the anonymous stateid");
        let (offset, count) = (arguments.hyper() as usize, arguments.word() as usize);
        let Some(data) = &node.data else { return ISDIR };
        assert!(count as u64 <= self.whims.said);
        let data = &data[..self.whims.ends_at.unwrap_or(data.len()).min(data.len())];
        let from = offset.min(data.len());
        let to = offset.saturating_add(count.min(self.whims.most)).min(data.len());
        let eof = to == data.len() && !self.whims.endless;
        results.words(&[u32::from(eof), (to - from) as u32]);
        results.data = Some(data[from..to].to_vec());
        0
    }

    fn write(&self, state: &mut State, handle: usize, arguments: &mut Arguments<'_>, results: &mut Results) -> u32 {
        let open = state.open.filter(|(_, confirmed)| *confirmed);
        if open != Some((arguments.word(), true)) || words(arguments, 3) != STATEID_REST {
            return BAD_STATEID;
        }
        let (offset, stable, data) = (arguments.hyper() as usize, arguments.word(), arguments.opaque());
        assert_eq!(stable, 0);
        assert!(data.len() as u64 <= self.whims.said);
        let data = &data[..data.len().min(self.whims.most)];
        let file = state.nodes[handle].data.as_mut().unwrap();
        file.resize(file.len().max(offset + data.len()), 0xee);
        file[offset..offset + data.len()].copy_from_slice(data);
        state.uncommitted += data.len();
        results.words(&[data.len() as u32, 0]).hyper(VERIFIER);
        0
    }

    fn entries(&self, state: &State, handle: usize, arguments: &mut Arguments<'_>, results: &mut Results) -> u32 {
        let (cookie, verifier) = (arguments.hyper(), arguments.hyper());
        let (_dircount, maxcount) = (arguments.word(), arguments.word());
        let mask = (arguments.word(), arguments.word());
        assert_eq!((verifier, mask.0), (if cookie == 0 { 0 } else { VERIFIER }, 1));
        if state.nodes[handle].data.is_some() {
            return NOTDIR;
        }
        let entry = |node: &(usize, &Node)| node.0 > 0 && node.1.parent == handle && node.0 as u64 + 11 > cookie;
        let all: Vec<_> = state.nodes.iter().enumerate().filter(entry).collect();
        results.hyper(VERIFIER);
        let mut given = 0;
        for (number, node) in all.iter().take(self.whims.page) {
            let mut entry = Results::default();
            entry.words(&[1]).hyper(*number as u64 + 11).opaque(&node.name);
            self.attributes(node, [mask.1, 0], &mut entry);
            if results.octets.len() + entry.octets.len() + 8 > maxcount as usize {
                break;
            }
            results.octets.extend(entry.octets);
            given += 1;
        }
        results.words(&[0, u32::from(all.len() == given)]);
        0
    }

    fn open(
        &self,
        state: &mut State,
        handle: &mut Option<usize>,
        arguments: &mut Arguments<'_>,
        results: &mut Results,
    ) -> u32 {
        let (sequence, access_and_denial, client) = (arguments.word(), words(arguments, 2), arguments.hyper());
        let (_owner, how) = (arguments.opaque(), words(arguments, 2));
        assert_eq!((access_and_denial, client, how), (vec![2, 0], 77, vec![1, 1]));
        // Size 0 and a mode.
        assert_eq!(words(arguments, 6), [2, 0x10, 0x2, 12, 0, 0]);
        let mode = arguments.word();
        let (claim, name) = (arguments.word(), arguments.opaque());
        assert!(claim == 0 && state.confirmed);
        if sequence != state.sequence {
            return BAD_SEQID;
        }
        state.sequence += 1;
        // The number says how many have come.
        if (sequence as usize) < self.whims.grace {
            return GRACE;
        }
        if name.is_empty() {
            return INVAL;
        }
        if state.child(handle.unwrap(), name).is_some() {
            return EXIST;
        }
        let child = state.add_node(handle.unwrap(), name, Some(Vec::new()), mode);
        *handle = Some(child);
        state.open = Some((1, !self.whims.wary));
        results.words(&[1]).words(STATEID_REST).words(&[1]).hyper(5).hyper(6);
        results.words(&[if self.whims.wary { CONFIRM } else { 0 }, 2, 0x10, 0x2]);
        if self.whims.wary {
            // A write delegation: stateid, recall, space limit, entry.
            state.delegated = true;
            results.words(&[2, 9]).octets.extend(b"delegation!!");
            results.words(&[0, 1, 0, 7, 0, 0, 0]).opaque(b"OWNER@");
        } else {
            results.words(&[0]);
        }
        0
    }
}

impl State {
    fn child(&self, parent: usize, name: &[u8]) -> Option<usize> {
        let is = |(number, node): (usize, &Node)| number > 0 && node.parent == parent && node.name == name;
        (0..self.nodes.len()).find(|&number| is((number, &self.nodes[number])))
    }

    fn add_node(&mut self, parent: usize, name: &[u8], data: Option<Vec<u8>>, mode: u32) -> usize {
        self.nodes.push(Node { parent, name: name.to_vec(), data, mode });
        self.nodes.len() - 1
    }

    /// OPEN_CONFIRM has the stateid first, CLOSE the sequence number.
    fn confirm_or_close(&mut self, closes: bool, arguments: &mut Arguments<'_>, results: &mut Results) -> u32 {
        let first = if closes { Some(arguments.word()) } else { None };
        let (state, rest) = (arguments.word(), words(arguments, 3));
        let sequence = first.unwrap_or_else(|| arguments.word());
        if self.open != Some((state, closes)) || rest != STATEID_REST {
            return BAD_STATEID;
        }
        if sequence != self.sequence {
            return BAD_SEQID;
        }
        self.sequence += 1;
        self.open = if closes { None } else { Some((state + 1, true)) };
        results.words(&[state + 1]).words(STATEID_REST);
        0
    }
}

fn words(arguments: &mut Arguments<'_>, number: usize) -> Vec<u32> {
    (0..number).map(|_| arguments.word()).collect()
}

/// Puts a COMPOUND's results into a reply.
fn write_results(reply: &mut Stream, status: u32, all: Vec<(u32, u32, Results)>) {
    let mut head = Results::default();
    reply.push(&head.words(&[status, 0, all.len() as u32]).octets);
    for (code, status, results) in all {
        let mut head = Results::default();
        reply.push(&head.words(&[code, status]).octets);
        if status == 0 {
            reply.push(&results.octets);
            if let Some(data) = results.data {
                reply.push_item(data);
            }
        }
    }
}
