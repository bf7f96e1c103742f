//! All annotated functions of the program.

use super::Site;

// Each expansion submits one site.
inventory::collect!(&'static Site);

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
/// _;`).
#[must_use]
pub fn sites() -> Vec<&'static Site> {
    let mut sites: Vec<&'static Site> = all().collect();
    sites.sort_by_cached_key(|site| (site.to_string(), site.data.file, site.data.line));
    sites
}

pub(super) fn all() -> impl Iterator<Item = &'static Site> {
    inventory::iter::<&'static Site>().copied()
}
