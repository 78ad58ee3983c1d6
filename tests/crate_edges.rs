//! The architecture as a test: which crate may depend on which, which fields each crate must know nothing of, where
//! unsafe code is allowed, and how files begin and how long they are.
//!
//! `ARCHITECTURE.md` says the same for people, and has the crates' edges in a fenced block of lines like
//! `quadrille-sparql -> quadrille-store`; the two lists are compared with each other and with the manifests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// A crate's directory (the root package's is empty), what it may use of the workspace, and what it must not know.
struct Rule {
    name: &'static str,
    directory: &'static str,
    uses: &'static [&'static str],
    knows_nothing_of: &'static [&'static [&'static str]],
}

const RDF_SYNTAXES: &[&str] = &[
    "oxttl",
    "oxrdfxml",
    "oxjsonld",
    "oxrdfio",
    "rio_api",
    "rio_turtle",
    "sophia",
];
/// Of the syntaxes of RDF the queries' crate has what writes graphs, `oxrdfio`, and no other.
const OTHER_RDF_SYNTAXES: &[&str] = &[
    "oxttl",
    "oxrdfxml",
    "oxjsonld",
    "rio_api",
    "rio_turtle",
    "sophia",
];
const SPARQL: &[&str] = &[
    "spargebra",
    "sparopt",
    "spareval",
    "sparesults",
    "spargeo",
    "oxigraph",
];
const COMMAND_LINE: &[&str] = &["clap", "indicatif", "ctrlc", "console"];
const FILES: &[&str] = &[
    "memmap2", "rustix", "nix", "libc", "tempfile", "flate2", "zstd", "bzip2", "liblzma",
];

const RULES: &[Rule] = &[
    Rule {
        name: "quadrille-store",
        directory: "store",
        uses: &[],
        knows_nothing_of: &[RDF_SYNTAXES, SPARQL, COMMAND_LINE],
    },
    Rule {
        name: "quadrille-loader",
        directory: "loader",
        uses: &["quadrille-store"],
        knows_nothing_of: &[SPARQL, COMMAND_LINE],
    },
    Rule {
        name: "quadrille-sparql",
        directory: "sparql",
        uses: &["quadrille-store"],
        knows_nothing_of: &[OTHER_RDF_SYNTAXES, FILES, COMMAND_LINE],
    },
    Rule {
        name: "quadrille-reason",
        directory: "reason",
        uses: &["quadrille-store"],
        knows_nothing_of: &[RDF_SYNTAXES, SPARQL, FILES, COMMAND_LINE],
    },
    Rule {
        name: "quadrille-lubm",
        directory: "lubm",
        uses: &[
            "quadrille-loader",
            "quadrille-reason",
            "quadrille-sparql",
            "quadrille-store",
        ],
        knows_nothing_of: &[COMMAND_LINE],
    },
    Rule {
        name: "quadrille",
        directory: "",
        uses: &[
            "quadrille-loader",
            "quadrille-lubm",
            "quadrille-reason",
            "quadrille-sparql",
            "quadrille-store",
        ],
        knows_nothing_of: &[],
    },
];

/// What an embedding program gets without the command line; `spargebra` comes with `quadrille-sparql` in any case.
const EMBEDDED: &[&str] = &[
    "oxrdf",
    "quadrille-loader",
    "quadrille-reason",
    "quadrille-sparql",
    "quadrille-store",
    "spargebra",
];

/// The modules that may lift the ban on unsafe code, each for one reason that it states.
const UNSAFE_MODULES: &[&str] = &[
    // Calls functions that need SSE2.
    "loader/src/parse/scan.rs",
    // Maps the store's files.
    "store/src/io/file.rs",
];

