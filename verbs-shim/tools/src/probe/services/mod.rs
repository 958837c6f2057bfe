//! Calls of NFSv3 and NFSv4.0 that have data: in Read and Write chunks of odd shapes, besides a Reply chunk, and
//! without the data in a Write chunk, for data that a Write chunk must not have (RFC 8267 sections 4 and 6.1). The
//! results have to equal the results of a plain call of the same operation.

pub(super) mod calls;

use std::thread;
use std::time::Instant;

use rpcrdma::v1::Message;
use rpcrdma_verbs::{Error, Verbs, Version};

use super::case::{About, Case, Outcomes, REPLY, UNSPECIFIED, Usage, Verdict};
use super::judge::Faults;
use super::memory::Withdrawn;
use super::session::{Session, octets};
use super::suite::Suite;
use calls::{DELAY, GRACE, NfsCall, NfsOperation, NfsVersion, NotMade, PAUSE, inline, lasting};

/// A case of an operation.
pub(super) struct ServiceCase {
    pub(super) case: Case,
    nfs: NfsVersion,
    operation: NfsOperation,
    /// Lengths of the segments of the Read chunk with the data of WRITE, with or without the padding.
    read: Option<&'static [u32]>,
    /// True to put one word of the call in a Read chunk instead: each word in turn, on another connection.
    pub(super) everywhere: bool,
    /// Lengths of the segments of the Write chunk, if there is one.
    write: Option<&'static [u32]>,
    /// Lengths of the segments of the Reply chunk, if there is one.
    reply: Option<&'static [u32]>,
}

const INTO: About = About::section("write-ignored", "RFC 8166 4.3.2; RFC 8267 6.1");
const INTO_3: About = About::section("write-ignored", "RFC 8166 4.3.2; RFC 8267 4");
const READ_CHUNK: About = About::section("rdma-read-bounds", "RFC 8166 3.4.5; RFC 8267 6.1");
const FILLED: About = About::rule("write-fill-order");
const INLINE: About = About::section("write-empty-respected", "RFC 8267 6.4.1");
/// The MUST of this section is about several results that may be reduced, and NFSv3 has no more than one.
const INLINE_3: About = About::section("write-empty-respected", "RFC 8166 4.3.2.3");
const BESIDE: About = About::section("write-unwritten", "RFC 8166 3.4.6, 4.3.3");
const NOT_REDUCED: About = About::section("ddp-not-eligible", "RFC 8166 6.1; RFC 8267 6.1");
const NOT_REDUCED_3: About = About::section("ddp-not-eligible", "RFC 8166 6.1; RFC 8267 4");

