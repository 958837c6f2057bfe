//! The members of a kind that take far longer than the others, for the same operations of similar size.
//!
//! Each RPC is compared with the RPCs of the same operation and size of other members: the time is expressed as a multiple of a typical
//! one, the median of the medians of all members. The median of these multiples is the distance of a member from the others. A member is
//! far away if that is several times the median of the others, and far outside of the range in which most others lie, and if chance alone
//! does not explain the distance: nine of ten RPCs took longer than nine of ten of the others, or a rank test shows a difference.

use std::collections::{BTreeMap, HashMap};

use super::members::{MemberTimes, TimedRpc};
use crate::compare::{Chance, Limit, Random, compare_ranks};
use crate::stats::value_of_part;

/// The fewest RPCs of a member that is named, and of one of the others.
const NAMED_RPCS: usize = 20;
const OTHER_RPCS: usize = 3;
/// The fewest other members.
const OTHERS: usize = 4;
/// The least multiple of the median of the others.
const FAR: f64 = 5.0;
/// The least difference between the two medians, in nanoseconds: 100 µs.
const NOTICEABLE: f64 = 1e5;
/// The least distance in mean deviations of the others from the median, and the factor that makes a standard deviation of one, if the
/// others are distributed normally.
const DEVIATIONS: f64 = 5.0;
const STANDARD: f64 = 1.4826;
/// One of so many members may be named, or one of all.
const NAMED_OF: usize = 4;
/// Kinds of members that are tested: servers, clients, users and files.
const KINDS: usize = 4;

/// A member that is far from the others.
#[derive(Clone, Debug)]
pub(super) struct FarMember {
    /// Number of the member.
    pub(super) number: usize,
    /// Number of compared members.
    pub(super) others: usize,
    /// Median, as a multiple of the median of the others.
    pub(super) ratio: f64,
    pub(super) example: ComparedTimes,
}

/// Times of the operation that a member has most RPCs of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ComparedTimes {
    /// Number of the operation and size.
    pub(super) operation: u16,
    /// Median of the member, in nanoseconds.
    pub(super) median: u64,
    /// Median of the medians of the others.
    pub(super) others: u64,
}

/// Operation and ends that RPCs have in common if they are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Comparable {
    pub(super) operation: u16,
    /// Numbers of the ends that the compared RPCs share.
    pub(super) ends: u32,
}

/// RPCs of a member that were compared.
#[derive(Clone, Debug, Default)]
struct Multiples {
    /// Logarithms of the multiples of a typical time, in the order of the RPCs.
    logarithms: Vec<f64>,
    median: f64,
    example: ComparedTimes,
}

/// Returns the members that are far from the others, the farthest first. `comparable` says which RPCs can be compared.
pub(super) fn find_far(members: &[MemberTimes], comparable: impl Fn(&TimedRpc) -> Comparable) -> Vec<FarMember> {
    if members.len() <= OTHERS {
        return Vec::new();
    }
    let medians = medians(members, &comparable);
    let mut multiples: Vec<(usize, Multiples)> = members
        .iter()
        .enumerate()
        .map(|(number, member)| (number, Multiples::new(number, member, &medians, &comparable)))
        .filter(|(_, multiples)| multiples.logarithms.len() >= OTHER_RPCS)
        .collect();
    multiples.sort_by(|(_, one), (_, other)| other.median.total_cmp(&one.median));
    let most = (multiples.len() / NAMED_OF).max(1);
    let Some(far) = (1..=most).rev().find(|count| is_apart(&multiples, *count)) else { return Vec::new() };
    let Some((far, others)) = multiples.split_at_checked(far) else { return Vec::new() };
    let tests: Vec<Chance> = far.iter().map(|(_, one)| one.chance(others)).collect();
    // The members that were not tested count: one might have been the farthest.
    let untested = multiples.len() * KINDS - tests.len();
    let limit = Limit::of_all(&[&tests[..], &vec![Chance::TOO_FEW; untested]].concat());
    let typical = median(others.iter().map(|(_, other)| other.median).collect());
    let tested = far.iter().zip(&tests).filter(|(_, chance)| chance.is_within(limit));
    let member = |((number, one), _): (&(usize, Multiples), &Chance)| FarMember {
        number: *number,
        others: others.len(),
        ratio: (one.median - typical).exp(),
        example: one.example,
    };
    tested.map(member).filter(FarMember::is_noticeable).collect()
}

