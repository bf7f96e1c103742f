//! Names and traits of the user's do not reach into the expansion, nor it into them.
#![deny(warnings)]
#![forbid(unsafe_code)]
#![allow(dead_code, non_camel_case_types, clippy::wrong_self_convention)]
#![allow(missing_docs, unreachable_pub)]

use auto_mutex::{Client, LockError, auto_mutex};

mod core {}
mod std {}
mod auto_mutex_private {}

macro_rules! shadows {
    ($($name:ident)*) => {
        $(pub struct $name;)*
    };
}

// Of the prelude, and of what the expansion names.
shadows!(Ok Err Some None Result Box Duration Request);
shadows!(Site Mutex Multi Semaphore Read Write Attribute Listed Leader Overrun Standing);

#[allow(unused_macros)]
macro_rules! concat {
    ($($t:tt)*) => {
        compile_error!("the user's")
    };
}

#[allow(unused_macros)]
macro_rules! submit {
    ($($t:tt)*) => {
        compile_error!("the user's")
    };
}

macro_rules! on_everything {
    ($($name:ident)*) => {
        pub trait Everything {
            $(fn $name(&self) {
                panic!("the user's")
            })*
        }
    };
}

on_everything!(part each into_iter list lock expire from_lock_error next run);
impl<T: ?Sized> Everything for T {}

static __SITE: u32 = 7;
fn __value2() -> u32 {
    7
}

type Out<T> = ::std::result::Result<T, LockError>;

fn answer(_: LockError) -> u32 {
    3
}

#[auto_mutex(expire = 10, key = "{__value}", on_timeout = skip, on_error = answer)]
fn sync(__value: u32) -> u32 {
    __SITE + __value2() + __value
}

#[auto_mutex(expire = 10, key = "{__value}", on_timeout = skip, on_error = answer)]
async fn future(__value: u32) -> u32 {
    __SITE + __value2() + __value
}

#[auto_mutex(guard = g)]
async fn guarded() -> Out<u32> {
    let __guard = g.fencing_token();
    ::std::result::Result::Ok(if __guard > 0 { __SITE } else { 0 })
}

#[auto_mutex::auto_mutex(keys = ids, guard = g)]
fn several(ids: &[u32]) -> Out<usize> {
    ::std::result::Result::Ok(ids.len() + g.names().count())
}

#[auto_mutex::auto_semaphore(permits = 2)]
fn semaphore() -> Out<u32> {
    ::std::result::Result::Ok(2)
}

#[auto_mutex::auto_write]
async fn write() -> Out<u32> {
    ::std::result::Result::Ok(3)
}

#[auto_mutex::auto_leader(value = "{__term}", stop_within = 5, on_overrun = abort)]
async fn lead(__term: u32, __value: &auto_mutex::Term, __standing: u32) -> Out<u32> {
    let __body = __value.number() > 0;
    ::std::result::Result::Ok(if __body { __term + __standing } else { __SITE })
}

#[test]
fn runs() {
    let client = Client::connect("memory://").unwrap();
    assert_eq!(client.blocking_scope(|| sync(1)), 15);
    assert_eq!(client.blocking_scope(|| several(&[1, 2])).unwrap(), 4);
    assert_eq!(client.blocking_scope(semaphore).unwrap(), 2);
    assert_eq!(
        ::futures::executor::block_on(client.scope(write())).unwrap(),
        3
    );
    assert_eq!(::futures::executor::block_on(client.scope(future(1))), 15);
    assert_eq!(
        ::futures::executor::block_on(client.scope(guarded())).unwrap(),
        7
    );
    assert_eq!(
        ::futures::executor::block_on(client.scope(lead(1, 2))).unwrap(),
        3
    );
}
