//! The entries. Each has what it needs beforehand, for the header of a number, and takes a Send and a buffer for another.

/// Stops the program, because a failure does not cost the same as the call to be measured.
#[allow(dead_code, reason = "not every entry can fail")]
fn failed() -> ! {
    semihosting::process::abort()
}

macro_rules! sends {
    ($folder:literal) => {
        /// The four headers of BENCHMARKS.md.
        pub(crate) const SENDS: [&[u8]; 4] = [
            include_bytes!(concat!(env!("OUT_DIR"), "/", $folder, "-0")),
            include_bytes!(concat!(env!("OUT_DIR"), "/", $folder, "-1")),
            include_bytes!(concat!(env!("OUT_DIR"), "/", $folder, "-2")),
            include_bytes!(concat!(env!("OUT_DIR"), "/", $folder, "-3")),
        ];
    };
}

#[cfg(feature = "decode-a")]
sends!("v2-family-a");
#[cfg(feature = "decode-b")]
sends!("v2-family-b");
#[cfg(not(any(feature = "decode-a", feature = "decode-b")))]
sends!("v1");

#[cfg(any(feature = "decode", feature = "decode-a", feature = "decode-b"))]
mod decode {
    use core::hint::black_box;

    use rpcrdma::lists::Chunks;
    use rpcrdma::segment::Segment;
    #[cfg(feature = "decode")]
    use rpcrdma::v1::Header;
    #[cfg(feature = "decode-a")]
    use rpcrdma::v2::family_a::Header;
    #[cfg(feature = "decode-b")]
    use rpcrdma::v2::family_b::Header;

    pub(crate) struct Entry;

    impl Entry {
        pub(crate) fn new(_: usize) -> Self {
            Self
        }

        /// Decodes a header and looks at each segment.
        #[inline(never)]
        pub(crate) fn run(&mut self, send: &[u8], _: &mut [u8]) {
            let Ok((header, payload)) = Header::decode(send) else { super::failed() };
            black_box((header.xid, payload));
            if let Some(chunks) = header.chunks() {
                black_box(sum(chunks));
            }
        }
    }

    fn sum(chunks: Chunks<'_>) -> u64 {
        let mut sum = 0_u64;
        let mut add = |segment: Segment| {
            sum = sum.wrapping_add(u64::from(segment.handle) ^ u64::from(segment.length) ^ segment.offset);
        };
        chunks.reads.into_iter().for_each(|read| add(read.target));
        chunks.writes.into_iter().chain(chunks.reply).flatten().for_each(add);
        sum
    }
}
#[cfg(any(feature = "decode", feature = "decode-a", feature = "decode-b"))]
pub(crate) use decode::Entry;

#[cfg(feature = "encode")]
#[path = "encode.rs"]
mod encode;
#[cfg(feature = "encode")]
pub(crate) use encode::Entry;

#[cfg(feature = "rules")]
mod judge {
    use core::hint::black_box;

    use rpcrdma::rules::{self, Finding, Sent};

    pub(crate) struct Entry;

    impl Entry {
        pub(crate) fn new(_: usize) -> Self {
            Self
        }

        /// Judges a Send and keeps what a receiver needs: the broken rule, its severity and the offset.
        #[inline(never)]
        pub(crate) fn run(&mut self, send: &[u8], _: &mut [u8]) {
            rules::send(&Sent::new(send, black_box(None)), &mut |finding: &Finding<'_>| {
                black_box((finding.rule.slug, finding.severity, finding.offset));
            });
        }
    }
}
#[cfg(feature = "rules")]
pub(crate) use judge::Entry;

#[cfg(any(feature = "endpoints", feature = "endpoints-1"))]
#[path = "endpoints.rs"]
mod endpoints;
#[cfg(any(feature = "endpoints", feature = "endpoints-1"))]
pub(crate) use endpoints::Entry;

#[cfg(not(any(
    feature = "decode",
    feature = "decode-a",
    feature = "decode-b",
    feature = "encode",
    feature = "rules",
    feature = "endpoints",
    feature = "endpoints-1",
)))]
mod nothing {
    pub(crate) struct Entry;

    impl Entry {
        pub(crate) fn new(_: usize) -> Self {
            Self
        }

        #[inline(never)]
        pub(crate) fn run(&mut self, send: &[u8], buffer: &mut [u8]) {
            core::hint::black_box((send, buffer));
        }
    }
}
#[cfg(not(any(
    feature = "decode",
    feature = "decode-a",
    feature = "decode-b",
    feature = "encode",
    feature = "rules",
    feature = "endpoints",
    feature = "endpoints-1",
)))]
pub(crate) use nothing::Entry;
