//! An unsafe fn stays unsafe, and its body an unsafe context as far as the edition says.
#![deny(warnings)]
#![allow(missing_docs, unreachable_pub, unsafe_code, clippy::missing_safety_doc)]

use auto_mutex::{LockError, Term, auto_leader, auto_mutex};

#[auto_mutex]
unsafe fn read(at: *const u32) -> Result<u32, LockError> {
    Ok(unsafe { *at })
}

#[auto_mutex]
async unsafe fn read_async(at: &u32) -> Result<u32, LockError> {
    let at: *const u32 = at;
    Ok(unsafe { *at })
}

#[auto_leader]
unsafe fn lead(at: *const u32, term: &Term) -> Result<u32, LockError> {
    term.check()?;
    Ok(unsafe { *at })
}

struct Ledger;

#[auto_mutex]
impl Ledger {
    unsafe fn close(&self) -> Result<u32, LockError> {
        Ok(1)
    }
}

unsafe trait Book {
    unsafe fn open(&self) -> Result<u32, LockError>;
}

#[auto_mutex]
unsafe impl Book for Ledger {
    unsafe fn open(&self) -> Result<u32, LockError> {
        Ok(2)
    }
}

#[test]
fn runs() {
    // Without a client there is no lock, so no body runs.
    assert!(unsafe { Ledger.close() }.is_err() && unsafe { Ledger.open() }.is_err());
    let client = auto_mutex::Client::connect("memory://").unwrap();
    let n = 3;
    client.blocking_scope(|| {
        let _: unsafe fn(*const u32) -> Result<u32, LockError> = read;
        assert_eq!(unsafe { read(&n) }.unwrap(), 3);
        assert_eq!(unsafe { lead(&n) }.unwrap(), 3);
        assert_eq!(unsafe { Ledger.close() }.unwrap(), 1);
        assert_eq!(unsafe { Ledger.open() }.unwrap(), 2);
    });
    let read = client.scope(unsafe { read_async(&n) });
    assert_eq!(futures::executor::block_on(read).unwrap(), 3);
}
