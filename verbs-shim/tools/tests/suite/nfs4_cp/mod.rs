//! The program `nfs4-cp` against a server of NFSv4.0 over the loopback.

#[path = "../../../src/bin/nfs4-cp/destination.rs"]
mod destination;
#[path = "../../../src/bin/nfs4-cp/nfs4/mod.rs"]
mod nfs4;
mod server;

use std::fs::{self, Permissions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rpcrdma::v2::Family;
use rpcrdma_dissector::MessageForm;
use rpcrdma_verbs::loopback::{Adapter, Fabric, PathMtu, PortState};
use rpcrdma_verbs::{CallError, Server, Settings, Version, Versions};

use crate::dissected::{File, dissect};
use destination::Destination;
use nfs4::{Error, Location, Nfs4, Options};
use server::{Nfsd, Whims};

const ADDRESS: &str = "192.0.2.2:20049";
/// Time-out of a client whose server falls silent.
const SHORT: Duration = Duration::from_millis(200);
const SIZES: [usize; 10] = [0, 1, 3, 4, 1023, 1024, 4096, 65_537, 1_048_576, 3_000_001];

fn path(text: &str) -> Vec<String> {
    text.split('/').map(str::to_owned).collect()
}

fn data(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at as u8).wrapping_mul(31) ^ (at >> 8) as u8 ^ (at >> 16) as u8).collect()
}

/// Runs a test with a server and a client.
fn within<T>(fabric: &Fabric, nfsd: &Nfsd, test: impl FnOnce(&Nfs4<Adapter>) -> T) -> T {
    within_versions(fabric, [Versions::ONE; 2], nfsd, test)
}

