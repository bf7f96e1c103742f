//! Fragments of `macro_rules!` arrive in invisible groups.
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

macro_rules! block {
    ($ty:ident, $ret:ty, $body:block) => {
        #[auto_mutex(expire = 10)]
        impl $ty {
            fn close(&self) -> $ret $body

            async fn open(&self) -> $ret {
                std::future::ready(()).await;
                $body
            }
        }
    };
}

struct Ledger;

block!(Ledger, Result<u32, LockError>, {
    Ok(3)
});

#[test]
fn runs() {
    let client = auto_mutex::Client::connect("memory://").unwrap();
    client.blocking_scope(|| {
        assert_eq!(close(1).unwrap(), 1);
        assert_eq!(Ledger.close().unwrap(), 3);
    });
    assert_eq!(
        futures::executor::block_on(client.scope(Ledger.open())).unwrap(),
        3
    );
}
