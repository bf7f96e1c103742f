//! The commands on PostgreSQL. Without it on this machine, these tests say that they are skipped.

use auto_mutex::Client;
use auto_mutex_tests::databases::{IN_A_HURRY, Server, missing_postgres, postgres};
use auto_mutex_tests::events::eventually;
use serde_json::Value;

use super::doctor::ids;
use super::leaders::candidates;
use super::rig::{Other, are_waiting, client, document, output, text, written};
use super::schema::fits;
use super::serve::Page;
use super::stores::works_on;
use super::watch::Watching;

fn server(settings: &[&str]) -> Option<Server> {
    if let Some(missing) = missing_postgres() {
        eprintln!("skipped: {missing}");
        return None;
    }
    Some(postgres(settings).unwrap())
}

#[test]
fn every_command_works_there() {
    let Some(server) = server(&IN_A_HURRY) else {
        return;
    };
    let url = &server.url("postgres");
    // No client has made the schema yet.
    let listed = document(url, &["ls", "--all"], 0);
    assert_eq!(listed["locks"].as_array().unwrap().len(), 0);
    works_on(url);
    assert_eq!(written(url, &["run", "x", "--", "echo", "1"], 0), "1\n");

    let [mut first, mut second] = ["a", "b"].map(|name| Other::start(url, name));
    first.wants("b");
    are_waiting(url, "b", 1);
    let why = document(url, &["why", "b"], 0);
    fits("tree", &why);
    let says = written(url, &["why", "b"], 0);
    let pid = first.pid().to_string();
    assert!(
        says.contains(&pid) && says.contains("waits for b"),
        "{says}"
    );
    second.wants("a");
    are_waiting(url, "a", 1);
    // The search of one of the two may have ended its wait already: without a lock order, nobody fails.
    let tree = document(url, &["tree"], 3);
    assert_eq!(tree["chains"][0]["cycle"], true, "{tree}");
    drop((first, second));

    let standing = candidates(url);
    let led = document(url, &["leaders"], 0);
    fits("leaders", &led);
    assert_eq!(led["leaders"][0]["standbys"].as_array().unwrap().len(), 2);
    drop(standing);

    let mut watching = Watching::start(url);
    let client = client(url);
    drop(client.mutex("w").blocking_lock().unwrap());
    let guard = client.mutex("w").blocking_lock().unwrap();
    let token = guard.fencing_token().to_string();
    let seen = std::iter::repeat_with(|| watching.next());
    let mut grants = seen.filter(|event| event["token"] == token.as_str());
    fits("event", &grants.next().unwrap());

    let page = Page::start(url, &[]);
    let (status, _, body) = page.ask("GET /metrics");
    assert!(
        status == 200 && body.contains("auto_mutex_store_up 1\n"),
        "{body}"
    );
    let (status, _, body) = page.ask("GET /api/show/w");
    let shown: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (status, &shown["holders"][0]["token"]),
        (200, &token.into())
    );
    drop(guard);
    client.blocking_shutdown();
}

#[test]
fn what_only_redis_has_is_refused_with_the_command_to_use() {
    for args in [&["acl"][..], &["acl", "postgres://u@h/db"]] {
        let output = output("postgresql://h/db", args);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let said = text(&output.stderr);
        assert!(said.contains("auto-mutex schema --postgres"), "{said}");
    }
}

