//! A future is `Send` and `'static` exactly where the body's is, in every form of the expansion.
#![deny(warnings)]
#![forbid(unsafe_code)]
#![allow(missing_docs, unreachable_pub, clippy::non_minimal_cfg)]

use std::future::Future;
use std::time::Duration;

use auto_mutex::{Client, LockError, auto_mutex};

struct Ledger {
    locks: Client,
    name: String,
}

impl Ledger {
    #[auto_mutex]
    async fn plain(&self, n: &u32) -> Result<&str, LockError> {
        pause(n).await;
        Ok(&self.name)
    }

    #[auto_mutex(guard = g, on_lost = finish, client = self.locks)]
    async fn guarded(&self, n: &u32) -> Result<u64, LockError> {
        pause(n).await;
        g.refresh(Duration::from_secs(9)).await?;
        Ok(g.fencing_token())
    }

    #[auto_mutex(expire = self.expire().await, key = (n, self.name.len()), on_timeout = Self::late, on_error = failed)]
    async fn handled(&self, n: &u32) -> Result<u64, LockError> {
        pause(n).await;
        Ok(1)
    }

    #[auto_mutex(on_timeout = async |n| self.late(n).await, on_error = |error, _, n| async move { pause(n).await; Err(error) })]
    async fn closures(&self, n: &u32) -> Result<u64, LockError> {
        pause(n).await;
        Ok(1)
    }

    #[auto_mutex(on_timeout = skip, on_error = |error| panic!("{error}"))]
    fn made(&self, n: u32) -> impl Future<Output = u32> + Send + '_ {
        let len = self.name.len() as u32;
        async move {
            pause(&n).await;
            n + len
        }
    }

    async fn expire(&self) -> Duration {
        pause(&1).await;
        Duration::from_secs(5)
    }

    async fn late(&self, n: &u32) -> Result<u64, LockError> {
        pause(n).await;
        Ok(self.name.len() as u64)
    }
}

#[auto_mutex(on_timeout = all)]
fn conditional(#[cfg(any())] nothing: Nothing, #[cfg(all())] n: u32) -> Result<u32, LockError> {
    Ok(n)
}

fn all(n: u32) -> Result<u32, LockError> {
    Ok(n)
}

async fn failed(error: LockError) -> Result<u64, LockError> {
    pause(&1).await;
    Err(error)
}

async fn pause(n: &u32) {
    for _ in 0..*n {
        std::future::ready(()).await;
    }
}

#[auto_mutex(on_timeout = skip)]
async fn owned(name: String) -> Result<String, LockError> {
    pause(&1).await;
    Ok(name)
}

fn main() {
    fn is_send<T: Send>(future: T) -> T {
        future
    }
    fn is_static<T: Send + 'static>(future: T) -> T {
        future
    }

    let client = Client::connect("memory://").unwrap();
    let ledger = Ledger {
        locks: client.clone(),
        name: "a".to_owned(),
    };
    futures::executor::block_on(client.scope(is_send(async {
        assert_eq!(is_send(ledger.plain(&1)).await.unwrap(), "a");
        assert!(is_send(ledger.guarded(&1)).await.unwrap() > 0);
        assert_eq!(is_send(ledger.handled(&1)).await.unwrap(), 1);
        assert_eq!(is_send(ledger.closures(&1)).await.unwrap(), 1);
        assert_eq!(is_send(ledger.made(1)).await, 2);
        assert_eq!(is_static(owned("b".to_owned())).await.unwrap(), "b");
    })));
    assert_eq!(client.blocking_scope(|| conditional(1)).unwrap(), 1);
}
