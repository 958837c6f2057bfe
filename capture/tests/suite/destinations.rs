//! Files that commands write: an output is written whole, or what was there before stays.
#![cfg(unix)]

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::command::{program, run, stderr};

/// The commands that write a file, with a name for it.
const COMMANDS: [(&str, &str); 6] = [
    ("annotate", "out.pcapng"),
    ("anonymize", "out.pcap"),
    ("export", "out.pcap.gz"),
    ("report", "out.html"),
    ("trace", "out.json.zst"),
    ("view", "view.html"),
];
/// Content of a file that is there before.
const OLD: &[u8] = b"what was there before";

/// A folder that goes with its test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let thread = std::thread::current();
        let name = format!("destinations-{}-{}", std::process::id(), thread.name().unwrap_or_default());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, octets: &[u8]) -> String {
        fs::write(self.0.join(name), octets).unwrap();
        self.path(name)
    }

    /// Returns the names of all files, in order.
    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// Adds the page that captures are written into.
    fn with_page(self) -> Self {
        self.write("page.html", b"<!-- captures -->");
        self
    }

    /// Returns the arguments that make a command write `output`.
    fn arguments<'a>(&self, command: &'a str, input: &'a str, output: &'a str) -> Vec<String> {
        let mut arguments = vec![command, "-q", input, "-o", output].into_iter().map(str::to_owned).collect::<Vec<_>>();
        if command == "view" {
            arguments.extend(["--page".to_owned(), self.path("page.html")]);
        }
        arguments
    }

    fn command(&self, command: &str, input: &str, output: &str) -> Command {
        let arguments = self.arguments(command, input, output);
        program(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

fn shipped(name: &str) -> String {
    format!("{}/../testdata/captures/{name}.pcap", env!("CARGO_MANIFEST_DIR"))
}

fn ended(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).output().unwrap()
}

/// Asserts that a command was refused because its output is its input.
fn assert_refused(output: &Output, of: &str) {
    assert_eq!(output.status.code(), Some(2), "{of}: {}", stderr(output));
    let said = stderr(output);
    assert!(said.contains("the same file as the input ") && said.contains("name another file"), "{of}: {said}");
    assert_eq!(said.lines().count(), 1, "{of}: {said}");
}

#[test]
fn no_name_of_the_input_is_written_to() {
    let octets = fs::read(shipped("nfs41_callback")).unwrap();
    for (command, name) in COMMANDS {
        let folder = Folder::new().with_page();
        let input = folder.write("in.pcap", &octets);
        fs::hard_link(&input, folder.path(name)).unwrap();
        symlink("in.pcap", folder.path("symbolic.pcapng")).unwrap();
        symlink(name, folder.path("both.pcapng")).unwrap();
        symlink(&folder.0, folder.path("folder")).unwrap();
        let before = folder.names();
        for other in ["in.pcap", name, "symbolic.pcapng", "both.pcapng", "folder/in.pcap", "./in.pcap"] {
            for (input, output) in [("in.pcap", other), (other, "in.pcap")] {
                let run = ended(&mut folder.command(command, &folder.path(input), &folder.path(output)));
                assert_refused(&run, &format!("{command} {input} -o {output}"));
                assert!(fs::read(folder.path("in.pcap")).unwrap() == octets, "{command} {input} -o {output}");
            }
        }
        assert_eq!(folder.names(), before, "{command}");
        drop(folder);
    }
}

#[test]
fn a_redirected_input_or_output_is_known_too() {
    let octets = fs::read(shipped("nfs41_callback")).unwrap();
    let folder = Folder::new().with_page();
    let input = folder.write("in.pcap", &octets);
    for (command, _) in COMMANDS {
        if command != "view" {
            let mut from_stdin = folder.command(command, "-", &input);
            let output = from_stdin.stdin(File::open(&input).unwrap()).output().unwrap();
            assert_refused(&output, command);
        }
        for name in ["-", "/dev/stdout"] {
            let appended = OpenOptions::new().append(true).open(&input).unwrap();
            let output = folder.command(command, &input, name).stdout(appended).stderr(Stdio::piped()).spawn().unwrap();
            assert_refused(&output.wait_with_output().unwrap(), command);
        }
        assert!(fs::read(&input).unwrap() == octets, "{command}");
    }
    // The page into which captures are written is an input too.
    let page = folder.path("page.html");
    assert_refused(&ended(&mut folder.command("view", &input, &page)), "view --page");
    assert_eq!(fs::read(&page).unwrap(), b"<!-- captures -->");
}

/// Runs a command that fails, and asserts that the old file stays and no other file appears.
fn assert_old_stays(folder: &Folder, command: &mut Command, name: &str) -> Output {
    let path = folder.write(name, OLD);
    let before = folder.names();
    let output = command.stdout(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{command:?}: {}", stderr(&output));
    assert_eq!(fs::read(&path).unwrap(), OLD, "{command:?}");
    assert_eq!(folder.names(), before, "{command:?}");
    fs::remove_file(&path).unwrap();
    // Neither is a part left where nothing was.
    assert_eq!(command.output().unwrap().status.code(), Some(2));
    assert!(!folder.0.join(name).exists(), "{command:?}");
    output
}

#[test]
fn a_failed_run_leaves_the_old_file() {
    let folder = Folder::new().with_page();
    let (good, bad) = (shipped("nfs41_callback"), folder.write("bad.pcap", b"not a capture at all, but long enough"));
    for (command, name) in COMMANDS {
        let path = folder.path(name);
        // The file system is full after 512 octets.
        let arguments = folder.arguments(command, &good, &path);
        let mut full = Command::new("sh");
        full.args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_rpcrdma")]);
        let output = assert_old_stays(&folder, full.args(arguments), name);
        assert!(stderr(&output).starts_with(&format!("rpcrdma: {path}: File too large")), "{}", stderr(&output));
        // The input cannot be read.
        assert_old_stays(&folder, &mut folder.command(command, &bad, &path), name);
        assert_old_stays(&folder, &mut folder.command(command, "/does/not/exist.pcap", &path), name);
        if command == "view" {
            continue;
        }
        // A stream shows that only when it is read.
        let stream = format!("cat {bad} | \"$0\" \"$@\"");
        let mut piped = Command::new("sh");
        piped.args(["-c", &stream, env!("CARGO_BIN_EXE_rpcrdma")]);
        assert_old_stays(&folder, piped.args(folder.arguments(command, "-", &path)), name);
        if command != "anonymize" {
            let mut piped = Command::new("sh");
            piped.args(["-c", &format!("cat {good} | \"$0\" \"$@\" --since 4.7"), env!("CARGO_BIN_EXE_rpcrdma")]);
            assert_old_stays(&folder, piped.args(folder.arguments(command, "-", &path)), name);
        }
    }
}

#[test]
fn the_old_file_stays_if_no_new_one_fits() {
    let folder = Folder::new().with_page();
    // The name of the old file is as long as a path can be, so that of a file beside it is too long.
    let mut deep = folder.0.clone();
    while deep.as_os_str().len() < 4000 {
        deep.push("d".repeat((4080 - deep.as_os_str().len()).min(200)));
    }
    fs::create_dir_all(&deep).unwrap();
    for (command, _) in COMMANDS {
        let path = deep.join("o");
        fs::write(&path, OLD).unwrap();
        let output = ended(&mut folder.command(command, &shipped("nfs41_callback"), path.to_str().unwrap()));
        assert_eq!(output.status.code(), Some(2), "{command}");
        assert!(stderr(&output).contains("no new file can be created in its folder"), "{}", stderr(&output));
        assert_eq!(fs::read(&path).unwrap(), OLD, "{command}");
        assert_eq!(fs::read_dir(&deep).unwrap().count(), 1, "{command}");
    }
}

#[test]
fn a_killed_run_leaves_the_old_file() {
    let folder = Folder::new().with_page();
    for (command, name) in COMMANDS {
        let path = folder.write(name, OLD);
        // Without the trap, the first octet too many ends the program.
        let mut killed = Command::new("sh");
        killed.args(["-c", "ulimit -c 0; ulimit -f 1; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_rpcrdma")]);
        let output = ended(killed.args(folder.arguments(command, &shipped("nfs41_callback"), &path)));
        assert_eq!(output.status.code(), None, "{command}: {}", stderr(&output));
        assert_eq!(fs::read(&path).unwrap(), OLD, "{command}");
    }
}

/// Writes a capture that takes a while to read: the records of one, this many times.
fn long_capture(folder: &Folder, times: usize) -> String {
    let octets = fs::read(shipped("nfs41")).unwrap();
    let (header, records) = octets.split_at(24);
    let mut file = File::create(folder.path("long.pcap")).unwrap();
    file.write_all(header).unwrap();
    (0..times).for_each(|_| file.write_all(records).unwrap());
    folder.path("long.pcap")
}

fn signal(child: u32, signal: &str) {
    assert!(Command::new("kill").args(["-s", signal, &child.to_string()]).status().unwrap().success());
}

#[test]
fn ctrl_c_while_reading_leaves_the_old_file() {
    let folder = Folder::new().with_page();
    for ((command, name), which) in COMMANDS.into_iter().zip(["INT", "TERM"].into_iter().cycle()) {
        if command == "view" {
            continue;
        }
        let path = folder.write(name, OLD);
        let before = [folder.names(), vec!["long.pcap".to_owned()]].concat();
        // How much can be read until the signal comes depends on the machine.
        let interrupted = [20, 100, 500].into_iter().any(|times| {
            let long = long_capture(&folder, times);
            let child = folder.command(command, &long, &path).stderr(Stdio::piped()).spawn().unwrap();
            // The file beside it appears when signals are handled.
            while folder.names().len() <= before.len() && fs::read(&path).is_ok_and(|octets| octets == OLD) {
                std::thread::sleep(Duration::from_millis(1));
            }
            signal(child.id(), which);
            let output = child.wait_with_output().unwrap();
            fs::remove_file(long).unwrap();
            if output.status.code() != Some(130) {
                fs::write(&path, OLD).unwrap();
                return false;
            }
            assert_eq!(stderr(&output), "rpcrdma: interrupted: no file was written\n", "{command}");
            true
        });
        assert!(interrupted, "{command} ends before a signal comes");
        assert_eq!(fs::read(&path).unwrap(), OLD, "{command}");
        assert_eq!([folder.names(), vec!["long.pcap".to_owned()]].concat(), before, "{command}");
    }
}

#[test]
fn ctrl_c_completes_the_file_while_a_stream_is_read() {
    let folder = Folder::new();
    let octets = fs::read(shipped("nfs41_callback")).unwrap();
    for (command, name) in COMMANDS {
        if command == "view" {
            continue;
        }
        let path = folder.write(name, OLD);
        // When all was read and the program waits for more depends on the machine.
        let is_complete = [300, 3000, 20_000].into_iter().any(|patience| {
            let mut child = folder.command(command, "-", &path);
            let mut child = child.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let mut stdin = child.stdin.take().unwrap();
            stdin.write_all(&octets).unwrap();
            std::thread::sleep(Duration::from_millis(patience));
            signal(child.id(), "INT");
            let output = child.wait_with_output().unwrap();
            drop(stdin);
            output.status.code() == Some(130) && fs::metadata(&path).unwrap().len() > 200
        });
        assert!(is_complete, "{command}");
        assert_eq!(folder.names().len(), 1, "{command}");
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_new_file_takes_the_place_of_the_old_one() {
    let folder = Folder::new().with_page();
    for (command, name) in COMMANDS {
        // Writes again where nothing was: that is what to expect.
        let (path, fresh) = (folder.write(name, OLD), folder.path(&format!("fresh-{name}")));
        let key = ["--key", &"07".repeat(32)];
        let write = |output: &str| {
            let mut written = folder.command(command, &shipped("nfs41_callback"), output);
            let written = ended(if command == "anonymize" { written.args(key) } else { &mut written });
            assert_eq!(written.status.code(), Some(0), "{command}: {}", stderr(&written));
            fs::read(output).unwrap()
        };
        let expected = write(&fresh);
        assert!(expected.len() > 200, "{command}");
        // The other name of the old file keeps it; so does its mode.
        fs::hard_link(&path, folder.path("other")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(write(&path) == expected, "{command}");
        assert_eq!(fs::read(folder.path("other")).unwrap(), OLD, "{command}");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o640, "{command}");
        // A symbolic link stays, and leads to the new file, also where there was none.
        let end = name.split_once('.').unwrap().1;
        let (link, missing) = (folder.path(&format!("link.{end}")), folder.path(&format!("missing.{end}")));
        for target in [&path, &missing] {
            symlink(Path::new(target).file_name().unwrap(), &link).unwrap();
            assert!(write(&link) == expected, "{command}");
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "{command}");
            assert!(fs::read(target).unwrap() == expected, "{command}");
            fs::remove_file(&link).unwrap();
        }
        // A name may have 255 octets.
        let long = folder.path(&format!("{}.{end}", "é".repeat(127 - end.len() / 2 - 1)));
        assert!(write(&long) == expected, "{command}");
        for written in [path, fresh, missing, long, folder.path("other")] {
            fs::remove_file(written).unwrap();
        }
        assert_eq!(folder.names(), ["page.html"], "{command}");
    }
}

#[test]
fn a_new_file_has_the_usual_mode() {
    let folder = Folder::new();
    for umask in ["022", "077"] {
        let path = folder.path(umask);
        let script = format!("umask {umask}; : >\"$1.other\"; exec \"$0\" export -q \"$2\" -o \"$1\"");
        let program = env!("CARGO_BIN_EXE_rpcrdma");
        ended(Command::new("sh").args(["-c", &script, program, &path, &shipped("nfs41_callback")]));
        let mode = |path: &str| fs::metadata(path).unwrap().mode();
        assert_eq!(mode(&path), mode(&format!("{path}.other")));
    }
}

#[test]
fn pipes_and_devices_are_written_to_directly() {
    let folder = Folder::new().with_page();
    let input = shipped("nfs41_callback");
    for (command, _) in COMMANDS {
        let mut same = folder.command(command, &input, "-");
        let key = ["--key", &"07".repeat(32)];
        let expected = ended(if command == "anonymize" { same.args(key) } else { &mut same }).stdout;
        assert!(expected.len() > 200, "{command}");
        let script = "mkfifo \"$1/fifo\"; cat \"$1/fifo\" >\"$1/from-fifo\" & shift; \"$0\" \"$@\"; wait";
        let fifo = folder.path("fifo");
        let mut arguments = folder.arguments(command, &input, &fifo);
        if command == "anonymize" {
            arguments.extend(key.map(str::to_owned));
        }
        let mut through = Command::new("sh");
        through.args(["-c", script, env!("CARGO_BIN_EXE_rpcrdma"), folder.0.to_str().unwrap()]);
        ended(through.args(arguments));
        assert!(fs::read(folder.path("from-fifo")).unwrap() == expected, "{command}");
        fs::remove_file(fifo).unwrap();
        // A file that is open already is not replaced: whoever opened it looks into it.
        let mut open = folder.command(command, &input, "/dev/stdout");
        let open = if command == "anonymize" { open.args(key) } else { &mut open };
        let file = File::create(folder.path("stdout")).unwrap();
        assert!(open.stdout(file.try_clone().unwrap()).status().unwrap().success(), "{command}");
        assert!(file.metadata().unwrap().nlink() == 1 && fs::read(folder.path("stdout")).unwrap() == expected);
        let null = ended(&mut folder.command(command, &input, "/dev/null"));
        assert_eq!(null.status.code(), Some(0), "{command}: {}", stderr(&null));
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        if Path::new("/dev/full").exists() {
            let full = ended(&mut folder.command(command, &input, "/dev/full"));
            assert_eq!(full.status.code(), Some(2), "{command}");
            assert!(stderr(&full).contains("/dev/full: No space left on device"), "{command}: {}", stderr(&full));
        }
    }
}

#[test]
fn a_damaged_input_gives_what_is_before_the_damage() {
    let folder = Folder::new();
    let octets = fs::read(shipped("nfs41_callback")).unwrap();
    let cut = folder.write("cut.pcap", &octets[..octets.len() - 5]);
    let path = folder.write("out.pcap", OLD);
    let output = run(&["export", &cut, "-o", &path]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains(" written"), "{}", stderr(&output));
    assert!(fs::metadata(&path).unwrap().len() > 200);
}
