//! Warnings about calls that timed out, and about numbers of permits. Long waits and long holds are tested in the
//! conformance suite (`slow`).

use auto_mutex_tests::spans::Spans;
use auto_mutex_tests::stores::TestStore;

const GAVE_UP: &str = "a call gave up waiting for a lock";

pub(crate) async fn a_timeout_is_told_with_the_place_of_the_holder(store: &dyn TestStore) {
    let there = store.member();
    let held = there.mutex("m").lock().await.unwrap();
    let several = there.mutex("n").lock().await.unwrap();
    let (spans, _listening) = Spans::listen();
    let told = || {
        let mut events = spans.events();
        events.retain(|event| event.text.contains(GAVE_UP));
        events
    };
    // At most one such call per second and client is reported, so each call here has its own client.
    let mutex = store.member().mutex("m").block("20ms");
    assert!(mutex.lock().await.is_err());
    let calls = told();
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert_eq!(calls[0].target, "auto_mutex::acquire");
    let text = &calls[0].text;
    for part in [
        "name=suite:m ",
        "others=0",
        &format!("holder=m at {}:", file!()),
        &format!("site=m at {}:", file!()),
        "(pid ",
        "waited=",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(calls[0].inside, Some("lock.acquire"));

    let all = store.member();
    assert!(all.multi(["a", "n"]).block("20ms").lock().await.is_err());
    let calls = told();
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert!(calls[1].text.contains("name=suite:n "), "{calls:?}");

    // A call that does not wait reports the busy lock only by its result.
    let asks = store.member();
    assert!(asks.mutex("m").try_lock().await.unwrap().is_none());
    assert!(asks.mutex("m").block("0s").lock().await.is_err());
    assert_eq!(told().len(), 2);
    drop((held, several));
}

pub(crate) async fn another_number_of_permits_is_told_once(store: &dyn TestStore) {
    let [there, here] = store.members();
    let held = there.semaphore("s", 1).acquire().await.unwrap();
    let (spans, _listening) = Spans::listen();
    let few = here.semaphore("s", 1).block("20ms");
    let many = here.semaphore("s", 3).block("20ms");
    // A mutex has none.
    assert!(here.mutex("s").block("20ms").lock().await.is_err());
    for semaphore in [few, many.clone(), many] {
        assert!(semaphore.acquire().await.is_err());
    }
    let mut told = spans.events();
    told.retain(|event| event.text.contains("another number of permits"));
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].target, "auto_mutex::acquire");
    for part in ["name=suite:s ", "here=3 ", "there=1", "holder=s at "] {
        assert!(told[0].text.contains(part), "{part}: {}", told[0].text);
    }
    drop(held);
}
