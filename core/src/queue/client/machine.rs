//! The machine that this process runs on.

use std::env;

use crate::config::Settings;
use crate::store::meta;

/// Longer than any pod's namespace and name together. Longer values are ignored.
const LONGEST_POD: usize = 320;

/// The machine, and the id of this process.
pub(super) fn process(settings: &Settings) -> (String, u32) {
    if let Some((host, pid)) = &settings.process {
        return (meta::machine(host, None), *pid);
    }
    (machine(), std::process::id())
}

fn machine() -> String {
    let host = gethostname::gethostname().to_string_lossy().into_owned();
    let pod = pod(&host, |variable| env::var(variable).ok());
    meta::machine(&host, pod.as_deref())
}

/// The pod's name, if the environment has one that differs from the host's.
fn pod(host: &str, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let given = |name| variable(name).filter(|value| !value.is_empty());
    let name = given("POD_NAME")?;
    let pod = match given("POD_NAMESPACE") {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name,
    };
    (pod != host && pod.len() <= LONGEST_POD).then_some(pod)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_named_only_if_that_says_something() {
        let pod = |variables: &[(&str, &str)]| {
            let find = |name: &str| {
                let mut found = variables.iter().filter(|variable| variable.0 == name);
                found.next().map(|variable| variable.1.to_owned())
            };
            super::pod("books-x2x8q", find)
        };
        let (same, other) = (("POD_NAME", "books-x2x8q"), ("POD_NAME", "agent-1"));
        let namespace = ("POD_NAMESPACE", "prod");
        assert_eq!(pod(&[]), None);
        assert_eq!(pod(&[namespace]), None);
        assert_eq!(pod(&[same]), None);
        assert_eq!(pod(&[other]).as_deref(), Some("agent-1"));
        assert_eq!(pod(&[same, namespace]).as_deref(), Some("prod/books-x2x8q"));
        assert_eq!(pod(&[("POD_NAME", ""), namespace]), None);
        let long = "x".repeat(LONGEST_POD + 1);
        assert_eq!(pod(&[("POD_NAME", &long)]), None);
    }
}
