//! How much the attribute writes: its own code, called by a small program, since a macro crate exports nothing else.

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

/// Prints tokens and bytes of what goes in and of what comes out.
const MAIN: &str = r#"
fn tokens(stream: proc_macro2::TokenStream) -> usize {
    stream.into_iter().map(|tree| match tree {
        proc_macro2::TokenTree::Group(group) => 2 + tokens(group.stream()),
        _ => 1,
    }).sum()
}

fn main() {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<proc_macro2::TokenStream>());
    let (options, item) = (args.next().unwrap().unwrap(), args.next().unwrap().unwrap());
    let out = auto_mutex(options, item.clone());
    for stream in [item, out] {
        println!("{} {}", tokens(stream.clone()), stream.to_string().len());
    }
}
"#;

pub(super) fn run(bench: &mut Bench) -> Result<(), Failure> {
    progress("S7, expansion");
    let workspace = workspace();
    let dir = fs::canonicalize(&bench.options().out)?.join("expansion");
    fs::create_dir_all(dir.join("src"))?;
    let main = program(&workspace.join("macros/src"))?;
    fs::write(dir.join("src/main.rs"), main)?;
    fs::write(
        dir.join("Cargo.toml"),
        "[package]\nname = \"expansion\"\nedition = \"2024\"\n[dependencies]\nproc-macro2 = \"1\"\nquote = \"1\"\n\
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
        let output = Command::new("cargo")
            .args(["run", "--offline", "--quiet", "--", options, ITEM])
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

/// The root of the macro crate, with its modules where they are, as a program.
fn program(macros: &Path) -> Result<String, Failure> {
    let mut main = String::from("#![allow(warnings)]\n");
    for line in fs::read_to_string(macros.join("lib.rs"))?.lines() {
        if let Some(module) = line.strip_prefix("mod ") {
            let name = module.trim_end_matches(';');
            let files = [format!("{name}.rs"), format!("{name}/mod.rs")];
            let mut files = files.into_iter().map(|file| macros.join(file));
            let file = files.find(|file| file.exists());
            let file = file.ok_or_else(|| format!("no file of the module {name}"))?;
            main.push_str(&format!("#[path = {file:?}]\n"));
        }
        if !["//!", "#[doc", "#[proc_macro"]
            .iter()
            .any(|start| line.starts_with(start))
        {
            main.push_str(&line.replace("proc_macro::", "proc_macro2::"));
            main.push('\n');
        }
    }
    main.push_str(MAIN);
    Ok(main)
}
