//! `--parquet`: what is in the tables, compared with JSON, and where they are.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test falls where its input is wrong"
)]

use std::process::{Command, Output, Stdio};

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rpcrdma"));
    command.args(arguments).stdin(Stdio::null()).output().unwrap()
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

#[test]
#[cfg(not(feature = "parquet"))]
fn a_program_without_the_feature_says_so() {
    let output = run(&["transactions", "--parquet", "dataset", "nfs.pcap"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("built without the feature parquet"), "{}", stderr(&output));
}

#[cfg(feature = "parquet")]
mod tables {
    use std::fs::{self, File};
    use std::io::Write;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use arrow_json::WriterBuilder;
    use arrow_json::writer::LineDelimited;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use parquet::basic::Compression;
    use serde_json::Value;

    use super::{run, stderr};

    /// The commands that write tables, the name of the table, and the type of its records.
    const COMMANDS: [(&str, &str, &str); 3] = [
        ("transactions", "transactions", "transaction"),
        ("decode", "messages", "message"),
        ("check", "findings", "finding"),
    ];

    /// The captures in this folder of the test data.
    fn captures(folder: &str) -> Vec<PathBuf> {
        let folder = format!("{}/../testdata/{folder}", env!("CARGO_MANIFEST_DIR"));
        let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let is_capture = |path: &PathBuf| path.extension().is_some_and(|extension| extension != "md");
        let mut captures: Vec<_> = paths.filter(is_capture).collect();
        captures.sort();
        assert!(captures.len() > 10);
        captures
    }

    fn capture(name: &str) -> PathBuf {
        captures("captures").into_iter().find(|path| path.file_stem().unwrap() == name).unwrap()
    }

    /// A directory for a test, which no other test has.
    fn directory(name: &str) -> PathBuf {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("parquet-{}-{name}", std::process::id()));
        _ = fs::remove_dir_all(&path);
        path
    }

    /// The files of a table of a capture, each with its partition.
    fn parts(dataset: &Path, table: &str, capture: &str) -> Vec<(String, PathBuf)> {
        let capture = dataset.join(table).join(format!("capture={capture}"));
        let mut parts = Vec::new();
        for hour in fs::read_dir(&capture).unwrap().map(|entry| entry.unwrap()) {
            let files = fs::read_dir(hour.path()).unwrap().map(|entry| entry.unwrap().path());
            parts.extend(files.map(|file| (hour.file_name().into_string().unwrap(), file)));
        }
        parts.sort();
        parts
    }

    /// The rows of a file as JSON.
    fn rows(path: &Path) -> Vec<Value> {
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
        for row_group in reader.metadata().row_groups() {
            assert!(row_group.columns().iter().all(|column| matches!(column.compression(), Compression::ZSTD(_))));
        }
        let mut lines = Vec::new();
        let mut writer = WriterBuilder::new().with_explicit_nulls(true).build::<_, LineDelimited>(&mut lines);
        reader.build().unwrap().for_each(|batch| writer.write(&batch.unwrap()).unwrap());
        writer.finish().unwrap();
        lines
            .split(|octet| *octet == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }

    /// The rows of a table, in the order of the records.
    fn table(dataset: &Path, table: &str, capture: &str) -> Vec<Value> {
        parts(dataset, table, capture).iter().flat_map(|(_, file)| rows(file)).collect()
    }

    /// The records of one type that a command writes as JSON, without what every record has.
    fn records(command: &str, path: &str, kind: &str) -> Vec<Value> {
        let output = run(&[command, "-q", "--json", path]);
        let objects = output.stdout.split(|octet| *octet == b'\n').filter(|line| !line.is_empty());
        let objects = objects.map(|line| serde_json::from_slice::<Value>(line).unwrap());
        let mut records: Vec<_> = objects.filter(|object| object["type"] == kind).collect();
        for record in &mut records {
            let fields = record.as_object_mut().unwrap();
            assert!(fields.remove("type").is_some() && fields.remove("schema") == Some(1.into()));
        }
        records
    }

    fn name(path: &Path) -> &str {
        path.file_name().unwrap().to_str().unwrap()
    }

    #[test]
    fn each_row_has_what_the_json_record_has() {
        let mut counts = [0; 3];
        for folder in ["captures", "captures/situations", "corpus/frames"] {
            let dataset = directory(&folder.replace('/', "-"));
            for path in captures(folder) {
                for (table, count) in COMMANDS.into_iter().zip(&mut counts) {
                    *count += compare(&dataset, &path, table);
                }
            }
        }
        assert!(counts.iter().all(|count| *count > 100), "{counts:?}");
    }

    /// Compares a table of a capture with JSON, and returns how many rows it has.
    fn compare(dataset: &Path, path: &Path, (command, kind, record): (&str, &str, &str)) -> usize {
        let text = path.to_str().unwrap();
        let output = run(&[command, "-q", "--parquet", dataset.to_str().unwrap(), text]);
        assert_eq!(&*output.stdout, b"", "{command} {text}");
        let (expected, found) = (records(command, text, record), table(dataset, kind, name(path)));
        assert_eq!(expected.len(), found.len(), "{command} {text}");
        let unmatched = expected.iter().find(|record| !found.contains(record));
        assert_eq!(unmatched, None, "{command} {text}");
        found.len()
    }

    #[test]
    fn each_row_is_in_the_file_of_its_hour() {
        let dataset = directory("hours");
        let path = capture("nfs41");
        // The capture takes 20 seconds: moved to before 01:00 UTC, it ends in the next hour.
        let mut octets = fs::read(&path).unwrap();
        let mut place = 24;
        let start = u32::from_le_bytes(octets[24..28].try_into().unwrap());
        let end_of_hour = 1_795_222_800;
        while place < octets.len() {
            let word = |at: usize| u32::from_le_bytes(octets[at..at + 4].try_into().unwrap());
            let (seconds, length) = (word(place), word(place + 8));
            octets[place..place + 4].copy_from_slice(&(seconds - start + end_of_hour - 10).to_le_bytes());
            place += 16 + length as usize;
        }
        let moved = directory("moved:1.pcap");
        fs::write(&moved, octets).unwrap();
        let output = run(&["decode", "--parquet", dataset.to_str().unwrap(), moved.to_str().unwrap()]);
        let escaped = name(&moved).replace(':', "%3A");
        assert!(stderr(&output).contains("rpcrdma: 138 rows in 2 files written: "), "{}", stderr(&output));
        let parts = parts(&dataset, "messages", &escaped);
        assert_eq!(
            parts.iter().map(|(hour, _)| hour.as_str()).collect::<Vec<_>>(),
            ["hour=2026-11-21T00", "hour=2026-11-21T01"]
        );
        let end = u64::from(end_of_hour) * 1_000_000_000;
        assert!(rows(&parts[0].1).iter().all(|row| row["time_ns"].as_u64().unwrap() < end));
        assert!(rows(&parts[1].1).iter().all(|row| row["time_ns"].as_u64().unwrap() >= end));
        fs::remove_file(moved).unwrap();
    }

    #[test]
    fn what_is_there_is_left_alone() {
        let dataset = directory("again");
        let path = capture("nfs3");
        let arguments = ["transactions", "-q", "--parquet", dataset.to_str().unwrap(), path.to_str().unwrap()];
        assert_eq!(run(&arguments).status.code(), Some(0));
        let before = table(&dataset, "transactions", "nfs3.pcap");
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).ends_with("capture=nfs3.pcap exists already\n"), "{}", stderr(&output));
        assert_eq!(table(&dataset, "transactions", "nfs3.pcap"), before);
        assert_eq!(fs::read_dir(dataset.join("transactions")).unwrap().count(), 1, "nothing temporary is left");
    }

    #[test]
    fn captures_read_in_parallel_are_in_one_dataset() {
        let dataset = directory("separate");
        let captures = captures("captures");
        let mut arguments = vec!["transactions", "-q", "--separate", "-j", "3", "--parquet", dataset.to_str().unwrap()];
        arguments.extend(captures.iter().map(|path| path.to_str().unwrap()));
        let output = run(&arguments);
        assert_eq!((&*output.stdout, stderr(&output)), (&b""[..], ""));
        for path in &captures {
            let expected = records("transactions", path.to_str().unwrap(), "transaction").len();
            assert_eq!(table(&dataset, "transactions", name(path)).len(), expected);
        }
    }

    /// Readers of a dataset want at least one file of each table.
    #[test]
    fn a_table_without_rows_has_a_file() {
        let dataset = directory("empty");
        let path = directory("empty.pcap");
        fs::write(&path, &fs::read(capture("nfs3")).unwrap()[..24]).unwrap();
        run(&["check", "-q", "--parquet", dataset.to_str().unwrap(), path.to_str().unwrap()]);
        let parts = parts(&dataset, "findings", name(&path));
        assert_eq!(parts.len(), 1);
        assert_eq!(parts[0].0, "hour=1970-01-01T00");
        assert_eq!(rows(&parts[0].1), Vec::<Value>::new());
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn what_is_no_capture_has_no_table() {
        let dataset = directory("unusable");
        let path = directory("unusable.pcap");
        fs::write(&path, "not a capture at all, but long enough").unwrap();
        let given = ["decode", "--parquet", dataset.to_str().unwrap()];
        // A pipe shows its faults only when it is read.
        let mut piped = Command::new(env!("CARGO_BIN_EXE_rpcrdma"));
        let piped = piped.args(given).arg("-").stdin(File::open(&path).unwrap()).output().unwrap();
        for output in [run(&[&given[..], &[path.to_str().unwrap()]].concat()), piped] {
            assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
            assert_eq!(fs::read_dir(dataset.join("messages")).unwrap().count(), 0);
        }
        fs::remove_file(path).unwrap();
    }

    #[test]
    #[cfg(unix)]
    fn ctrl_c_closes_the_files() {
        let octets = fs::read(capture("nfs41")).unwrap();
        for patience in [100, 1000, 10_000] {
            let dataset = directory("interrupted");
            let mut command = Command::new(env!("CARGO_BIN_EXE_rpcrdma"));
            command.args(["decode", "-q", "--parquet", dataset.to_str().unwrap(), "-"]);
            let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
            let mut stdin = child.stdin.take().unwrap();
            stdin.write_all(&octets).unwrap();
            std::thread::sleep(Duration::from_millis(patience));
            assert!(Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status().unwrap().success());
            assert_eq!(child.wait().unwrap().code(), Some(130));
            drop(stdin);
            if table(&dataset, "messages", "stdin").len() == 138 {
                return;
            }
        }
        panic!("the messages that were read are not in the table");
    }
}
