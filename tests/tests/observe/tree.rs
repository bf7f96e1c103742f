//! Users who do not enable the exporters compile none of their crates.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// The crates that a user of the library compiles with these features.
fn crates(features: &[&str]) -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root).args([
        "tree",
        "--offline",
        "--package",
        "auto-mutex",
        "--edges",
        "normal,build",
        "--prefix",
        "none",
        "--no-dedupe",
        "--format",
        "{p}",
    ]);
    if !features.is_empty() {
        cargo.args(["--features", &features.join(",")]);
    }
    let output = cargo.output().expect("cargo");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let lines = String::from_utf8(output.stdout).expect("text");
    let name = |line: &str| line.split(" (").next().map(str::to_owned);
    lines.lines().filter_map(name).collect()
}

#[test]
fn without_the_features_there_is_no_crate_more() {
    let plain = crates(&[]);
    let observed = ["metrics", "opentelemetry"];
    let is_one = |package: &&String| observed.iter().any(|name| package.starts_with(name));
    assert_eq!(plain.iter().find(is_one), None);
    // The documented number of crates, including the library itself.
    let document = include_str!("../../../docs/decisions.md");
    let said = format!("a user compiles {} crates with the library", plain.len());
    assert!(document.contains(&said), "{said}: {plain:#?}");
    let metrics = crates(&["metrics"]);
    let otel = crates(&["otel"]);
    let more = |with: &BTreeSet<String>| -> Vec<String> {
        let more = with.difference(&plain).map(|package| {
            let (name, _) = package.split_once(' ').expect("a name and a version");
            name.to_owned()
        });
        more.collect()
    };
    assert_eq!(more(&metrics), ["metrics", "rapidhash", "rustversion"]);
    assert_eq!(more(&otel), ["opentelemetry"]);
}
