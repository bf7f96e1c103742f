//! One lock per value of a key.

use std::cell::Cell;
use std::fmt;
use std::num::ParseIntError;

use auto_mutex::{LockError, auto_mutex};

use crate::support::{client, scoped};

type Name = Result<String, LockError>;

/// The part of the name that the key made.
fn key(name: impl FnOnce() -> Name) -> String {
    let name = client().blocking_scope(name).expect("the lock");
    name.strip_prefix("keys:k")
        .expect("the function's part")
        .to_owned()
}

struct Order {
    id: u32,
    pair: (u8, (String, u8)),
}

fn order() -> Order {
    Order {
        id: 7,
        pair: (1, ("two".to_owned(), 3)),
    }
}

#[test]
fn an_expression_is_one_part() {
    #[auto_mutex(name = "keys:k", key = n + 1, guard = g)]
    fn sum(n: u32) -> Name {
        let _ = n;
        Ok(g.name().to_owned())
    }
    #[auto_mutex(name = "keys:k", key = text, guard = g)]
    fn text(text: &str) -> Name {
        let _ = text;
        Ok(g.name().to_owned())
    }
    assert_eq!(key(|| sum(2)), ":3");
    assert_eq!(key(|| text("a:b {c}")), ":a%3Ab%20%7Bc%7D");
    assert_eq!(key(|| text("")), ":");
}

#[test]
fn a_tuple_has_a_part_for_each() {
    #[auto_mutex(name = "keys:k", key = (order.id, "fixed", order.pair.1.0.len()), guard = g)]
    fn tuple(order: Order) -> Name {
        drop(order);
        Ok(g.name().to_owned())
    }
    #[auto_mutex(name = "keys:k", key = (n,), guard = g)]
    fn one(n: u32) -> Name {
        let _ = n;
        Ok(g.name().to_owned())
    }
    assert_eq!(key(|| tuple(order())), ":7:fixed:3");
    assert_eq!(key(|| one(1)), ":1");
}

/// The macro escapes the template, and the runtime the lock's name. Both must do it in the same way.
#[test]
fn a_text_is_escaped_in_the_name_as_in_the_template() {
    // One character of each general category, and all ASCII characters except most letters and digits.
    #[auto_mutex(name = "keys:k", key = ("\0\t\n\r !\"#$%&'()*+,-./09:;<=>?@AZ[\\]^_`az|}~\u{7f}",
        "%41", "\u{85}\u{ad}\u{301}\u{488}\u{903}\u{661}\u{2160}\u{bd}\u{1c5}\u{2b0}\u{6f22}\u{203f}\u{2014}\u{ab}\u{bb}\u{20ac}\u{2190}\u{a0}\u{2028}\u{2029}\u{e000}\u{10ffff}🦀", n), guard = g)]
    fn each_category(n: u8) -> Name {
        let _ = n;
        Ok(g.name().to_owned())
    }
    #[auto_mutex(name = "keys:k", key = "{{a}} %:ü {n}", guard = g)]
    fn braces(n: u8) -> Name {
        let _ = n;
        Ok(g.name().to_owned())
    }
    for (function, name) in [
        ("each_category", key(|| each_category(7))),
        ("braces", key(|| braces(7))),
    ] {
        let sites = auto_mutex::sites();
        let site = sites.iter().find(|site| site.function() == function);
        let template = site.expect("it is listed").name();
        let shown = template.replace("{n}", "7");
        assert_eq!(shown, format!("keys:k{name}"));
    }
}

#[test]
fn a_template_names_parameters_and_their_fields() {
    #[auto_mutex(name = "keys:k", key = "{order.id}:x-{order.pair.1.0}-y:{{}}:{ n }", guard = g)]
    fn template(order: &Order, n: &str) -> Name {
        let _ = (order, n);
        Ok(g.name().to_owned())
    }
    #[auto_mutex(name = "keys:k", key = "fixed", guard = g)]
    fn fixed() -> Name {
        Ok(g.name().to_owned())
    }
    assert_eq!(key(|| template(&order(), "a:b")), ":7:x-two-y:%7B%7D:a%3Ab");
    assert_eq!(key(fixed), ":fixed");
}

