//! Tests that every document fits `schema/auto-mutex.schema.json`.

use auto_mutex_tests::redis::Redis;
use boon::{Compiler, Schemas};
use serde_json::{Value, json};

use super::rig::{Other, Shop, are_waiting, document, output, written};
use super::serve::Page;

/// Checks `document` against the definition `name` of the schema, and against the whole schema.
#[track_caller]
pub(super) fn fits(name: &str, document: &Value) {
    for part in [&format!("/$defs/{name}"), ""] {
        if let Err(error) = check(part, document) {
            panic!("{name}: {error}\n{document:#}");
        }
    }
}

fn check(part: &str, document: &Value) -> Result<(), String> {
    let schema = include_str!("../../schema/auto-mutex.schema.json");
    let schema = serde_json::from_str(schema).expect("a schema");
    let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
    let added = compiler.add_resource("file:///schema.json", schema);
    added.expect("a good name");
    let definition = compiler.compile(&format!("file:///schema.json#{part}"), &mut schemas);
    let result = schemas.validate(document, definition.expect("a good schema"));
    result.map_err(|error| error.to_string())
}

/// Every document is one that the schema names, and nothing else is.
#[test]
fn the_schema_accepts_no_other_document() {
    let schema: Value =
        serde_json::from_str(include_str!("../../schema/auto-mutex.schema.json")).unwrap();
    let named = schema["anyOf"].as_array().unwrap();
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        let is_document = definition["properties"]["schema_version"].is_object();
        let is_named = named.contains(&json!({ "$ref": format!("#/$defs/{name}") }));
        assert_eq!(is_named, is_document, "{name}");
    }
    for wrong in [
        json!({}),
        json!([]),
        json!("ls"),
        json!({ "schema_version": 1 }),
        json!({ "schema_version": 2, "locks": [] }),
        json!({ "schema_version": 1, "locks": [], "more": 1 }),
        json!({ "schema_version": 1, "locks": [{ "name": "n" }] }),
        json!({ "name": "n", "leader": null, "standbys": [], "watchers": 0 }),
    ] {
        assert!(check("", &wrong).is_err(), "{wrong}");
    }
    fits("ls", &json!({ "schema_version": 1, "locks": [] }));
}

#[test]
fn documents_fit() {
    let shop = Shop::open();
    let url = &shop.url;
    let token = shop.token("orders:7").to_string();
    fits("ls", &document(url, &["ls", "--all"], 0));
    fits("ls", &document(url, &["ls", "nothing"], 0));
    for name in ["orders:7", "pool", "book", "nothing"] {
        fits("show", &document(url, &["show", name], 0));
    }
    fits("tree", &document(url, &["tree"], 0));
    fits("tree", &document(url, &["why", "orders:7"], 0));
    fits("tree", &document(url, &["why", "nothing"], 0));
    fits(
        "doctor",
        &document(url, &["doctor", "--longest-wait", "0"], 3),
    );
    fits("acl", &document(url, &["acl"], 0));
    fits(
        "kick",
        &document(
            url,
            &["kick", "orders:7", "--token", &token, "--dry-run"],
            0,
        ),
    );
    fits(
        "kick",
        &document(url, &["kick", "nothing", "--token", "1", "--dry-run"], 4),
    );
    let line = |args: &[&str]| -> Value {
        let out = written(url, args, 0);
        serde_json::from_str(out.lines().next().expect("a line")).expect("a document")
    };
    fits("ls_line", &line(&["ls", "-ojsonl"]));
    fits("tree_line", &line(&["tree", "-ojsonl"]));
    let findings = ["doctor", "--longest-wait", "0", "-ojsonl"];
    let findings = written(url, &findings, 3);
    for finding in findings.lines() {
        fits("doctor_line", &serde_json::from_str(finding).unwrap());
    }
    let failed = output(url, &["show", "", "-ojson"]);
    fits("error", &serde_json::from_slice(&failed.stderr).unwrap());
    let page = Page::start(url, &[]);
    for (document, path) in [
        ("ls", "ls"),
        ("show", "show/orders:7"),
        ("tree", "tree"),
        ("leaders", "leaders"),
        ("api_error", &format!("show/{}", "n".repeat(9000))),
    ] {
        let (_, _, body) = page.ask(&format!("GET /api/{path}"));
        fits(document, &serde_json::from_str(&body).unwrap());
    }
    fits(
        "event",
        &line(&["watch", "orders:7", "--count", "1", "-ojsonl"]),
    );
}

#[test]
fn chains_of_processes_fit() {
    let redis = Redis::start();
    let url = redis.url();
    let root = Other::start(&url, "a");
    let mut waiter = Other::start(&url, "b");
    waiter.wants("a");
    are_waiting(&url, "a", 1);
    fits("tree", &document(&url, &["tree"], 0));
    drop((root, waiter));
}

#[test]
fn the_fields_are_those_that_were_promised() {
    let shop = Shop::open();
    let keys = |value: &Value| -> Vec<String> {
        let mut keys: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    };
    let sorted = |text: &str| -> Vec<String> {
        let mut words: Vec<_> = text.split(", ").map(str::to_owned).collect();
        words.sort();
        words
    };
    let listed = document(&shop.url, &["ls"], 0);
    assert_eq!(keys(&listed), sorted("schema_version, locks"));
    let lock = "name, kind, capacity, used, holders, waiters, oldest_wait_ms, held_ms, kept";
    assert_eq!(keys(&listed["locks"][0]), sorted(lock));
    let shown = document(&shop.url, &["show", "orders:7"], 0);
    let lock =
        "schema_version, name, kind, capacity, used, token, signals, kicked, holders, waiters";
    assert_eq!(keys(&shown), sorted(lock));
    let holder = "ticket, token, units, since, held_ms, lease_left_ms, kept, host, pod, pid, site, file, line, owner, holds";
    assert_eq!(keys(&shown["holders"][0]), sorted(holder));
    let waiter = "place, ticket, state, units, calls, since, waited_ms, host, pod, pid, site, file, line, owner, holds";
    assert_eq!(keys(&shown["waiters"][0]), sorted(waiter));
    let tree = document(&shop.url, &["tree"], 0);
    assert_eq!(keys(&tree), sorted("schema_version, chains"));
    assert_eq!(keys(&tree["chains"][0]), sorted("cycle, hops"));
}
