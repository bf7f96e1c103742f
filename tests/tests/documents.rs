//! Checks the references in the documents: each file, heading, test and page of rustdoc that they mention must exist.
//! Some of what they say is compared with the code: tables of errors, exit codes, counts, and the Redis key of the
//! README's first example.
//!
//! A test is named in two ways: by a link, `` [`its_name`](path/of/the/file.rs) ``, and by its name alone (four words
//! or more), which some file must then define.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use auto_mutex::{Client, Config, LockError, auto_mutex};
use auto_mutex_tests::redis::Redis;

/// The tables in which each row is shown by a test.
const MIGRATION: &str = "tests/tests/migration.md";

/// The list in which each promise is shown by tests.
const GUARANTEES: &str = "docs/guarantees.md";

/// Every Rust and Markdown file of the project, by its path with a leading `/`, so that a file can be found by the end
/// of its path.
struct Tree(BTreeMap<String, String>);

static TREE: LazyLock<Tree> = LazyLock::new(Tree::read);

/// The names of all functions.
static FUNCTIONS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    let programs = TREE.0.iter().filter(|(path, _)| path.ends_with(".rs"));
    let names = programs.flat_map(|(_, text)| text.split("fn ").skip(1));
    names
        .filter_map(|rest| Some(rest.split_once('(')?.0))
        .collect()
});

impl Tree {
    fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let (mut files, mut folders) = (BTreeMap::new(), vec![root.to_owned()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy();
                let extension = path.extension().unwrap_or_default();
                if path.is_dir() && name != "target" && !name.starts_with('.') {
                    folders.push(path);
                } else if path.is_symlink() {
                    // The published crates include files by symlinks. Each file is read at its own path only.
                } else if extension == "rs" || extension == "md" {
                    let relative = path.strip_prefix(root).unwrap().display();
                    files.insert(format!("/{relative}"), fs::read_to_string(&path).unwrap());
                }
            }
        }
        Self(files)
    }

    /// The documents, by their paths from the root.
    fn documents(&self) -> impl Iterator<Item = (&str, &str)> {
        let document = |path: &str| path.ends_with(".md") && !path.starts_with("/tests/");
        self.0
            .iter()
            .filter(move |(path, _)| document(path))
            .map(|(path, text)| (&path[1..], text.as_str()))
    }

    fn has_file_ending_in(&self, end: &str) -> bool {
        self.0.keys().any(|path| path.ends_with(&format!("/{end}")))
    }

    fn defines(function: &str) -> bool {
        FUNCTIONS.contains(function)
    }
}

fn defines(text: &str, function: &str) -> bool {
    text.contains(&format!("fn {function}("))
}

/// The lines of a document that are prose: no code between fences.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// The links of a line: text and target.
fn links(line: &str) -> impl Iterator<Item = (&str, &str)> {
    line.match_indices("](").filter_map(|(at, _)| {
        let (text, target) = (&line[..at], &line[at + 2..]);
        Some((
            &text[text.rfind('[')? + 1..],
            &target[..target.find([')', ' '])?],
        ))
    })
}

/// The texts between backticks.
fn code(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Returns `span`, a text between backticks, if it may be the name of a test.
fn test_name(span: &str) -> Option<&str> {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    (span.chars().all(word) && span.split('_').filter(|word| !word.is_empty()).count() >= 4)
        .then_some(span)
}

/// The anchor that a heading gets.
fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    heading
        .trim_start_matches('#')
        .trim()
        .chars()
        .filter(kept)
        .map(|c| if c == ' ' { '-' } else { c })
        .flat_map(char::to_lowercase)
        .collect()
}