/// A case of NFSv4. The chunks are a Write chunk and a Reply chunk.
const fn case(
    name: &'static str,
    about: About,
    operation: NfsOperation,
    [write, reply]: [Option<&'static [u32]>; 2],
    outcomes: Outcomes,
) -> ServiceCase {
    let case = Case::new(name, about, &[], outcomes);
    ServiceCase { case, nfs: NfsVersion::Four, operation, read: None, everywhere: false, write, reply }
}

/// A case of NFSv3.
const fn nfs3(
    name: &'static str,
    about: About,
    operation: NfsOperation,
    chunks: [Option<&'static [u32]>; 2],
    outcomes: Outcomes,
) -> ServiceCase {
    ServiceCase { nfs: NfsVersion::Three, ..case(name, about, operation, chunks, outcomes) }
}

/// A WRITE of NFSv4 whose data is in a Read chunk.
const fn read_chunk(
    name: &'static str,
    length: u32,
    read: &'static [u32],
    reply: Option<&'static [u32]>,
) -> ServiceCase {
    ServiceCase { read: Some(read), ..case(name, READ_CHUNK, Write(length), [None, reply], REPLY) }
}

/// A WRITE of NFSv4 with any word in a Read chunk. No item but the data is eligible, so no reaction is required; but
/// the assembled Call is always the right one.
const fn everywhere(name: &'static str, length: u32) -> ServiceCase {
    let about = About::section("ddp-not-eligible", "RFC 8166 6.1; RFC 8267 6.1");
    ServiceCase { everywhere: true, ..case(name, about, Write(length), [None, None], UNSPECIFIED) }
}

use NfsOperation::{Read, Readdir, Readlink, Write};

const CASES: &[ServiceCase] = &[
    case("read-write-chunk", INTO, Read(60), [Some(&[64]), None], REPLY),
    case("read-exact-write-chunk", INTO, Read(60), [Some(&[60]), None], REPLY),
    case("read-odd-write-chunk", INTO, Read(57), [Some(&[57]), None], REPLY),
    case("read-many-segments", FILLED, Read(57), [Some(&[1, 3, 7, 16, 64]), None], REPLY),
    case("read-write-chunk-empty", INLINE, Read(60), [Some(&[]), None], REPLY),
    case("read-write-chunk-too-small", INTO, Read(60), [Some(&[32]), None], UNSPECIFIED),
    case("read-reply-chunk", BESIDE, Read(60), [None, Some(&[512])], REPLY),
    case("read-reply-chunk-of-3-segments", BESIDE, Read(60), [None, Some(&[20, 60, 512])], REPLY),
    case("read-write-and-reply-chunk", BESIDE, Read(60), [Some(&[64]), Some(&[512])], REPLY),
    case("readlink-write-chunk", INTO, Readlink, [Some(&[256]), None], REPLY),
    case("readlink-reply-chunk", BESIDE, Readlink, [None, Some(&[512])], REPLY),
    case("readlink-write-and-reply-chunk", BESIDE, Readlink, [Some(&[256]), Some(&[512])], REPLY),
    case("readdir-write-chunk", NOT_REDUCED, Readdir, [Some(&[512]), None], REPLY),
    read_chunk("write-read-chunk", 60, &[60], None),
    read_chunk("write-odd-read-chunk", 57, &[57], None),
    read_chunk("write-padded-read-chunk", 57, &[60], None),
    read_chunk("write-padding-in-a-segment", 57, &[57, 3], None),
    read_chunk("write-many-segments", 57, &[1, 3, 7, 16, 30], None),
    read_chunk("write-read-and-reply-chunk", 60, &[60], Some(&[512])),
    everywhere("write-read-chunk-everywhere", 8),
    nfs3("nfs3-read-write-chunk", INTO_3, Read(60), [Some(&[64]), None], REPLY),
    nfs3("nfs3-read-exact-write-chunk", INTO_3, Read(60), [Some(&[60]), None], REPLY),
    nfs3("nfs3-read-odd-write-chunk", INTO_3, Read(57), [Some(&[57]), None], REPLY),
    nfs3("nfs3-read-many-segments", FILLED, Read(57), [Some(&[1, 3, 7, 16, 64]), None], REPLY),
    nfs3("nfs3-read-write-chunk-empty", INLINE_3, Read(60), [Some(&[]), None], UNSPECIFIED),
    nfs3("nfs3-read-write-chunk-too-small", INTO_3, Read(60), [Some(&[32]), None], UNSPECIFIED),
    nfs3("nfs3-read-reply-chunk", BESIDE, Read(60), [None, Some(&[512])], REPLY),
    nfs3("nfs3-read-reply-chunk-of-3-segments", BESIDE, Read(60), [None, Some(&[20, 60, 512])], REPLY),
    nfs3("nfs3-read-write-and-reply-chunk", BESIDE, Read(60), [Some(&[64]), Some(&[512])], REPLY),
    nfs3("nfs3-readlink-write-chunk", INTO_3, Readlink, [Some(&[256]), None], REPLY),
    nfs3("nfs3-readlink-reply-chunk", BESIDE, Readlink, [None, Some(&[512])], REPLY),
    nfs3("nfs3-readlink-write-and-reply-chunk", BESIDE, Readlink, [Some(&[256]), Some(&[512])], REPLY),
    nfs3("nfs3-readdir-write-chunk", NOT_REDUCED_3, Readdir, [Some(&[512]), None], REPLY),
    nfs3("nfs3-readdir-reply-chunk", BESIDE, Readdir, [None, Some(&[1024])], REPLY),
];

/// Returns all cases that can be tried.
pub(super) fn service_cases(suite: &Suite) -> impl Iterator<Item = &'static ServiceCase> + Clone + use<> {
    let apply = apply(suite);
    CASES.iter().filter(move |_| apply)
}

/// Returns true if cases of NFS can be tried: such cases are calls in version 1, and begin with NFSv4.
pub(super) fn apply(suite: &Suite) -> bool {
    suite.version == Version::One && suite.program == 100_003 && suite.program_version == 4
}

/// Returns a list of chunks with one or none.
fn chunk<V: Verbs>(session: &mut Session<'_, V>, lengths: Option<&[u32]>) -> Result<Vec<u8>, Error> {
    let Some(lengths) = lengths else { return Ok(Vec::new()) };
    let mut words = octets(&[1, u32::try_from(lengths.len()).unwrap_or(u32::MAX)]);
    for length in lengths {
        words.extend(session.advertise(&vec![0xa5; *length as usize], Usage::Write)?);
    }
    Ok(words)
}

/// Returns the message of a service case. With a Position, the word there is in a Read chunk.
pub(super) fn compose<V: Verbs>(
    session: &mut Session<'_, V>,
    service: &ServiceCase,
    xid: u32,
    plain: &Plain,
    position: Option<usize>,
) -> Result<Vec<u8>, Error> {
    let mut call = plain.call.message(xid);
    let mut message = octets(&[xid, 1, 32, 0]);
    let word = position.map(|position| (&[4][..], position..position + 4));
    let item = || service.read.zip(service.operation.data(call.len()));
    if let Some((lengths, data)) = word.or_else(item) {
        let (position, mut data) = (data.start, call.drain(data).collect::<Vec<u8>>());
        for length in lengths {
            message.extend(octets(&[1, u32::try_from(position).unwrap_or(u32::MAX)]));
            let part: Vec<u8> = data.drain(..data.len().min(*length as usize)).collect();
            message.extend(session.advertise(&part, Usage::Read)?);
        }
    }
    message.extend([0; 4]);
    message.extend(chunk(session, service.write)?);
    message.extend([0; 4]);
    match service.reply {
        None => message.extend([0; 4]),
        reply => message.extend(chunk(session, reply)?),
    }
    message.extend(call);
    Ok(message)
}

/// Returns the results of the same operation without chunks, from the second word of the RPC Reply on.
///
/// The inner error is the reason why there are none.
pub(super) fn plain<V: Verbs>(
    session: &mut Session<'_, V>,
    service: &ServiceCase,
    suite: &Suite,
) -> Result<Result<Plain, String>, Error> {
    let call = match service.operation.call(service.nfs, session, suite)? {
        Ok(call) => call,
        Err(why) => return Ok(Err(why)),
    };
    let until = Instant::now() + suite.patience;
    loop {
        match call.make(session)? {
            Ok(results) => return Ok(Ok(Plain { call, results })),
            // A server that has just started first lets its former clients reclaim their state.
            Err(NotMade::Status(DELAY | GRACE, _)) if Instant::now() < until => thread::sleep(PAUSE),
            Err(failed) => return Ok(Err(format!("the plain call fails: {failed}"))),
        }
    }
}

/// A call without chunks, and the results.
pub(super) struct Plain {
    call: NfsCall,
    results: Vec<u8>,
}

impl Plain {
    /// Length of the call in octets.
    pub(super) fn length(&self) -> usize {
        self.call.message(0).len()
    }

    /// Compares a reply with the plain one. `areas`: memory of the Read chunk, of the Write chunk, and of the Reply
    /// chunk.
    pub(super) fn compare(&self, service: &ServiceCase, reply: &[u8], areas: &[Withdrawn], faults: &mut Faults) {
        let Ok(message) = Message::decode(reply) else { return };
        let Some(chunks) = message.header.chunks() else { return };
        let areas = areas.get(service.read.map_or(0, <[u32]>::len)..).unwrap_or_default();
        let (write, long) = areas.split_at(service.write.map_or(0, <[u32]>::len).min(areas.len()));
        let data = chunks.writes.iter().next().map(|chunk| gathered(chunk.iter().map(|one| one.length), write));
        let data = data.unwrap_or_default();
        let stream = match inline(reply) {
            Some(stream) => stream.to_vec(),
            None => gathered(chunks.reply.into_iter().flat_map(|chunk| chunk.iter()).map(|one| one.length), long),
        };
        self.judge(service, stream.get(4..).unwrap_or_default(), &data, faults);
    }

    /// `stream`: the received Payload stream, without the first word. `data`: the octets that were reduced.
    fn judge(&self, service: &ServiceCase, stream: &[u8], data: &[u8], faults: &mut Faults) {
        if !data.is_empty() && service.operation == Readdir {
            return faults.add_fault(Verdict::Violates, "reduced what is not eligible");
        }
        // The data is the last item of the results.
        let start = self.results.len().saturating_sub(data.len().next_multiple_of(4));
        let (rest, item) = self.results.split_at(start);
        let [stream, rest] = [stream, rest].map(|stream| lasting(service.nfs, stream));
        if stream != rest {
            faults.add_fault(Verdict::Violates, difference(&stream, &rest));
        }
        if !item.starts_with(data) {
            let early = start.checked_sub(4).and_then(|start| self.results.get(start..));
            let is_early = early.is_some_and(|early| early.starts_with(data));
            faults.add_fault(Verdict::Violates, if is_early { "data begins 4 octets early" } else { "other data" });
        }
    }
}

/// Returns the difference between a Payload stream and the right one.
fn difference(stream: &[u8], right: &[u8]) -> String {
    match (stream.strip_prefix(right), right.strip_prefix(stream)) {
        (Some(more), _) => format!("reply {} octets too long", more.len()),
        (_, Some(less)) => format!("reply {} octets too short", less.len()),
        _ => "other results".to_owned(),
    }
}

/// Returns the octets that a returned chunk reports as written.
fn gathered(lengths: impl Iterator<Item = u32>, areas: &[Withdrawn]) -> Vec<u8> {
    let octets = lengths.zip(areas).flat_map(|(length, area)| area.octets.iter().take(length as usize));
    octets.copied().collect()
}
