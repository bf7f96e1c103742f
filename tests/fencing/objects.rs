//! Objects.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use auto_mutex_fence::{Fence, FenceError, FencedPut, Token};
use auto_mutex_tests::events::soon;
use futures::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::throttle::{ThrottleConfig, ThrottledStore};
use object_store::*;

use crate::{stale, token};

async fn put(store: &dyn ObjectStore, number: u64) -> std::result::Result<(), FenceError> {
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
    refused!(
        two[..].fence(FencedPut::new(&store, "report", "two")).await,
        Invalid
    );
}

/// All have read the object before the first of them puts it.
#[tokio::test]
async fn of_several_that_put_at_once_the_latest_holder_wins() {
    let slow = ThrottleConfig {
        wait_put_per_call: Duration::from_millis(5),
        ..Default::default()
    };
    let slow = ThrottledStore::new(InMemory::new(), slow);
    for store in [&slow as &dyn ObjectStore, &S3(Some(InMemory::new()))] {
        let numbers = [3, 8, 1, 6, 7, 2, 5, 4];
        let puts = futures::future::join_all(numbers.map(|number| put(store, number))).await;
        assert_eq!(read(store).await, "8");
        for (number, result) in numbers.into_iter().zip(puts) {
            match result {
                Ok(()) => assert!(number == 8 || number == 3, "{number}"),
                result => assert!(stale(result).1 > number),
            }
        }
    }
}

/// The e-tag would be that of the older put, which another holder may have read.
#[tokio::test]
async fn on_s3_the_contents_need_the_token() {
    let store = S3(Some(InMemory::new()));
    put(&store, 7).await.unwrap();
    let same = FencedPut::new(&store, "report", "7");
    refused!(token(8).fence(same).await, Invalid);
    let fenced = FencedPut::new(&store, "report", r#"{"fence": 8, "total": 7}"#);
    token(8).fence(fenced).await.unwrap();
    assert_eq!(stale(put(&store, 7).await), (7, 8));
}

#[tokio::test]
async fn a_store_that_can_not_fence_says_so() {
    refused!(soon("one try", put(&S3(None), 1)).await, Resource);
    let folder = tempfile::tempdir().unwrap();
    let store = object_store::local::LocalFileSystem::new_with_prefix(folder.path()).unwrap();
    refused!(put(&store, 1).await, Unsupported);
}

/// As much of S3 as a fence sees: an e-tag depends on the contents alone. Without a bucket, nothing is found.
#[derive(Debug)]
struct S3(Option<InMemory>);

impl S3 {
    fn bucket(&self) -> Result<&InMemory> {
        let (path, source) = ("bucket".to_owned(), "NoSuchBucket".into());
        self.0.as_ref().ok_or(Error::NotFound { path, source })
    }
}

impl fmt::Display for S3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("S3")
    }
}

#[async_trait]
#[rustfmt::skip]
impl ObjectStore for S3 {
    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        let mut found = self.bucket()?.get_opts(path, options).await?;
        let contents = self.bucket()?.get(path).await?.bytes().await?;
        found.meta.e_tag = Some(format!("hash of {contents:?}"));
        Ok(found)
    }

    /// The others read in between.
    async fn put_opts(&self, path: &Path, it: PutPayload, mut o: PutOptions) -> Result<PutResult> {
        tokio::task::yield_now().await;
        if let PutMode::Update(read) = &o.mode {
            if self.head(path).await?.e_tag != read.e_tag {
                let (path, source) = (path.to_string(), "another".into());
                return Err(Error::Precondition { path, source });
            }
            o.mode = PutMode::Overwrite;
        }
        self.bucket()?.put_opts(path, it, o).await
    }

    // No fence needs these.
    async fn put_multipart_opts(&self, _: &Path, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> { unreachable!() }
    fn delete_stream(&self, _: Stream<Path>) -> Stream<Path> { unreachable!() }
    fn list(&self, _: Option<&Path>) -> Stream<ObjectMeta> { unreachable!() }
    async fn list_with_delimiter(&self, _: Option<&Path>) -> Result<ListResult> { unreachable!() }
    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> { unreachable!() }
}

type Stream<T> = BoxStream<'static, Result<T>>;
