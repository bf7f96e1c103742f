//! All attributes on all that can carry them, without a warning.
#![deny(warnings)]
#![forbid(unsafe_code)]
#![allow(dead_code)]
#![allow(missing_docs, unreachable_pub)]

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use auto_mutex::{
    Client, LockError, MultiGuard, MutexGuard, Permit, RwLockReadGuard, RwLockWriteGuard,
    auto_mutex, auto_read, auto_semaphore, auto_write, no_auto_mutex,
};

type Out<T = ()> = Result<T, LockError>;

#[auto_semaphore(permits = 2, guard = g)]
fn semaphore() -> Out {
    let _: &Permit = g;
    Ok(())
}

#[auto_read(guard = g, on_timeout = || Ok(()))]
async fn read() -> Out {
    let _: &RwLockReadGuard = g;
    Ok(())
}

#[auto_write(guard = g, on_lost = finish)]
async fn write() -> Out {
    let _: &RwLockWriteGuard = g;
    Ok(())
}

#[auto_mutex(keys = [a, b], guard = g)]
fn several(a: u32, b: &str) -> Out {
    let _: &MultiGuard = g;
    let _ = (a, b);
    Ok(())
}

#[auto_mutex(was = "old:name:of", guard = g)]
fn renamed() -> Out {
    let _: &MultiGuard = g;
    Ok(())
}

#[auto_mutex(owner = who, guard = g)]
fn owned(who: &str) -> Out {
    let _: &MutexGuard = g;
    let _ = who;
    Ok(())
}

/// What is a client.
mod clients {
    use std::sync::LazyLock;

    use super::*;

    static CLIENT: LazyLock<Client> =
        LazyLock::new(|| Client::connect("memory://").expect("needs nothing"));

    /// Like `State<Client>` of axum.
    struct State(Client);

    impl std::ops::Deref for State {
        type Target = Client;

        fn deref(&self) -> &Client {
            &self.0
        }
    }

    #[auto_mutex(client = client)]
    fn itself(client: Client) -> Out {
        drop(client);
        Ok(())
    }

    #[auto_mutex(client = client)]
    fn reference(client: &Client) -> Out {
        client.blocking_scope(|| Ok(()))
    }

    #[auto_mutex(client = &client)]
    async fn shared(client: Arc<Client>) -> Out {
        drop(client);
        Ok(())
    }

    #[auto_mutex(client = CLIENT)]
    fn lazy() -> Out {
        Ok(())
    }

    #[auto_mutex(client = state)]
    async fn state(state: Arc<State>) -> Out {
        drop(state);
        Ok(())
    }
}

/// What can be iterated over.
mod lists {
    use super::*;

    #[auto_mutex(keys = ids)]
    fn slice(ids: &[u32]) -> Out<usize> {
        Ok(ids.len())
    }

    #[auto_mutex(keys = ids)]
    fn vec(ids: Vec<String>) -> Out<usize> {
        Ok(ids.into_iter().map(|id| id.len()).sum())
    }

    #[auto_mutex(keys = ids)]
    fn vec_ref(ids: &Vec<String>) -> Out<usize> {
        Ok(ids.len())
    }

    #[auto_mutex(keys = ids)]
    fn vec_mut(ids: &mut Vec<String>) -> Out {
        ids.clear();
        Ok(())
    }

    #[auto_mutex(keys = ids)]
    fn boxed(ids: Box<[u32]>) -> Out<usize> {
        Ok(ids.len())
    }

    #[auto_mutex(keys = ids)]
    fn list<'a, I>(ids: &'a I) -> Out
    where
        &'a I: IntoIterator<Item = &'a u32>,
    {
        let _ = ids.into_iter().count();
        Ok(())
    }

    #[auto_mutex(keys = ids)]
    fn array<const N: usize>(ids: [char; N]) -> Out<usize> {
        Ok(ids.len())
    }

    #[auto_mutex(keys = ids)]
    fn array_ref(ids: &[u8; 3]) -> Out<usize> {
        Ok(ids.len())
    }

    #[auto_mutex(keys = &ids)]
    fn set(ids: BTreeSet<u32>) -> Out<usize> {
        Ok(ids.len())
    }

    #[auto_mutex(keys = map.keys())]
    fn map(map: &HashMap<u32, ()>) -> Out<usize> {
        Ok(map.len())
    }

    #[auto_mutex(keys = ids.iter().map(|id| id + 1))]
    fn mapped(ids: &[u32]) -> Out<usize> {
        Ok(ids.len())
    }

    #[auto_mutex(keys = 0..n)]
    fn range(n: u32) -> Out<u32> {
        Ok(n)
    }

    #[auto_mutex(keys = ids[1..])]
    fn part(ids: &[u32]) -> Out<usize> {
        Ok(ids.len())
    }

    #[auto_mutex(keys = ids.iter())]
    fn arc(ids: Arc<Vec<u32>>) -> Out<usize> {
        Ok(ids.len())
    }

    #[auto_mutex(keys = ids.clone())]
    fn iterator(ids: impl Iterator<Item = u32> + Clone) -> Out<usize> {
        Ok(ids.count())
    }

    #[auto_mutex(keys = ids)]
    fn generic<T: std::fmt::Display>(ids: &[T]) -> Out<usize> {
        Ok(ids.len())
    }

    #[auto_mutex(keys = load(n).await)]
    async fn awaited(n: u32) -> Out<u32> {
        Ok(n)
    }

    async fn load(n: u32) -> Vec<u32> {
        vec![n]
    }

    struct Group {
        ids: Vec<u32>,
        name: String,
    }

    impl Group {
        #[auto_mutex(keys = self.ids)]
        fn field(&self) -> Out<usize> {
            Ok(self.ids.len())
        }

        #[auto_mutex(keys = self.ids)]
        fn consumed(self) -> Out<Vec<u32>> {
            Ok(self.ids)
        }

        #[auto_mutex(keys = ["{self.name}", "{n}:x", (n, "y"), self.ids.len()])]
        fn list(&self, n: u32) -> Out<u32>
        where
            Self: Sized,
        {
            Ok(n)
        }
    }
}

struct Ledger(u32);

#[auto_write(expire = 5)]
impl Ledger {
    fn write(&mut self) -> Out {
        self.0 += 1;
        Ok(())
    }

    #[auto_read(key = "{n}")]
    async fn read(&self, n: u32) -> Out<u32> {
        Ok(self.0 + n)
    }

    #[auto_semaphore(permits = 3)]
    fn limited<'a>(&'a self, text: &'a str) -> Out<&'a str> {
        Ok(text)
    }

    #[auto_mutex(keys = [self.0, n])]
    fn both(&self, n: u32) -> Out {
        let _ = n;
        Ok(())
    }

    #[no_auto_mutex]
    const fn free(&self) -> u32 {
        self.0
    }
}

#[auto_read(explicit)]
trait Book {
    fn plain(&self) -> u32 {
        1
    }

    #[auto_read]
    fn locked(&self) -> Out {
        Ok(())
    }
}

impl Book for Ledger {}

#[test]
fn runs() {
    let client = Client::connect("memory://").unwrap();
    client.blocking_scope(|| {
        semaphore().unwrap();
        several(1, "x").unwrap();
        renamed().unwrap();
        Ledger(1).write().unwrap();
        Ledger(1).locked().unwrap();
    });
    futures::executor::block_on(client.scope(async {
        read().await.unwrap();
        write().await.unwrap();
        assert_eq!(Ledger(1).read(2).await.unwrap(), 3);
    }));
}
