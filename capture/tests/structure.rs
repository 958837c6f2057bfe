//! The structure that ARCHITECTURE.md describes, read from the `use` lines of all packages: no file imports one that
//! imports it, directly or by way of others, and no folder imports one that comes after it, nor one beside it that imports it.
//! Between files, what a folder re-exports (`pub use`) counts as imported from where it is defined; between folders, from both.
//! Of a type that has its methods in several files, no file calls methods of a file that calls its methods.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Each package's folders and files, in the order in which a frame or a call goes through them: each may import those before it.
const LAYERS: [(&str, &[&str]); 11] = [
    (
        "core",
        &[
            "codes",
            "reader",
            "error",
            "sink",
            "prefix",
            "segment",
            "private_data",
            "lists",
            "message",
            "rpc",
            "v1",
            "v2",
            "rules",
            "endpoint",
        ],
    ),
    (
        "core/capi",
        &[
            "status",
            "argument",
            "configuration",
            "lists",
            "message",
            "message_v2",
            "private_data",
            "rpc",
            "rules",
            "endpoint",
            "requester",
            "responder",
            "direction",
            "channel",
            "names",
        ],
    ),
    (
        "capture/dissector",
        &[
            "file",
            "link",
            "carrier",
            "nfs",
            "rpc",
            "event",
            "session",
            "mount",
            "trace",
            "capture_end",
            "dissector",
            "witness",
            "events",
            "check",
            "input",
            "packets",
        ],
    ),
    (
        "capture/answers",
        &[
            "format",
            "operation_name",
            "file_names",
            "promises",
            "tries",
            "called",
            "gaps",
            "lines",
            "name_counts",
            "small_map",
            "operation_text",
            "record",
            "unanswered",
            "user",
            "messages",
            "transactions",
            "events",
            "stats",
            "findings",
            "top",
            "pending",
            "slow",
            "explain",
            "compare",
            "outliers",
            "trace",
            "export",
            "annotate",
            "anonymize",
            "selection",
            "connections",
            "diagnosis",
            "report",
            "record_fields",
            "summary",
            "record_types",
            "schema",
            "text_tables",
            "csv",
            "parquet",
        ],
    ),
    (
        "capture",
        &[
            "spool",
            "failure",
            "moment",
            "manual",
            "interrupt",
            "live",
            "wireshark",
            "replacement",
            "destination",
            "arguments",
            "dataset",
            "output",
            "notices",
            "filters",
            "deferred_items",
            "reading",
            "capture",
            "source",
            "judge",
            "conclusion",
            "commands",
        ],
    ),
    (
        "capture/viewer",
        &[
            "capture_files",
            "record_schemas",
            "fields",
            "names",
            "heading",
            "query",
            "source",
            "part",
            "row",
            "explaining",
            "filter",
            "packed",
            "saving",
            "diagnosis_words",
            "table",
            "groups",
            "notable",
            "parts",
            "findings",
            "traffic",
            "reading",
            "timeline",
            "typescript",
        ],
    ),
    (
        "core/firmware",
        &[
            "aarch64",
            "board",
            "digest",
            "random",
            "receives",
            "recorded",
            "decode",
            "replies",
            "stream",
            "output_fields",
            "client",
            "judge",
            "server",
            "connection",
        ],
    ),
    ("verbs-shim", &["verbs", "loopback", "rdma", "message", "trace", "driver", "endpoint"]),
    ("verbs-shim/tools", &["xdr", "echo", "nfs", "ping", "raw", "probe", "misbehave", "command_line", "bin"]),
    (
        "fuzz/gen",
        &["choices", "draft", "layout", "message", "case", "shapes", "defects", "read", "random", "shrink", "bin"],
    ),
    (
        "fuzz",
        &[
            "reference",
            "captures",
            "lists",
            "oracle",
            "wrap",
            "encapsulate",
            "script",
            "version_2",
            "bodies",
            "c_endpoints",
            "c_interface",
            "decode",
            "dumps",
            "files",
            "frames",
            "anonymize",
            "hostile",
            "round_trip",
            "segments",
        ],
    ),
];

/// A file as its module path: `link/mod.rs` is `["link"]`, `lib.rs` is the empty one.
type Module = Vec<String>;

struct Package {
    /// The imports of each file, as paths from the crate's root.
    imports: BTreeMap<Module, Vec<Module>>,
    /// Paths that `pub use` gives another name.
    names: BTreeMap<Module, Module>,
    /// The code of each file, without comments and tests.
    code: BTreeMap<Module, String>,
}

impl Package {
    fn read(name: &str) -> Self {
        let root = repository().join(name).join("src");
        let mut package = Self { imports: BTreeMap::new(), names: BTreeMap::new(), code: BTreeMap::new() };
        for path in sources(&root) {
            let mut module: Module = path
                .strip_prefix(&root)
                .unwrap()
                .with_extension("")
                .iter()
                .map(|part| part.to_str().unwrap().to_owned())
                .collect();
            module.pop_if(|stem| stem == "mod" || stem == "lib");
            package.file(module, &fs::read_to_string(path).unwrap());
        }
        package
    }