/// The same; the client may begin with the first of these, and the server accepts the second.
fn within_versions<T>(
    fabric: &Fabric,
    [offered, accepted]: [Versions; 2],
    nfsd: &Nfsd,
    test: impl FnOnce(&Nfs4<Adapter>) -> T,
) -> T {
    let (here, there) =
        (fabric.adapter([192, 0, 2, 1].into()).unwrap(), fabric.adapter([192, 0, 2, 2].into()).unwrap());
    let settings = Settings::server().to_builder().versions(accepted).build().unwrap();
    let server = Server::bind(&there, ADDRESS.parse().unwrap(), settings).unwrap();
    let stop = server.stopper();
    thread::scope(|scope| {
        let served = scope.spawn(|| server.serve(&|request| nfsd.answer(request)));
        let timeout = if nfsd.falls_silent() { SHORT } else { Duration::from_secs(60) };
        let options =
            Options { patience: Duration::from_millis(500), timeout, versions: offered, ..Options::default() };
        let nfs = Nfs4::connect(&here, ADDRESS.parse().unwrap(), &options).unwrap();
        // A test that fails stops it too.
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(&nfs)));
        stop.stop();
        drop(nfs);
        served.join().unwrap().unwrap();
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn with<T>(nfsd: &Nfsd, test: impl FnOnce(&Nfs4<Adapter>) -> T) -> T {
    within(&Fabric::new(), nfsd, test)
}

/// Copies each size there and back.
fn copies(whims: Whims) -> usize {
    let nfsd = Nfsd::new(whims);
    with(&nfsd, |nfs| {
        nfsd.create_file(&path("there/old"), data(70_000));
        for size in SIZES {
            let (name, want) = (path("there/old"), data(size));
            assert_eq!(nfs.write(&name, &mut &want[..]).unwrap(), size as u64);
            assert!(nfsd.get(&name) == want, "{size} octets there");
            let mut back = Vec::new();
            let file = nfs.look_up(&name).unwrap();
            assert_eq!(nfs.read(&file, &mut back).unwrap(), size as u64);
            assert!(back == want, "{size} octets back");
        }
    });
    nfsd.compounds()
}

#[test]
fn a_file_is_copied_in_the_version_that_was_agreed() {
    for (offered, accepted, agreed) in [
        (Versions::ONE, Versions::all(), Version::One),
        (Versions::TWO_A, Versions::all(), Version::Two(Family::A)),
        (Versions::all(), Versions::all(), Version::Two(Family::B)),
        (Versions::all(), Versions::ONE, Version::One),
    ] {
        let (file, nfsd, want) = (File::default(), Nfsd::new(Whims::default()), data(3_000_001));
        let fabric = Fabric::captured(file.clone(), PathMtu::default()).unwrap();
        within_versions(&fabric, [offered, accepted], &nfsd, |nfs| {
            nfs.write(&path("file"), &mut &want[..]).unwrap();
            let mut back = Vec::new();
            nfs.read(&nfs.look_up(&path("file")).unwrap(), &mut back).unwrap();
            assert!(back == want && nfsd.get(&path("file")) == want, "{agreed}");
            assert_eq!(nfs.version(), Some(agreed));
        });
        fabric.end_capture().unwrap();
        let broken = dissect(&file.octets()).broken;
        assert!(broken.is_empty(), "{agreed}: {broken:?}");
    }
}

#[test]
fn files_of_all_sizes_are_copied_both_ways() {
    let compounds = copies(Whims { wary: false, ..Whims::default() });
    // For each file two COMPOUNDs for the client ID, OPEN, CLOSE, RENAME and two look-ups; 11 READs and 12 WRITEs; a
    // COMMIT for each file except the empty one.
    assert_eq!(compounds, 10 * 7 + 9 + 12 + 11);
    copies(Whims::default());
}

#[test]
fn partial_writes_and_retry_requests_are_handled() {
    copies(Whims { most: 50_001, ..Whims::default() });
    copies(Whims { said: 10_000, most: 9_999, ..Whims::default() });
    copies(Whims { delays: 3, ..Whims::default() });
    copies(Whims { delays: 2, most: 400_000, ..Whims::default() });
    let nfsd = Nfsd::new(Whims { grace: 3, ..Whims::default() });
    with(&nfsd, |nfs| nfs.write(&path("new"), &mut &b"octets"[..]).unwrap());
    assert_eq!(nfsd.get(&path("new")), b"octets");
}

#[test]
fn what_fails_is_named_with_the_operation() {
    let nfsd = Nfsd::new(Whims::default());
    nfsd.create_file(&path("dir/file"), data(10));
    with(&nfsd, |nfs| {
        let told = |error: Error| error.to_string();
        assert_eq!(told(nfs.look_up(&path("dir/none/x")).unwrap_err()), "LOOKUP \"none\": NFS4ERR_NOENT");
        assert_eq!(told(nfs.look_up(&path("dir/file/x")).unwrap_err()), "LOOKUP \"x\": NFS4ERR_NOTDIR");
        assert_eq!(told(nfs.write(&path("dir"), &mut &b""[..]).unwrap_err()), "it is not a file, but a directory");
        let (directory, file) = (nfs.look_up(&path("dir")).unwrap(), nfs.look_up(&path("dir/file")).unwrap());
        assert_eq!(told(nfs.read(&directory, &mut Vec::new()).unwrap_err()), "it is not a file, but a directory");
        assert_eq!(told(nfs.list(&file, |_| Ok(())).unwrap_err()), "READDIR: NFS4ERR_NOTDIR");
    });
    // It never can.
    with(&Nfsd::new(Whims { delays: 1, ..Whims::default() }), |nfs| {
        assert_eq!(nfs.look_up(&[]).unwrap_err().to_string(), "PUTROOTFH: NFS4ERR_DELAY");
    });
}

#[test]
fn only_failed_connections_come_with_advice() {
    let here = Fabric::new().adapter([192, 0, 2, 1].into()).unwrap();
    let refused = Nfs4::connect(&here, ADDRESS.parse().unwrap(), &Options::default()).map(drop).unwrap_err();
    let advice = rpcrdma_verbs::Error::Refused.advice();
    assert!(advice.is_some());
    assert_eq!(refused.advice(), advice);
    let remains = Error::NotRemoved { name: "file".to_owned(), error: Box::new(refused) };
    assert_eq!(remains.advice(), advice);
    let call = Error::Call(CallError::NotRegistered(rpcrdma_verbs::Error::LockedMemory));
    assert_eq!(call.advice(), rpcrdma_verbs::Error::LockedMemory.advice());
    let failed = with(&Nfsd::new(Whims::default()), |nfs| nfs.look_up(&path("none")).unwrap_err());
    assert_eq!(failed.advice(), None);
}

#[test]
fn a_copy_that_is_not_whole_is_no_success() {
    let read = |whims| {
        let nfsd = Nfsd::new(whims);
        nfsd.create_file(&path("file"), data(3_000_000));
        with(&nfsd, |nfs| nfs.read(&nfs.look_up(&path("file")).unwrap(), &mut Vec::new()).unwrap_err().to_string())
    };
    let said = read(Whims { ends_at: Some(1_500_000), ..Whims::default() });
    assert_eq!(said, "the file ended after 1500000 of 3000000 octets");
    let said = read(Whims { endless: true, ..Whims::default() });
    assert_eq!(said, "READ: the server reports success, but did nothing");
    let nfsd = Nfsd::new(Whims { restarts: true, ..Whims::default() });
    let error = with(&nfsd, |nfs| nfs.write(&path("file"), &mut &data(100)[..]).unwrap_err());
    assert!(matches!(error, Error::Restarted), "{error}");
}

/// Names of the files beside the target and the target's permissions, after a copy to the server.
#[allow(clippy::type_complexity, reason = "the outcomes that a test compares")]
fn directory_after(whims: Whims, source: &mut impl std::io::Read) -> (Result<u64, Error>, Vec<(String, u32)>, Vec<u8>) {
    let nfsd = Nfsd::new(whims);
    nfsd.create_file(&path("dir/file"), b"before".to_vec());
    let written = with(&nfsd, |nfs| nfs.write(&path("dir/file"), source));
    let names = nfsd.names(&path("dir"));
    (written, names, nfsd.octets(&path("dir/file")))
}

#[test]
fn a_remote_target_is_replaced_completely_or_not() {
    let old = || vec![("file".to_owned(), 0o600)];
    let (written, names, octets) = directory_after(Whims::default(), &mut &b"after"[..]);
    assert_eq!((written.unwrap(), names, octets), (5, old(), b"after".to_vec()));

    // The source fails after 3 MB, when WRITEs are in flight.
    let mut source = std::io::Read::chain(std::io::repeat(7).take(3_000_000), Torn);
    let (written, names, octets) = directory_after(Whims::default(), &mut source);
    assert_eq!((written.unwrap_err().to_string(), names, octets), ("torn".to_owned(), old(), b"before".to_vec()));
    let (written, names, octets) = directory_after(Whims { restarts: true, ..Whims::default() }, &mut &b"x"[..]);
    assert!(matches!(written, Err(Error::Restarted)));
    assert_eq!((names, octets), (old(), b"before".to_vec()));
}

/// A source that cannot be read.
struct Torn;

impl std::io::Read for Torn {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("torn"))
    }
}

