//! Fragments of `macro_rules!` arrive in invisible groups, those of a block as well: see `attribute/hidden.rs`.
#![deny(warnings)]
#![forbid(unsafe_code)]
#![allow(missing_docs, unreachable_pub)]

use auto_mutex::{LockError, auto_mutex};

macro_rules! protected {
    ($vis:vis fn $name:ident($arg:ident: $ty:ty) -> $ret:ty, $secs:expr, $key:expr, $handler:path, $lock:literal) => {
        #[auto_mutex(expire = $secs, key = $key, on_timeout = $handler, name = $lock)]
        $vis fn $name($arg: $ty) -> $ret {
            Ok($arg)
        }
    };
}

fn busy(n: u32) -> Result<u32, LockError> {
    Ok(n)
}

protected!(pub fn close(n: u32) -> Result<u32, LockError>, 100, n + 1, busy, "close");

#[test]
fn runs() {
    let client = auto_mutex::Client::connect("memory://").unwrap();
    assert_eq!(client.blocking_scope(|| close(1)).unwrap(), 1);
}
