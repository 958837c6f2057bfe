//! The words by which `--file` selects an RPC, from what the records of RPCs show, without the names of files that the dissector keeps.

use std::iter;

use serde_json::Value;

/// A file that records named.
#[derive(Clone)]
struct NamedFile {
    server: Value,
    /// The octets of its handle; null if no record shows them.
    handle: Value,
    name: String,
    /// The number of the folder's handle; null if no record shows the folder.
    folder: Value,
}

impl NamedFile {
    /// The words that `--file` takes: the name, and if the folder is known, the name with its folder.
    fn words(&self) -> Vec<String> {
        let number = self.folder.as_str();
        let folder = number.map(|number| format!("{} in {number} on {}", self.name, self.server.as_str().unwrap()));
        iter::once(self.name.clone()).chain(folder).collect()
    }
}

/// Adds to each record, as `file_words`, the words by which `--file` selects its RPC.
pub(super) fn add_file_words(records: &mut [Value]) {
    let mut files = Vec::new();
    for record in records {
        let server = record[if record["reverse"] == true { "requester" } else { "responder" }].clone();
        let arguments = record["arguments"].as_array().cloned().unwrap_or_default();
        for argument in &arguments {
            learn(&mut files, &server, argument, has_succeeded(record, argument));
        }
        let about = arguments.iter().find(|argument| is_main(record, argument)).or(arguments.last());
        let file = about.and_then(|argument| match name(argument, "file_name") {
            Some(name) => {
                let (server, folder) = (server.clone(), argument["handle"]["hash"].clone());
                Some(NamedFile { server, handle: Value::Null, name, folder })
            }
            None => files.iter().find(|file| file.server == server && file.handle == handle(argument)).cloned(),
        });
        record["file_words"] = file.map_or(Value::Null, |file| file.words().into());
    }
}

/// Returns true if the records show of each RPC whether these words select it: not if they have a folder, and RENAME gave their name to a file.
pub(super) fn is_decided(records: &[Value], words: &str) -> bool {
    let Some((name, _)) = words.split_once(" in ") else { return true };
    !records.iter().any(|record| record["file_words"] == Value::from(vec![name]))
}

fn handle(argument: &Value) -> Value {
    argument["handle"]["octets"].clone()
}

/// A name as a terminal shows it.
fn name(argument: &Value, field: &str) -> Option<String> {
    argument[field].as_str().map(|name| name.escape_debug().to_string())
}

fn operations(record: &Value) -> impl Iterator<Item = &Value> {
    record["operations"].as_array().into_iter().flatten()
}

/// Returns true if the operation of these arguments succeeded.
fn has_succeeded(record: &Value, argument: &Value) -> bool {
    match operations(record).find(|operation| operation["name"] == argument["name"]) {
        Some(operation) => operation["status"]["number"] == 0,
        None => record["nfs_status"]["number"] == 0,
    }
}

/// Returns true if these are the arguments of the operation that an RPC is about: `NFSv3 READ`, or `READ` of `NFSv4 READ`.
fn is_main(record: &Value, argument: &Value) -> bool {
    let (operation, name) =
        (record["operation"].as_str().unwrap_or_default(), argument["name"].as_str().unwrap_or_default());
    operation == name || operation.strip_prefix("NFSv4 ") == Some(name)
}

/// Takes the name that the arguments of an operation show: of a file whose handle the reply has, or of one that RENAME moved.
fn learn(files: &mut Vec<NamedFile>, server: &Value, argument: &Value, has_succeeded: bool) {
    let Some(shown) = name(argument, "file_name") else { return };
    let (named, folder) = (&argument["named_handle"]["octets"], &argument["handle"]["hash"]);
    if named.is_string() {
        files.retain(|file| file.server != *server || file.handle != *named);
        let (server, handle, folder) = (server.clone(), named.clone(), folder.clone());
        files.push(NamedFile { server, handle, name: shown, folder });
    } else if let Some(new) = name(argument, "new_file_name")
        && has_succeeded
        && let Some(file) =
            files.iter_mut().find(|file| file.server == *server && file.name == shown && file.folder == *folder)
    {
        // No record shows the new folder.
        (file.name, file.folder) = (new, Value::Null);
    }
}
