//! A [`Config`] from the environment.

use std::ffi::OsString;

use super::Config;
use crate::base::error::SetupError;

const URL: &str = "AUTO_MUTEX_URL";
const NAMESPACE: &str = "AUTO_MUTEX_NAMESPACE";

/// `lookup` is `std::env::var_os`, except in tests, because setting variables is unsafe in a process with threads.
pub(super) fn read(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Config, SetupError> {
    let Some(url) = variable(URL, &lookup)? else {
        return Err(SetupError::Environment {
            variable: URL,
            reason: "it is not set; set it to the URL of the lock store, for example redis://127.0.0.1:6379",
        });
    };
    let config = Config::new(&url)?;
    Ok(match variable(NAMESPACE, &lookup)? {
        Some(namespace) => config.namespace(namespace),
        None => config,
    })
}

/// An empty variable counts as unset, because many tools unset variables like this.
fn variable(
    variable: &'static str,
    lookup: impl Fn(&str) -> Option<OsString>,
) -> Result<Option<String>, SetupError> {
    let value = lookup(variable).filter(|value| !value.is_empty());
    let text = value.map(OsString::into_string).transpose();
    text.map_err(|_| SetupError::Environment {
        variable,
        reason: "it is not valid UTF-8",
    })
}

#[cfg(repository)]
#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[(&str, &str)]) -> Result<Config, SetupError> {
        read(|name| {
            let found = pairs.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| value.into())
        })
    }

    #[test]
    fn the_url_is_needed_and_the_namespace_is_not() {
        for missing in [&[][..], &[(URL, "")], &[(NAMESPACE, "n")]] {
            assert!(matches!(
                with(missing),
                Err(SetupError::Environment { variable: URL, .. })
            ));
        }
        let settings = with(&[(URL, "memory://")]).unwrap().validate().unwrap();
        assert_eq!(settings.namespace, None);
        let settings = with(&[(URL, "memory://"), (NAMESPACE, "prod")])
            .unwrap()
            .validate()
            .unwrap();
        assert_eq!(settings.namespace.as_deref(), Some("prod"));
        let settings = with(&[(URL, "memory://"), (NAMESPACE, "")])
            .unwrap()
            .validate()
            .unwrap();
        assert_eq!(settings.namespace, None);
    }

    #[test]
    fn a_bad_url_is_told_without_repeating_it() {
        let error = with(&[(URL, "redis://u:canary/@h")]).unwrap_err();
        assert!(matches!(error, SetupError::InvalidUrl { .. }));
        assert!(!format!("{error} {error:?}").contains("canary"));
    }

    #[cfg(unix)]
    #[test]
    fn what_is_not_unicode_is_refused() {
        use std::os::unix::ffi::OsStringExt as _;
        let error = read(|_| Some(OsString::from_vec(vec![0xff]))).unwrap_err();
        assert!(matches!(
            error,
            SetupError::Environment { variable: URL, .. }
        ));
    }
}
