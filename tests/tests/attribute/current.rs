//! `auto_mutex::current` in annotated functions.

use auto_mutex::{LockError, auto_mutex, auto_semaphore};

use crate::support::{client, scoped};

type Seen = Result<Vec<(String, u64)>, LockError>;

fn seen() -> Seen {
    let current = auto_mutex::current()?;
    let each = current.each();
    Ok(each.map(|(name, token)| (name.to_owned(), token)).collect())
}

#[test]
fn it_has_the_names_and_tokens_of_sync_and_async_functions() {
    #[auto_mutex(ns = "n", name = "k", key = month, guard = g)]
    fn sync(month: u32) -> Seen {
        assert_eq!(seen()?, [(g.name().to_owned(), g.fencing_token())]);
        seen()
    }
    #[auto_mutex(ns = "n", name = "k", keys = months, guard = g)]
    async fn several(months: [u32; 2]) -> Seen {
        tokio::task::yield_now().await;
        let seen = seen()?;
        let token = |name: &str| g.fencing_token_of(name).unwrap();
        assert!(seen.iter().all(|(name, number)| token(name) == *number));
        // Called from a body, it is the callee's; then the caller's again.
        assert_eq!(sync(3)?[0].0, "n:k:3");
        assert_eq!(self::seen()?, seen);
        Ok(seen)
    }
    let names =
        |seen: Seen| -> Vec<String> { seen.unwrap().into_iter().map(|(name, _)| name).collect() };
    assert_eq!(names(client().blocking_scope(|| sync(1))), ["n:k:1"]);
    assert_eq!(names(scoped(several([2, 1]))), ["n:k:1", "n:k:2"]);
    assert!(matches!(seen(), Err(LockError::NotProtected)));
}

#[test]
fn a_reentered_function_and_a_semaphore_have_their_own() {
    #[auto_mutex(ns = "n", name = "r")]
    fn again(times: u32) -> Seen {
        match times {
            0 => seen(),
            times => again(times - 1),
        }
    }
    #[auto_semaphore(ns = "n", name = "s", permits = 2)]
    fn permit() -> Seen {
        let outer = again(1)?;
        assert_eq!(outer[0].0, "n:r");
        seen()
    }
    let seen = client().blocking_scope(permit).unwrap();
    assert_eq!(seen[0].0, "n:s");
}