/// Returns what is wrong with a link to a page that rustdoc makes, by its path below `auto_mutex/`.
fn broken_page(tree: &Tree, page: &str) -> Option<String> {
    let (page, heading) = page.split_once('#').unwrap_or((page, ""));
    let found = match page.trim_end_matches("index.html").trim_end_matches('/') {
        "" => {
            let headings = tree.0["/runtime/src/lib.rs"]
                .lines()
                .filter_map(|line| line.strip_prefix("//! #"));
            heading.is_empty() || headings.into_iter().any(|it| anchor(it) == heading)
        }
        "_guide" => true,
        page => match (
            page.strip_prefix("_guide/"),
            page.strip_suffix(".html").and_then(|it| it.split_once('.')),
        ) {
            (Some(chapter), _) => tree
                .0
                .contains_key(&format!("/runtime/src/guide/{chapter}.md")),
            (None, Some(("attr", name))) => {
                tree.0.contains_key(&format!("/macros/src/docs/{name}.md"))
            }
            (None, Some((kind, name))) => {
                // Of an item in a module, only the last folder is the kind.
                let kind = kind.rsplit('/').next().unwrap_or(kind);
                let item = format!("pub {kind} {name}");
                let items = include_str!("../../docs/api.txt").lines();
                items.into_iter().any(|line| line.trim().starts_with(&item))
            }
            (None, None) => false,
        },
    };
    (!found).then(|| format!("rustdoc makes no page {page}#{heading}"))
}

/// Returns what is wrong with a link of `document`, if anything.
fn broken(tree: &Tree, document: &str, text: &str, target: &str) -> Option<String> {
    let of_attributes = document
        .starts_with("macros/")
        .then(|| target.strip_prefix("../auto_mutex/"));
    let published = target.strip_prefix("https://docs.rs/auto-mutex/latest/auto_mutex/");
    if let Some(page) = published.or(of_attributes.flatten()) {
        return broken_page(tree, page);
    }
    // Rustdoc checks its own links (`macro@…`, `crate::…`) and pages.
    if ["://", "@", "::", ".html"]
        .iter()
        .any(|part| target.contains(part))
    {
        return None;
    }
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let folder = Path::new(document).parent().unwrap();
    let mut path = PathBuf::from("/");
    for part in folder.join(file).iter() {
        if part == ".." {
            path.pop();
        } else {
            path.push(part);
        }
    }
    let key = if file.is_empty() {
        format!("/{document}")
    } else {
        path.display().to_string()
    };
    let Some(content) = tree.0.get(&key) else {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        return (!root.join(&key[1..]).exists()).then(|| format!("there is no {key}"));
    };
    let headings = || prose(content).filter(|(_, line)| line.starts_with('#'));
    if !heading.is_empty() && !headings().any(|(_, line)| anchor(line) == heading) {
        return Some(format!("{key} has no heading #{heading}"));
    }
    let name = text.strip_prefix('`')?.strip_suffix('`')?;
    let test = key.ends_with(".rs") && !name.contains(['/', '.']);
    (test && !defines(content, name)).then(|| format!("{key} has no test {name}"))
}