/// A longer file says at its top why it is, with this number of lines in the sentence.
const LINES_MAX: usize = 800;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn manifest(directory: &str) -> Table {
    let path = root().join(directory).join("Cargo.toml");
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.parse()
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The package names of dependencies in the tables of these kinds, those for some targets only included.
fn dependencies(manifest: &Table, kinds: &[&str]) -> BTreeSet<String> {
    let of_targets = manifest.get("target").and_then(Value::as_table);
    let mut found = BTreeSet::new();
    let places = of_targets
        .into_iter()
        .flat_map(Table::values)
        .filter_map(Value::as_table)
        .chain([manifest]);
    for place in places {
        for kind in kinds {
            let Some(table) = place.get(*kind) else {
                continue;
            };
            for (key, value) in table.as_table().expect("dependencies are a table") {
                let renamed = value.get("package").and_then(Value::as_str);
                found.insert(renamed.unwrap_or(key).to_owned());
            }
        }
    }
    found
}

const SHIPPED: &[&str] = &["dependencies", "build-dependencies"];
const ALL: &[&str] = &["dependencies", "build-dependencies", "dev-dependencies"];

#[test]
fn every_member_of_the_workspace_has_a_rule() {
    let manifest = manifest("");
    let members: BTreeSet<String> = manifest["workspace"]["members"]
        .as_array()
        .expect("members are a list")
        .iter()
        .map(|member| {
            member
                .as_str()
                .expect("a member is a string")
                .replace('.', "")
        })
        .collect();
    let ruled: BTreeSet<String> = RULES.iter().map(|rule| rule.directory.to_owned()).collect();
    assert_eq!(members, ruled);
    for rule in RULES {
        let manifest = self::manifest(rule.directory);
        let name = manifest["package"]["name"].as_str().expect("a name");
        assert_eq!(name, rule.name, "{}", rule.directory);
    }
}

#[test]
fn crates_depend_on_each_other_one_way() {
    for rule in RULES {
        let manifest = manifest(rule.directory);
        for used in dependencies(&manifest, ALL) {
            assert!(
                !used.starts_with("quadrille") || rule.uses.contains(&used.as_str()),
                "{} depends on {used}: that is no edge of the architecture",
                rule.name
            );
        }
    }
    // What stands above uses only what stands below.
    for (place, rule) in RULES.iter().enumerate() {
        for used in rule.uses {
            let below = RULES[..place].iter().any(|other| other.name == *used);
            assert!(below, "{} -> {used} runs upwards", rule.name);
        }
    }
}

/// Tests may use anything as an oracle.
#[test]
fn crates_know_nothing_of_what_is_not_their_field() {
    for rule in RULES {
        let manifest = manifest(rule.directory);
        for package in dependencies(&manifest, SHIPPED) {
            let forbidden = rule
                .knows_nothing_of
                .iter()
                .any(|field| field.contains(&package.as_str()));
            assert!(!forbidden, "{} must not know {package}", rule.name);
        }
    }
}

#[test]
fn an_embedding_program_does_without_the_command_line() {
    let manifest = manifest("");
    let mut optional = BTreeSet::new();
    let mut required = BTreeSet::new();
    for (name, value) in manifest["dependencies"].as_table().expect("a table") {
        let is_optional = value
            .get("optional")
            .and_then(Value::as_bool)
            .unwrap_or(false);
        if is_optional {
            &mut optional
        } else {
            &mut required
        }
        .insert(name.clone());
    }
    assert_eq!(
        required,
        EMBEDDED.iter().map(|&name| name.to_owned()).collect()
    );
    let features = manifest["features"].as_table().expect("a table");
    let switched_on: BTreeSet<String> = features["cli"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|feature| feature.as_str().expect("a string").replace("dep:", ""))
        .collect();
    assert_eq!(
        switched_on, optional,
        "the feature `cli` switches on what is optional"
    );
    let program = &manifest["bin"][0];
    assert_eq!(program["required-features"], Value::from(vec!["cli"]));
}

#[test]
fn the_map_for_people_has_the_same_edges() {
    let path = root().join("ARCHITECTURE.md");
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut edges: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut in_fence = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        } else if in_fence
            && let Some((from, to)) = line.split_once(" ->")
            // Diagrams have arrows too; an edge begins with the name of a crate.
            && RULES.iter().any(|rule| rule.name == from.trim())
        {
            let to = to.split(',').map(str::trim).filter(|name| !name.is_empty());
            edges.entry(from.trim()).or_default().extend(to);
        }
    }
    let expected = RULES
        .iter()
        .map(|rule| (rule.name, rule.uses.iter().copied().collect()))
        .collect();
    assert_eq!(
        edges, expected,
        "lines like `quadrille-loader -> quadrille-store` in a fenced block of ARCHITECTURE.md"
    );
}

/// Every Rust file of the project, by its path from the root, with its text.
fn sources() -> Vec<(String, String)> {
    let mut sources = Vec::new();
    let mut directories: Vec<PathBuf> = RULES
        .iter()
        .flat_map(|rule| {
            ["src", "tests", "benches", "examples"]
                .map(|part| root().join(rule.directory).join(part))
        })
        .chain([root().join("fuzz")])
        .filter(|directory| directory.is_dir())
        .collect();
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).expect("a readable directory") {
            let path = entry.expect("a readable directory").path();
            if path.is_dir() && !path.ends_with("target") {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("a source is UTF-8");
                let name = path.strip_prefix(root()).expect("it is below the root");
                sources.push((name.display().to_string(), text));
            }
        }
    }
    sources.sort();
    assert!(
        sources.len() > 50,
        "the sources are not where they are looked for"
    );
    sources
}

#[test]
fn unsafe_code_stays_in_its_modules() {
    let workspace = manifest("");
    let lint = &workspace["workspace"]["lints"]["rust"]["unsafe_code"];
    assert_eq!(lint.as_str(), Some("deny"));
    for rule in RULES {
        let lints = manifest(rule.directory).get("lints").cloned();
        let inherited = lints.and_then(|lints| lints.get("workspace").and_then(Value::as_bool));
        assert_eq!(
            inherited,
            Some(true),
            "{} does not take the workspace's lints",
            rule.name
        );
    }
    // In two parts, so that this file is not a place of it.
    let lint = ["unsafe", "code"].join("_");
    let lifting: Vec<String> = sources()
        .into_iter()
        .filter(|(name, text)| !name.starts_with("tests/crate_edges") && text.contains(&lint))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(
        lifting, UNSAFE_MODULES,
        "the modules that lift the ban on unsafe code"
    );
}

#[test]
fn every_file_says_what_it_is() {
    let silent: Vec<String> = sources()
        .into_iter()
        .filter(|(_, text)| {
            !["//!", "#!["]
                .iter()
                .any(|beginning| text.starts_with(beginning))
        })
        .map(|(name, _)| name)
        .collect();
    assert!(
        silent.is_empty(),
        "these files do not begin with `//!`: {silent:#?}"
    );
}

#[test]
fn long_files_say_why() {
    let long: Vec<String> = sources()
        .into_iter()
        .filter(|(_, text)| text.lines().count() > LINES_MAX && !says_why(text))
        .map(|(name, text)| format!("{name}: {} lines", text.lines().count()))
        .collect();
    assert!(
        long.is_empty(),
        "split these, or say at their top why they are longer than {LINES_MAX} lines: {long:#?}"
    );
}

/// Whether the comment at the top has a sentence about the file's length.
fn says_why(text: &str) -> bool {
    let reason = format!("{LINES_MAX} lines");
    text.lines()
        .take_while(|line| line.starts_with("//"))
        .any(|line| line.contains(&reason))
}
