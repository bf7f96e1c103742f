//! What a `Config` makes of this engine's URLs.

use auto_mutex_seam::{Config, Credentials};
// For `memory://` and `redlock://`.
use auto_mutex_memory as _;
use auto_mutex_quorum as _;

#[test]
fn the_restart_guard_is_on_where_there_are_several_servers() {
    let table = [
        ("memory://", false),
        ("redis://h", false),
        ("unix:///s", false),
        ("redis-sentinel://h1,h2/service", true),
        ("redis-cluster://h1,h2", true),
        ("redlock://h1,h2,h3", true),
    ];
    for (url, on) in table {
        let guarded = |config: Config| config.validate().unwrap().options.restart_guard;
        let config = Config::new(url).unwrap();
        assert_eq!(guarded(config.clone()), on, "{url}");
        assert_eq!(guarded(config.restart_guard(!on)), !on, "{url}");
    }
}

#[test]
fn no_debug_output_shows_credentials() {
    for url in [
        "redis://canary-user:canary-pass@h",
        "unix:///s?user=canary&pass=canary",
    ] {
        let config = Config::new(url).unwrap();
        let settings = config.clone().validate().unwrap();
        let text = format!("{config:?} {config:#?} {settings:?} {settings:#?}");
        assert!(text.contains("***") && !text.contains("canary"), "{text}");
        assert!(!settings.engine.servers().contains("canary"));
    }
}

#[test]
fn a_provider_and_a_password_in_the_url_exclude_each_other() {
    let config = |url: &str| {
        let provider = |_| async { Ok(Credentials::password("p")) };
        let config = Config::new(url).unwrap().credentials(provider);
        config.validate()
    };
    for url in [
        "redis://user:canary@h",
        "redis://:canary@h",
        "unix:///s?pass=canary",
        "redis-sentinel://:canary@h/s",
        "redis-sentinel://h/s?sentinel_pass=canary",
        "redis-cluster://user@h",
        "redlock://:canary@a,b,c",
    ] {
        let error = config(url).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("invalid `credentials`: the URL has "),
            "{text}"
        );
        assert!(!format!("{error:?}").contains("canary"));
    }
    for url in [
        "memory://",
        "redis://h",
        "rediss://h",
        "unix:///s",
        "redis-sentinel://h/s",
        "redis-cluster://h",
        "redlock://a,b,c",
    ] {
        let settings = config(url).unwrap();
        let text = format!("{settings:?}");
        let has_one = text.contains("source: Some(CredentialsProvider)");
        assert_eq!(has_one, url != "memory://", "{text}");
    }
}
