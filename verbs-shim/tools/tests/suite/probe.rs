//! `rpcrdma-probe` against our own server over the loopback.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rpcrdma::v2::Family;
use rpcrdma_tools::echo::programs;
use rpcrdma_tools::nfs::{self, Folder};
use rpcrdma_tools::probe::{self, Bounds, OutputFormat, Recipe, Suite};
use rpcrdma_verbs::loopback::Adapter;
use rpcrdma_verbs::{Dispatcher, Request, Service, Version};

use crate::support::service::{with_calls, with_service};

/// The verdict and what was seen of each case, by name.
fn verdicts(service: &impl Service<Adapter>, suite: &Suite) -> Vec<[String; 3]> {
    verdicts_of(0, service, suite)
}

/// The same of a server that makes up to so many calls at the same time.
fn verdicts_of(calls: u32, service: &impl Service<Adapter>, suite: &Suite) -> Vec<[String; 3]> {
    let records = with_calls(calls, service, |fabric, address| {
        let here = fabric.adapter([192, 0, 2, 1].into()).unwrap();
        let mut out = Vec::new();
        probe::run(&here, address, suite, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    });
    let records = records.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let cases = records.filter(|record| record["type"] == "case");
    cases.map(|case| ["case", "verdict", "observed"].map(|key| case[key].as_str().unwrap().to_owned())).collect()
}

fn suite(version: Version) -> Suite {
    Suite { version, silence: Duration::from_millis(200), form: OutputFormat::Json, ..Suite::echo() }
}

/// The cases in which our server does not conform to what is specified, with what it does.
fn others(version: Version) -> Vec<String> {
    let verdicts = verdicts(&programs(), &suite(version));
    assert!(verdicts.len() > 10);
    let conforms = |verdict: &str| matches!(verdict, "conforms" | "not judged");
    verdicts.iter().filter(|[_, verdict, _]| !conforms(verdict)).map(|case| case.join(": ")).collect()
}

#[test]
fn our_server_conforms_in_version_1() {
    assert_eq!(others(Version::One), Vec::<String>::new());
}

#[test]
fn our_server_conforms_as_a_requester() {
    const CASES: [&str; 13] = [
        "reverse-unasked",
        "reverse-reply",
        "reverse-grant-most",
        "reverse-grant-0",
        "reverse-silence",
        "reverse-same-xid",
        "reverse-duplicate",
        "reverse-wrong-xid",
        "reverse-xid-mismatch",
        "reverse-short",
        "reverse-read-list",
        "reverse-write-list",
        "reverse-error-chunk",
    ];
    let suite =
        Suite { silence: Duration::from_millis(200), form: OutputFormat::Json, cases: owned(&CASES), ..with_files() };
    let mut verdicts = verdicts_of(nfs::CALLS, &folder(b'a'), &suite);
    assert_eq!(verdicts.iter().map(|[case, ..]| case).collect::<Vec<_>>(), CASES);
    verdicts.retain(|[_, verdict, _]| verdict != "conforms");
    // The specification asks for nothing here.
    let found: Vec<_> = verdicts.iter().map(|case| case.join(": ")).collect();
    assert_eq!(found, ["reverse-grant-0: not judged: next call", "reverse-xid-mismatch: not judged: silence"]);
}

#[test]
fn our_server_conforms_in_version_2() {
    for family in [Family::A, Family::B] {
        assert_eq!(others(Version::Two(family)), Vec::<String>::new());
    }
}

/// `UPDATE_EXPECT=1` writes the tables again.
#[test]
fn the_tables_of_our_server_are_up_to_date() {
    const HEADING: &str = "# rpcrdma-serve, loopback\n";
    for (version, name) in [
        (Version::One, "server-rpcrdma-serve.tsv"),
        (Version::Two(Family::A), "2a-server-rpcrdma-serve.tsv"),
        (Version::Two(Family::B), "2b-server-rpcrdma-serve.tsv"),
    ] {
        let suite = match version.family() {
            None => with_files(),
            Some(_) => suite(version),
        };
        let suite = Suite { form: OutputFormat::Tabs, silence: Duration::from_millis(200), ..suite };
        let lines = with_calls(nfs::CALLS, &folder(b'a'), |fabric, address| {
            let here = fabric.adapter([192, 0, 2, 1].into()).unwrap();
            let mut out = HEADING.as_bytes().to_vec();
            probe::run(&here, address, &suite, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        });
        let path = format!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/lab/expected/{}"), name);
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&path, &lines).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), lines, "{name}");
    }
}

/// The cases of NFS that are not right.
fn others_of_nfs(service: &impl Service<Adapter>) -> Vec<String> {
    let verdicts =
        verdicts(service, &Suite { silence: Duration::from_millis(200), form: OutputFormat::Json, ..with_files() });
    let nfs = verdicts.iter().filter(|[case, _, _]| {
        ["read", "nfs3-", "write-read", "write-odd", "write-padd", "write-many"]
            .iter()
            .any(|start| case.starts_with(start))
    });
    assert_eq!(nfs.clone().count(), 34);
    nfs.filter(|[_, verdict, _]| verdict != "conforms").map(|case| case.join(": ")).collect()
}