#[test]
fn a_silent_server_ends_a_copy_at_the_limit() {
    let limit = || "no reply within 200ms (--timeout): the server or the network to it may be gone".to_owned();
    // Client ID, look-up, OPEN and its confirmation, and one WRITE are answered.
    let silent = Whims { silent_after: Some(7), ..Whims::default() };
    let start = Instant::now();
    let (written, names, octets) = directory_after(silent.clone(), &mut &data(3_000_000)[..]);
    let [_, (temporary, _)] = &names[..] else { panic!("{names:?}") };
    let remains = format!("; the temporary file {temporary:?} may remain in that directory of the server");
    assert_eq!((written.unwrap_err().to_string(), octets), (limit() + &remains, b"before".to_vec()));

    let nfsd = Nfsd::new(Whims { silent_after: Some(2), ..silent });
    nfsd.create_file(&path("file"), data(3_000_000));
    let read = with(&nfsd, |nfs| nfs.read(&nfs.look_up(&path("file")).unwrap(), &mut Vec::new()).unwrap_err());
    assert_eq!(read.to_string(), limit());
    assert!(start.elapsed() >= 2 * SHORT && start.elapsed() < 50 * SHORT, "{:?}", start.elapsed());
}

/// Its adapter acknowledges what is sent, and then nothing more: no reply comes, and the client has nothing to send.
#[test]
fn keep_alive_ends_a_copy_from_a_vanished_server() {
    let fabric = Fabric::new();
    let [here, there] = [1, 2].map(|number| fabric.adapter([192, 0, 2, number].into()).unwrap());
    let nfsd = Nfsd::new(Whims { silent_after: Some(0), ..Whims::default() });
    let server = Server::bind(&there, ADDRESS.parse().unwrap(), Settings::server()).unwrap();
    let (stop, start) = (server.stopper(), Instant::now());
    let found = thread::scope(|scope| {
        scope.spawn(|| server.serve(&|request| nfsd.answer(request)));
        let options = Options { keep_alive: Some(SHORT), timeout: 100 * SHORT, ..Options::default() };
        let nfs = Nfs4::connect(&here, ADDRESS.parse().unwrap(), &options).unwrap();
        scope.spawn(|| {
            thread::sleep(SHORT);
            there.set_port(PortState::Down);
        });
        let found = nfs.look_up(&path("file"));
        stop.stop();
        found
    });
    assert!(matches!(found, Err(Error::Call(CallError::Lost(..)))), "{found:?}");
    assert!(start.elapsed() < 75 * SHORT, "{:?}", start.elapsed());
}

