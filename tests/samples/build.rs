//! Takes each Rust sample out of the pages and of the items' documentation, and writes a module for it that
//! `samples.rs` compiles.
//!
//! A sample is compiled as a reader would paste it: without the lines that rustdoc hides (`# …`). If it has such lines,
//! a second module has them too, and that one runs. An item's has no other: few are whole. If it has no `main`, it gets
//! one around it, or beside it if it consists of items only. Each module lies in a file that is called like its page,
//! and each line has the number that it has there. So the compiler's messages name page and line.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use quote::ToTokens as _;

/// Folders and files with samples.
const PLACES: [&str; 9] = [
    "README.md",
    "cli/README.md",
    "core/src",
    "docs",
    "macros/src/docs",
    "operator/src",
    "runtime/src/guide",
    "runtime/src/lib.rs",
    "stores",
];

/// Where samples say that a server is. The test's own server takes its place.
const ADDRESS: &str = "\"redis://127.0.0.1:6379";

struct Sample {
    page: String,
    /// The line of its opening fence.
    line: usize,
    /// What follows the fence: `rust,no_run` for example.
    info: Vec<String>,
    /// What a reader sees.
    code: String,
    /// With what rustdoc hides.
    whole: String,
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap();
    let out = PathBuf::from(env::var("OUT_DIR").unwrap());
    let _ = fs::remove_dir_all(out.join("pages"));
    let (mut modules, mut programs) = (String::new(), String::new());
    let pages = pages(root);
    for page in &pages {
        for sample in samples(root, page) {
            let (page, line) = (&sample.page, sample.line);
            if sample.has("ignore") {
                // `documents.rs` finds what is written like this in a program.
                assert_eq!(sample.info, ["rust", "ignore"], "{page}:{line}");
                continue;
            }
            let variants: &[bool] = match (sample.is_items(), sample.hides()) {
                (true, _) => &[true],
                (false, true) => &[false, true],
                (false, false) => &[false],
            };
            let name = format!("{page}_{line}")
                .replace(|c: char| !c.is_ascii_alphanumeric(), "_")
                .to_lowercase();
            for &whole in variants {
                let (text, has_main) = pasted(&sample, whole);
                let part = if whole { "_whole" } else { "" };
                let folder = out.join("pages").join(page);
                let file = folder.join(format!("{line}{part}.rs"));
                fs::create_dir_all(&folder).unwrap();
                fs::write(&file, text).unwrap();
                // (Where a line is hidden, an empty one is left.)
                let lints = match (whole, has_main) {
                    (true, _) => "#[allow(warnings)]",
                    (false, true) => {
                        "#[deny(warnings)] #[allow(clippy::empty_line_after_outer_attr)]"
                    }
                    (false, false) => {
                        "#[deny(warnings)] #[allow(dead_code, clippy::empty_line_after_outer_attr)]"
                    }
                };
                writeln!(modules, "{lints} #[path = {file:?}] mod {name}{part};").unwrap();
                let runs = sample.runs() && whole == variants.contains(&true);
                let panics = sample.has("should_panic") && sample.is_items();
                writeln!(
                    programs,
                    "Sample {{ page: {page:?}, line: {line}, runs: {runs}, panics: {panics}, run: {name}{part}::__sample::run }},"
                )
                .unwrap();
            }
        }
    }
    let text = format!(
        "{modules}\nstatic SAMPLES: &[Sample] = &[\n{programs}];\n\n\
         const PAGES: &[&str] = &{pages:?};\n"
    );
    fs::write(out.join("samples.rs"), text).unwrap();
}

/// The pages, and the sources with samples, by their paths from the root.
fn pages(root: &Path) -> Vec<String> {
    let (mut pages, mut places) = (Vec::new(), PLACES.map(PathBuf::from).to_vec());
    for place in PLACES {
        println!("cargo::rerun-if-changed={}", root.join(place).display());
    }
    while let Some(place) = places.pop() {
        let path = root.join(&place);
        if path.is_dir() {
            let entries = fs::read_dir(path).unwrap();
            places.extend(entries.map(|it| place.join(it.unwrap().file_name())));
        } else if is_page(&path) {
            pages.push(place.into_os_string().into_string().unwrap());
        }
    }
    pages.sort();
    pages
}

fn is_page(file: &Path) -> bool {
    let read = || fs::read_to_string(file).unwrap();
    match file.extension().and_then(|it| it.to_str()) {
        Some("md") => true,
        Some("rs") => read()
            .lines()
            .any(|it| comment(it).is_some_and(|it| it.starts_with("```"))),
        _ => false,
    }
}

