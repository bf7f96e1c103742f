//! Another crate passes the runtime on under its own path.
#![deny(warnings)]
#![forbid(unsafe_code)]
#![allow(missing_docs, unreachable_pub)]

/// Stands for a crate that re-exports the runtime.
mod mine {
    pub mod deep {
        pub use auto_mutex as locks;
    }
}

use mine::deep::locks::{self, LockError};

#[locks::auto_mutex(crate = crate::pass::renamed::mine::deep::locks, expire = 10, on_timeout = skip)]
fn close() -> Result<u32, LockError> {
    Ok(1)
}

#[locks::auto_leader(crate = crate::pass::renamed::mine::deep::locks, value = "x", stop_within = 1, on_overrun = log)]
fn lead(_: &locks::Term) -> Result<u32, LockError> {
    Ok(1)
}

struct Ledger;

#[locks::auto_mutex(crate = locks)]
impl Ledger {
    async fn close(&self) -> Result<u32, LockError> {
        Ok(1)
    }

    #[locks::auto_mutex(key = "{n}")]
    fn open(&self, n: u32) -> Result<u32, LockError> {
        Ok(n)
    }
}

#[test]
fn runs() {
    let client = locks::Client::connect("memory://").unwrap();
    client.blocking_scope(|| {
        assert_eq!(
            close().unwrap() + Ledger.open(1).unwrap() + lead().unwrap(),
            3
        )
    });
    assert_eq!(
        futures::executor::block_on(client.scope(Ledger.close())).unwrap(),
        1
    );
}
