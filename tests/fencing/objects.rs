//! Objects.

use std::time::Duration;

use auto_mutex_fence::{Fence, FenceError, FencedPut, Token};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::throttle::{ThrottleConfig, ThrottledStore};
use object_store::{Attribute, ObjectStore, ObjectStoreExt};

use crate::{stale, token};

async fn put(store: &dyn ObjectStore, number: u64) -> Result<(), FenceError> {
    let put = FencedPut::new(store, "report", number.to_string());
    token(number).fence(put).await.map(drop)
}

async fn read(store: &dyn ObjectStore) -> String {
    let found = store.get(&Path::from("report")).await.unwrap();
    String::from_utf8(found.bytes().await.unwrap().to_vec()).unwrap()
}

#[tokio::test]
async fn a_stale_put_is_refused_and_the_same_holder_can_again() {
    let store = InMemory::new();
    for number in [9, 10, 10] {
        put(&store, number).await.unwrap();
    }
    assert_eq!(stale(put(&store, 9).await), (9, 10));
    assert_eq!(read(&store).await, "10");

    // An object that was put without a fence, and one that has other attributes.
    let path = Path::from("report");
    store.put(&path, "unfenced".into()).await.unwrap();
    let mut fenced = FencedPut::new(&store, "report", "typed");
    fenced
        .attributes
        .insert(Attribute::ContentType, "text/plain".into());
    token(9).fence(fenced).await.unwrap();
    let attributes = store.get(&path).await.unwrap().attributes;
    assert_eq!(
        attributes.get(&Attribute::ContentType),
        Some(&"text/plain".into())
    );
    assert_eq!(stale(put(&store, 8).await), (8, 9));

    let two = [token(9), Token::new("other", 9)];
    let refused = two[..].fence(FencedPut::new(&store, "report", "two")).await;
    assert!(matches!(refused, Err(FenceError::Invalid { .. })));
}

/// All have read the object before the first of them puts it.
#[tokio::test]
async fn of_several_that_put_at_once_the_latest_holder_wins() {
    let slow = ThrottleConfig {
        wait_put_per_call: Duration::from_millis(5),
        ..Default::default()
    };
    let store = ThrottledStore::new(InMemory::new(), slow);
    let numbers = [3, 8, 1, 6, 7, 2, 5, 4];
    let puts = futures::future::join_all(numbers.map(|number| put(&store, number))).await;
    assert_eq!(read(&store).await, "8");
    for (number, result) in numbers.into_iter().zip(puts) {
        match result {
            Ok(()) => assert!(number == 8 || number == 3, "{number}"),
            Err(FenceError::Stale { ours, newest, .. }) => assert!(ours == number && newest > ours),
            Err(other) => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_store_that_can_not_fence_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let store = object_store::local::LocalFileSystem::new_with_prefix(folder.path()).unwrap();
    let refused = put(&store, 1).await;
    assert!(
        matches!(refused, Err(FenceError::Unsupported { .. })),
        "{refused:?}"
    );
}
