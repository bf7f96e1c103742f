//! [`Holder`]: a holder of a lock, as errors and queries report it.

use std::fmt;
use std::time::SystemTime;

use super::HoldKind;

/// A holder of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// The host name of the machine. In a Kubernetes pod, this is the pod's name unless the pod uses the host's network
    /// or sets another name.
    pub host: String,
    /// The pod, as `namespace/name` or just the name, if the environment (`POD_NAME`, `POD_NAMESPACE`) has one that
    /// differs from `host`.
    pub pod: Option<String>,
    /// The process id.
    pub pid: u32,
    /// The site in the program: the path of an annotated function or the name of a handle, then ` at file:line`.
    pub site: String,
    /// When the holder got the lock, by the store's clock. (A quorum may report a time about 10 ms late.)
    pub since: SystemTime,
    /// The owner that its handle or attribute gave: see [`Mutex::owner`](struct.Mutex.html#method.owner).
    pub owner: Option<String>,
    /// The kind of its hold, which only queries such as `info` get from the store. `None` in an error.
    pub kind: Option<HoldKind>,
    /// How many units the holder has: 1 for a mutex, the number of permits for a semaphore, 1 for a reader, and 2^30
    /// for a writer. `None` in an error, like `kind`.
    pub units: Option<u32>,
    /// How many permits its program gives the semaphore. `None` for other locks.
    pub permits: Option<u32>,
    /// The complete names of the locks that the task held when it asked for this one, at most the outermost eight and a
    /// kilobyte of names. A task holds the locks of the protected calls around it: annotated functions and
    /// `synchronize`.
    pub holds: Vec<String>,
}

impl Holder {
    /// The file in [`site`](Self::site), as it was given to the compiler.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        Some(apart(&self.site)?.1)
    }

    /// The line in [`site`](Self::site).
    #[must_use]
    pub fn line(&self) -> Option<u32> {
        Some(apart(&self.site)?.2)
    }
}

/// Splits a site `path at file:line` into path, file and line.
pub fn apart(site: &str) -> Option<(&str, &str, u32)> {
    let (path, place) = site.rsplit_once(" at ")?;
    let (file, line) = place.rsplit_once(':')?;
    Some((path, file, line.parse().ok()?))
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (pid {} on {}", self.site, self.pid, self.host)?;
        if let Some(pod) = &self.pod {
            write!(f, ", pod {pod}")?;
        }
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::apart;

    #[test]
    fn a_site_is_taken_apart() {
        let path = "billing::Ledger::close";
        for (site, expected) in [
            (
                "billing::Ledger::close at src/ledger.rs:17",
                Some((path, "src/ledger.rs", 17)),
            ),
            (path, None),
            ("meet at noon", None),
            ("meet at noon:x", None),
            ("", None),
        ] {
            assert_eq!(apart(site), expected);
        }
    }
}
