//! `#[auto_leader]`: the body runs in one process at a time, once for each of its terms.

use std::future::pending;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use auto_mutex::{Client, LockError, LossCause, Term};
use auto_mutex::{auto_leader, auto_mutex};
use auto_mutex_tests::real_time::real_time;

use crate::support::{client, named_client, scoped};

type Out<T = ()> = Result<T, LockError>;

/// The client's names begin with `t`.
fn take(client: &Client, name: &str) {
    assert!(client.mutex(name).blocking_force_unlock().unwrap());
}

#[test]
fn a_sync_body_learns_of_the_end_by_check() {
    #[auto_leader(name = "s")]
    fn lead(client: &Client, mut left: u32, causes: &mut Vec<LossCause>, term: &Term) -> Out<u32> {
        left -= 1;
        if left == 0 {
            return Ok(left);
        }
        take(client, "s");
        while !term.is_lost() {
            std::thread::yield_now();
        }
        if let Err(LockError::Lost { cause, .. }) = term.check() {
            causes.push(cause);
        }
        // Ends the term, and not the call.
        term.check()?;
        unreachable!("the term is over")
    }
    let (client, mut causes) = (named_client(), Vec::new());
    let left = client.blocking_scope(|| lead(&client, 3, &mut causes));
    assert_eq!(left.unwrap(), 0);
    assert_eq!(causes, [LossCause::Forced; 2]);
}

#[test]
fn an_error_while_it_leads_ends_the_call() {
    #[derive(Debug, PartialEq)]
    enum Failed {
        Lock(String),
        Own(u32),
    }
    impl From<LockError> for Failed {
        fn from(error: LockError) -> Self {
            Self::Lock(error.to_string())
        }
    }
    #[auto_leader]
    async fn lead(n: u32) -> Result<(), Failed> {
        tokio::task::yield_now().await;
        Err(Failed::Own(n))?;
        pending().await
    }
    #[auto_leader]
    fn sync(n: u32) -> Result<(), Failed> {
        Err(Failed::Own(n))
    }
    assert_eq!(scoped(lead(7)), Err(Failed::Own(7)));
    assert_eq!(client().blocking_scope(|| sync(7)), Err(Failed::Own(7)));
    let nowhere = futures::executor::block_on(lead(7));
    assert_eq!(nowhere, Err(LockError::NotSetUp.into()));
}

/// This test runs itself again, as the process that is aborted.
#[test]
fn a_body_that_overruns_aborts_the_process() {
    let _watch = real_time();
    #[auto_leader(progress = "20ms", stop_within = "100ms", on_overrun = abort)]
    fn hangs() -> Out {
        loop {
            std::thread::park();
        }
    }
    const HANGS: &str = "AUTO_MUTEX_TEST_HANGS";
    if std::env::var_os(HANGS).is_some() {
        client().blocking_scope(hangs).unwrap();
    }
    let process = Command::new(std::env::current_exe().unwrap())
        .args(["leader::a_body_that_overruns_aborts_the_process", "--exact"])
        .env(HANGS, "1")
        .output()
        .unwrap();
    assert_eq!(process.status.signal(), Some(libc::SIGABRT), "{process:?}");
}

#[test]
fn a_panic_gives_the_lead_up() {
    #[auto_leader(name = "s")]
    async fn lead(panics: bool, term: &Term) -> Out<bool> {
        let current = auto_mutex::current()?;
        assert_eq!(
            (current.name(), current.fencing_token()),
            (term.name(), term.number())
        );
        assert!(!panics, "meant");
        Ok(panics)
    }
    let client = client();
    let (panics, ends) = (client.scope(lead(true)), client.scope(lead(false)));
    scoped(async {
        assert!(tokio::spawn(panics).await.unwrap_err().is_panic());
        assert!(!ends.await.unwrap());
    });
}

/// What it had done before the loss stays, and its arguments are there again.
#[test]
fn each_term_runs_the_body_from_the_top() {
    struct Counts {
        terms: u32,
        dropped: AtomicU32,
    }
    struct Told<'a>(&'a AtomicU32);
    impl Drop for Told<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    impl Counts {
        #[auto_leader(name = "s", key = "{names.0}")]
        async fn lead<T: Clone>(
            &mut self,
            names: (&str, T),
            end: impl Fn(u32) -> bool + Sync,
            _: &Term,
        ) -> Out<(&AtomicU32, T)> {
            self.terms += 1;
            let mine = names.1.clone();
            if end(self.terms) {
                return Ok((&self.dropped, mine));
            }
            let _told = Told(&self.dropped);
            auto_mutex::Mutex::new("s:a").force_unlock().await?;
            pending().await
        }
    }
    let mut counts = Counts {
        terms: 0,
        dropped: AtomicU32::new(0),
    };
    let names = ("a", vec![1]);
    let (dropped, names) = scoped(counts.lead(names, |terms| terms == 4)).unwrap();
    assert_eq!((dropped.load(Ordering::SeqCst), names), (3, vec![1]));
    assert_eq!(counts.terms, 4);
}

