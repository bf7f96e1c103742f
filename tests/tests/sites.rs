//! The list of all annotated functions, compared with a file, as the documentation tells users to do.
//!
//! The list contains all annotated functions of a program, so this is a separate program. `sites/locks.txt` names every
//! function here, called or not.
#![forbid(unsafe_code)]
#![allow(dead_code)]

use std::fmt::Display;

use auto_mutex::{LockError, Term, auto_leader, auto_mutex};
use auto_mutex::{auto_read, auto_semaphore, auto_write, no_auto_mutex};
// Linked, but not used.
use auto_mutex_tests as _;

const LOCKS: &str = include_str!("sites/locks.txt");

#[test]
fn locks_keep_their_names() {
    let sites: String = auto_mutex::sites()
        .iter()
        .map(|site| format!("{site}\n"))
        .collect();
    assert_eq!(
        sites, LOCKS,
        "if this is meant, write it to the file:\n{sites}"
    );
}

#[test]
fn a_site_says_where_it_is() {
    let sites = auto_mutex::sites();
    let site = sites
        .iter()
        .find(|site| site.function() == "close")
        .expect("it is listed");
    assert_eq!(site.name(), "auto-mutex-tests:Ledger:close:{month}");
    assert_eq!(site.attribute(), "auto_mutex");
    assert_eq!(site.options(), "key = \"{month}\", expire = 100");
    assert_eq!(site.module(), "sites");
    assert!(file!().ends_with(site.file()), "{}", site.file());
    assert_eq!(site.file(), file!());
    assert_eq!(site.line(), line_of("fn close("));
    let leader = sites.iter().find(|site| site.function() == "lead");
    let leader = leader.expect("it is listed");
    assert_eq!(leader.attribute(), "auto_leader");
    assert_eq!(leader.name(), "auto-mutex-tests:{Self}:lead");
    let library = sites
        .iter()
        .find(|site| site.module() == "auto_mutex_tests::annotated")
        .expect("the library's are listed");
    assert!(
        library.file().ends_with("src/annotated.rs"),
        "{}",
        library.file()
    );
}

fn line_of(text: &str) -> u32 {
    let lines = include_str!("sites.rs").lines();
    let (index, _) = lines
        .enumerate()
        .find(|(_, line)| line.trim_start().starts_with(text))
        .expect("it stands in this file");
    u32::try_from(index + 1).expect("a short file")
}

#[auto_mutex]
fn main_loop() -> Result<(), LockError> {
    Ok(())
}

mod deep {
    pub(super) mod deeper {
        use auto_mutex::{LockError, auto_mutex};

        #[auto_mutex(
            expire   = 100, // seconds
            key      = (user,   order.
                0),
            on_timeout = || Err(LockError::NotSetUp),
        )]
        pub(crate) async fn checkout(user: &str, order: (u32, u32)) -> Result<u32, LockError> {
            Ok(order.0 + order.1 + u32::from(user.is_empty()))
        }
    }
}

struct Ledger<T>(T);

#[auto_mutex(expire = 100)]
impl<T> Ledger<T> {
    #[auto_mutex(key = "{month}")]
    fn close(&self, month: u32) -> Result<u32, LockError> {
        Ok(month)
    }

    #[auto_mutex(name = "shared", expire = 5)]
    async fn named(&self) -> Result<(), LockError> {
        Ok(())
    }

    #[no_auto_mutex]
    fn free(&self) {}
}

impl<T> Ledger<T> {
    #[auto_mutex(key = "nr-{month}:{{x}}:{self.0}:ü", ns = "my ns")]
    fn alone(&self, month: u32) -> Result<u32, LockError>
    where
        T: Display,
    {
        Ok(month)
    }
}

impl<T: Display> Ledger<T> {
    #[auto_leader(value = "{self.0}:{port}", stop_within = 5, progress = "1m", on_overrun = abort)]
    async fn lead(&self, port: u16, term: &Term) -> Result<u16, LockError> {
        term.check().map(|()| port)
    }

    #[auto_leader(name = "seat", key = shard)]
    fn seat(shard: u32) -> Result<u32, LockError> {
        Ok(shard)
    }
}

trait Book {
    #[auto_mutex]
    fn default_method(&self) -> Result<(), LockError> {
        Ok(())
    }
}

#[auto_mutex(explicit, block = "2m")]
trait Shelf {
    fn not_marked(&self) {}

    #[auto_mutex]
    fn boxed(&self) -> std::pin::Pin<Box<dyn Future<Output = Result<(), LockError>> + '_>> {
        Box::pin(async move { Ok(()) })
    }
}

#[auto_write(block = 3)]
impl Ledger<u8> {
    fn change(&self) -> Result<(), LockError> {
        Ok(())
    }

    #[auto_read(key = "{n}")]
    fn look(&self, n: u32) -> Result<u32, LockError> {
        Ok(n)
    }

    #[auto_semaphore(permits = 2 * 2)]
    fn limited(&self) -> Result<(), LockError> {
        Ok(())
    }

    #[auto_mutex(keys = ["{from}:x", (to, "y"), "z"], was = "bank:Account:move")]
    fn transfer(&self, from: u32, to: u32) -> Result<u32, LockError> {
        Ok(from + to)
    }
}

#[auto_mutex(keys = ids.iter(), name = "group")]
fn each(ids: &[u32]) -> Result<usize, LockError> {
    Ok(ids.len())
}

#[auto_mutex(owner = format!("{session}"))]
fn owned(session: u32) -> Result<u32, LockError> {
    Ok(session)
}

macro_rules! make {
    ($($name:ident)*) => {
        $(
            #[auto_mutex(expire = 10, key = n + 1)]
            fn $name(n: u32) -> Result<u32, LockError> {
                Ok(n)
            }
        )*
    };
}
make!(made_one made_two);