    fn file(&mut self, module: Module, text: &str) {
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let code = without_comments(text);
        let mut imports = Vec::new();
        for (is_public, path) in statements(&code) {
            let Some(path) = absolute(&module, &path) else { continue };
            if is_public {
                self.names.insert(join(&module, &path[path.len() - 1..]), path);
            } else {
                imports.push(path);
            }
        }
        self.code.insert(module.clone(), code);
        self.imports.insert(module, imports);
    }

    /// The file that has what a path names.
    fn file_of(&self, path: &[String]) -> Option<Module> {
        let file = (0..=path.len()).rev().find(|end| self.imports.contains_key(&path[..*end]))?;
        let named = path.get(..=file).and_then(|name| self.names.get(name));
        match named {
            Some(other) if *other != path[..=file] => self.file_of(&join(other, &path[file + 1..])),
            _ => Some(path[..file].to_vec()),
        }
    }

    /// Returns the files that each file imports.
    fn arrows(&self) -> BTreeMap<&Module, BTreeSet<Module>> {
        let arrow = |(from, paths): (_, &Vec<Module>)| {
            let to = paths.iter().filter_map(|path| self.file_of(path)).filter(|to| to != from && !to.is_empty());
            (from, to.collect())
        };
        self.imports.iter().map(arrow).collect()
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The packages in a folder and those below it: each folder with a `Cargo.toml`.
fn packages(folder: &Path) -> Vec<PathBuf> {
    let is_foreign = |path: &Path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with('.') || ["target", "node_modules", "src"].contains(&name)
    };
    let folders = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let inner = folders.filter(|path| path.is_dir() && !is_foreign(path)).flat_map(|path| packages(&path));
    let own = folder.join("Cargo.toml").exists().then(|| folder.to_owned());
    own.into_iter().chain(inner).collect()
}

#[test]
fn every_package_whose_files_import_each_other_has_layers() {
    let root = repository();
    let with_source = packages(&root).into_iter().filter(|package| package.join("src").exists());
    let layered: BTreeSet<_> = with_source
        .map(|package| package.strip_prefix(&root).unwrap().to_str().unwrap().to_owned())
        .filter(|name| Package::read(name).arrows().values().any(|to| !to.is_empty()))
        .collect();
    assert_eq!(layered, LAYERS.iter().map(|(name, _)| (*name).to_owned()).collect());
    assert_eq!(layered, NAMES.iter().map(|(name, _)| (*name).to_owned()).collect());
}

/// The source files in a folder and those below it.
fn sources(folder: &Path) -> Vec<PathBuf> {
    files(folder, "rs")
}

/// The files of a kind in a folder and those below it, except for what is built or installed there.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && !name.starts_with('.') && !["target", "node_modules"].contains(&name) {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|other| other == extension) {
            found.push(path);
        }
    }
    found
}

/// All source files of all packages, their tests, benchmarks and examples among them.
fn all_sources() -> Vec<PathBuf> {
    let packages = ["core", "capture", "verbs-shim", "fuzz"];
    packages.iter().flat_map(|package| sources(&repository().join(package))).collect()
}

/// Returns a file's code, without comments.
fn without_comments(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap()).collect::<Vec<_>>().join("\n")
}

fn join(module: &[String], path: &[String]) -> Module {
    [module, path].concat()
}

/// The paths of all `use` declarations, and of what is named in full elsewhere.
fn statements(code: &str) -> Vec<(bool, Module)> {
    let mut paths = Vec::new();
    for (at, _) in code.match_indices("use ") {
        if code[..at].ends_with(char::is_alphanumeric) {
            continue;
        }
        let line = code[..at].rsplit('\n').next().unwrap().trim();
        if !(line.is_empty() || line.starts_with("pub")) {
            continue;
        }
        let tree = code[at + 4..].split(';').next().unwrap();
        expand(&mut Vec::new(), tree, &mut |path| paths.push((!line.is_empty(), path)));
    }
    for (at, _) in code.match_indices("crate::") {
        let path = code[at..].split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).next().unwrap();
        let is_declared = code[..at].rsplit(';').next().unwrap().contains("use ");
        if !is_declared {
            paths.push((false, path.split("::").map(str::to_owned).filter(|part| !part.is_empty()).collect()));
        }
    }
    paths
}

/// The paths that a tree of imports stands for.
fn expand(before: &mut Module, tree: &str, take: &mut impl FnMut(Module)) {
    let tree = tree.trim();
    match tree.split_once('{') {
        Some((prefix, list)) => {
            let parts = prefix.split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned);
            let length = before.len();
            before.extend(parts);
            let (mut depth, mut from) = (0, 0);
            let list = list.rsplit_once('}').unwrap().0;
            for (at, c) in list.char_indices().chain([(list.len(), ',')]) {
                depth += i32::from(c == '{') - i32::from(c == '}');
                if c == ',' && depth == 0 {
                    expand(before, &list[from..at], take);
                    from = at + 1;
                }
            }
            before.truncate(length);
        }
        None if tree.is_empty() => {}
        None => {
            let name = tree.split(" as ").next().unwrap();
            let parts: Vec<_> =
                name.split("::").map(|part| part.trim().to_owned()).filter(|part| part != "self").collect();
            take(join(before, &parts));
        }
    }
}

