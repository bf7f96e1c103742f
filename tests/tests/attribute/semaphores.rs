//! `#[auto_semaphore]`: as many bodies run at a time as there are permits.

use std::sync::Arc;

use auto_mutex::{LockError, Permit, auto_semaphore};
use auto_mutex_tests::events::soon;
use auto_mutex_tests::stores::TestStore;
use tokio::sync::Barrier;

use crate::support::{Witness, client, scoped, wrong_option};

#[auto_semaphore(permits = 3, name = "three")]
async fn meet(witness: Witness, barrier: Arc<Barrier>) -> Result<(), LockError> {
    let _inside = witness.enter();
    // No body continues before three bodies run at the same time.
    barrier.wait().await;
    Ok(())
}

pub(crate) async fn as_many_as_permits_are_inside(store: &dyn TestStore) {
    let members = [store.member(), store.member(), store.member()];
    let (witness, barrier) = (Witness::default(), Arc::new(Barrier::new(3)));
    let tasks: Vec<_> = (0..9)
        .map(|i| tokio::spawn(members[i % 3].scope(meet(witness.clone(), barrier.clone()))))
        .collect();
    for task in tasks {
        soon("all got in", task)
            .await
            .expect("no panic")
            .expect("the lock");
    }
    assert_eq!((witness.calls(), witness.most()), (9, 3));
}

struct Pool {
    size: u32,
}

#[auto_semaphore(permits = 2, block = 0)]
impl Pool {
    fn nested(&self, inside: impl FnOnce() -> Result<u64, LockError>) -> Result<u64, LockError> {
        inside()
    }

    #[auto_semaphore(permits = 1, guard = g)]
    fn token(&self, deeper: bool) -> Result<(u64, u32), LockError> {
        let _: &Permit = g;
        if deeper {
            let (token, units) = self.token(false)?;
            assert_eq!(token, g.fencing_token(), "it re-enters");
            assert_eq!(units, 1);
        }
        Ok((g.fencing_token(), g.units()))
    }

    #[auto_semaphore(permits = self.size, on_timeout = skip)]
    fn sized(&self) -> Result<&'static str, LockError> {
        Ok("inside")
    }
}

#[test]
fn a_nested_call_takes_no_second_permit() {
    let pool = Pool { size: 1 };
    client().blocking_scope(|| pool.token(true)).unwrap();
    // A nested call re-enters only if it has the same name.
    let token =
        client().blocking_scope(|| pool.nested(|| pool.token(true).map(|(token, _)| token)));
    assert!(token.unwrap() > 0);
}

#[test]
fn permits_may_be_an_expression() {
    assert_eq!(
        client()
            .blocking_scope(|| Pool { size: 1 }.sized())
            .unwrap(),
        "inside"
    );
    for (size, what) in [(0, "at least one"), (1 << 30, "2^30")] {
        let error = client()
            .blocking_scope(|| Pool { size }.sized())
            .unwrap_err();
        assert_eq!(wrong_option(&error), "permits");
        assert!(error.to_string().contains(what), "{error}");
    }
}

/// The expected type reaches the expression.
#[test]
fn permits_may_be_converted() {
    #[auto_semaphore(permits = n.try_into()?)]
    fn sync(n: i64) -> Result<i64, Box<dyn std::error::Error>> {
        Ok(n)
    }
    #[auto_semaphore(permits = n.try_into().map_err(|_| "too many")?)]
    async fn future(n: i64) -> Result<i64, Box<dyn std::error::Error + Send + Sync>> {
        Ok(n)
    }
    assert_eq!(client().blocking_scope(|| sync(2)).unwrap(), 2);
    assert!(client().blocking_scope(|| sync(-1)).is_err());
    assert_eq!(scoped(future(2)).unwrap(), 2);
    assert_eq!(scoped(future(-1)).unwrap_err().to_string(), "too many");
}
