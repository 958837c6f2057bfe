//! A server of NFSv4.1 for tests, as far as it takes to delegate files and recall them (RFC 8881). It has its own code for XDR, so
//! that it proves something about the client's. It says what to call back with, and leaves how to its user.

/// An act of the transport that a COMPOUND asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    None,
    /// Calls of this session go to the connection.
    Session(usize),
    /// The arguments of a CB_COMPOUND for a session.
    Recall(usize, Vec<u8>),
}

/// Peculiarities of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Whims {
    /// It delegates and recalls files where nobody has asked to be called.
    pub(crate) delegates_unasked: bool,
    /// It never delegates.
    pub(crate) never_delegates: bool,
    /// It delegates files only when they exist already.
    pub(crate) delegates_late: bool,
    /// It delegates every other file, as Linux does not delegate one whose handle may be that of a file that it recalled recently.
    pub(crate) delegates_some: bool,
    /// It answers REMOVE of a delegated file with NFS4ERR_DELAY, and recalls nothing.
    pub(crate) never_recalls: bool,
}

#[derive(Debug)]
struct Session {
    sequence: u32,
    program: u32,
    has_backchannel: bool,
}

#[derive(Debug)]
struct File {
    name: Vec<u8>,
    /// The session that a delegation was granted to, and whether it is recalled.
    delegation: Option<(usize, bool)>,
}

#[derive(Debug, Default)]
pub(crate) struct Nfsd {
    whims: Whims,
    sessions: Vec<Session>,
    files: Vec<Option<File>>,
}

const DELAY: u32 = 10_008;
const NOENT: u32 = 2;
const EXIST: u32 = 17;

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn word(rest: &mut &[u8]) -> u32 {
    let (word, others) = rest.split_first_chunk().unwrap();
    *rest = others;
    u32::from_be_bytes(*word)
}

fn several<const N: usize>(rest: &mut &[u8]) -> [u32; N] {
    [(); N].map(|()| word(rest))
}

fn opaque(rest: &mut &[u8]) -> Vec<u8> {
    let length = word(rest) as usize;
    let (opaque, others) = rest.split_at(length.next_multiple_of(4));
    *rest = others;
    assert!(opaque[length..].iter().all(|&octet| octet == 0), "padding");
    opaque[..length].to_vec()
}

impl Nfsd {
    pub(crate) fn new(whims: Whims) -> Self {
        Self { whims, ..Self::default() }
    }