/// The path from the crate's root; none if it belongs to another crate.
fn absolute(module: &[String], path: &[String]) -> Option<Module> {
    match path.first()?.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "super" => {
            let up = path.iter().take_while(|part| *part == "super").count();
            Some(join(&module[..module.len().checked_sub(up)?], &path[up..]))
        }
        "std" | "core" | "alloc" => None,
        first if first.starts_with("rpcrdma") => None,
        _ => Some(join(module, path)),
    }
}

fn shown(module: &[String]) -> String {
    module.join("/")
}

#[test]
fn no_file_imports_one_that_imports_it() {
    for (name, _) in LAYERS {
        let package = Package::read(name);
        let arrows = package.arrows();
        assert!(arrows.values().any(|to| !to.is_empty()), "{name}: imports were found");
        for from in arrows.keys() {
            let mut reached: BTreeSet<&Module> = BTreeSet::new();
            let mut next: Vec<&Module> = arrows[*from].iter().collect();
            while let Some(module) = next.pop() {
                if reached.insert(module) {
                    next.extend(arrows.get(module).into_iter().flatten());
                }
            }
            let back: Vec<String> =
                reached.iter().filter(|to| arrows[*to].contains(*from)).map(|to| shown(to)).collect();
            assert!(!reached.contains(from), "{name}: {} imports itself by way of {back:?}", shown(from));
        }
    }
}

/// The files and folders that stand beside each other and import each other, with what they import: a name counts as imported
/// from where it is defined and from where it was found, which may be a re-export.
fn circles(package: &Package) -> Vec<String> {
    let mut arrows: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    let parent = |name: &Module| name[..name.len() - 1].to_vec();
    let re_exports = package.names.iter().map(|(name, path)| (parent(name), path));
    let imports = package.imports.iter().flat_map(|(from, paths)| paths.iter().map(|path| (from.clone(), path)));
    for (from, path) in imports.chain(re_exports) {
        let found = (0..=path.len()).rev().find(|end| package.imports.contains_key(&path[..*end]));
        let found = found.map(|end| path[..end].to_vec());
        for to in [found, package.file_of(path)].into_iter().flatten() {
            let same = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
            if same < from.len() && same < to.len() {
                arrows.entry(from[..=same].to_vec()).or_default().insert(to[..=same].to_vec());
            }
        }
    }
    let is_circle = |from: &Module| {
        let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(module) = next.pop() {
            next.extend(arrows.get(module).into_iter().flatten().filter(|to| reached.insert(*to)));
        }
        reached.contains(from)
    };
    arrows
        .iter()
        .filter(|(from, _)| is_circle(from))
        .map(|(from, to)| {
            let to: Vec<String> = to.iter().map(|to| shown(to)).collect();
            format!("{} imports {}", shown(from), to.join(", "))
        })
        .collect()
}

#[test]
fn no_folder_imports_one_that_imports_it() {
    for (name, _) in LAYERS {
        let circles = circles(&Package::read(name));
        assert!(circles.is_empty(), "{name}: {circles:#?}");
    }
}

#[test]
fn no_folder_imports_one_that_comes_after_it() {
    for (name, layers) in LAYERS {
        let package = Package::read(name);
        let layer = |module: &[String]| {
            let place = layers.iter().position(|layer| module.first().is_some_and(|first| first == layer));
            place.unwrap_or_else(|| panic!("{name}: {} has no place in LAYERS", shown(module)))
        };
        for (from, to) in package.arrows() {
            if from.is_empty() || from[0] == "main" {
                continue;
            }
            let up: Vec<String> = to.iter().filter(|to| layer(to) > layer(from)).map(|to| shown(to)).collect();
            assert!(up.is_empty(), "{name}: {} imports {up:?}", shown(from));
        }
    }
}

/// The parts of the `impl` blocks of one type that stand in one file.
#[derive(Default)]
struct TypeMethods {
    defined: BTreeSet<String>,
    called: BTreeSet<String>,
}

/// Returns the name at the beginning of a text.
fn leading_name(text: &str) -> &str {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap()
}

/// Returns the methods that a text calls of its own type: `self.name()` and `Self::name()`.
fn own_calls(text: &str) -> impl Iterator<Item = &str> {
    let starts = ["self", "Self"].into_iter().flat_map(|word| text.match_indices(word));
    starts.filter_map(|(at, word)| {
        let rest = text[at + word.len()..].trim_start();
        let rest = rest.strip_prefix(if word == "self" { "." } else { "::" })?.trim_start();
        let name = leading_name(rest);
        rest[name.len()..].starts_with('(').then_some(name)
    })
}

/// Returns the `impl` blocks of a file, each with the name of the type.
fn implementations(code: &str) -> impl Iterator<Item = (&str, &str)> {
    code.split("\nimpl").skip(1).filter_map(|block| {
        let block = block.split("\n}").next().unwrap();
        let head = block.split(" {\n").next().unwrap();
        let of = head.rsplit(" for ").next().unwrap();
        let of = if of.starts_with('<') { of.split_once("> ")?.1 } else { of };
        Some((leading_name(of.trim_start()), block))
    })
}