#[test]
fn what_the_documents_name_is_there() {
    let tree = &*TREE;
    let (mut wrong, mut names) = (Vec::new(), 0);
    for (document, text) in tree.documents() {
        for (number, line) in prose(text) {
            let mut report =
                |what: String| wrong.push(format!("{document}:{}: {what}", number + 1));
            for (text, target) in links(line) {
                broken(tree, document, text, target).map(&mut report);
            }
            for span in code(line) {
                let file = [".rs", ".md"].iter().any(|end| span.ends_with(end));
                if file && !span.contains([' ', '*']) && !tree.has_file_ending_in(span) {
                    report(format!("there is no {span}"));
                }
                if let Some(name) = test_name(span) {
                    names += 1;
                    if !Tree::defines(name) {
                        report(format!("nothing is called {name}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
    assert!(
        names > 30,
        "only {names} tests are named: are the documents read at all?"
    );
}

/// `tests/samples` compiles all other examples.
#[test]
fn examples_that_rustdoc_ignores_are_parts_of_programs() {
    let tree = &*TREE;
    let mut examples = 0;
    for (document, text) in tree.documents() {
        for example in text.split("```rust,ignore\n").skip(1) {
            let example = example.split("```").next().unwrap();
            let mut programs = tree.0.iter().filter(|(path, _)| path.ends_with(".rs"));
            let found = programs.any(|(_, program)| program.contains(example));
            assert!(found, "{document}: no program has this part:\n{example}");
            examples += 1;
        }
    }
    assert!(
        examples > 1,
        "{examples} examples: are the documents read at all?"
    );
}

#[test]
fn each_guarantee_names_its_tests() {
    let tree = &*TREE;
    let text = &tree.0[&format!("/{GUARANTEES}")];
    let promises = text.split("\n## ").next().unwrap();
    for number in 1..=8 {
        let (_, after) = promises.split_once(&format!("\n{number}. **")).unwrap();
        let promise = after.split("\n\n").nth(1).unwrap();
        assert!(
            promise.starts_with("   Tests: "),
            "promise {number}: {promise}"
        );
        let shown = code(promise).any(|span| test_name(span).is_some_and(Tree::defines));
        assert!(shown, "{GUARANTEES}: no test shows promise {number}");
    }
    assert!(!promises.contains("\n9. **"));
}

#[test]
fn each_row_of_the_migration_tables_names_its_test() {
    let tree = &*TREE;
    let text = &tree.0[&format!("/{MIGRATION}")];
    let header = "| theirs | here | what is better | test |";
    let mut rows = 0;
    for (number, line) in prose(text) {
        if !line.starts_with('|') || line == header || line.starts_with("|---") {
            continue;
        }
        rows += 1;
        // A `|` inside a cell is escaped.
        let cells: Vec<_> = line
            .replace("\\|", "/")
            .split('|')
            .map(str::to_owned)
            .collect();
        let full = cells.len() == 6 && cells[1..5].iter().all(|cell| !cell.trim().is_empty());
        assert!(full, "{MIGRATION}:{}: four cells with words", number + 1);
        let tests = links(&cells[4]).filter(|(text, target)| {
            target.ends_with(".rs") && text.starts_with('`') && text.ends_with('`')
        });
        assert!(
            tests.count() > 0,
            "{MIGRATION}:{}: no test shows it",
            number + 1
        );
        for (text, target) in links(line) {
            let wrong = broken(tree, MIGRATION, text, target);
            assert_eq!(wrong, None, "{MIGRATION}:{}", number + 1);
        }
    }
    assert!(rows > 100, "{rows} rows");
}

#[test]
fn the_glossary_has_at_most_32_words_in_order() {
    let tree = &*TREE;
    let rows = prose(&tree.0["/docs/glossary.md"]);
    let words = rows.filter_map(|(_, row)| row.strip_prefix("| ")?.split_once(" |"));
    // The first row is the header.
    let words: Vec<_> = words.map(|(word, _)| word).skip(1).collect();
    assert!((24..=32).contains(&words.len()), "{} words", words.len());
    assert!(words.is_sorted(), "{words:?}");
}

/// Each of these words was one of several for the same thing. The benchmarks draw circles.
#[test]
fn no_retired_word_comes_back() {
    const RETIRED: [&str; 5] = [
        "handover",
        "hand_over",
        "circle",
        "GrantBlock",
        "OrderClass",
    ];
    let tree = &*TREE;
    let code = tree.0.iter().filter(|(path, _)| {
        path.ends_with(".rs") && !path.starts_with("/benches/") && !path.ends_with("/documents.rs")
    });
    for (path, text) in code {
        let found = RETIRED.iter().find(|word| text.contains(**word));
        assert!(found.is_none(), "{path}: {found:?}");
    }
}

/// Rows of tables and long addresses cannot be broken.
#[test]
fn no_comment_is_wider_than_120_columns() {
    let mut wide = Vec::new();
    // A case of the compiler's messages keeps its lines.
    let programs = TREE
        .0
        .iter()
        .filter(|(path, _)| path.ends_with(".rs") && !path.starts_with("/tests/ui/"));
    for (path, text) in programs {
        for (number, line) in text.lines().enumerate() {
            let words = line.trim_start().trim_start_matches(['/', '!']);
            let is_comment = line.trim_start().starts_with("//");
            let is_whole = words.starts_with(" |") || line.contains("](https://");
            if is_comment && !is_whole && line.chars().count() > 120 {
                wide.push(format!("{path}:{}", number + 1));
            }
        }
    }
    assert!(wide.is_empty(), "{wide:#?}");
}

/// Each of them says so in its first line, as CONTRIBUTING.md tells. A macro may make several, and a case of the
/// conformance suite is a test on four engines: in a World, and so on the memory store, time is virtual.
#[test]
fn at_most_150_tests_wait_for_the_real_clock() {
    let tree = &*TREE;
    let code = tree.0.iter().filter(|(path, _)| {
        let rig = ["/documents.rs", "/stores/mod.rs"];
        path.ends_with(".rs") && !rig.iter().any(|end| path.ends_with(end))
    });
    let tests = code.map(|(path, text)| match path.as_str() {
        "/tests/tests/conformance/main.rs" => {
            let needs = text.split("#[needs(").skip(1);
            4 * needs
                .filter(|it| it[..it.find(')').unwrap()].contains("time"))
                .count()
        }
        "/tests/tests/chaos/main.rs" => {
            text.matches(": faults::").count() + text.matches(": vec![faults::").count()
        }
        "/tests/tests/histories/main.rs" => text.matches("_faults: survives").count(),
        _ => text.matches("_watch = real_time").count(),
    });
    let tests: usize = tests.sum();
    assert!((100..=150).contains(&tests), "{tests} tests");
}

/// The variants of an enum of the source.
fn variants<'a>(source: &'a str, name: &str) -> Vec<&'a str> {
    let (_, body) = source.split_once(&format!("pub enum {name} {{\n")).unwrap();
    let body = body.split_once("\n}").unwrap().0;
    let lines = body.lines().filter_map(|line| line.strip_prefix("    "));
    let name = |line: &'a str| line.split(|c: char| !c.is_alphanumeric()).next();
    let variants = lines
        .filter(|line| line.starts_with(char::is_uppercase))
        .filter_map(name);
    variants.collect()
}

#[test]
fn tables_have_a_row_for_each_variant() {
    let tree = &*TREE;
    let core = "/stores/seam/src/base/error";
    let cases = [
        (
            "LockError",
            format!("{core}/lock.rs"),
            "runtime/src/guide/troubleshooting.md",
        ),
        (
            "SetupError",
            format!("{core}/setup.rs"),
            "runtime/src/guide/troubleshooting.md",
        ),
        ("TlsError", format!("{core}/tls.rs"), "docs/operations.md"),
        (
            "LossCause",
            "/protocol/src/loss.rs".to_owned(),
            "docs/operations.md",
        ),
    ];
    for (name, source, page) in cases {
        let rows: String = prose(&tree.0[&format!("/{page}")])
            .filter(|(_, line)| line.starts_with('|'))
            .map(|(_, line)| line)
            .collect();
        let variants = variants(&tree.0[&source], name);
        assert!(variants.len() > 3, "{name}: {variants:?}");
        for variant in variants {
            let found = [format!("`{variant}`"), format!("[`{variant}`")]
                .iter()
                .any(|it| rows.contains(it));
            assert!(found, "{page}: no row has {name}::{variant}");
        }
    }
}

/// The command's exit codes are in its help, on its page and in the guide; the targets of logs are in two pages.
#[test]
fn pages_agree_on_exit_codes_and_targets() {
    let tree = &*TREE;
    let help = &tree.0["/cli/src/args.rs"].replace("\\\n", "");
    let codes = help
        .split_once("Exit codes: ")
        .unwrap()
        .1
        .split_once(". ")
        .unwrap()
        .0;
    let page = tree.0["/cli/README.md"].replace('\n', " ");
    let guide = &tree.0["/runtime/src/guide/operator.md"];
    for code in codes.split(';') {
        let (number, meaning) = code.trim().split_once(' ').unwrap();
        let meaning = meaning
            .split(" (")
            .next()
            .unwrap()
            .replace("lock store", "store");
        assert!(
            page.contains(&format!("{number} {meaning}")),
            "cli/README.md: {code}"
        );
        assert!(
            guide.contains(&format!("\n| {number} | ")),
            "operator.md: {code}"
        );
    }
    let source = &tree.0["/stores/seam/src/base/target.rs"];
    let targets: Vec<_> = source
        .split('"')
        .filter(|it| it.starts_with("auto_mutex::"))
        .collect();
    assert!(targets.len() > 3, "{targets:?}");
    for target in targets {
        for page in ["/docs/operations.md", "/runtime/src/guide/observe.md"] {
            assert!(
                tree.0[page].contains(&format!("`{target}")),
                "{page}: {target}"
            );
        }
    }
}

/// What the evidence counts in words is what its table and the repository have.
#[test]
fn the_evidence_counts_right() {
    let tree = &*TREE;
    let text = &tree.0["/docs/evidence.md"];
    let (_, table) = text.split_once("| where | faults |").unwrap();
    let rows = table.lines().skip(2).take_while(|it| it.starts_with('|'));
    let faults: usize = rows
        .map(|row| row.split('|').nth(2).unwrap().split(',').count())
        .sum();
    let said = format!("**{faults} kinds of faults**");
    assert!(text.contains(&said), "{said}");
    let programs = tree.0.keys();
    let targets: Vec<_> = programs
        .filter_map(|path| path.strip_prefix("/fuzz/targets/")?.strip_suffix(".rs"))
        .collect();
    for target in &targets {
        assert!(text.contains(&format!("`{target}`")), "{target}");
    }
    assert_eq!(targets.len(), 11);
    assert!(text.contains("**Eleven fuzz targets**"));
}

/// `benches/run --page` writes the block of both.
#[test]
fn the_three_numbers_of_the_readme_are_those_of_the_benchmarks() {
    let block = |text: &'static str| {
        let (_, after) = text
            .split_once("<!-- three numbers -->\n")
            .expect("a block");
        let (block, _) = after.split_once("<!-- end -->").expect("its end");
        block
    };
    let readme = block(include_str!("../../README.md"));
    assert_eq!(readme, block(include_str!("../../docs/benchmarks.md")));
    for row in [
        "an uncontended call",
        "a handoff between processes",
        "requests per call",
    ] {
        assert!(readme.contains(&format!("\n| {row} | ")), "{row}");
    }
}

/// The README's first example; here, too, it is at the root of a program.
#[auto_mutex(key = "{month}", block = 10)]
fn close_month(month: u32, inside: impl FnOnce()) -> Result<u32, LockError> {
    inside();
    Ok(month)
}

/// In the README the package is `billing`.
#[test]
fn the_readme_says_which_key_its_first_example_has_in_redis() {
    let readme = include_str!("../../README.md");
    for namespace in [None, Some("prod")] {
        let redis = Redis::start();
        let mut config = Config::new(redis.url()).unwrap();
        if let Some(namespace) = namespace {
            config = config.namespace(namespace);
        }
        let client = Client::connect(config).unwrap();
        let key = client.blocking_scope(|| {
            let mut key = None;
            close_month(5, || {
                let of_lock = |name: &String| name.contains(":crate:close_month");
                let mut names = redis.keys().into_iter().map(|key| key.name);
                key = names.find(of_lock);
            })
            .map(|_| key.expect("a key"))
        });
        let key = key.unwrap().replace("auto-mutex-tests", "billing");
        assert!(readme.contains(&format!("`{key}`")), "{key}");
    }
}