/// A body can lead another seat, but not its own again.
#[test]
fn a_body_cannot_stand_for_its_own_seat() {
    #[auto_leader(key = n)]
    fn lead(n: u32, inner: u32) -> Out<u32> {
        match n {
            1 => lead(inner, 0),
            n => Ok(n),
        }
    }
    let client = client();
    assert_eq!(client.blocking_scope(|| lead(1, 2)).unwrap(), 2);
    let refused = client.blocking_scope(|| lead(1, 1)).unwrap_err();
    assert!(
        matches!(refused, LockError::AlreadyHeld { .. }),
        "{refused}"
    );
}

#[test]
fn values_may_be_expressions_and_wrong_ones_are_errors() {
    #[auto_leader(name = "s", value = "x".repeat(n.try_into()?), stop_within = within)]
    fn lead(n: i64, within: Duration) -> Result<String, Box<dyn std::error::Error>> {
        let client = auto_mutex::Leader::new("s");
        Ok(client.blocking_current()?.expect("a leader").value)
    }
    let client = client();
    let lead = |n, within| client.blocking_scope(|| lead(n, Duration::from_millis(within)));
    assert_eq!(lead(3, 50).unwrap(), "xxx");
    for (n, within, wrong) in [
        (-1, 1, "out of range"),
        (1025, 1, "`value`"),
        (1, 60_000, "`stop_within`"),
    ] {
        let error = lead(n, within).unwrap_err().to_string();
        assert!(error.contains(wrong), "{error}");
    }
}

#[async_trait]
trait Run {
    async fn run(&self, steps: &[u32]) -> Out<u32>;

    #[auto_leader(name = "default")]
    async fn default(&self, term: &Term, steps: &[u32]) -> Out<bool> {
        tokio::task::yield_now().await;
        Ok(steps.is_empty() && !term.is_lost())
    }
}

struct Runner;

#[async_trait]
impl Run for Runner {
    #[auto_leader(name = "s")]
    async fn run(&self, term: &Term, steps: &[u32]) -> Out<u32> {
        let mut sum = 0;
        for step in steps {
            term.check()?;
            tokio::task::yield_now().await;
            sum += step;
        }
        Ok(sum)
    }
}

#[test]
fn a_method_of_an_async_trait_leads() {
    let dynamic: Arc<dyn Run + Send + Sync> = Arc::new(Runner);
    assert_eq!(scoped(dynamic.run(&[1, 2])).unwrap(), 3);
    assert!(scoped(dynamic.default(&[])).unwrap());
}

struct Ledger(u32);

/// The options of the block that a leader has are its defaults.
#[auto_mutex(expire = 100, key = "{self.0}", ns = "books")]
impl Ledger {
    fn close(&self) -> Out {
        Ok(())
    }

    #[auto_leader(value = self.0)]
    async fn lead(&self, term: &Term) -> Out<String> {
        self.close()?;
        Ok(term.name().to_owned())
    }
}

#[test]
fn a_function_in_a_block_of_locks_may_lead() {
    let name = scoped(Ledger(3).lead()).unwrap();
    assert_eq!(name, "books:auto-mutex-tests:Ledger:lead:3");
}

#[test]
fn an_error_lets_it_stand_again_if_that_is_wanted() {
    #[auto_leader(on_error = again)]
    async fn lead(terms: &AtomicU32) -> Result<u32, LockError> {
        match terms.fetch_add(1, Ordering::Relaxed) {
            2 => Ok(7),
            _ => Err(LockError::ShutDown),
        }
    }
    #[auto_leader(on_error = again)]
    fn sync(terms: &mut u32) -> Result<u32, LockError> {
        *terms += 1;
        if *terms < 3 {
            return Err(LockError::ShutDown);
        }
        Ok(*terms)
    }
    assert_eq!(scoped(lead(&AtomicU32::new(0))).unwrap(), 7);
    assert_eq!(client().blocking_scope(|| sync(&mut 0)).unwrap(), 3);
}