/// Returns the types of a package that have methods in several files, with the methods in each file. A type is known by the
/// file that defines the type, and by the name.
fn divided_types(package: &Package) -> BTreeMap<(Module, &str), BTreeMap<&Module, TypeMethods>> {
    let mut divided: BTreeMap<_, BTreeMap<&Module, TypeMethods>> = BTreeMap::new();
    for (module, code) in &package.code {
        for (name, block) in implementations(code) {
            let import = package.imports[module].iter().find(|path| path.last().is_some_and(|last| last == name));
            let is_own = types(code).any(|own| own == name);
            let Some(owner) =
                (if is_own { Some(module.clone()) } else { import.and_then(|path| package.file_of(path)) })
            else {
                continue;
            };
            let methods = divided.entry((owner, name)).or_default().entry(module).or_default();
            methods.defined.extend(block.split("fn ").skip(1).map(|text| leading_name(text).to_owned()));
            methods.called.extend(own_calls(block).map(str::to_owned));
        }
    }
    divided.retain(|_, files| files.len() > 1);
    divided
}

/// Returns the files of one type that call each other's methods.
fn files_in_circles<'a>(files: &BTreeMap<&'a Module, TypeMethods>) -> Vec<&'a Module> {
    let calls = |from: &TypeMethods, to: &TypeMethods| from.called.iter().any(|name| to.defined.contains(name));
    let called = |from: &Module| {
        let to = files.iter().filter(move |(to, methods)| ***to != *from && calls(&files[from], methods));
        to.map(|(to, _)| *to).collect::<Vec<_>>()
    };
    let is_circle = |from: &&Module| {
        let (mut reached, mut next) = (BTreeSet::new(), vec![*from]);
        while let Some(module) = next.pop() {
            next.extend(called(module).into_iter().filter(|to| reached.insert(*to)));
        }
        reached.contains(from)
    };
    files.keys().copied().filter(is_circle).collect()
}

