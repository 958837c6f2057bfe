//! Names of files in a form to paste into a shell.

use std::path::PathBuf;

/// The most octets of the names of files that a command repeats.
const NAMES: usize = 200;

/// The names of the files, quoted for a shell.
pub(crate) fn pasteable(files: &[PathBuf]) -> String {
    let word = |file: &PathBuf| {
        let name = file.to_string_lossy();
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./:=@%+,".contains(letter);
        match name.as_ref() {
            "-" => "FILE".to_owned(),
            name if !name.is_empty() && name.chars().all(is_plain) => name.to_owned(),
            name => format!("'{}'", name.replace('\'', r"'\''")),
        }
    };
    let names = files.iter().map(word).collect::<Vec<_>>().join(" ");
    if names.len() > NAMES { "FILE...".to_owned() } else { names }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_can_be_pasted() {
        let pasted = |names: &[&str]| pasteable(&names.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(pasted(&["a.pcap", "dir/b-2.pcap"]), "a.pcap dir/b-2.pcap");
        assert_eq!(pasted(&["my mount.pcap"]), "'my mount.pcap'");
        assert_eq!(pasted(&["it's; rm"]), r"'it'\''s; rm'");
        assert_eq!(pasted(&["-"]), "FILE");
        assert_eq!(pasted(&["long-name.pcap"; 20]), "FILE...");
    }
}