/// The cases of NFS too, with what is in a [`Folder`].
fn with_files() -> Suite {
    let [file, link, scratch] = ["file", "link", "scratch"].map(|name| Some(name.to_owned()));
    Suite { file, link, scratch, delegate: Some("delegated".to_owned()), ..Suite::nfs() }
}

/// Programs with a folder in which all octets are the same.
fn folder(octet: u8) -> Dispatcher<'static, Adapter> {
    Arc::new(Folder::new([octet; 1000], char::from(octet).to_string().repeat(27))).serve(programs())
}

/// Carries out calls in several folders in turn.
struct Turns {
    folders: Vec<Dispatcher<'static, Adapter>>,
    calls: AtomicUsize,
}

impl Service<Adapter> for Turns {
    fn call(&self, request: Request<Adapter>) {
        let turn = self.calls.fetch_add(1, Ordering::Relaxed) % self.folders.len();
        self.folders[turn].call(request);
    }
}

#[test]
fn data_in_chunks_is_that_of_a_plain_call() {
    assert_eq!(
        others_of_nfs(&folder(b'a')),
        [
            "read-write-chunk-too-small: not judged: ERR_CHUNK",
            // The message type is in a chunk at Position 4, so nothing shows that this is a Call.
            "write-read-chunk-everywhere: not judged: 1 ERR_CHUNK, 51 reply",
            "nfs3-read-write-chunk-empty: not judged: reply",
            "nfs3-read-write-chunk-too-small: not judged: ERR_CHUNK",
        ]
    );
}

#[test]
fn other_data_than_that_of_a_plain_call_is_found() {
    let folders = (b'a'..=b'z').map(folder).collect();
    let found = others_of_nfs(&Turns { folders, calls: AtomicUsize::new(0) });
    for (case, what) in [
        ("readlink-write-chunk", "other data"),
        ("read-reply-chunk", "other results"),
        ("nfs3-read-write-chunk", "other data"),
        ("nfs3-readlink-reply-chunk", "other results"),
    ] {
        assert!(found.contains(&format!("{case}: violates: reply; {what}")), "{found:?}");
    }
}

/// A server in its grace period, in which it refuses so many COMPOUNDs.
struct InGrace {
    folder: Dispatcher<'static, Adapter>,
    left: AtomicUsize,
}

impl Service<Adapter> for InGrace {
    fn call(&self, mut request: Request<Adapter>) {
        const NFS4ERR_GRACE: u32 = 10_013;
        let is_compound = request.decode().is_ok_and(|(call, _)| (call.version, call.procedure) == (4, 1));
        let less = |left: usize| left.checked_sub(1);
        if is_compound && self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok() {
            // No tag, and no results.
            let status: Vec<u8> = [NFS4ERR_GRACE, 0, 0].into_iter().flat_map(u32::to_be_bytes).collect();
            request.accept().push(&status);
            request.answer().unwrap();
        } else {
            self.folder.call(request);
        }
    }
}

#[test]
fn a_grace_period_is_waited_for_and_named() {
    let cases = owned(&["read-write-chunk", "nfs3-read-write-chunk"]);
    let short = Duration::from_millis(300);
    let suite = Suite { silence: short, patience: 10 * short, form: OutputFormat::Json, cases, ..with_files() };
    let soon = InGrace { folder: folder(b'a'), left: AtomicUsize::new(3) };
    let found: Vec<_> = verdicts(&soon, &suite).iter().map(|case| case.join(": ")).collect();
    assert_eq!(found, ["read-write-chunk: conforms: reply", "nfs3-read-write-chunk: conforms: reply"]);
    let never = InGrace { folder: folder(b'a'), left: AtomicUsize::new(usize::MAX) };
    let found: Vec<_> =
        verdicts(&never, &Suite { patience: short, ..suite }).iter().map(|case| case.join(": ")).collect();
    let expected = [
        "read-write-chunk: not judged: the plain call fails: NFS4ERR_GRACE",
        "nfs3-read-write-chunk: not judged: NFSv4 gives no handle: NFS4ERR_GRACE",
    ];
    assert_eq!(found, expected);
}

const BOUNDS: Bounds = Bounds { seed: 1, count: 60, pause: Duration::ZERO, time: Duration::from_secs(60) };

fn brief(version: Version) -> Suite {
    Suite { silence: Duration::from_millis(5), ..suite(version) }
}

#[test]
fn our_server_survives_random_messages() {
    for version in [Version::One, Version::Two(Family::A), Version::Two(Family::B)] {
        let fuzzed = with_service(&programs(), |fabric, address| {
            let here = fabric.adapter([192, 0, 2, 1].into()).unwrap();
            probe::fuzz(&here, address, &brief(version), &BOUNDS).unwrap()
        });
        assert_eq!((fuzzed.sent, fuzzed.fatal), (60, None), "{version}");
        assert!(fuzzed.answered > 30, "{version}: {}", fuzzed.answered);
    }
}