#[test]
fn no_file_of_a_type_calls_one_that_calls_it() {
    let mut found = Vec::new();
    for (name, _) in LAYERS {
        for ((_, type_name), files) in divided_types(&Package::read(name)) {
            let circle = files_in_circles(&files).into_iter();
            found.extend(circle.map(|file| format!("{name}: {type_name} in {}", shown(file))));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_circle_of_method_calls_is_found() {
    let mut package = Package { imports: BTreeMap::new(), names: BTreeMap::new(), code: BTreeMap::new() };
    let files = [
        ("state", "pub struct Shop;\n\nimpl Shop {\n    fn open(&self) {\n        self.count();\n    }\n}\n"),
        ("sale", "use crate::state::Shop;\n\nimpl Shop {\n    fn sell(&self) {\n        Self::pay();\n    }\n}\n"),
        ("money", "use crate::state::Shop;\n\nimpl Shop {\n    fn pay() {}\n    fn count(&self) {}\n}\n"),
        (
            "stock",
            "use crate::state::Shop;\n\nimpl Drop for Shop {\n    fn drop(&mut self) {\n        self.sell();\n    }\n}\n",
        ),
    ];
    for (name, text) in files {
        package.file(vec![name.to_owned()], text);
    }
    let circle = |package: &Package| {
        let divided = divided_types(package);
        let files: Vec<String> = divided.values().flat_map(files_in_circles).map(|file| shown(file)).collect();
        files.join(" ")
    };
    assert_eq!(circle(&package), "");
    package.file(vec!["money".to_owned()], "use crate::state::Shop;\n\nimpl Shop {\n    fn pay(&self) {\n        self.open();\n    }\n    fn count(&self) {}\n}\n");
    assert_eq!(circle(&package), "money state");
}

/// Each package, whose names of types are unique, with the files whose twins are told apart by their module's name: it is written
/// wherever one of them is used.
const NAMES: [(&str, &[&[&str]]); 11] = [
    ("core", &[&["v1", "v2/family_a", "v2/family_b"], &["endpoint/requester", "endpoint/responder"]]),
    ("core/capi", &[&["requester", "responder"]]),
    ("core/firmware", &[]),
    ("capture", &[]),
    ("capture/answers", &[]),
    ("capture/dissector", &[]),
    ("capture/viewer", &[]),
    ("verbs-shim", &[&["loopback", "rdma"]]),
    ("verbs-shim/tools", &[&["bin/nfs4-cp/main", "bin/rpcrdma-ping", "bin/rpcrdma-probe", "bin/rpcrdma-serve"]]),
    ("fuzz/gen", &[]),
    ("fuzz", &[]),
];

/// The names of the types that a file defines.
fn types(code: &str) -> impl Iterator<Item = &str> {
    code.lines().filter(|line| !line.starts_with(' ')).filter_map(|line| {
        let line =
            ["pub ", "pub(crate) ", "pub(super) "].iter().find_map(|start| line.strip_prefix(start)).unwrap_or(line);
        let name = ["struct ", "enum ", "trait ", "union ", "type "].iter().find_map(|kind| line.strip_prefix(kind))?;
        name.split(|c: char| !(c.is_alphanumeric() || c == '_')).next()
    })
}

#[test]
fn no_name_of_a_type_is_used_twice() {
    for (name, twins) in NAMES {
        let package = Package::read(name);
        let mut owners: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (module, code) in &package.code {
            types(code).for_each(|type_name| owners.entry(type_name).or_default().push(shown(module)));
        }
        assert!(!owners.is_empty(), "{name}: types were found");
        owners.retain(|_, files| {
            let are_twins = |group: &&[&str]| files.iter().all(|file| group.iter().any(|twin| file.starts_with(twin)));
            files.len() > 1 && !twins.iter().any(are_twins)
        });
        assert!(owners.is_empty(), "{name}: {owners:?}");
    }
}

/// The public types of a file that a feature gives another variant or public field, without `#[non_exhaustive]`: a program that
/// compiles without the feature might not compile with it.
fn changed_by_features(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut open, mut is_exhaustive, mut is_conditional) = ("", true, false);
    for line in code.lines() {
        let kind = ["pub struct ", "pub enum "].iter().find_map(|kind| line.strip_prefix(kind));
        match line.trim() {
            "#[non_exhaustive]" => is_exhaustive = false,
            text if text.starts_with("#[cfg(") => is_conditional = text.contains("feature"),
            text if text.starts_with("#[") => {}
            _ if kind.is_some() => open = kind.filter(|_| is_exhaustive).unwrap_or_default(),
            "}" if line == "}" => (open, is_exhaustive) = ("", true),
            text => {
                let is_reachable = text.starts_with("pub ") || text.starts_with(char::is_uppercase);
                if is_conditional && is_reachable && !open.is_empty() {
                    found.push(open);
                }
                is_conditional = false;
            }
        }
    }
    found
}

#[test]
fn no_feature_adds_to_an_exhaustive_type() {
    for (name, _) in LAYERS {
        for (module, code) in &Package::read(name).code {
            assert_eq!(changed_by_features(code), [""; 0], "{name}: {}", shown(module));
        }
    }
    let code = "pub enum Version {\n    One,\n    #[cfg(feature = \"two\")]\n    Two,\n}\n";
    assert_eq!(changed_by_features(code), ["Version {"]);
    assert_eq!(changed_by_features(&format!("#[non_exhaustive]\n{code}")), [""; 0]);
}

/// Packages whose functions take no group of parameters as a tuple: a structure gives each a name.
const WITHOUT_TUPLES: [&str; 11] = [
    "core",
    "capture/dissector",
    "capture/answers",
    "capture",
    "capture/viewer",
    "core/capi",
    "core/firmware",
    "verbs-shim",
    "verbs-shim/tools",
    "fuzz/gen",
    "fuzz",
];

/// The text up to the bracket that closes the first one, which is left out.
fn bracketed(text: &str) -> &str {
    let mut depth = 1;
    let end = text.find(|c| {
        depth += i32::from("([{".contains(c)) - i32::from(")]}".contains(c));
        depth == 0
    });
    &text[..end.unwrap_or(text.len())]
}

/// Returns true if a list of parameters has a tuple, as a pattern or as a type. What a closure returns may be a tuple, and entries of a
/// slice, a vector or an iterator, such as names with counts.
fn has_tuple(parameters: &str) -> bool {
    parameters.match_indices('(').any(|(at, _)| {
        let (before, inside) = (parameters[..at].trim_end(), bracketed(&parameters[at + 1..]));
        let is_named = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let is_entry = before.ends_with(['[', '=']) || ["Vec<", "->"].iter().any(|end| before.ends_with(end));
        // The parentheses of a function's type, such as `FnOnce(u64)`, follow a name.
        let mut depth = 0;
        let has_comma = inside.chars().any(|c| {
            depth += i32::from("([{<".contains(c)) - i32::from(")]}>".contains(c));
            c == ',' && depth == 0
        });
        has_comma && !is_named && !is_entry
    })
}

/// The functions of a file that take a tuple.
fn functions_with_tuples(code: &str) -> Vec<&str> {
    let functions = code.match_indices("fn ").filter(|(at, _)| !code[..*at].ends_with(|c: char| c.is_alphanumeric()));
    let functions = functions.filter_map(|(at, _)| {
        let declaration = &code[at + 3..];
        let name = declaration.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap();
        let rest = &declaration[name.len()..];
        let parameters = if rest.starts_with('<') { rest.split_once(">(")?.1 } else { rest.strip_prefix('(')? };
        has_tuple(bracketed(parameters)).then_some(name)
    });
    functions.collect()
}

#[test]
fn no_function_takes_a_tuple() {
    for name in WITHOUT_TUPLES {
        let package = Package::read(name);
        let files = package.code.iter().filter(|(module, _)| module.last().is_none_or(|file| file != "tests"));
        for (module, code) in files {
            assert_eq!(functions_with_tuples(code), [""; 0], "{name}: {}", shown(module));
        }
    }
    let code = "fn a((x, y): (u32, u32)) {}\nfn b<T: Fn(T)>(at: Option<(T, u32)>) {}\n\
        fn c(of: &[(u32, u32)], run: impl FnOnce(u32, (u32)), all: impl Iterator<Item = (u32, u32)>) -> (u32, u32) {}\n\
        fn d(Place(x, y): Place, unit: ()) {}\n";
    assert_eq!(functions_with_tuples(code), ["a", "b"]);
}

/// The trees of the `use` declarations of a file, each with the spaces before it.
fn declarations(code: &str) -> impl Iterator<Item = (usize, &str)> {
    code.match_indices("use ").filter_map(|(at, _)| {
        let before = code[..at].rsplit('\n').next().unwrap();
        let is_declaration = matches!(before.trim(), "" | "pub" | "pub(crate)" | "pub(super)");
        is_declaration.then(|| (before.len() - before.trim_start().len(), code[at + 4..].split(';').next().unwrap()))
    })
}

#[test]
fn no_import_gives_another_name() {
    let mut checked = 0;
    for path in all_sources() {
        for (_, tree) in declarations(&without_comments(&fs::read_to_string(&path).unwrap())) {
            let other = tree.split(" as ").skip(1).find(|name| !name.starts_with('_'));
            assert_eq!(other, None, "{}: {tree}", path.display());
            checked += 1;
        }
    }
    assert!(checked > 1000, "{checked} imports were found");
}

/// Of the `use` lines of a file, or of a module or a function in it: those of the standard library stand first, then those
/// of other packages, then the package's own.
#[test]
fn imports_stand_in_one_order() {
    let mut checked = 0;
    for path in all_sources() {
        let code = without_comments(&fs::read_to_string(&path).unwrap());
        let own: Vec<&str> = code.lines().filter_map(|line| line.split_once("mod ")?.1.strip_suffix(';')).collect();
        // The group of the last import of each block that is open, by the spaces before it.
        let mut last: BTreeMap<usize, usize> = BTreeMap::new();
        for line in code.lines() {
            let text = line.trim_start();
            let spaces = line.len() - text.len();
            if text.starts_with('}') {
                last.retain(|inside, _| *inside <= spaces);
            }
            let Some(tree) = text.strip_prefix("use ") else { continue };
            let root = tree.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap();
            let group = match root {
                "std" | "core" | "alloc" => 0,
                "crate" | "super" | "self" => 2,
                root if own.contains(&root) || root.starts_with(char::is_uppercase) => 2,
                _ => 1,
            };
            let before = last.insert(spaces, group).unwrap_or_default();
            assert!(before <= group, "{}: {line}", path.display());
            checked += 1;
        }
    }
    assert!(checked > 1000, "{checked} imports were found");
}

/// The files that a file declares as modules (`mod name;`), with a path of its own or not.
fn declared(file: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(file).unwrap();
    let stem = file.file_stem().unwrap();
    let folder =
        if stem == "main" || stem == "mod" { file.parent().unwrap().to_owned() } else { file.with_extension("") };
    without_comments(&text)
        .lines()
        .filter_map(|line| line.trim().strip_suffix(';')?.rsplit_once("mod ").map(|(_, name)| name.to_owned()))
        .flat_map(|name| [folder.join(format!("{name}.rs")), folder.join(name).join("mod.rs")])
        .filter(|path| path.exists())
        .flat_map(|path| [declared(&path), vec![path]].concat())
        .collect()
}

/// Cargo takes each file in `tests` for a program, but no file in a folder there: a file that is not declared is not run.
#[test]
fn every_file_of_a_suite_is_in_it() {
    let suites = ["core", "capture", "verbs-shim", "verbs-shim/tools"];
    for folder in suites.map(|package| repository().join(package).join("tests/suite")) {
        let declared = declared(&folder.join("main.rs"));
        let left_out: Vec<_> = sources(&folder)
            .into_iter()
            .filter(|file| !file.ends_with("main.rs") && !declared.contains(file))
            .collect();
        assert!(left_out.is_empty(), "no `mod` declares {left_out:?}");
    }
}

/// Most words of a test's name, which is one statement.
const TEST_NAME_WORDS: usize = 10;

/// The names of a file's tests.
fn test_names(code: &str) -> impl Iterator<Item = &str> {
    let mut lines = code.lines();
    core::iter::from_fn(move || {
        lines.find(|line| line.trim() == "#[test]")?;
        let (_, function) = lines.find_map(|line| line.split_once("fn "))?;
        function.split('(').next()
    })
}

#[test]
fn no_test_name_has_more_than_ten_words() {
    for path in all_sources() {
        for name in test_names(&fs::read_to_string(&path).unwrap()) {
            assert!(name.split('_').count() <= TEST_NAME_WORDS, "{name} in {}", path.display());
        }
    }
    let code = "    #[test]\n    #[cfg(unix)]\n    fn it_works() {\n}\nfn helper(x: u8) {}\n#[test]\nfn it_ends() {\n";
    assert_eq!(test_names(code).collect::<Vec<_>>(), ["it_works", "it_ends"]);
}

/// Most characters in a line of a paragraph in Markdown.
const MARKDOWN_WIDTH: usize = 132;

/// The lines of a document's paragraphs and lists, without code, tables, headings and HTML.
fn paragraph_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let line = line.trim_start();
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence && !line.starts_with(['|', '#', '<'])
    })
}

