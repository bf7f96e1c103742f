//! Measures the size of the attribute's expansion: adds a measuring macro to a copy of the macro crate, and calls it
//! from a small program. This must run in the compiler: only there do tokens have source positions, which the attribute
//! records.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::COMPILE;
use super::compile::workspace;
use crate::Failure;
use crate::run::Placement;
use crate::scenario::Bench;
use crate::scenario::bench::progress;

const ITEM: &str = "pub async fn work(id: u64, names: &[String]) -> Result<u64, LockError> \
                    { let mut sum = id; for name in names { sum += name.len() as u64; } Ok(sum) }";

/// A macro that returns the numbers of tokens and bytes of its input and of the expansion, as a text.
const MEASURE: &str = r#"
fn tokens(stream: proc_macro2::TokenStream) -> usize {
    stream.into_iter().map(|tree| match tree {
        proc_macro2::TokenTree::Group(group) => 2 + tokens(group.stream()),
        _ => 1,
    }).sum()
}

#[proc_macro]
pub fn measure(input: TokenStream) -> TokenStream {
    let mut input = proc_macro2::TokenStream::from(input).into_iter();
    let Some(proc_macro2::TokenTree::Group(options)) = input.next() else {
        panic!("the options come first, in parentheses");
    };
    let item: proc_macro2::TokenStream = input.collect();
    let out = expand::protecting(Kind::Mutex, options.stream(), item.clone());
    let sizes = [item, out].map(|stream| format!("{} {} ", tokens(stream.clone()), stream.to_string().len()));
    let text = sizes.concat();
    quote::quote!(#text).into()
}
"#;

pub(super) fn run(bench: &mut Bench) -> Result<(), Failure> {
    progress("S7, expansion");
    let workspace = workspace();
    let dir = fs::canonicalize(&bench.options().out)?.join("expansion");
    fs::create_dir_all(dir.join("src"))?;
    fs::write(
        dir.join("src/lib.rs"),
        library(&workspace.join("macros/src"))?,
    )?;
    fs::write(
        dir.join("Cargo.toml"),
        "[package]\nname = \"expansion\"\nedition = \"2024\"\n[lib]\nproc-macro = true\n[dependencies]\nproc-macro2 = \"1\"\nquote = \"1\"\n\
         syn = { version = \"3\", features = [\"full\"] }\n[workspace]\n",
    )?;
    fs::copy(workspace.join("Cargo.lock"), dir.join("Cargo.lock"))?;
    let kinds = [
        ("expansion, (expire, block)", "expire = 100, block = 10"),
        (
            "expansion, (expire, block, key)",
            "expire = 100, block = 10, key = id",
        ),
    ];
    for (who, options) in kinds {
        let main =
            format!("fn main() {{ println!(\"{{}}\", expansion::measure!(({options}) {ITEM})); }}");
        fs::write(dir.join("src/main.rs"), main)?;
        let output = Command::new("cargo")
            .args(["run", "--offline", "--quiet"])
            .current_dir(&dir)
            .env("CARGO_TARGET_DIR", dir.join("../check/target"))
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let numbers: Vec<f64> = text
            .split_whitespace()
            .filter_map(|number| number.parse().ok())
            .collect();
        let [tokens_in, bytes_in, tokens_out, bytes_out] = numbers[..] else {
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            bench.note(format!("expansion: skipped, {error}"));
            return Ok(());
        };
        let mut add = |who, tokens, bytes| {
            let values = [("tokens", tokens), ("bytes", bytes)];
            let values = values.map(|(name, value)| (name.to_owned(), value));
            bench.add(COMPILE, Placement::Both, who, 0, values.into());
        };
        if who == kinds[0].0 {
            add("the function itself", tokens_in, bytes_in);
        }
        add(who, tokens_out, bytes_out);
    }
    Ok(())
}

/// Returns the source of the macro crate's root, with the paths of its modules and with the measuring macro.
fn library(macros: &Path) -> Result<String, Failure> {
    let mut library = String::from("#![allow(warnings)]\n");
    for line in fs::read_to_string(macros.join("lib.rs"))?.lines() {
        if let Some(module) = line.strip_prefix("mod ") {
            let name = module.trim_end_matches(';');
            let files = [format!("{name}.rs"), format!("{name}/mod.rs")];
            let mut files = files.into_iter().map(|file| macros.join(file));
            let file = files.find(|file| file.exists());
            let file = file.ok_or_else(|| format!("no file of the module {name}"))?;
            library.push_str(&format!("#[path = {file:?}]\n"));
        }
        // Documentation is left out, because the files that it includes cannot be found from the folder of the copy.
        if !["//!", "#[doc"].iter().any(|start| line.starts_with(start)) {
            library.push_str(line);
            library.push('\n');
        }
    }
    library.push_str(MEASURE);
    Ok(library)
}
