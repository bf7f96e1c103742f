//! Tests of `kick`.

use std::io::Write as _;
use std::process::Stdio;

use super::rig::{Shop, client, command, document, output, text, written};

/// Whether `orders:7` is still held with the token of its first hold.
fn is_held_by_the_first(shop: &Shop, token: u64) -> bool {
    shop.token("orders:7") == token
}

#[test]
fn exactly_the_hold_with_the_token_is_broken() {
    let shop = Shop::open();
    let token = shop.token("orders:7");
    let wrong = (token + 1024).to_string();
    let kicked = document(
        &shop.url,
        &["kick", "orders:7", "--token", &wrong, "--yes"],
        4,
    );
    assert_eq!(kicked["kicked"], false);
    assert!(is_held_by_the_first(&shop, token));
    let right = token.to_string();
    let kicked = document(
        &shop.url,
        &["kick", "orders:7", "--token", &right, "--yes"],
        0,
    );
    assert_eq!(kicked["kicked"], true);
    assert_eq!(kicked["holder"]["token"], right);
    assert_eq!(kicked["next"]["place"], 1);
    // The store still knows who did it.
    let shown = document(&shop.url, &["show", "orders:7"], 0);
    super::schema::fits("show", &shown);
    let kicked = &shown["kicked"];
    assert_eq!(kicked["token"], right);
    assert!(kicked["pid"] != std::process::id(), "{kicked}");
    let by = "with auto-mutex kick";
    assert!(kicked["site"].as_str().unwrap().ends_with(by), "{kicked}");
    let told = format!("The hold with token {right} was broken ");
    for command in ["why", "show"] {
        let said = written(&shop.url, &[command, "orders:7"], 0);
        assert!(said.contains(&told) && said.contains(by), "{said}");
    }
    // The next waiter holds the lock now, and repeating the kick breaks no hold.
    assert!(!is_held_by_the_first(&shop, token));
    let next = shop.token("orders:7");
    document(
        &shop.url,
        &["kick", "orders:7", "--token", &right, "--yes"],
        4,
    );
    assert!(is_held_by_the_first(&shop, next));
}

#[test]
fn it_asks_and_takes_nothing_but_yes() {
    let shop = Shop::open();
    let token = shop.token("orders:7");
    let ask = |answer: &str| {
        let token = token.to_string();
        let mut child = command(&shop.url, &["kick", "orders:7", "--token", &token])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(answer.as_bytes())
            .unwrap();
        child.wait_with_output().unwrap()
    };
    for answer in ["", "\n", "y\n", "no\n", "YES\n"] {
        let output = ask(answer);
        assert_eq!(output.status.code(), Some(1), "{answer:?}");
        let said = text(&output.stderr);
        let me = std::process::id().to_string();
        for part in [
            me.as_str(),
            "What follows",
            "Next in line",
            "Type yes",
            "not confirmed",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(is_held_by_the_first(&shop, token), "{answer:?}");
    }
    let output = ask("yes\n");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(&output.stdout).starts_with("broken: orders:7"));
    assert!(!is_held_by_the_first(&shop, token));
}

#[test]
fn a_dry_run_changes_nothing() {
    let shop = Shop::open();
    let token = shop.token("orders:7");
    let args = [
        "kick",
        "orders:7",
        "--token",
        &token.to_string(),
        "--dry-run",
    ];
    let kicked = document(&shop.url, &args, 0);
    assert_eq!(
        (&kicked["kicked"], &kicked["dry_run"]),
        (&false.into(), &true.into())
    );
    assert!(is_held_by_the_first(&shop, token));
}

#[test]
fn nobody_holds_is_a_precondition() {
    let shop = Shop::open();
    let output = output(&shop.url, &["kick", "nothing", "--token", "1", "--yes"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(
        text(&output.stderr).contains("nobody holds it"),
        "{output:?}"
    );
}

#[test]
fn the_exit_code_is_right_if_nobody_reads_the_report() {
    let shop = Shop::open();
    let token = shop.token("orders:7");
    for (token, code) in [(token + 1024, 4), (token, 0)] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let args = ["kick", "orders:7", "--yes", "-o", "json", "--token"];
        let ended = command(&shop.url, &args)
            .arg(token.to_string())
            .stdout(writer)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        assert_eq!(ended.status.code(), Some(code), "{ended:?}");
    }
    assert!(!is_held_by_the_first(&shop, token));
}

#[test]
fn a_question_that_nobody_reads_is_not_answered() {
    let shop = Shop::open();
    let token = shop.token("orders:7");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ended = command(&shop.url, &["kick", "orders:7", "--token"])
        .arg(token.to_string())
        .stderr(writer)
        .output()
        .unwrap();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert!(is_held_by_the_first(&shop, token));
}

#[test]
fn the_holder_hears_of_it() {
    let shop = Shop::open();
    let client = client(&shop.url);
    let guard = client.mutex("mine").blocking_lock().unwrap();
    let token = guard.fencing_token().to_string();
    document(&shop.url, &["kick", "mine", "--token", &token, "--yes"], 0);
    auto_mutex_tests::events::eventually("the guard is lost", || guard.is_lost());
}
