//! Bodies on one line: lints about braces look only at those.
#![deny(warnings, unused_braces, unused_parens, unreachable_code)]
#![forbid(unsafe_code)]
#![allow(missing_docs, unreachable_pub, clippy::manual_async_fn)]

use std::future::Future;

use auto_mutex::{LockError, auto_mutex};

#[auto_mutex]
fn sync() -> Result<u32, LockError> {
    Ok(1)
}

#[auto_mutex]
async fn future() -> Result<u32, LockError> {
    Ok(1)
}

#[auto_mutex]
fn block() -> impl Future<Output = Result<u32, LockError>> {
    async { Ok(1) }
}

#[auto_mutex]
fn made() -> impl Future<Output = Result<u32, LockError>> {
    std::future::ready(Ok(1))
}

#[auto_mutex(key = (n), on_timeout = || { Ok(1) }, on_error = |e| { Err(e) })]
fn closures(n: u32) -> Result<u32, LockError> {
    Ok(n)
}

#[auto_mutex(key = (n), on_timeout = |_n| { Ok(1) }, on_error = |e| { Err(e) })]
async fn closures_async(n: u32) -> Result<u32, LockError> {
    Ok(n)
}

#[auto_mutex(on_timeout = panic, on_error = |_| -> u32 { panic!("no") })]
async fn panics() -> u32 {
    1
}

#[auto_mutex(on_timeout = panic, on_error = panic)]
fn diverges() -> u32 {
    std::process::exit(0)
}

#[auto_mutex(on_timeout = panic, on_error = panic)]
async fn never() -> ! {
    std::process::exit(0)
}

#[auto_mutex(on_timeout = gone, on_error = |_| gone())]
fn never_sync() -> ! {
    std::process::exit(0)
}

fn gone() -> ! {
    panic!("gone")
}

#[test]
fn runs() {
    let client = auto_mutex::Client::connect("memory://").unwrap();
    client.blocking_scope(|| assert_eq!(sync().unwrap() + closures(1).unwrap(), 2));
    futures::executor::block_on(client.scope(async {
        assert_eq!(
            future().await.unwrap() + block().await.unwrap() + made().await.unwrap(),
            3
        );
        assert_eq!(closures_async(1).await.unwrap() + panics().await, 2);
    }));
    if std::env::args().count() > 100 {
        diverges();
        drop(never());
        never_sync();
    }
}