/// Answers a few calls, and keeps the others.
struct Silent {
    programs: Dispatcher<'static, Adapter>,
    calls: AtomicU8,
    kept: Mutex<Vec<Request<Adapter>>>,
}

impl Service<Adapter> for Silent {
    fn call(&self, request: Request<Adapter>) {
        if self.calls.fetch_add(1, Ordering::Relaxed) < 20 {
            self.programs.call(request);
        } else {
            self.kept.lock().unwrap().push(request);
        }
    }
}

#[test]
fn a_message_that_silences_a_server_can_be_replayed() {
    let silent = Silent { programs: programs(), calls: AtomicU8::new(0), kept: Mutex::default() };
    let suite = Suite { patience: Duration::from_millis(300), ..brief(Version::One) };
    let found = with_service(&silent, |fabric, address| {
        let here = fabric.adapter([192, 0, 2, 1].into()).unwrap();
        let fuzzed = probe::fuzz(&here, address, &suite, &BOUNDS).unwrap();
        silent.kept.lock().unwrap().clear();
        fuzzed
    });
    assert!((5..25).contains(&found.sent), "{}", found.sent);
    let recipe = serde_json::to_string(&found.fatal.unwrap()).unwrap();
    let recipe: Recipe = serde_json::from_str(&recipe).unwrap();
    assert_eq!(recipe, Recipe::of_seed(found.sent.into(), &suite));
    let again = with_service(&programs(), |fabric, address| {
        let here = fabric.adapter([192, 0, 2, 1].into()).unwrap();
        probe::replay(&here, address, &brief(Version::One), &recipe).unwrap()
    });
    assert_eq!((again.sent, again.fatal), (1, None));
}

#[test]
fn a_server_without_the_program_cannot_be_probed() {
    let done = with_service(&programs(), |fabric, _| {
        let here = fabric.adapter([192, 0, 2, 1].into()).unwrap();
        let suite = Suite { patience: Duration::from_millis(200), ..Suite::echo() };
        let nobody = probe::run(&here, "192.0.2.200:1".parse().unwrap(), &suite, &mut Vec::new()).unwrap_err();
        nobody.to_string()
    });
    assert_eq!(done, "no server accepts connections at that address");
}

#[test]
fn cases_are_chosen_by_their_names_and_by_their_rules() {
    let chosen = |version, cases: &[&str], rules: &[&str]| {
        let [cases, rules] = [cases, rules].map(owned);
        let verdicts = verdicts(&programs(), &Suite { cases, rules, ..suite(version) });
        verdicts.into_iter().map(|[name, ..]| name).collect::<Vec<_>>()
    };
    // In the order of the table; a case that is named twice is tried once.
    let of_name = ["msgp", "version-0", "msgp", "credit-0"];
    assert_eq!(chosen(Version::One, &of_name, &["credit-zero-request"]), ["version-0", "msgp", "credit-0"]);
    // A rule has more cases than the one of the same name.
    assert_eq!(chosen(Version::One, &["msg-no-payload"], &[]), ["msg-no-payload"]);
    assert_eq!(chosen(Version::One, &[], &["msg-no-payload"]), ["null", "msg-no-payload"]);
    assert_eq!(chosen(Version::Two(Family::A), &["grant"], &["v2-tpmore"]).len(), 4);
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn an_unknown_case_name_gets_a_suggestion() {
    let error = |suite: Suite, cases: &[&str], rules: &[&str]| {
        with_service(&programs(), |fabric, address| {
            let here = fabric.adapter([192, 0, 2, 1].into()).unwrap();
            let [cases, rules] = [cases, rules].map(owned);
            let mut out = Vec::new();
            let error = probe::run(&here, address, &Suite { cases, rules, ..suite }, &mut out).unwrap_err();
            assert!(out.is_empty(), "nothing is tried, though other names are right");
            error.to_string()
        })
    };
    assert_eq!(error(Suite::echo(), &["null", "xyz"], &["version"]), "there is no case xyz");
    let near = error(Suite::echo(), &["nomsg-emty"], &[]);
    assert!(near.starts_with("there is no case nomsg-emty; did you mean nomsg-empty"), "{near}");
    let near = error(Suite::echo(), &["null"], &["header-shrt"]);
    assert!(near.starts_with("there is no case of a rule header-shrt; did you mean header-short"), "{near}");
    // A rule is no case; nor are cases of the other version, or of NFS where that is not probed.
    for (suite, case) in [(Suite::echo(), "header-short"), (Suite::nfs(), "grant"), (Suite::echo(), "read-write-chunk")]
    {
        let error = error(suite, &[case], &[]);
        assert!(error.starts_with(&format!("there is no case {case}")), "{error}");
    }
    assert!(error(Suite::nfs(), &["read-lnk-write-chunk"], &[]).contains("readlink-write-chunk"));
}