/// Returns true if the `count` members with the greatest medians are far from all others.
fn is_apart(multiples: &[(usize, Multiples)], count: usize) -> bool {
    let Some((far, others)) = multiples.split_at_checked(count) else { return false };
    let Some((_, nearest)) = far.last() else { return false };
    if others.len() < OTHERS || far.iter().any(|(_, one)| one.logarithms.len() < NAMED_RPCS) {
        return false;
    }
    let medians: Vec<f64> = others.iter().map(|(_, other)| other.median).collect();
    let typical = median(medians.clone());
    let deviation = STANDARD * median(medians.iter().map(|other| (other - typical).abs()).collect());
    nearest.median - typical >= FAR.ln().max(DEVIATIONS * deviation)
}

impl FarMember {
    fn is_noticeable(&self) -> bool {
        self.example.median as f64 - self.example.others as f64 >= NOTICEABLE
    }
}

/// Medians of members, in nanoseconds, by what is compared.
type Medians = HashMap<Comparable, BTreeMap<usize, u64>>;

/// Medians of what enough members have enough RPCs of.
fn medians(members: &[MemberTimes], comparable: &impl Fn(&TimedRpc) -> Comparable) -> Medians {
    let mut parts: HashMap<Comparable, BTreeMap<usize, Vec<u16>>> = HashMap::new();
    for (number, member) in members.iter().enumerate() {
        for rpc in member.sample.kept() {
            parts.entry(comparable(rpc)).or_default().entry(number).or_default().push(rpc.part);
        }
    }
    let medians = |members: BTreeMap<usize, Vec<u16>>| -> BTreeMap<usize, u64> {
        let members = members.into_iter().filter(|(_, parts)| parts.len() >= OTHER_RPCS);
        members.map(|(number, parts)| (number, value_of_part(middle(parts)))).collect()
    };
    let medians = parts.into_iter().map(|(key, members)| (key, medians(members)));
    medians.filter(|(_, medians)| medians.len() > OTHERS).collect()
}

impl Multiples {
    fn new(
        number: usize,
        member: &MemberTimes,
        medians: &Medians,
        comparable: &impl Fn(&TimedRpc) -> Comparable,
    ) -> Self {
        let mut rpcs: Vec<&TimedRpc> = member.sample.kept().iter().collect();
        rpcs.sort_by_key(|rpc| rpc.began);
        let mut counts: BTreeMap<Comparable, u64> = BTreeMap::new();
        let mut logarithms = Vec::new();
        for rpc in rpcs {
            let key = comparable(rpc);
            let Some(medians) = medians.get(&key) else { continue };
            let typical = middle(medians.values().copied().collect());
            logarithms.push(logarithm(value_of_part(rpc.part)) - logarithm(typical));
            if medians.contains_key(&number) {
                *counts.entry(key).or_default() += 1;
            }
        }
        let example = counts.iter().max_by_key(|(_, count)| **count).and_then(|(key, _)| {
            let medians = medians.get(key)?;
            let others = medians.iter().filter(|(other, _)| **other != number).map(|(_, median)| *median).collect();
            Some(ComparedTimes { operation: key.operation, median: *medians.get(&number)?, others: middle(others) })
        });
        Self { median: median(logarithms.clone()), logarithms, example: example.unwrap_or_default() }
    }

    /// Chance that the times of the member are as much longer by chance: compared with as many RPCs of the others, each of
    /// another member than the one before. The rank test is needed where times overlap; of times that depend on each other the test may know too
    /// few.
    fn chance(&self, others: &[(usize, Self)]) -> Chance {
        let mut random = Random(0);
        let mut picked = Vec::with_capacity(self.logarithms.len());
        for (_, other) in others.iter().cycle().take(self.logarithms.len()) {
            picked.extend(other.logarithms.get(random.below(other.logarithms.len())).copied());
        }
        if decile(&self.logarithms, 1) > decile(&picked, 9) {
            return Chance::of_probability(0.0);
        }
        // The test takes small numbers, of which only the order counts.
        let number = |logarithm: &f64| ((logarithm + 45.0) * 700.0) as u16;
        let [one, other] = [&self.logarithms, &picked].map(|all| all.iter().map(number).collect::<Vec<u16>>());
        compare_ranks(&one, &other)
    }
}

/// The number that so many tenths do not exceed.
fn decile(values: &[f64], tenths: usize) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) * tenths / 10).copied().unwrap_or_default()
}

fn logarithm(nanoseconds: u64) -> f64 {
    (nanoseconds.max(1) as f64).ln()
}

