//! Every input of up to eleven words after the fixed ones, each word 0, 1 or the largest: all shapes that the lists can have in
//! that space, and whatever is wrong with a shape. And every input of up to three octets.
//!
//! For each: no panic, no overflow, offsets within the input; what was decoded takes as many octets as it says, and these are
//! the same again.

use rpcrdma::error::{DecodeError, EncodeError};
use rpcrdma::rules::{self, Lists, Sent, SentV2};
use rpcrdma::segment::Segment;
use rpcrdma::v1::Header;
use rpcrdma::v2::{Family, HeaderV2};

/// Words after the fixed ones. Ten are a Read list, a Write list and a Reply chunk of which one has a segment and the others
/// are empty, or two chunks without segments more.
const WORDS: u32 = if cfg!(miri) { 4 } else { 11 };
const VALUES: [u32; 3] = [0, 1, u32::MAX];
/// Octets of the fixed words of every version.
const FIXED: usize = 16;

/// Number of inputs that were headers, and number of the others.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    decoded: u64,
    refused: u64,
}

/// Calls `check` with each input that begins with these words.
fn for_each(fixed: [u32; 4], mut check: impl FnMut(&[u8])) {
    let mut octets = [0; FIXED + 4 * WORDS as usize];
    octets.as_chunks_mut().0.iter_mut().zip(fixed).for_each(|(to, word): (&mut [u8; 4], _)| *to = word.to_be_bytes());
    for words in 0..=WORDS {
        let end = FIXED + 4 * words as usize;
        for number in 0..3_u32.pow(words) {
            let digits = (0..words).map(|place| VALUES[(number / 3_u32.pow(place) % 3) as usize]);
            let places = octets[FIXED..end].as_chunks_mut().0.iter_mut();
            places.zip(digits).for_each(|(to, word): (&mut [u8; 4], _)| *to = word.to_be_bytes());
            check(&octets[..end]);
        }
        // A word of which one to three octets are there.
        (1..4).for_each(|cut| check(&octets[..end - cut]));
    }
}

/// Checks the properties that hold for every decoder.
fn judge<H>(
    octets: &[u8],
    decoded: Result<(H, &[u8]), DecodeError>,
    encode: impl Fn(&H, &mut [u8]) -> (usize, Result<usize, EncodeError>),
    counts: &mut Counts,
) {
    match decoded {
        Err(error) => {
            assert!(error.offset <= octets.len(), "{error:?} of {octets:02x?}");
            counts.refused += 1;
        }
        Ok((header, rest)) => {
            assert!(octets.ends_with(rest), "{octets:02x?}");
            let mut again = [0xa5; FIXED + 4 * WORDS as usize];
            let (length, encoded) = encode(&header, &mut again);
            assert_eq!((length, encoded), (octets.len() - rest.len(), Ok(length)), "{octets:02x?}");
            assert_eq!(again[..length], octets[..length]);
            assert!(again[length..].iter().all(|octet| *octet == 0xa5), "{octets:02x?}");
            counts.decoded += 1;
        }
    }
}

#[test]
fn version_1() {
    let mut counts = Counts::default();
    for procedure in 0..=5 {
        for_each([7, 1, 32, procedure], |octets| {
            let decoded = Header::decode(octets);
            if let Ok((header, _)) = &decoded
                && let Some(chunks) = header.chunks()
            {
                walk(&Lists::from(&rpcrdma::v1::Message::decode(octets).unwrap()), octets.len());
                assert!(chunks.reads.len() * 24 <= octets.len());
            }
            judge(octets, decoded, |header, buffer| (header.encoded_len(), header.encode(buffer)), &mut counts);
            rules::send(&Sent::new(octets, None), &mut |finding| assert!(finding.offset <= octets.len()));
        });
    }
    assert!(cfg!(miri) || counts.decoded > 50_000 && counts.refused > 1_000_000, "{counts:?}");
}

/// No list has more than the input has room for, and no sum overflows.
fn walk(lists: &Lists<'_>, octets: usize) {
    let in_chunk = |segments: usize| segments * Segment::LEN <= octets;
    assert!(lists.chunks.writes.iter().chain(lists.chunks.reply).all(|chunk| in_chunk(chunk.len())));
    let lengths = lists.chunks.writes.iter().map(|chunk| chunk.length()).sum::<u64>();
    assert!(lengths <= u64::from(u32::MAX) * octets as u64);
}

#[test]
fn version_2() {
    for family in [Family::A, Family::B] {
        let mut counts = Counts::default();
        for kind in 0..=14 {
            for_each([7, 2, 32, kind], |octets| {
                let decoded = HeaderV2::decode(family, octets);
                judge(octets, decoded, |header, buffer| (header.encoded_len(), header.encode(buffer)), &mut counts);
                rules::send_v2(&SentV2::new(family, octets), &mut |finding| assert!(finding.offset <= octets.len()));
            });
        }
        assert!(cfg!(miri) || counts.decoded > 50_000 && counts.refused > 1_000_000, "{family:?}: {counts:?}");
    }
}

#[test]
fn up_to_three_octets() {
    let most = if cfg!(miri) { 1 } else { 3 };
    for length in 0..=most {
        for number in 0..1_u32 << (8 * length) {
            let octets = &number.to_be_bytes()[4 - length..];
            assert!(Header::decode(octets).is_err());
            assert!([Family::A, Family::B].iter().all(|family| HeaderV2::decode(*family, octets).is_err()));
        }
    }
}