fn samples(root: &Path, page: &str) -> Vec<Sample> {
    let text = fs::read_to_string(root.join(page)).unwrap();
    // Other pages show lines that begin with `#`.
    let source = page.ends_with(".rs");
    let rustdoc = source || page.starts_with("macros/") || page.starts_with("runtime/");
    let mut samples = Vec::new();
    let mut open: Option<(Sample, usize)> = None;
    for (index, line) in text.lines().enumerate() {
        let line = if source {
            match comment(line) {
                Some(line) => line,
                None => continue,
            }
        } else {
            line
        };
        let (indent, fence) = (
            line.len() - line.trim_start().len(),
            line.trim_start().strip_prefix("```"),
        );
        match (open.take(), fence) {
            (Some((sample, _)), Some(_)) => {
                if sample.is_rust(rustdoc) {
                    samples.push(sample);
                }
            }
            (Some((mut sample, indent)), None) => {
                let line = line.get(indent..).unwrap_or("");
                // What rustdoc hides, a reader does not see: an empty line keeps the numbers.
                let hidden = rustdoc && (line.trim() == "#" || line.trim_start().starts_with("# "));
                sample.code.push_str(if hidden { "" } else { line });
                sample.code.push('\n');
                let shown = line.trim_start().trim_start_matches('#');
                sample.whole.push_str(if hidden { shown } else { line });
                sample.whole.push('\n');
                open = Some((sample, indent));
            }
            (None, Some(info)) => {
                let info = info
                    .split([',', ' '])
                    .map(str::to_owned)
                    .filter(|word| !word.is_empty())
                    .collect();
                let sample = Sample {
                    page: page.to_owned(),
                    line: index + 1,
                    info,
                    code: String::new(),
                    whole: String::new(),
                };
                open = Some((sample, indent));
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "{page}: a fence is not closed");
    samples
}

/// The text of a line of documentation.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line
        .strip_prefix("///")
        .or_else(|| line.strip_prefix("//!"))?;
    Some(text.strip_prefix(' ').unwrap_or(text))
}

impl Sample {
    /// Whether it documents an item, not a crate.
    fn is_items(&self) -> bool {
        self.page.ends_with(".rs") && !self.page.starts_with("runtime/")
    }

    /// Whether hidden lines are to run. (A test runs instead of them where one panics.)
    fn hides(&self) -> bool {
        let alone = self.has("standalone_crate") || self.has("should_panic");
        self.whole != self.code && !alone
    }

    fn has(&self, word: &str) -> bool {
        self.info.iter().any(|info| info == word)
    }

    /// For rustdoc, what names no language is Rust.
    fn is_rust(&self, rustdoc: bool) -> bool {
        let attributes = ["ignore", "no_run", "should_panic", "standalone_crate"];
        self.has("rust")
            || rustdoc
                && self
                    .info
                    .iter()
                    .all(|word| attributes.contains(&word.as_str()))
    }

    /// Whether the test runs its `main`: if rustdoc would, or if all that it needs is a server.
    fn runs(&self) -> bool {
        let server = self.code.contains(ADDRESS) || self.code.contains("Config::from_env()");
        !self.has("no_run") && !self.has("standalone_crate") || server && !self.is_items()
    }
}

/// The text of the module, and whether the reader sees a `main`.
fn pasted(sample: &Sample, whole: bool) -> (String, bool) {
    let code = if whole { &sample.whole } else { &sample.code };
    let (before, after, has_main) = main_around(sample, code, whole);
    let mut code = if sample.runs() {
        with_own_server(code)
    } else {
        code.clone()
    };
    if sample.has("standalone_crate") {
        // As a test here, it would see the other samples too: `samples.rs` compares its list.
        code = code.replace("#[test]", "#[cfg(test)]");
    }
    let run = "#[allow(clippy::unit_arg)] pub(crate) mod __sample { pub(crate) fn run() -> ::std::process::ExitCode { \
               ::std::process::Termination::report(super::main()) } }";
    let padding = "\n".repeat(sample.line - 1);
    let text = format!("{padding}{before}\n{code}{after}\n{run}\n");
    (text, has_main)
}

/// What is to be written before and after the sample, and whether it has a `main` itself.
fn main_around(sample: &Sample, code: &str, whole: bool) -> (&'static str, &'static str, bool) {
    if let Ok(syn::File { items, .. }) = syn::parse_file(code) {
        // `assert!(…);` may be an item too.
        let statement =
            |item: &syn::Item| matches!(item, syn::Item::Macro(it) if it.ident.is_none());
        let main = |item: &syn::Item| matches!(item, syn::Item::Fn(it) if it.sig.ident == "main");
        if items.iter().any(main) {
            return ("", "", true);
        } else if !items.iter().any(statement) {
            return ("", "fn main() {}", false);
        }
    }
    let block = syn::parse_str::<syn::Block>(&format!("{{ {code} }}"))
        .unwrap_or_else(|error| panic!("{}:{}: {error}", sample.page, sample.line));
    if whole {
        // As rustdoc does.
        if code.trim_end().ends_with("(())") {
            let before =
                "fn main() { fn inner() -> ::core::result::Result<(), impl ::core::fmt::Debug> {";
            return (before, "} inner().unwrap() }", false);
        }
        return ("fn main() {", "}", false);
    }
    let statements = block
        .stmts
        .iter()
        .filter(|it| !matches!(it, syn::Stmt::Item(_)));
    let text: String = statements
        .map(|it| it.to_token_stream().to_string())
        .collect();
    let (before, after) = match (text.contains(". await"), text.contains('?')) {
        (false, false) => ("fn main() {", "}"),
        (false, true) => (
            "fn main() -> Result<(), Box<dyn std::error::Error>> {",
            "Ok(()) }",
        ),
        (true, false) => ("#[tokio::main] async fn main() {", "}"),
        (true, true) => (
            "#[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {",
            "Ok(()) }",
        ),
    };
    (before, after, false)
}

/// Writes `server!("…")` for each text that begins with `ADDRESS`.
fn with_own_server(code: &str) -> String {
    let mut parts = code.split(ADDRESS);
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |text, part| {
        let (rest, after) = part.split_once('"').unwrap();
        format!("{text}crate::server!(\"{rest}\"){after}")
    })
}