/// The median: of an even count, the lower of the two in the middle.
fn middle<T: Copy + Ord + Default>(mut values: Vec<T>) -> T {
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or_default()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Noise;
    use crate::outliers::members::{DividedTime, EndPair};
    use crate::stats::part;

    const SAME: fn(&TimedRpc) -> Comparable = |rpc| Comparable { operation: rpc.operation, ends: 0 };

    /// A member with these times, in nanoseconds, of an operation.
    fn member(times: impl IntoIterator<Item = (u16, u64)>) -> MemberTimes {
        let mut members = crate::outliers::members::Members::<()>::default();
        members.number(&0, || ());
        for ((operation, time), began) in times.into_iter().zip(0..) {
            let ends = EndPair { client: 0, server: 0 };
            let rpc = TimedRpc { began, operation, part: part(time), ends };
            members.record(0, rpc, &DividedTime { all: time, ..DividedTime::default() }, began);
        }
        members.times.remove(0)
    }

    fn numbers(far: &[FarMember]) -> Vec<usize> {
        far.iter().map(|member| member.number).collect()
    }

    /// Of 98 equal servers, none is named: 200 times, with latencies that depend on earlier ones, too.
    #[test]
    fn chance_names_none_of_98_equal_servers() {
        let mut random = Noise::new();
        for round in 0..200 {
            let correlation = [0.0, 0.5, 0.9][round % 3];
            let count = [20, 40, 100, 400][round % 4];
            let members: Vec<_> = (0..98)
                .map(|_| member(random.latencies(count, correlation).into_iter().map(|time| (1, time))))
                .collect();
            assert!(find_far(&members, SAME).is_empty(), "{round}");
        }
    }

    #[test]
    fn one_of_98_is_named_with_its_multiple() {
        let mut random = Noise::new();
        for (times, least) in [(10, 8.0), (90, 70.0)] {
            for slow in [0, 50, 97] {
                let of = |number: usize| {
                    let factor = if number == slow { times } else { 1 };
                    let times = random.latencies(40, 0.0).into_iter().map(|time| (1, factor * time));
                    member(times)
                };
                let far = find_far(&(0..98).map(of).collect::<Vec<_>>(), SAME);
                assert_eq!(numbers(&far), [slow], "{times}");
                let ratio = far[0].ratio;
                assert!(ratio > least && ratio < 1.3 * times as f64, "{ratio} of {times}");
                assert_eq!(far[0].others, 97);
            }
        }
    }

    /// READs of 1 MiB take 100 times as long as GETATTRs, and one server has only READs.
    #[test]
    fn a_server_with_other_operations_is_no_outlier() {
        let of = |number: u64| {
            let reads = if number == 7 { 60 } else { 5 };
            let getattrs = if number == 7 { 0 } else { 55 };
            let reads = (0..reads).map(|n| (1, 10_000_000 + 100_000 * (n % 10)));
            member(reads.chain((0..getattrs).map(|n| (2, 100_000 + 1000 * (n % 10)))))
        };
        assert!(find_far(&(0..20).map(of).collect::<Vec<_>>(), SAME).is_empty());
        // Nor if nobody else has any.
        let of = |number: u64| {
            member((0..60).map(|n| (u16::from(number == 7), 100_000 * if number == 7 { 100 } else { 1 } + n)))
        };
        assert!(find_far(&(0..20).map(of).collect::<Vec<_>>(), SAME).is_empty());
    }

    #[test]
    fn few_servers_or_few_rpcs_show_nothing() {
        let times = |count: u64, factor: u64| {
            member((0..count).map(move |n| (1, factor * (1_000_000 + 10_000 * (n * 7 % 10)))))
        };
        let found = |members: usize, count: u64| {
            let members: Vec<_> = (0..members).map(|n| times(count, if n == 1 { 50 } else { 1 })).collect();
            numbers(&find_far(&members, SAME))
        };
        assert_eq!((found(5, 20), found(98, 20)), (vec![1], vec![1]));
        assert_eq!((found(4, 100), found(98, 19)), (vec![], vec![]));
    }

    /// Servers whose times are spread over three powers of ten: one is the slowest.
    #[test]
    fn the_slowest_of_many_different_ones_is_no_outlier() {
        let of = |n: u32| {
            let typical = 100_000.0 * 2.0_f64.powf(f64::from(n) / 2.0);
            member((0..60).map(move |time| (1, (typical * (1.0 + f64::from(time % 10) / 50.0)) as u64)))
        };
        assert!(find_far(&(0..20).map(of).collect::<Vec<_>>(), SAME).is_empty());
    }

    /// 20 of 25 RPCs in one stall of a second.
    #[test]
    fn a_stall_is_no_property_of_a_server() {
        let of =
            |number: u64| {
                let is_stalled = move |n: u64| number == 3 && n >= 5;
                member((0..25).map(move |n| {
                    (1, if is_stalled(n) { 1_000_000_000 - n * 1_000_000 } else { 100_000 + n * 31 % 997 })
                }))
            };
        assert!(find_far(&(0..20).map(of).collect::<Vec<_>>(), SAME).is_empty());
    }
}