#[test]
fn a_template_names_self() {
    struct Ledger(u32);

    impl fmt::Display for Ledger {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "ledger-{}", self.0)
        }
    }

    impl Ledger {
        #[auto_mutex(name = "keys:k", key = "{self}:{self.0}", guard = g)]
        fn close(self) -> Name {
            let _ = self.0;
            Ok(g.name().to_owned())
        }
    }
    assert_eq!(key(|| Ledger(3).close()), ":ledger-3:3");
}

#[test]
fn distinct_scopes_never_meet() {
    #[auto_mutex(name = "keys:k", key = (a, b), guard = g)]
    fn pair(a: &str, b: &str) -> Name {
        let _ = (a, b);
        Ok(g.name().to_owned())
    }
    assert_ne!(key(|| pair("a", "b:c")), key(|| pair("a:b", "c")));
    assert_ne!(key(|| pair("a", "")), key(|| pair("", "a")));
}

#[test]
fn the_expression_is_evaluated_once_and_before_waiting() {
    #[auto_mutex(key = count(calls))]
    fn counted(calls: &Cell<u32>) -> Result<u32, LockError> {
        Ok(calls.get())
    }
    fn count(calls: &Cell<u32>) -> u32 {
        calls.set(calls.get() + 1);
        calls.get()
    }
    let calls = Cell::new(0);
    assert_eq!(client().blocking_scope(|| counted(&calls)).unwrap(), 1);
    // The key is evaluated even if no client is in force, which shows that it is evaluated before any wait.
    assert!(matches!(counted(&calls), Err(LockError::NotSetUp)));
    assert_eq!(calls.get(), 2);
}

#[test]
fn the_expression_may_fail_with_a_question_mark() {
    type Error = Box<dyn std::error::Error + Send + Sync>;
    let fails = |result: Result<u32, Error>| result.is_err_and(|it| it.is::<ParseIntError>());
    #[auto_mutex(key = text.parse::<u32>()?)]
    fn sync(text: &str) -> Result<u32, Error> {
        Ok(text.len() as u32)
    }
    #[auto_mutex(key = text.parse::<u32>()?)]
    async fn future(text: &str) -> Result<u32, Error> {
        Ok(text.len() as u32)
    }
    #[auto_mutex(key = text.parse::<u32>()?)]
    fn boxed(
        text: &str,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<u32, Error>> + Send + '_>> {
        Box::pin(async move { Ok(text.len() as u32) })
    }
    client().blocking_scope(|| {
        assert_eq!(sync("12").unwrap(), 2);
        assert!(fails(sync("x")));
    });
    scoped(async {
        assert_eq!(future("12").await.unwrap(), 2);
        assert!(fails(future("x").await));
        assert_eq!(boxed("12").await.unwrap(), 2);
        assert!(fails(boxed("x").await));
    });
}

#[test]
fn the_expression_may_await_and_the_future_stays_send() {
    struct NotSend(*const u8);

    impl fmt::Display for NotSend {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(if self.0.is_null() { "null" } else { "some" })
        }
    }

    async fn load(n: u32) -> u32 {
        tokio::task::yield_now().await;
        n * 2
    }

    #[auto_mutex(name = "keys:k", key = (load(n).await, NotSend(std::ptr::null())), guard = g)]
    async fn awaited(n: u32) -> Name {
        tokio::task::yield_now().await;
        let _ = n;
        Ok(g.name().to_owned())
    }

    #[auto_mutex(name = "keys:k", key = (NotSend(std::ptr::null()), load(n).await))]
    async fn around(n: u32) -> Result<u32, LockError> {
        tokio::task::yield_now().await;
        Ok(n)
    }

    let client = client();
    crate::support::scoped_on(&client, async {
        let name = tokio::spawn(client.scope(awaited(4)))
            .await
            .unwrap()
            .unwrap();
        assert!(name.ends_with(":8:null"), "{name}");
        assert_eq!(
            tokio::spawn(client.scope(around(4)))
                .await
                .unwrap()
                .unwrap(),
            4
        );
    });
}

#[test]
fn a_display_that_fails_is_an_error() {
    struct Broken;

    impl fmt::Display for Broken {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            Err(fmt::Error)
        }
    }

    #[auto_mutex(key = Broken)]
    fn broken() -> Result<(), LockError> {
        panic!("never gets here")
    }
    let error = client().blocking_scope(broken).unwrap_err();
    assert!(matches!(error, LockError::InvalidName { .. }), "{error}");
}