#[test]
fn paragraphs_are_wrapped_at_one_width() {
    let root = repository();
    // These list changes and results of tests.
    let is_list = |path: &PathBuf| ["CHANGELOG.md", "CONFORMANCE.md"].iter().any(|name| path.ends_with(name));
    for path in files(&root, "md").iter().filter(|path| !is_list(path)) {
        let text = fs::read_to_string(path).unwrap();
        let long = paragraph_lines(&text).find(|line| line.chars().count() > MARKDOWN_WIDTH);
        assert_eq!(long, None, "{}", path.display());
    }
    let text = "# One\n\ntwo\n- three\n```sh\nfour\n```\n| five |\nsix\n";
    assert_eq!(paragraph_lines(text).collect::<Vec<_>>(), ["", "two", "- three", "six"]);
}

/// The settings of a profile in a `Cargo.toml`.
fn profile(folder: &str, name: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(repository().join(folder).join("Cargo.toml")).unwrap();
    let heading = format!("[profile.{name}]");
    let lines = text.lines().skip_while(|line| *line != heading).skip(1).take_while(|line| !line.starts_with('['));
    lines.filter(|line| line.contains(" = ")).map(str::to_owned).collect()
}

/// A proof, a size or an instruction count holds for what is packaged. Workspaces that only build such things have no profile
/// `dist`: their `release` is linked in the same way.
#[test]
fn proofs_and_measurements_link_like_the_packages() {
    let dist = profile("", "dist");
    assert!(dist.contains("lto = \"fat\""), "{dist:?}");
    assert_eq!(profile("", "bench"), BTreeSet::from(["inherits = \"dist\"".to_owned()]));
    for folder in ["core/no-panic", "core/firmware", "core/capi/link"] {
        let release = profile(folder, "release");
        // The level is no matter of linking: firmware has one for size.
        for setting in
            dist.iter().filter(|setting| !setting.starts_with("inherits") && !setting.starts_with("opt-level"))
        {
            assert!(release.contains(setting), "{folder}: {setting}");
        }
    }
}