/// A directory of its own for a test, which is removed afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("rpcrdma-tools-{name}-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    /// The names in it.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn a_local_target_is_replaced_completely_or_not() {
    let folder = Folder::new("target");
    let (target, link) = (folder.0.join("file"), folder.0.join("link"));
    fs::write(&target, "before").unwrap();
    fs::set_permissions(&target, Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("file", &link).unwrap();

    let mut failed = Destination::new(&link).unwrap();
    failed.write_all(b"part").unwrap();
    assert_eq!((fs::read(&target).unwrap(), folder.names().len()), (b"before".to_vec(), 3));
    drop(failed);
    assert_eq!((fs::read(&target).unwrap(), folder.names()), (b"before".to_vec(), vec!["file".into(), "link".into()]));

    let mut whole = Destination::new(&link).unwrap();
    whole.write_all(b"whole").unwrap();
    whole.complete().unwrap();
    assert_eq!((fs::read(&target).unwrap(), folder.names()), (b"whole".to_vec(), vec!["file".into(), "link".into()]));
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
fn only_devices_are_written_without_replacement() {
    let folder = Folder::new("refused");
    assert!(Destination::new(&folder.0).is_err());
    let said = Destination::new(&folder.0.join("none/file")).err().unwrap().to_string();
    assert!(said.starts_with("no file beside it: "), "{said}");
    let mut device = Destination::new(Path::new("/dev/null")).unwrap();
    device.write_all(b"octets").unwrap();
    device.complete().unwrap();
    assert_eq!(folder.names(), [""; 0]);
}

fn names(directory: &str, number: usize) -> Vec<String> {
    (1..=number).map(|number| format!("{directory}/file_with_a_rather_long_name_number_{number}")).collect()
}

#[test]
fn a_directory_is_listed_page_by_page() {
    for page in [1000, 100, 99, 1] {
        let nfsd = Nfsd::new(Whims { page, ..Whims::default() });
        let want: Vec<_> = names("dir", 400).iter().map(|name| path(name)).collect();
        want.iter().enumerate().for_each(|(size, path)| nfsd.create_file(path, data(size)));
        let mut found = Vec::new();
        let number = with(&nfsd, |nfs| {
            let directory = nfs.look_up(&path("dir")).unwrap();
            nfs.list(&directory, |entry| {
                found.push((vec!["dir".to_owned(), entry.name], entry.attributes.size));
                Ok(())
            })
        });
        assert_eq!(number.unwrap(), 400, "{page}");
        assert!(found.into_iter().eq(want.into_iter().zip((0..400).map(Some))), "{page}");
    }
    with(&Nfsd::new(Whims::default()), |nfs| {
        let root = nfs.look_up(&[]).unwrap();
        assert_eq!(nfs.list(&root, |_| Ok(())).unwrap(), 0);
    });
    // It returns no entries, and says that there are more.
    let nfsd = Nfsd::new(Whims { page: 0, ..Whims::default() });
    nfsd.create_file(&path("file"), Vec::new());
    with(&nfsd, |nfs| {
        let error = nfs.list(&nfs.look_up(&[]).unwrap(), |_| Ok(())).unwrap_err();
        assert_eq!(error.to_string(), "READDIR: the server reports success, but did nothing");
    });
}

/// Checks with a dissector that knows nothing about this client that every operation is decoded, that data is where RFC
/// 8267 requires it, and that no rule is broken.
#[test]
fn on_the_wire_it_is_what_the_binding_says() {
    let deep = [vec!["d".repeat(255); 16], path("file")].concat();
    let nfsd = Nfsd::new(Whims::default());
    nfsd.create_file(&deep, Vec::new());
    names("dir", 400).iter().for_each(|name| nfsd.create_file(&path(name), data(7)));
    let file = File::default();
    let fabric = Fabric::captured(file.clone(), PathMtu::default()).unwrap();
    within(&fabric, &nfsd, |nfs| {
        nfs.write(&deep, &mut &data(3_000_001)[..]).unwrap();
        nfs.read(&nfs.look_up(&deep).unwrap(), &mut std::io::sink()).unwrap();
        nfs.list(&nfs.look_up(&path("dir")).unwrap(), |_| Ok(())).unwrap();
    });
    fabric.end_capture().unwrap();

    let found = dissect(&file.octets());
    assert_eq!(found.slugs(), [""; 0]);
    let (mut there, mut back, mut listed, mut long) = (Vec::new(), Vec::new(), 0, 0);
    for transaction in &found.transactions {
        let (call, reply) = (transaction.call.as_ref().unwrap(), transaction.reply.as_ref().unwrap());
        let (asked, answered) = (call.message.as_ref().unwrap(), reply.message.as_ref().unwrap());
        let names: Vec<_> = transaction.operations.iter().map(|operation| operation.name).collect();
        assert!(transaction.operations.iter().all(|operation| operation.status == Some(0)), "{names:?}");
        asked.items.iter().for_each(|item| there.extend_from_slice(asked.data(item)));
        answered.items.iter().for_each(|item| back.extend_from_slice(answered.data(item)));
        let (form, last) = ((call.form, reply.form), *names.last().unwrap());
        match last {
            "READ" => assert_eq!(form, (MessageForm::Short, MessageForm::Chunked)),
            "WRITE" => assert_eq!(form, (MessageForm::Chunked, MessageForm::Short)),
            "READDIR" => assert_eq!(form, (MessageForm::Short, MessageForm::Long)),
            _ if names.len() > 16 => assert_eq!(form, (MessageForm::Long, MessageForm::Short)),
            _ => assert_eq!(form, (MessageForm::Short, MessageForm::Short), "{names:?}"),
        }
        listed += usize::from(last == "READDIR");
        long += usize::from(names.len() > 16);
    }
    assert!(there == data(3_000_001) && back == there);
    // Four full pages; OPEN, RENAME and two look-ups.
    assert_eq!((listed, long), (4, 4));
}

#[test]
fn locations_are_read() {
    let parse = |text| Location::parse(text).unwrap();
    let location = parse("nfs://192.0.2.1:20050//a/./b c/").unwrap();
    assert_eq!(location.path, ["a", "b c"]);
    assert_eq!(location.address().unwrap(), "192.0.2.1:20050".parse().unwrap());
    assert_eq!(location.to_string(), "nfs://192.0.2.1:20050/a/b c");
    assert_eq!(parse("nfs://[2001:db8::1]:20049/x").unwrap().to_string(), "nfs://[2001:db8::1]/x");
    assert_eq!(parse("nfs://[2001:db8::1]/x").unwrap().address().unwrap(), "[2001:db8::1]:20049".parse().unwrap());
    assert_eq!(parse("nfs://192.0.2.1").unwrap().path, [""; 0]);
    assert_eq!(Location::parse("/nfs://x"), None);
    for wrong in ["nfs:///x", "nfs://h:/x", "nfs://h:0/x", "nfs://h:65536/x", "nfs://[::1/x", "nfs://h/a/../b"] {
        assert!(parse(wrong).is_err(), "{wrong}");
    }
}
