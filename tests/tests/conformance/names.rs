//! Every text is accepted as a name, or refused with a typed error.

use crate::prelude::*;

const ODD: &[&str] = &[
    ":", "::", "{}", "{a}", "}", "a{", "%", "%7B", "%00", "\0", " ", "a b", "a\nb", "ü", "日本",
    "🦀", "*", "\\", "\"", "'", "a:b", "a::b", ":a", "a:",
];

fn in_namespace(store: &dyn TestStore, namespace: &str) -> Client {
    Client::connect(store.config().namespace(namespace)).unwrap()
}

pub(crate) async fn odd_names_keep_their_identity(store: &dyn TestStore) {
    let [a, b] = store.members();
    let longest = "x".repeat(1024 - "suite:".len());
    let mut guards = Vec::new();
    for name in ODD.iter().copied().chain([longest.as_str()]) {
        // The lock is free although the locks of all earlier names are held, and busy once taken.
        let guard = a.mutex(name).try_lock().await.unwrap();
        guards.push(guard.unwrap_or_else(|| panic!("{name:?} is the same lock as an earlier one")));
        let busy = b.mutex(name).try_lock().await.unwrap().is_none();
        assert!(busy, "{name:?}");
        assert!(b.mutex(name).info().await.unwrap().locked, "{name:?}");
    }
    if let Some(server) = store.server() {
        for key in server.keys() {
            assert_eq!(key.name.matches('{').count(), 1, "{}", key.name);
            assert_eq!(key.name.matches('}').count(), 1, "{}", key.name);
            assert!(key.name.is_ascii() && !key.name.contains([' ', '\0', '\n']));
        }
    }
    for guard in guards {
        assert!(guard.unlock().await.unwrap());
    }
}

pub(crate) async fn names_that_cannot_be_used_are_refused(store: &dyn TestStore) {
    let client = store.member();
    for name in [String::new(), "x".repeat(100_000), "ü".repeat(1000)] {
        let mutex = client.mutex(name.as_str());
        for error in [
            mutex.lock().await.map(drop).unwrap_err(),
            mutex.blocking_try_lock().map(drop).unwrap_err(),
            mutex.info().await.map(drop).unwrap_err(),
        ] {
            is!(error, LockError::InvalidName { .. });
            assert!(
                error.to_string().len() < 500,
                "it does not repeat all of it"
            );
        }
    }
}

/// Whatever the name, `name()` of a guard makes a handle of the same lock.
pub(crate) async fn a_guard_has_the_name_as_it_was_given(store: &dyn TestStore) {
    let client = in_namespace(store, "my ns");
    for name in ["a b:{c}", "100%", "ü"] {
        let guard = client.mutex(name).lock().await.unwrap();
        assert_eq!(guard.name(), name);
        let same = client.mutex(guard.name());
        assert!(same.try_lock().await.unwrap().is_none());
        assert!(guard.unlock().await.unwrap());
        let both = client.multi([name, "z"]).lock().await.unwrap();
        assert!(both.names().eq([name, "z"]), "{both:?}");
        assert!(both.unlock().await.unwrap());
    }
}

pub(crate) async fn namespaces_keep_programs_apart(store: &dyn TestStore) {
    let (one, two) = (in_namespace(store, "one"), in_namespace(store, "two"));
    assert_eq!(one.namespace(), Some("one"));
    let guard = one.mutex("m").lock().await.unwrap();
    assert_eq!(guard.name(), "m");
    let refused = one.mutex("m").block("0s").lock().await.unwrap_err();
    assert_eq!(refused.name(), Some("one:m"), "errors name it completely");
    assert!(two.mutex("m").try_lock().await.unwrap().is_some());
}

pub(crate) async fn colons_do_not_move_between_namespace_and_name(store: &dyn TestStore) {
    let (one, two) = (in_namespace(store, "a"), in_namespace(store, "a:b"));
    let _guard = one.mutex("b:c").lock().await.unwrap();
    assert!(two.mutex("c").try_lock().await.unwrap().is_some());
}