/// Limits on the doc comments of a folder. Limits only go down, to `AIM` and no file.
struct Prose {
    folder: &'static str,
    /// Highest share of sentences with a word of `PRONOUNS`, in per cent.
    percent: usize,
    /// Highest number of files with a share above `FILE_PERCENT`.
    files: usize,
}

const PROSE: [Prose; 18] = [
    Prose { folder: "core/src", percent: AIM, files: 0 },
    Prose { folder: "core/capi", percent: AIM, files: 0 },
    Prose { folder: "capture/dissector/src", percent: AIM, files: 0 },
    Prose { folder: "capture/dissector/src/file", percent: AIM, files: 0 },
    Prose { folder: "capture/dissector/src/input", percent: AIM, files: 0 },
    Prose { folder: "capture/dissector/src/link", percent: AIM, files: 0 },
    Prose { folder: "capture/dissector/src/carrier", percent: AIM, files: 0 },
    Prose { folder: "capture/dissector/src/check", percent: AIM, files: 0 },
    Prose { folder: "capture/dissector/src/rpc", percent: AIM, files: 0 },
    Prose { folder: "capture/dissector/src/nfs", percent: AIM, files: 0 },
    Prose { folder: "capture/dissector/src/mount", percent: AIM, files: 0 },
    Prose { folder: "capture/dissector/src/session", percent: AIM, files: 0 },
    Prose { folder: "capture/answers", percent: AIM, files: 0 },
    Prose { folder: "capture/src", percent: AIM, files: 0 },
    Prose { folder: "capture/viewer", percent: AIM, files: 0 },
    Prose { folder: "verbs-shim/src", percent: 12, files: 0 },
    Prose { folder: "verbs-shim/tools", percent: 12, files: 0 },
    Prose { folder: "fuzz", percent: 12, files: 0 },
];

/// Share that each folder has to reach, in per cent.
const AIM: usize = 12;
/// Words that stand for a noun, which a comment that is read alone does not have.
const PRONOUNS: [&str; 5] = ["it", "its", "those", "them", "they"];
/// Highest share of such sentences in a file, in per cent, if the file has at least `FILE_SENTENCES`.
const FILE_PERCENT: usize = 20;
const FILE_SENTENCES: usize = 8;

/// Sentences of doc comments, and the number of them with a word of `PRONOUNS`.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct SentenceCount {
    all: usize,
    with_pronoun: usize,
}

impl SentenceCount {
    fn is_above(self, percent: usize) -> bool {
        self.with_pronoun * 100 > percent * self.all
    }
}

/// The words of each doc comment of a file, without code blocks.
fn doc_comments(text: &str) -> Vec<Vec<&str>> {
    let mut comments = vec![Vec::new()];
    let mut in_code = false;
    for line in text.lines().map(str::trim) {
        match line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) {
            Some(words) if words.trim_start().starts_with("```") => in_code = !in_code,
            Some(words) if !in_code => comments.last_mut().unwrap().extend(words.split_whitespace()),
            Some(_) => {}
            None => {
                in_code = false;
                comments.push(Vec::new());
            }
        }
    }
    comments
}

