//! `#[auto_leader]` on all that can carry it, without a warning.
#![deny(warnings)]
#![deny(clippy::all, clippy::pedantic, clippy::nursery)]
#![forbid(unsafe_code)]
#![allow(dead_code)]
#![allow(missing_docs, unreachable_pub)]

use std::error::Error;
use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use auto_mutex::{Client, LockError, Term, auto_leader};

type Out<T = ()> = Result<T, LockError>;

const LIMIT: Duration = Duration::from_secs(5);

#[auto_leader(namespace = "prod", value = host.to_uppercase(), stop_within = LIMIT, progress = LIMIT * 2, on_overrun = log, order = "at start", crate = ::auto_mutex)]
fn expressions(_: &Term, host: &str) -> Out<usize> {
    Ok(host.len())
}

#[auto_leader(key = (a, "x", b + 1), value = load(b).await?)]
async fn awaited(a: &str, term: &auto_mutex::Term, b: u32) -> Out<u64> {
    let _ = a;
    Ok(term.number() + u64::from(b))
}

async fn load(n: u32) -> Out<String> {
    std::future::ready(()).await;
    Ok(n.to_string())
}

#[auto_leader]
async fn consumes(
    names: Vec<String>,
    mut count: u32,
) -> Result<Vec<String>, Box<dyn Error + Send + Sync>> {
    count += 1;
    let names = names.clone();
    if count > 100 {
        return Err("too many".into());
    }
    std::future::ready(()).await;
    Ok(names)
}

#[auto_leader]
async fn generic<T, const N: usize>(things: &[T; N], mut term: &Term) -> Out<String>
where
    T: Display + Sync + Clone,
{
    term = std::convert::identity(term);
    term.check()?;
    for thing in things {
        std::future::ready(()).await;
        let text = thing.clone().to_string();
        if text.len() > 1 {
            return Ok(text);
        }
    }
    Ok(String::new())
}

#[auto_leader]
async fn opaque(make: impl Fn() -> u32 + Sync) -> Out<impl Display> {
    std::future::ready(()).await;
    Ok(make())
}

#[auto_leader]
async fn borrowed<'a>(text: &'a str, other: &str) -> Out<&'a str> {
    std::future::ready(()).await;
    Ok(if other.is_empty() { text } else { &text[1..] })
}

/// Makes a future.
#[auto_leader]
#[allow(clippy::manual_async_fn)]
fn block(n: u32, term: &Term) -> impl Future<Output = Out<u64>> + Send {
    async move {
        std::future::ready(()).await;
        Ok(u64::from(n) + term.number())
    }
}

#[auto_leader]
fn boxed<'a>(n: &'a u32, term: &Term) -> Pin<Box<dyn Future<Output = Out<u32>> + Send + 'a>> {
    Box::pin(async move {
        term.check()?;
        std::future::ready(()).await;
        Ok(*n)
    })
}

/// Never returns but by `?`.
#[auto_leader]
async fn endless(left: &mut u32, term: &Term) -> Out {
    loop {
        term.check()?;
        std::future::ready(()).await;
        *left = left.checked_sub(1).ok_or(LockError::NotSetUp)?;
    }
}

#[auto_leader]
fn endless_sync(mut left: u32) -> Out<std::convert::Infallible> {
    loop {
        left = left.checked_sub(1).ok_or(LockError::NotSetUp)?;
    }
}

#[rustfmt::skip]
#[auto_leader]
fn one_line(term: &Term) -> Out<u64> { Ok(term.number()) }

/// Its fragments arrive in invisible groups.
macro_rules! made {
    ($name:ident($term:ident: $ty:ty) -> $ret:ty, $value:expr, $body:block) => {
        #[auto_leader(value = $value)]
        async fn $name(#[allow(unused_variables)] $term: $ty) -> $ret {
            std::future::ready(()).await;
            $body
        }
    };
}

made!(made(term: &Term) -> Out<u64>, 1 + 1, {
    Ok(term.number())
});

struct Scheduler {
    addr: String,
}

impl Scheduler {
    #[auto_leader(name = "scheduler", value = "{self.addr}", stop_within = 5)]
    async fn schedule(&self, term: &Term) -> Out<&str> {
        term.check()?;
        std::future::ready(()).await;
        Ok(&self.addr)
    }

    #[auto_leader]
    async fn shared(self: Arc<Self>, term: &Term) -> Out<usize> {
        term.check()?;
        std::future::ready(()).await;
        Ok(self.addr.len())
    }
}

trait Work {
    fn work(&self) -> impl Future<Output = Out<u64>> + Send;

    #[auto_leader]
    fn by_default(&self, term: &Term) -> Out<u64> {
        Ok(term.number())
    }
}

impl Work for Scheduler {
    #[auto_leader]
    async fn work(&self, term: &Term) -> Out<u64> {
        std::future::ready(()).await;
        Ok(term.number())
    }
}

const fn is_send<F: Send>(future: F) -> F {
    future
}

#[test]
fn runs() {
    let client = Client::connect("memory://").unwrap();
    let scheduler = || Scheduler {
        addr: "10.0.0.5".to_owned(),
    };
    client.blocking_scope(|| {
        assert!(one_line().unwrap() > 0);
        assert!(endless_sync(3).is_err());
        assert_eq!(expressions("abc").unwrap(), 3);
        assert!(scheduler().by_default().unwrap() > 0);
    });
    let other = scheduler();
    futures::executor::block_on(client.scope(is_send(async {
        assert!(is_send(awaited("a", 3)).await.unwrap() > 3);
        assert!(is_send(endless(&mut 3)).await.is_err());
        assert!(is_send(made()).await.unwrap() > 0);
        let names = is_send(consumes(vec!["a".to_owned()], 1)).await.unwrap();
        assert_eq!(names, ["a"]);
        assert_eq!(is_send(generic(&[1, 22])).await.unwrap(), "22");
        assert_eq!(is_send(opaque(|| 7)).await.unwrap().to_string(), "7");
        assert_eq!(is_send(borrowed("abc", "")).await.unwrap(), "abc");
        assert!(is_send(block(3)).await.unwrap() > 3);
        assert_eq!(is_send(boxed(&3)).await.unwrap(), 3);
        assert_eq!(is_send(other.schedule()).await.unwrap(), "10.0.0.5");
        assert!(is_send(other.work()).await.unwrap() > 0);
        assert_eq!(is_send(Arc::new(scheduler()).shared()).await.unwrap(), 8);
    })));
}
