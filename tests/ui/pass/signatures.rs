//! Bodies and signatures keep every freedom of plain Rust.
#![deny(warnings, clippy::all, clippy::pedantic)]
#![forbid(unsafe_code)]
#![allow(missing_docs, unreachable_pub)]
#![allow(
    clippy::boxed_local,
    clippy::many_single_char_names,
    clippy::trivially_copy_pass_by_ref,
    clippy::unused_async,
    clippy::unnecessary_wraps,
    clippy::needless_pass_by_value
)]

use std::borrow::Cow;
use std::fmt::{Debug, Display};
use std::pin::Pin;
use std::rc::Rc;

use auto_mutex::{LockError, auto_mutex};

struct Point {
    x: u32,
    y: (u32, u32),
}

type Outcome<T> = Result<T, LockError>;

#[auto_mutex]
fn alias_of_opaque(n: u32) -> Outcome<impl Display> {
    Ok(n)
}

#[auto_mutex(on_timeout = exits, on_error = exits_too)]
async fn diverging(n: u32) -> u32 {
    n
}

fn exits(n: u32) -> ! {
    panic!("busy: {n}")
}

fn exits_too(error: LockError) -> ! {
    panic!("{error}")
}

#[auto_mutex]
fn borrowed<'a>(all: &'a mut Vec<String>, more: &str) -> Result<&'a mut String, LockError> {
    all.push(more.to_owned());
    let last = all.len() - 1;
    Ok(&mut all[last])
}

#[auto_mutex]
async fn borrowed_async<'a>(
    all: &'a mut Vec<String>,
    more: &str,
) -> Result<&'a mut String, LockError> {
    all.push(more.to_owned());
    let last = all.len() - 1;
    Ok(&mut all[last])
}

#[auto_mutex(key = (all.len(), T::default()))]
fn generic<T, const N: usize>(all: &[T; N]) -> Result<Cow<'_, [T]>, LockError>
where
    T: Clone + Default + Display,
{
    Ok(Cow::Borrowed(all))
}

#[auto_mutex(key = "{x}:{b}")]
fn patterns(
    Point { x, y: (_, b) }: Point,
    (c, mut d): (u32, u32),
    [e, ..]: [u32; 3],
    &f: &u32,
    _: String,
    mut g: u32,
) -> Result<u32, LockError> {
    d += 1;
    g += 1;
    Ok(x + b + c + d + e + f + g)
}

#[auto_mutex(key = "{x}:{b}")]
async fn patterns_async(
    Point { x, y: (_, b) }: Point,
    (c, mut d): (u32, u32),
    _: String,
    mut g: u32,
) -> Result<u32, LockError> {
    d += 1;
    g += 1;
    Ok(x + b + c + d + g)
}

#[auto_mutex(key = value)]
fn impl_argument(
    value: impl Display + Clone,
    list: impl IntoIterator<Item = u32>,
) -> Result<String, LockError> {
    let sum: u32 = list.into_iter().sum();
    Ok(format!("{value}{sum}"))
}

#[auto_mutex]
fn impl_result(n: u32) -> Result<impl Iterator<Item = u32>, LockError> {
    Ok(0..n)
}

#[auto_mutex]
async fn impl_result_async(n: u32) -> Result<impl Debug, LockError> {
    Ok(n)
}

#[auto_mutex]
fn coerced(debug: bool) -> Result<Box<dyn Debug>, LockError> {
    if debug {
        return Ok(Box::new(1));
    }
    Ok(Box::new("one"))
}

#[auto_mutex(on_timeout = || Box::new(1), on_error = |_| Box::new(2))]
async fn coerced_async(debug: bool) -> Box<dyn Debug> {
    if debug {
        return Box::new(1);
    }
    Box::new("one")
}

#[auto_mutex]
fn recursive(n: u32) -> Result<u32, LockError> {
    if n == 0 {
        Ok(0)
    } else {
        Ok(1 + recursive(n - 1)?)
    }
}

#[auto_mutex]
async fn recursive_async(n: u32) -> Result<u32, LockError> {
    if n == 0 {
        Ok(0)
    } else {
        Ok(1 + Box::pin(recursive_async(n - 1)).await?)
    }
}

#[auto_mutex]
async fn not_send(value: Rc<u32>) -> Result<Rc<u32>, LockError> {
    std::future::ready(()).await;
    Ok(value)
}

