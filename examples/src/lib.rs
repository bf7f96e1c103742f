//! What the small examples share: which store they use.
//!
//! The examples themselves lie beside this folder, one file each; `cluster` and `deadlock` have folders of their own, and
//! `axum_handler` a package.

#![forbid(unsafe_code)]

use auto_mutex::{Config, SetupError};

/// The store of `AUTO_MUTEX_URL` if that is set, else one in this process called `name`. Says which.
///
/// # Errors
///
/// Those of [`Config::from_env`].
pub fn store(name: &str) -> Result<Config, SetupError> {
    if is_set("AUTO_MUTEX_URL") {
        // Not the URL itself: it may hold a password.
        println!("store: the one of AUTO_MUTEX_URL");
        return Config::from_env();
    }
    println!("store: memory://{name} (set AUTO_MUTEX_URL to use a Redis)");
    Config::new(format!("memory://{name}"))
}

/// Whether an environment variable has a value.
#[must_use]
pub fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty())
}
