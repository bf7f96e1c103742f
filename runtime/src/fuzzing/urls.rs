//! URLs: what is wrong with one is said without any part of it, for that may be a password.

use crate::Config;

/// Taken for a secret wherever it stands.
const CANARY: &str = "canary";

pub fn urls(bytes: &[u8]) {
    let Ok(url) = std::str::from_utf8(bytes) else {
        return;
    };
    match Config::new(url) {
        Err(error) => silent(&format!("{error} {error:?}")),
        Ok(config) => {
            let shown = format!("{config:?}");
            // (The word may be a host or a file as well.)
            if url.matches(CANARY).count() == 1 && is_password(url) {
                silent(&shown);
            }
            if let Err(error) = config.validate() {
                let _ = format!("{error} {error:?}");
            }
        }
    }
    // One of several.
    if let Err(error) = Config::quorum(url.split(' ')) {
        silent(&format!("{error} {error:?}"));
    }
}

/// Where a password belongs.
fn is_password(url: &str) -> bool {
    let Some((_, rest)) = url.split_once("://") else {
        return false;
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.contains(&format!(":{CANARY}@"))
}

fn silent(shown: &str) {
    assert!(!shown.contains(CANARY), "{shown}");
}
