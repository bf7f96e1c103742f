//! Tests of `completions`, `man` and `sites`, which do not need a store.

use auto_mutex::{LockError, auto_mutex};
use serde_json::Value;

use super::rig::{document, output, text, written};

#[auto_mutex(name = "manual:\"odd\"", key = "{month}", block = 0)]
fn close(month: u32) -> Result<u32, LockError> {
    Ok(month)
}

#[test]
fn completions_and_pages_are_written() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = written("", &["completions", shell], 0);
        assert!(
            script.contains("auto-mutex") && script.contains("longer-than"),
            "{shell}"
        );
    }
    // The generator decides which characters it escapes, so the test ignores backslashes.
    let page = written("", &["man"], 0).replace('\\', "");
    for part in [".TH auto-mutex 1", "Exit codes", "AUTO_MUTEX_URL"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("pages");
    assert_eq!(
        written("", &["man", "--dir", pages.to_str().unwrap()], 0),
        ""
    );
    for command in ["", "-ls", "-kick", "-run"] {
        assert!(
            pages.join(format!("auto-mutex{command}.1")).exists(),
            "{command}"
        );
    }
}

#[test]
fn the_sites_of_a_program_are_listed() {
    // Prevents a warning about unused code. The function is in the list of sites even if it is not called.
    let _ = close;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sites.json");
    std::fs::write(&file, auto_mutex::operator::sites_json()).unwrap();
    let file = file.to_str().unwrap();
    let listed: Value = document("", &["sites", file], 0);
    let mut sites = listed["sites"].as_array().unwrap().iter();
    let site = sites.find(|site| site["name"] == "manual:\"odd\":{month}");
    let site = site.expect("the annotated function above");
    assert_eq!(site["function"], "close");
    assert!(
        site["file"].as_str().unwrap().ends_with("manual.rs"),
        "{site}"
    );
    super::schema::fits("sites", &listed);
    for line in written("", &["sites", file, "-ojsonl"], 0).lines() {
        super::schema::fits("sites_line", &serde_json::from_str(line).unwrap());
    }
    // A program is no list.
    let refused = output("", &["sites", env!("CARGO_BIN_EXE_auto-mutex")]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let said = text(&refused.stderr);
    assert!(
        said.contains("sites_json()") && said.contains("let the program print it"),
        "{said}"
    );
    let table = written("", &["sites", file], 0);
    assert!(
        table.contains("manual:\"odd\":{month}") && table.contains("#[auto_mutex("),
        "{table}"
    );
    for wrong in ["/no/such/file", "/dev/null", "Cargo.toml"] {
        assert_eq!(
            output("", &["sites", wrong]).status.code(),
            Some(1),
            "{wrong}"
        );
    }
}
