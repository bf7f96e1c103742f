//! The functions that the small examples share: they choose the store.
//!
//! Each example is a file beside this folder; `cluster`, `deadlock` and `leader` have folders of their own.
//! `actix_web`, `axum_handler`, `service`, `shop`, `tested_service`, `tokio_cron` and `tonic` are packages.

#![forbid(unsafe_code)]

pub mod run;

use auto_mutex::{Config, SetupError};

/// Returns the store of `AUTO_MUTEX_URL` if that is set, otherwise a store in this process called `name`. Prints the
/// choice.
///
/// # Errors
///
/// The errors of [`Config::from_env`].
pub fn store(name: &str) -> Result<Config, SetupError> {
    if is_set("AUTO_MUTEX_URL") {
        // The URL is not printed, because it may hold a password.
        println!("store: the one of AUTO_MUTEX_URL");
        return Config::from_env();
    }
    println!("store: memory://{name} (set AUTO_MUTEX_URL to use a Redis)");
    Config::new(format!("memory://{name}"))
}

/// Returns whether an environment variable has a value.
#[must_use]
pub fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty())
}
