//! All annotated functions of the program.

use std::collections::BTreeMap;
use std::ptr;
use std::sync::Mutex;

use once_cell::race::OnceBox;

use super::{Declared, Site, section};
use crate::base::process::PerProcess;

/// All annotated functions of this program, sorted by the names of their locks, including functions that are never
/// called, generic functions, and those of linked libraries.
///
/// During a deploy, two versions of a program run side by side and must use the same names, but renaming a function,
/// its type or its module renames its lock. A test that compares this list with a file in the repository reveals such a
/// rename in review; the options `name` and `was` can then keep the old name.
///
/// ```standalone_crate
/// use auto_mutex::{LockError, auto_mutex};
///
/// struct Ledger;
///
/// #[auto_mutex(expire = 100)]
/// impl Ledger {
///     #[auto_mutex(name = "ledger:close", key = "{month}")]
///     fn close(&self, month: u32) -> Result<u32, LockError> {
///         Ok(month)
///     }
/// }
///
/// // Better in a file: `include_str!("locks.txt")`.
/// const LOCKS: &str = r#"
/// ledger:close:{month} #[auto_mutex(name = "ledger:close", key = "{month}", expire = 100)] fn close
/// "#;
///
/// # /*
/// #[test]
/// # */
/// fn locks_keep_their_names() {
///     let sites: String = auto_mutex::sites().iter().map(|site| format!("{site}\n")).collect();
///     assert_eq!(sites.trim(), LOCKS.trim(), "if this is intended, write it to the file:\n{sites}");
/// }
/// # locks_keep_their_names();
/// # let _ = Ledger.close(5);
/// ```
///
/// The linker drops unused libraries, so in an integration test, refer to the library under test (`use my_library as
/// _;`). Of a program that consists of several files, because it links Rust libraries dynamically (`dylib`), the list
/// contains the functions of the file that contains `auto-mutex`, and those of other files that have been called.
#[must_use]
pub fn sites() -> Vec<&'static Site> {
    let mut sites: Vec<&'static Site> = all().collect();
    sites.sort_by_cached_key(|site| (site.to_string(), site.data.file, site.data.line));
    sites
}

/// Those of this program's other files (Rust libraries of the kind `dylib`) only once they are called.
pub(super) fn all() -> impl Iterator<Item = &'static Site> {
    let others: Vec<&'static Site> = ELSEWHERE.lock().values().copied().collect();
    section::declared().iter().map(Declared::site).chain(others)
}

/// The sites of [`section::declared`], in the same order. Made without a lock, which a thread of the parent may have
/// held at a fork.
static SITES: OnceBox<Vec<OnceBox<Site>>> = OnceBox::new();

/// The called sites that [`section::declared`] lacks, by address.
static ELSEWHERE: PerProcess<Mutex<BTreeMap<usize, &'static Site>>> =
    PerProcess::new(Mutex::default);

impl Declared {
    #[inline]
    pub(crate) fn site(&'static self) -> &'static Site {
        let address = ptr::from_ref(self).addr();
        let begin = section::declared().as_ptr().addr();
        let sites = || section::declared().iter().map(|_| OnceBox::new());
        let sites = SITES.get_or_init(|| Box::new(sites().collect()));
        match sites.get(address.wrapping_sub(begin) / size_of::<Self>()) {
            Some(site) => site.get_or_init(|| Box::new(self.read())),
            None => ELSEWHERE
                .lock()
                .entry(address)
                .or_insert_with(|| Box::leak(Box::new(self.read()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_of_another_file_is_listed_once_it_is_called() {
        static DECLARED: Declared = Declared("elsewhere", "-:");
        let listed = || all().filter(|site| site.module() == "elsewhere").count();
        assert_eq!(listed(), 0);
        assert!(ptr::eq(DECLARED.site(), DECLARED.site()));
        assert_eq!(listed(), 1);
    }
}
