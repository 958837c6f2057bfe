//! Messages without chunk lists: errors, grants, transport properties, and what version 1 no longer has.

use rpcrdma::rules::Severity;

use super::BOUNDARIES;
use crate::case::{Answer, Case};
use crate::draft::{Format, Role};

const XID: u32 = 0x5eed_0001;

fn octets(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// All defects of a single message.
pub(crate) fn alone(format: Format, role: Role, cases: &mut Vec<Case>) {
    match format {
        Format::V1 => version_1(role, cases),
        Format::V2a => version_2(format, role, &[XID, 2, 0x20_0010], &[u32::from(role == Role::Reply)], cases),
        Format::V2b => version_2(format, role, &[XID, 2, 16], &[], cases),
    }
}

fn version_1(role: Role, cases: &mut Vec<Case>) {
    let case = |name: &str, words: &[u32]| Case::new(name.to_owned(), Format::V1, role, octets(words));
    cases.push(case("done", &[XID, 1, 8, 3]).breaks("done-sent", 12));
    for length in 12..16 {
        let cut = octets(&[XID, 1, 8, 3]).into_iter().take(length).collect();
        let case = Case::new(format!("done-truncated_to-{length}"), Format::V1, role, cut);
        cases.push(case.breaks("header-short", length & !3));
    }
    for align in BOUNDARIES {
        let words =
            [XID, 1, 8, 2, align, 1024, 0, 0, 0, XID, u32::from(role == Role::Reply), 2, 0x2000_0166, 1, 0, 0, 0, 0, 0];
        cases.push(case(&format!("msgp-{align}"), &words).breaks("msgp-sent", 12));
    }
    errors_of_version_1(role, cases);
}

fn errors_of_version_1(role: Role, cases: &mut Vec<Case>) {
    let good: [(&str, &[u32]); 3] = [
        ("error_chunk", &[XID, 1, 8, 4, 2]),
        ("error_vers", &[XID, 2, 8, 4, 1, 1, 1]),
        ("error_vers_of_a_range", &[XID, 7, 8, 4, 1, 1, 6]),
    ];
    for (name, words) in good {
        let whole = octets(words);
        let made = |name: String, octets: Vec<u8>| {
            let case = Case::new(name, Format::V1, role, octets);
            if role == Role::Call { case.breaks("error-from-requester", 12) } else { case }
        };
        cases.push(made(name.to_owned(), whole.clone()));
        if role == Role::Call {
            continue;
        }
        let mut none = words.to_vec();
        none.iter_mut().skip(2).take(1).for_each(|credit| *credit = 0);
        cases.push(made(format!("{name}-credit-0"), octets(&none)).breaks("credit-zero-grant", 8));
        for more in [1, 4, 31, 32, 33] {
            let longer: Vec<u8> = whole.iter().copied().chain(vec![0; more]).collect();
            let case = made(format!("{name}-followed_by-{more}"), longer).breaks("error-trailing", whole.len());
            cases.push(if more == 32 { case.as_bad_as(Severity::Hazard) } else { case });
        }
    }
    if role == Role::Call {
        return;
    }
    let case = |name: String, words: &[u32]| Case::new(name, Format::V1, role, octets(words));
    for code in BOUNDARIES.into_iter().filter(|code| !matches!(code, 1 | 2)) {
        let case = case(format!("error-{code}"), &[XID, 1, 8, 4, code]);
        cases.push(case.breaks("error-range", 16).answered(Answer::Discard));
    }
    for (refused, low, high) in [(2, 2, 1), (2, u32::MAX, 0), (2, 1, 2), (2, 2, 2), (2, 0, u32::MAX), (1, 1, 1)] {
        let case = case(format!("error_vers-{refused}-of-{low}-{high}"), &[XID, refused, 8, 4, 1, low, high]);
        cases.push(case.breaks("error-range", 20));
    }
}

/// `before` are the words before `rdma_htype`, `flags` the one afterwards, if any.
fn version_2(format: Format, role: Role, before: &[u32; 3], flags: &[u32], cases: &mut Vec<Case>) {
    let made = |name: String, htype: u32, xid: u32, body: &[u32]| {
        let [_, version, credit] = before;
        let words = [&[xid, *version, *credit, htype], flags, body].concat();
        Case::new(name, format, role, octets(&words))
    };
    let header = 16 + 4 * flags.len();
    let (grant, properties): (u32, &[u32]) = if format == Format::V2a { (6, &[5]) } else { (5, &[6, 7]) };
    cases.push(made("grant".to_owned(), grant, 0, &[]));
    for xid in BOUNDARIES.into_iter().filter(|xid| *xid != 0) {
        let case = made(format!("grant-xid-{xid}"), grant, xid, &[]);
        cases.push(if format == Format::V2b { case.breaks("v2-grant-xid", 0) } else { case });
    }
    for more in [1, 4] {
        let words = vec![0; more];
        cases.push(made(format!("grant-followed_by-{}", 4 * more), grant, 0, &words).breaks("v2-trailing", header));
    }
    for &htype in properties {
        for (name, body, wrong) in PROPERTIES {
            let case = made(format!("properties-{htype}-{name}"), htype, 0, body);
            cases.push(match wrong {
                Some(word) => case.breaks("v2-property", header + 4 * word),
                None => case,
            });
        }
    }
    if role == Role::Reply {
        errors_of_version_2(made, header, cases);
    }
}

/// A set of properties: a name, words, and the index of a length that is wrong for the type.
type PropertyCase = (&'static str, &'static [u32], Option<usize>);

/// Properties of every type, and values that are not of theirs.
const PROPERTIES: [PropertyCase; 16] = [
    ("none", &[0], None),
    ("send_size", &[1, 1, 4, 4096], None),
    ("default", &[1, 2, 0], None),
    ("all_numbers", &[5, 1, 4, 4096, 2, 4, 8192, 3, 4, 65_536, 4, 4, 16, 5, 4, 3], None),
    ("twice", &[2, 2, 4, 4096, 2, 4, 8192], None),
    ("hostauth", &[1, 6, 8, 4, 0x6162_6364], None),
    ("hostauth_with_padding", &[1, 6, 8, 3, 0x6162_6300], None),
    ("unknown", &[1, 0x8000_0000, 5, 1, 0], None),
    ("zero", &[1, 0, 4, 7], None),
    ("number_of_3", &[1, 1, 3, 0], Some(2)),
    ("number_of_5", &[1, 2, 5, 0, 0], Some(2)),
    ("number_of_8", &[1, 3, 8, 0, 0], Some(2)),
    ("hostauth_too_long", &[1, 6, 8, 5, 0], Some(2)),
    ("hostauth_too_short", &[1, 6, 8, 0, 0], Some(2)),
    ("past_the_end", &[1, 0x8000_0000, 8, 0], Some(2)),
    ("far_past_the_end", &[1, 0x8000_0000, u32::MAX, 0], Some(2)),
];

fn errors_of_version_2(made: impl Fn(String, u32, u32, &[u32]) -> Case, header: usize, cases: &mut Vec<Case>) {
    for code in BOUNDARIES.into_iter().chain(6..=11).chain([100]) {
        let body: &[u32] = match code {
            1 => &[3, 4],
            9 => &[1, 4096],
            6 | 7 | 8 | 10 => &[16],
            _ => &[],
        };
        let whole = [&[code], body].concat();
        cases.push(made(format!("error-{code}"), 4, XID, &whole));
        for (words, _) in whole.iter().enumerate() {
            let cut: Vec<u32> = whole.iter().copied().take(words).collect();
            let case = made(format!("error-{code}-truncated_to-{}", header + 4 * words), 4, XID, &cut);
            if !cases.iter().any(|other| other.octets == case.octets) {
                cases.push(case.breaks("header-short", header + 4 * words).answered(Answer::Discard));
            }
        }
        let longer = [whole.as_slice(), &[0]].concat();
        let end = header + 4 * whole.len();
        cases.push(made(format!("error-{code}-followed_by-4"), 4, XID, &longer).breaks("v2-trailing", end));
    }
    for (low, high) in [(4, 3), (2, 2), (1, 2), (0, u32::MAX)] {
        let case = made(format!("error_vers-2-of-{low}-{high}"), 4, XID, &[1, low, high]);
        cases.push(case.breaks("error-range", header + 4));
    }
}