#[auto_mutex]
fn closure_result(n: u32) -> Result<impl Fn(u32) -> u32, LockError> {
    Ok(move |m| n + m)
}

#[auto_mutex(key = "{match}:{r#type}")]
fn raw(r#match: u32, r#type: u32) -> Result<u32, LockError> {
    Ok(r#match + r#type)
}

#[derive(Clone, Default)]
struct Ledger {
    names: Vec<String>,
}

impl Ledger {
    #[auto_mutex]
    fn by_ref(&self) -> Result<&str, LockError> {
        Ok(self.names.first().map_or("", |name| name))
    }

    #[auto_mutex]
    fn by_mut(&mut self) -> Result<&mut String, LockError> {
        self.names.push(String::new());
        Ok(&mut self.names[0])
    }

    #[auto_mutex]
    async fn by_mut_async(&mut self) -> Result<&mut String, LockError> {
        self.names.push(String::new());
        Ok(&mut self.names[0])
    }

    #[auto_mutex]
    fn by_value(mut self) -> Result<Self, LockError> {
        self.names.clear();
        Ok(self)
    }

    #[auto_mutex]
    fn by_box(self: Box<Self>) -> Result<Vec<String>, LockError> {
        Ok(self.names)
    }

    #[auto_mutex]
    async fn by_pin(self: Pin<&mut Self>) -> Result<usize, LockError> {
        Ok(self.names.len())
    }

    #[auto_mutex]
    fn new(name: &str) -> Result<Self, LockError> {
        Ok(Self {
            names: vec![name.to_owned()],
        })
    }
}

#[test]
fn runs() {
    fn is_send<T: Send>(_: &T) {}

    let client = auto_mutex::Client::connect("memory://").unwrap();
    client.blocking_scope(|| {
        let mut all = Vec::new();
        borrowed(&mut all, "a").unwrap().push('b');
        assert_eq!(all, ["ab"]);
        assert_eq!(generic(&[1, 2]).unwrap().len(), 2);
        let point = || Point { x: 1, y: (0, 2) };
        assert_eq!(
            patterns(point(), (3, 4), [5, 0, 0], &6, String::new(), 7).unwrap(),
            30
        );
        assert_eq!(impl_argument("a", [1, 2]).unwrap(), "a3");
        assert_eq!(impl_result(3).unwrap().count(), 3);
        assert_eq!(format!("{:?}", coerced(false).unwrap()), "\"one\"");
        assert_eq!(format!("{:?}", coerced(true).unwrap()), "1");
        assert_eq!(recursive(4).unwrap(), 4);
        assert_eq!(alias_of_opaque(4).unwrap().to_string(), "4");
        assert_eq!(closure_result(4).unwrap()(3), 7);
        assert_eq!(raw(1, 2).unwrap(), 3);
        let mut ledger = Ledger::new("a").unwrap();
        assert_eq!(ledger.by_ref().unwrap(), "a");
        ledger.by_mut().unwrap().push('b');
        assert_eq!(ledger.names[0], "ab");
        assert_eq!(Box::new(ledger.clone()).by_box().unwrap().len(), 2);
        assert!(ledger.by_value().unwrap().names.is_empty());
    });
    let run = async {
        assert_eq!(diverging(2).await, 2);
        let mut all = Vec::new();
        borrowed_async(&mut all, "a").await.unwrap().push('b');
        assert_eq!(all, ["ab"]);
        let point = Point { x: 1, y: (0, 2) };
        assert_eq!(
            patterns_async(point, (3, 4), String::new(), 7)
                .await
                .unwrap(),
            19
        );
        assert_eq!(format!("{:?}", impl_result_async(3).await.unwrap()), "3");
        assert_eq!(format!("{:?}", coerced_async(false).await), "\"one\"");
        assert_eq!(recursive_async(4).await.unwrap(), 4);
        let mut ledger = Ledger::default();
        ledger.by_mut_async().await.unwrap().push('b');
        assert_eq!(Pin::new(&mut ledger).by_pin().await.unwrap(), 1);
    };
    is_send(&recursive_async(1));
    futures::executor::block_on(client.scope(run));
    assert_eq!(
        *futures::executor::block_on(client.scope(not_send(Rc::new(1)))).unwrap(),
        1
    );
}
