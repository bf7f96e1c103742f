//! The rights that a user needs: no more, no fewer.

use auto_mutex_seam::SetupError;
use auto_mutex_seam::store::{MemberId, RandomId};

use super::server::{LONG, Server, connect, run};
use crate::acl::acl_rule;

fn rule(commands: &[&str]) -> Vec<String> {
    let mut words: Vec<_> = ["ACL", "SETUSER", "locks", "reset", "on", ">canary"]
        .map(String::from)
        .into();
    words.extend(["~auto_mutex:*", "&auto_mutex:*"].map(String::from));
    words.extend(commands.iter().map(|command| format!("+{command}")));
    words
}

async fn attempt(server: &Server, commands: &[&str]) -> Result<(), SetupError> {
    let words = rule(commands);
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    run::<()>(&mut server.connection(), &words);
    let endpoint = server.endpoint("?user=locks&pass=canary");
    connect(&endpoint, LONG, None, MemberId::random())
        .await
        .map(drop)
}

#[test]
fn the_documented_rule_is_this_one() {
    let page = include_str!("../../../../docs/operations.md");
    let (_, rest) = page
        .split_once("ACL SETUSER locks reset on >PASSWORD")
        .unwrap();
    let (documented, _) = rest.split_once("```").unwrap();
    let documented: Vec<_> = documented.split_whitespace().collect();
    let rule = acl_rule("redis://h").unwrap().to_string();
    assert_eq!(documented.join(" "), rule);
}

#[tokio::test]
async fn a_user_with_exactly_these_rights_can_lock() {
    let server = Server::start();
    let rule = acl_rule("redis://h").unwrap();
    attempt(&server, &rule.commands().collect::<Vec<_>>())
        .await
        .unwrap();
    let least = rule.without_optional();
    attempt(&server, &least.commands().collect::<Vec<_>>())
        .await
        .unwrap();
}

#[tokio::test]
async fn a_missing_right_is_found_at_set_up() {
    let server = Server::start();
    // The scripts have run on this server, so later clients do not run them at set-up.
    let (endpoint, member) = (server.endpoint(""), MemberId::random());
    drop(connect(&endpoint, LONG, None, member).await.unwrap());
    let rule = acl_rule("redis://h").unwrap().without_optional();
    let all: Vec<_> = rule.commands().collect();
    for missing in &all {
        let rest: Vec<_> = all
            .iter()
            .copied()
            .filter(|command| command != missing)
            .collect();
        let found = attempt(&server, &rest).await;
        let Err(error) = found else {
            panic!("{missing} is not missed");
        };
        assert!(
            matches!(error, SetupError::Permission { .. }),
            "{missing}: {error:?}"
        );
        let text = format!("{error} {error:?}");
        assert!(!text.contains("canary"), "{text}");
    }
}
