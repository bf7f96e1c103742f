//! The names of locks.

use auto_mutex::{Client, Config, LockError, auto_mutex};

use crate::support::client;

type Name = Result<String, LockError>;

#[auto_mutex(guard = g)]
fn free() -> Name {
    Ok(g.name().to_owned())
}

mod deep {
    pub(super) mod deeper {
        use super::super::{Name, auto_mutex};

        #[auto_mutex(guard = g)]
        pub(in super::super) fn free() -> Name {
            Ok(g.name().to_owned())
        }
    }
}

struct Ledger<T = ()>(T);

impl<T> Ledger<T> {
    #[auto_mutex(guard = g)]
    fn method(&self) -> Name {
        let _ = &self.0;
        Ok(g.name().to_owned())
    }

    #[auto_mutex(guard = g)]
    fn makes(name: &mut String) -> Result<Option<Self>, LockError> {
        name.push_str(g.name());
        Ok(None)
    }

    /// `Self` occurs only in the body, so it is not part of the lock's name: editing a body must not rename a lock.
    #[auto_mutex(guard = g)]
    fn associated() -> Name {
        let _: Option<Self> = None;
        Ok(g.name().to_owned())
    }

    #[auto_mutex(guard = g)]
    fn r#type(&self) -> Name {
        Ok(g.name().to_owned())
    }

    #[auto_mutex(ns = "my ns", guard = g)]
    fn elsewhere(&self) -> Name {
        Ok(g.name().to_owned())
    }

    #[auto_mutex(namespace = "my ns", guard = g)]
    fn also_elsewhere(&self) -> Name {
        Ok(g.name().to_owned())
    }

    #[auto_mutex(name = "shared:lock", guard = g)]
    fn named(&self) -> Name {
        Ok(g.name().to_owned())
    }

    #[auto_mutex(name = "shared:lock", block = 0, on_timeout = held, guard = g)]
    fn named_at_once(&self) -> Name {
        Ok(g.name().to_owned())
    }

    #[auto_mutex(block = 0, on_timeout = held, guard = g)]
    fn at_once(&self) -> Name {
        Ok(g.name().to_owned())
    }

    #[auto_mutex(name = "shared:lock", key = 7, ns = "n", guard = g)]
    fn named_with_key(&self) -> Name {
        Ok(g.name().to_owned())
    }
}

#[auto_mutex(guard = g)]
impl<T> Ledger<T> {
    fn in_block() -> Name {
        Ok(g.name().to_owned())
    }
}

trait Book {
    #[auto_mutex(guard = g)]
    fn default(&self) -> Name {
        Ok(g.name().to_owned())
    }
}

impl<T> Book for Ledger<T> {}

fn held<T>(_: &Ledger<T>) -> Name {
    Ok("held".to_owned())
}

fn with(client: &Client, name: impl FnOnce() -> Name) -> String {
    client.blocking_scope(name).expect("the lock")
}

/// The name without the package.
fn plain(name: impl FnOnce() -> Name) -> String {
    let name = with(&client(), name);
    name.trim_start_matches("auto-mutex-tests:").to_owned()
}

#[test]
fn a_free_function_has_its_module_in_the_place_of_the_type() {
    assert_eq!(plain(free), "names:free");
    assert_eq!(plain(deep::deeper::free), "names.deep.deeper:free");
}

#[test]
fn a_method_has_the_bare_name_of_its_type() {
    assert_eq!(plain(|| Ledger(()).method()), "Ledger:method");
    assert_eq!(plain(|| Ledger(vec![Some("")]).method()), "Ledger:method");
    assert_eq!(plain(|| Ledger(()).r#type()), "Ledger:type");
}

#[test]
fn the_signature_decides_about_an_associated_function() {
    let mut name = String::new();
    assert!(
        client()
            .blocking_scope(|| Ledger::<u8>::makes(&mut name))
            .unwrap()
            .is_none()
    );
    assert_eq!(name, "auto-mutex-tests:Ledger:makes");
    assert_eq!(plain(Ledger::<u8>::associated), "names:associated");
}

#[test]
fn a_block_gives_its_type_to_all_its_functions() {
    assert_eq!(plain(Ledger::<u8>::in_block), "Ledger:in_block");
}

#[test]
fn a_trait_has_the_name_of_the_type_that_it_is_for() {
    assert_eq!(plain(|| Ledger(()).default()), "Ledger:default");
    let dynamic: &dyn Book = &Ledger(());
    assert_eq!(plain(|| dynamic.default()), "Ledger:default");
}

#[test]
fn the_nearest_namespace_counts() {
    let prod = Config::new("memory://").unwrap().namespace("prod");
    let prod = Client::connect(prod).unwrap();
    assert_eq!(
        with(&prod, || Ledger(()).method()),
        "prod:auto-mutex-tests:Ledger:method"
    );
    for client in [&prod, &client()] {
        assert_eq!(
            with(client, || Ledger(()).elsewhere()),
            "my%20ns:auto-mutex-tests:Ledger:elsewhere"
        );
        assert_eq!(
            with(client, || Ledger(()).also_elsewhere()),
            "my%20ns:auto-mutex-tests:Ledger:also_elsewhere"
        );
    }
}

#[test]
fn a_name_is_taken_as_it_is() {
    assert_eq!(plain(|| Ledger(()).named()), "shared:lock");
    assert_eq!(plain(|| Ledger(()).named_with_key()), "n:shared:lock:7");
}

/// Documented: a handle of the same client uses the same lock as the functions of its name, with a namespace and
/// without.
#[test]
fn a_handle_of_the_same_name_is_the_same_lock() {
    let prod = Config::new("memory://").unwrap().namespace("prod");
    for client in [client(), Client::connect(prod).unwrap()] {
        let shared = client.mutex("shared:lock").blocking_lock().unwrap();
        assert_eq!(with(&client, || Ledger(()).named_at_once()), "held");
        drop(shared);
        let derived = client.mutex("auto-mutex-tests:Ledger:at_once");
        let derived = derived.blocking_lock().unwrap();
        assert_eq!(with(&client, || Ledger(()).at_once()), "held");
        drop(derived);
        assert_ne!(with(&client, || Ledger(()).at_once()), "held");
    }
}

/// Two programs of one namespace have a function of the same path, in different packages.
#[test]
fn packages_of_one_namespace_share_no_lock() {
    let prod = Config::new("memory://").unwrap();
    let prod = prod.namespace("prod").block("0s");
    let prod = Client::connect(prod).unwrap();
    // The lock of the same function in another package.
    let _other = prod.mutex("other:names:free").blocking_lock().unwrap();
    // The lock of both functions before the package was part of the name.
    let _old = prod.mutex("names:free").blocking_lock().unwrap();
    assert_eq!(with(&prod, free), "prod:auto-mutex-tests:names:free");
}