    /// Returns true if there are no files.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.iter().all(Option::is_none)
    }

    /// The program of a session's callbacks.
    pub(crate) fn program(&self, session: usize) -> u32 {
        self.sessions[session].program
    }

    /// The results of a COMPOUND.
    pub(crate) fn compound(&mut self, mut arguments: &[u8]) -> (Vec<u8>, Event) {
        let rest = &mut arguments;
        assert_eq!(opaque(rest), b"");
        let [minor, count] = several(rest);
        let (mut status, mut results, mut made) = (0, Vec::new(), 0);
        let (mut event, mut session, mut handle) = (Event::None, None, None);
        for _ in 0..count {
            let code = word(rest);
            results.extend(words(&[code]));
            made += 1;
            let done = self.operation(minor, code, rest, (&mut session, &mut handle, &mut event));
            status = done.as_ref().err().copied().unwrap_or(0);
            results.extend(words(&[status]));
            results.extend(done.unwrap_or_default());
            if status != 0 {
                break;
            }
        }
        assert!(status != 0 || rest.is_empty(), "{} octets behind the operations", rest.len());
        ([words(&[status, 0, made]), results].concat(), event)
    }

    fn operation(
        &mut self,
        minor: u32,
        code: u32,
        rest: &mut &[u8],
        (session, handle, event): (&mut Option<usize>, &mut Option<usize>, &mut Event),
    ) -> Result<Vec<u8>, u32> {
        match (minor, code) {
            // EXCHANGE_ID.
            (1, 42) => {
                let _verifier: [u32; 2] = several(rest);
                assert!(!opaque(rest).is_empty());
                assert_eq!(several(rest), [0, 0, 0]);
                Ok(words(&[0, 77, 1, 0x1_0000, 0, 0, 0, 0, 0, 0]))
            }
            // CREATE_SESSION.
            (1, 43) => {
                assert_eq!(several(rest), [0, 77, 1]);
                let flags = word(rest);
                let channels: [[u32; 7]; 2] = [several(rest), several(rest)];
                let program = word(rest);
                assert_eq!(several(rest), [1, 0]);
                self.sessions.push(Session { sequence: 0, program, has_backchannel: flags == 2 });
                let session = self.sessions.len() - 1;
                *event = Event::Session(session);
                Ok(words(&[&[session as u32, 8, 9, 10, 1, flags][..], &channels.concat()].concat()))
            }
            // SEQUENCE.
            (1, 53) => {
                let [id, 8, 9, 10, sequence, 0, 0, 0] = several(rest) else { panic!() };
                *session = Some(id as usize);
                let known = &mut self.sessions[id as usize].sequence;
                *known += 1;
                assert_eq!(sequence, *known);
                Ok(words(&[id, 8, 9, 10, sequence, 0, 0, 0, 0]))
            }
            // RECLAIM_COMPLETE, PUTROOTFH, CLOSE of the current stateid.
            (1, 58) => {
                assert_eq!(word(rest), 0);
                Ok(vec![])
            }
            (_, 24) => Ok(vec![]),
            (1, 4) => {
                assert_eq!(several(rest), [0, 1, 0, 0, 0]);
                Ok(words(&[1, 2, 3, 4]))
            }
            (1, 18) => self.open(session.unwrap(), rest),
            // LOOKUP, DELEGRETURN, REMOVE.
            (1, 15) => {
                *handle = Some(self.find(&opaque(rest)).ok_or(NOENT)?);
                Ok(vec![])
            }
            (1, 8) => {
                assert_eq!(several(rest), [1, 5, 6, handle.unwrap() as u32]);
                assert!(self.files[handle.unwrap()].as_mut().unwrap().delegation.take().is_some());
                Ok(vec![])
            }
            (0, 28) => self.remove(rest, event),
            // NFS4ERR_OP_ILLEGAL: what the other cases of the probe call.
            _ => Err(10_044),
        }
    }

    fn find(&self, name: &[u8]) -> Option<usize> {
        self.files.iter().position(|file| file.as_ref().is_some_and(|file| file.name == name))
    }

    fn open(&mut self, session: usize, rest: &mut &[u8]) -> Result<Vec<u8>, u32> {
        assert_eq!(several(rest), [0, 1, 0, 0, 77]);
        let _owner = opaque(rest);
        let creates = word(rest) == 1;
        if creates {
            assert_eq!(several(rest), [1, 2, 0, 2, 4, 0o644]);
        }
        assert_eq!(word(rest), 0);
        let name = opaque(rest);
        let file = match (self.find(&name), creates) {
            (Some(_), true) => return Err(EXIST),
            (None, false) => return Err(NOENT),
            (Some(file), false) => file,
            (None, true) => {
                self.files.push(Some(File { name, delegation: None }));
                self.files.len() - 1
            }
        };
        let asked = self.sessions[session].has_backchannel || self.whims.delegates_unasked;
        let is_refused = self.whims.never_delegates
            || (creates && self.whims.delegates_late)
            || (self.whims.delegates_some && file.is_multiple_of(2));
        let delegates = asked && !is_refused;
        let mut results = words(&[1, 2, 3, 4, 1, 0, 1, 0, 2, 4]);
        // The attributes that were set: the mode.
        results.extend(if creates { words(&[2, 0, 2]) } else { words(&[0]) });
        if delegates {
            self.files[file].as_mut().unwrap().delegation = Some((session, false));
            // It is for reading: its stateid, no recall, an ACE.
            results.extend(words(&[1, 1, 5, 6, file as u32, 0, 0, 0, 0, 0]));
        } else {
            results.extend(words(&[0]));
        }
        Ok(results)
    }

    fn remove(&mut self, rest: &mut &[u8], event: &mut Event) -> Result<Vec<u8>, u32> {
        let file = self.find(&opaque(rest)).ok_or(NOENT)?;
        let never_recalls = self.whims.never_recalls;
        match &mut self.files[file].as_mut().unwrap().delegation {
            None => {
                self.files[file] = None;
                Ok(words(&[1, 0, 1, 0, 2]))
            }
            Some((session, recalled)) => {
                if !*recalled && !never_recalls {
                    *recalled = true;
                    let id = *session as u32;
                    // No tag, minor version 1; CB_SEQUENCE, and CB_RECALL of the stateid and a handle of five octets.
                    let sequence = [0, 1, 0, 2, 11, id, 8, 9, 10, 1, 0, 0, 0, 0];
                    let recall = [4, 1, 5, 6, file as u32, 0, 5, 0x6861_6e64, 0x6c00_0000];
                    *event = Event::Recall(*session, words(&[&sequence[..], &recall].concat()));
                }
                Err(DELAY)
            }
        }
    }
}