/// The schema that the command prints, and the rights of a role that may connect, and nothing else.
#[test]
fn the_printed_rights_are_enough_for_locks_and_for_looking() {
    let Some(server) = server(&IN_A_HURRY) else {
        return;
    };
    let as_user = |user: &str| server.url("postgres").replace("test@", &format!("{user}@"));
    let (app, looks, breaks) = (
        as_user("app%20%22x%22"),
        as_user("looks"),
        as_user("breaks"),
    );
    assert!(server.runs(
        "CREATE ROLE \"app \"\"x\"\"\" LOGIN; CREATE ROLE looks LOGIN; CREATE ROLE breaks LOGIN; REVOKE ALL ON DATABASE postgres FROM PUBLIC; \
         REVOKE ALL ON SCHEMA public FROM PUBLIC; GRANT CONNECT ON DATABASE postgres TO \"app \"\"x\"\"\", looks, breaks"
    ));
    let error = Client::connect(app.as_str()).unwrap_err().to_string();
    assert!(error.contains("auto-mutex schema --postgres"), "{error}");
    let schema = ["schema", "--postgres"];
    let grant = ["--grant", "app \"x\""];
    let made = written("", &[&schema[..], &grant[..]].concat(), 0);
    assert!(server.runs(&made), "{made}");
    let more = [
        "--only-rights",
        "--grant-reading",
        "looks",
        "--grant-operating",
        "breaks",
    ];
    let more = written("", &[&schema[..], &more[..]].concat(), 0);
    assert!(!more.contains("CREATE") && server.runs(&more), "{more}");

    works_on(&app);
    let client = client(&app);
    let guard = client.mutex("held").blocking_lock().unwrap();
    let token = guard.fencing_token().to_string();
    // What a client does once in a while.
    assert!(server.runs("SET ROLE \"app \"\"x\"\"\"; SELECT auto_mutex.tidy(NULL)"));
    for forbidden in [
        "DROP TABLE auto_mutex.names",
        "TABLE auto_mutex.names",
        "SELECT auto_mutex.compact()",
    ] {
        assert!(
            !server.runs(&format!("SET ROLE \"app \"\"x\"\"\"; {forbidden}")),
            "{forbidden}"
        );
    }
    let shown = document(&looks, &["show", "held"], 0);
    assert_eq!(shown["holders"][0]["token"], token.as_str());
    for args in [
        &["ls", "--all"][..],
        &["why", "held"],
        &["tree"],
        &["doctor"],
    ] {
        let output = output(&looks, args);
        assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
    }
    // It may not see the transactions of the program, and says so.
    let doctor = ["doctor", "--ignore", "restart-forgets-last"];
    let found = document(&looks, &doctor, 3);
    assert_eq!(ids(&found), ["unknown"], "{found}");
    assert!(server.runs("GRANT pg_read_all_stats TO looks"));
    written(&looks, &doctor, 0);
    let acquire = "EXECUTE ON FUNCTION auto_mutex.acquire";
    assert!(server.runs(&format!("REVOKE {acquire} FROM \"app \"\"x\"\"\"")));
    let found = document(&looks, &doctor, 3);
    assert_eq!(ids(&found), ["rights"], "{found}");
    let remedy = found["findings"][0]["remedy"].as_str().unwrap();
    assert!(server.runs(remedy), "{remedy}");
    written(&looks, &doctor, 0);
    let kick = ["kick", "held", "--token", &token, "--yes"];
    let run = ["run", "x", "--", "true"];
    for (args, code) in [(&kick[..], 1), (&run[..], 69)] {
        let output = output(&looks, args);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains("permission"), "{said}");
    }
    assert!(!guard.is_lost());
    // An operator may break a hold, and take none.
    let output = output(&breaks, &run);
    assert_eq!(output.status.code(), Some(69), "{output:?}");
    written(&breaks, &kick, 0);
    eventually("the holder knows it", || guard.is_lost());
    drop(guard);
    client.blocking_shutdown();
}

#[test]
fn doctor_finds_what_is_wrong_with_a_server() {
    // Not in a hurry, with the settings that a server in production has.
    let Some(server) = server(&["shared_buffers=16MB", "synchronous_commit=off"]) else {
        return;
    };
    let url = &server.url("postgres");
    let found = document(url, &["doctor"], 3);
    assert_eq!(ids(&found), ["schema"], "{found}");
    let client = client(url);
    let found = document(url, &["doctor", "--clock", "1h"], 0);
    assert_eq!(ids(&found), [""; 0], "{found}");
    assert!(server.runs("ALTER TABLE auto_mutex.signals SET LOGGED"));
    assert!(server.runs("ALTER SYSTEM SET fsync = off") && server.runs("SELECT pg_reload_conf()"));
    auto_mutex_tests::events::eventually("it has read its settings", || {
        ids(&document(url, &["doctor"], 3)).contains(&"restart-forgets-last")
    });
    let found = document(url, &["doctor"], 3);
    fits("doctor", &found);
    let both = ["restart-forgets-last", "logged-tables"];
    assert_eq!(ids(&found), both, "{found}");
    let said = written(url, &["doctor"], 3);
    let remedy = "remedy: ALTER TABLE auto_mutex.signals SET UNLOGGED";
    assert!(said.contains(remedy), "{said}");
    let ignoring = [
        "doctor",
        "--ignore",
        "restart-forgets-last",
        "--ignore",
        "logged-tables",
    ];
    written(url, &ignoring, 0);
    client.blocking_shutdown();
    // As the page on operations says it.
    let page = include_str!("../../../docs/operations.md");
    let (_, removing) = page.split_once("### Removing it from a server").unwrap();
    let statements = removing.split("```sql\n").skip(1).take(2);
    for statement in statements.map(|rest| rest.split("```").next().unwrap()) {
        assert!(server.runs(statement), "{statement}");
    }
    assert!(!server.runs("SET ROLE auto_mutex_owner"));
    let found = document(url, &["doctor"], 3);
    assert!(ids(&found).contains(&"schema"), "{found}");
}
