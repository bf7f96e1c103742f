//! What is a client, what can be iterated over, and a block of another kind, without a warning.
#![deny(warnings)]
#![forbid(unsafe_code)]
#![allow(dead_code)]
#![allow(missing_docs, unreachable_pub)]

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use auto_mutex::{Client, LockError, auto_mutex, auto_read};

type Out<T = ()> = Result<T, LockError>;

/// What is a client.
mod clients {
    use super::*;

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

struct Ledger;

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
    client.blocking_scope(|| Ledger.locked().unwrap());
    assert!(Ledger.locked().is_err());
    assert_eq!(Ledger.plain(), 1);
}