/// Counts the sentences of more than two words. A full stop, semicolon or colon ends a sentence.
fn count_sentences(text: &str) -> SentenceCount {
    let is_pronoun = |part: &str| PRONOUNS.iter().any(|pronoun| part.eq_ignore_ascii_case(pronoun));
    let has_pronoun = |word: &&str| word.split(|c: char| !c.is_alphanumeric() && c != '_').any(is_pronoun);
    let mut count = SentenceCount::default();
    for comment in doc_comments(text) {
        for sentence in comment.split_inclusive(|word| word.ends_with(['.', ';', ':'])).filter(|words| words.len() > 2)
        {
            count.all += 1;
            count.with_pronoun += usize::from(sentence.iter().any(has_pronoun));
        }
    }
    count
}

#[test]
fn sentences_of_comments_name_their_subject() {
    let root = repository();
    let is_test = |path: &PathBuf| {
        let path = path.strip_prefix(&root).unwrap();
        path.components().any(|part| part.as_os_str() == "tests") || path.to_str().unwrap().ends_with("tests.rs")
    };
    let mut wrong = Vec::new();
    for limit in PROSE {
        let mut total = SentenceCount::default();
        let mut leaning = Vec::new();
        for path in sources(&repository().join(limit.folder)).into_iter().filter(|path| !is_test(path)) {
            let count = count_sentences(&fs::read_to_string(&path).unwrap());
            total.all += count.all;
            total.with_pronoun += count.with_pronoun;
            if count.all >= FILE_SENTENCES && count.is_above(FILE_PERCENT) {
                leaning.push(format!("{}: {count:?}", path.display()));
            }
        }
        assert!(total.all > 40, "{}: {total:?}", limit.folder);
        if total.is_above(limit.percent) {
            wrong.push(format!("{}: {total:?}, more than {} %", limit.folder, limit.percent));
        }
        if leaning.len() > limit.files {
            let count = leaning.len();
            wrong.push(format!("{}: {count} files, more than {}: {leaning:#?}", limit.folder, limit.files));
        }
        // The table follows what is reached, so that nothing grows again.
        let is_loose = limit.percent > AIM && !total.is_above(limit.percent - 3);
        if is_loose || leaning.len() + 5 < limit.files {
            wrong.push(format!("{}: lower the limits to {total:?}, {} files", limit.folder, leaning.len()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_pronoun_counts_in_sentences_outside_of_code() {
    let text = "/// Takes it; keeps its\n/// size and limits. Uses them:\n/// ```\n/// // Where it is now.\n/// ```\n\
        fn it() {}\n/// An item of itself. Gives It up.\n";
    assert_eq!(count_sentences(text), SentenceCount { all: 3, with_pronoun: 2 });
}

/// The documented functions that return `bool` and whose documentation has no "returns true" or "returns false".
fn find_conditions_without_result(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut comment: Vec<&str> = Vec::new();
    let mut function = None;
    for line in text.lines().map(str::trim) {
        if let Some(words) = line.strip_prefix("///") {
            comment.extend(words.split_whitespace());
            continue;
        }
        if line.starts_with("#[") {
            continue;
        }
        if let Some((before, rest)) = line.split_once("fn ")
            && before.split_whitespace().all(|word| word.starts_with("pub") || ["const", "unsafe"].contains(&word))
        {
            function = rest.split(['(', '<']).next().map(|name| (name, core::mem::take(&mut comment).join(" ")));
        }
        comment.clear();
        if line.ends_with(['{', ';'])
            && let Some((name, comment)) = function.take()
        {
            let is_condition = line.trim_end_matches(['{', ';', ' ']).ends_with("-> bool");
            let has_result = ["eturns true", "eturns false"].iter().any(|words| comment.contains(words));
            found.extend((is_condition && !comment.is_empty() && !has_result).then_some(name));
        }
    }
    found
}

#[test]
fn conditions_are_documented_in_one_way() {
    let is_test = |path: &PathBuf| path.components().any(|part| part.as_os_str() == "tests");
    let mut wrong = Vec::new();
    for folder in ["core", "capture", "verbs-shim", "fuzz", "testdata"] {
        for path in sources(&repository().join(folder)).into_iter().filter(|path| !is_test(path)) {
            let text = fs::read_to_string(&path).unwrap();
            wrong
                .extend(find_conditions_without_result(&text).iter().map(|name| format!("{}: {name}", path.display())));
        }
    }
    assert!(wrong.is_empty(), "write \"Returns true if\": {}", wrong.join("\n"));
}

#[test]
fn a_condition_needs_its_result_in_the_comment() {
    let text = "/// True if it is.\npub const fn is(self) -> bool {\n/// Returns\n/// true if so.\n#[must_use]\nfn so(\n) -> bool {\n\
                fn bare() -> bool {\n/// Calls `f`.\nfn call(f: fn() -> bool) {";
    assert_eq!(find_conditions_without_result(text), ["is"]);
}
