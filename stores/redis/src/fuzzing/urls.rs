//! An error about a URL shows no part of it, because any part may belong to a password.

use auto_mutex_seam::Config;

/// A text that stands for a secret anywhere in a URL.
const CANARY: &str = "canary";

/// URLs.
pub fn urls(bytes: &[u8]) {
    let Ok(url) = std::str::from_utf8(bytes) else {
        return;
    };
    match Config::new(url) {
        Err(error) => silent(&format!("{error} {error:?}")),
        Ok(config) => {
            let shown = format!("{config:?}");
            // The text may also be a host or a file, which a `Config` may show.
            if url.matches(CANARY).count() == 1 && is_password(url) {
                silent(&shown);
            }
            if let Err(error) = config.validate() {
                let _ = format!("{error} {error:?}");
            }
        }
    }
    // Checks the error for a list of URLs, too.
    if let Err(error) = Config::quorum(url.split(' ')) {
        silent(&format!("{error} {error:?}"));
    }
}

/// Whether the URL contains `CANARY` as its password.
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
