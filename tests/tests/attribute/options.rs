//! The effects of options when a call runs.

use std::time::Duration;

use auto_mutex::{Client, LockError, auto_mutex, auto_read, auto_write};

use crate::support::{client, named_client, scoped_on, wrong_option};

/// Runs `call` while another handle holds `t:busy`.
fn while_busy<T>(call: impl FnOnce() -> T) -> T {
    let client = named_client();
    let _held = client.mutex("busy").blocking_lock().expect("free");
    client.blocking_scope(call)
}

#[test]
fn expire_bounds_the_hold_and_the_body_sees_it() {
    const LONG: Duration = Duration::from_secs(500);

    #[auto_mutex(expire = 100, guard = g)]
    fn integer() -> Result<Duration, LockError> {
        Ok(g.expires_in())
    }
    #[auto_mutex(expire = 50.5, guard = g)]
    fn float() -> Result<Duration, LockError> {
        Ok(g.expires_in())
    }
    #[auto_mutex(expire = "50250ms", guard = g)]
    fn text() -> Result<Duration, LockError> {
        Ok(g.expires_in())
    }
    #[auto_mutex(expire = LONG * 2, guard = g)]
    async fn expression() -> Result<Duration, LockError> {
        Ok(g.expires_in())
    }
    let client = client();
    let within = |left: Duration, expire: Duration| left <= expire && left > Duration::ZERO;
    client.blocking_scope(|| {
        assert!(within(integer().unwrap(), Duration::from_secs(100)));
        assert!(integer().unwrap() > Duration::from_secs(1));
        assert!(float().unwrap() <= Duration::from_millis(50_500));
        assert!(text().unwrap() <= Duration::from_millis(50_250));
    });
    let left = scoped_on(&client, expression()).unwrap();
    assert!(within(left, LONG * 2) && left > LONG, "{left:?}");
}

#[test]
fn retain_keeps_the_lock_after_the_call() {
    type Out = Result<(), LockError>;
    struct Ledger;

    #[auto_mutex(name = "literal", retain = "600s")]
    fn literal() -> Out {
        Ok(())
    }
    #[auto_mutex(name = "expression", retain = time)]
    async fn expression(time: Duration) -> Out {
        Ok(())
    }
    #[auto_write(retain = 600)]
    impl Ledger {
        #[auto_write(name = "written")]
        fn write(&self) -> Out {
            Ok(())
        }
        #[auto_read(name = "read")]
        fn read(&self) -> Out {
            Ok(())
        }
        #[auto_mutex(name = "off", retain = 0)]
        fn off(&self) -> Out {
            Ok(())
        }
        #[auto_mutex(name = "owned", owner = "me")]
        fn owned(&self) -> Out {
            Ok(())
        }
    }
    let client = named_client();
    for _ in 0..3 {
        let methods = [Ledger::write, Ledger::read, Ledger::off, Ledger::owned];
        for call in methods {
            client.blocking_scope(|| call(&Ledger)).unwrap();
        }
        client.blocking_scope(literal).unwrap();
        scoped_on(&client, expression(Duration::from_secs(600))).unwrap();
        let kept = |name| client.mutex(name).blocking_info().unwrap().kept;
        assert_eq!(["literal", "expression", "written"].map(kept), [true; 3]);
        assert_eq!(["read", "off", "owned"].map(kept), [false; 3]);
    }
}

#[test]
fn block_bounds_the_wait() {
    #[auto_mutex(name = "busy", block = "30ms")]
    fn text() -> Result<(), LockError> {
        panic!("never gets here")
    }
    #[auto_mutex(name = "busy", block = patience)]
    fn expression(patience: Duration) -> Result<(), LockError> {
        panic!("never gets here after {patience:?}")
    }
    for result in [
        while_busy(text),
        while_busy(|| expression(Duration::from_millis(30))),
    ] {
        match result {
            Err(LockError::Timeout { waited, .. }) => assert!(waited >= Duration::from_millis(30)),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn retries_poll_and_count() {
    #[auto_mutex(name = "busy", retries = 2, interval = 0.001)]
    fn close() -> Result<(), LockError> {
        panic!("never gets here")
    }
    #[auto_mutex(name = "busy", retries = n)]
    fn expression(n: u32) -> Result<(), LockError> {
        panic!("never gets here in {n}")
    }
    match while_busy(close) {
        Err(LockError::TooManyAttempts { attempts, .. }) => assert_eq!(attempts, 3),
        other => panic!("{other:?}"),
    }
    match while_busy(|| expression(0)) {
        Err(LockError::TooManyAttempts { attempts, .. }) => assert_eq!(attempts, 1),
        other => panic!("{other:?}"),
    }
}

#[test]
fn calls_beyond_max_waiters_are_answered_at_once() {
    #[auto_mutex(name = "busy", max_waiters = 1, on_timeout = |_| Ok("busy"))]
    async fn close(_month: u32) -> Result<&'static str, LockError> {
        Ok("closed")
    }
    #[auto_mutex(name = "busy", max_waiters = most)]
    async fn expression(most: u32) -> Result<&'static str, LockError> {
        Ok("closed")
    }
    let client = named_client();
    let held = client.mutex("busy").blocking_lock().expect("free");
    let calls = async {
        let first = close(5);
        let others = async {
            assert_eq!(close(6).await.unwrap(), "busy");
            match expression(1).await {
                Err(LockError::Busy { waiting, .. }) => assert_eq!(waiting, 1),
                other => panic!("{other:?}"),
            }
            let error = expression(0).await.unwrap_err();
            assert_eq!(wrong_option(&error), "max_waiters");
            drop(held);
        };
        tokio::join!(first, others).0
    };
    assert_eq!(scoped_on(&client, calls).unwrap(), "closed");
}

#[test]
fn at_least_keeps_the_lock_after_the_body() {
    #[auto_mutex(name = "cron", at_least = 3600, block = 0, on_timeout = skip)]
    fn cron(runs: &mut u32) -> Result<bool, LockError> {
        *runs += 1;
        Ok(true)
    }
    let client = named_client();
    let mut runs = 0;
    assert!(client.blocking_scope(|| cron(&mut runs)).unwrap());
    assert!(client.mutex("cron").blocking_is_locked().unwrap());
    assert!(!client.blocking_scope(|| cron(&mut runs)).unwrap());
    assert_eq!(runs, 1);
}

#[test]
fn the_client_may_be_named() {
    struct Ledger {
        locks: Client,
    }

    impl Ledger {
        #[auto_mutex(client = self.locks, name = "own", guard = g)]
        fn field(&self) -> Result<String, LockError> {
            assert!(self.locks.mutex("own").blocking_is_locked()?);
            Ok(g.name().to_owned())
        }

        #[auto_mutex(client = &self.locks, name = "own", guard = g)]
        async fn reference(&self) -> Result<String, LockError> {
            assert!(self.locks.mutex("own").is_locked().await?);
            Ok(g.name().to_owned())
        }
    }

    // The field's client is used, with or without another client in force.
    let ledger = Ledger {
        locks: named_client(),
    };
    assert_eq!(client().blocking_scope(|| ledger.field()).unwrap(), "t:own");
    assert_eq!(ledger.field().unwrap(), "t:own");
    assert_eq!(
        futures::executor::block_on(ledger.reference()).unwrap(),
        "t:own"
    );
}

#[test]
fn impossible_values_are_errors_at_run_time() {
    #[auto_mutex(expire = expire)]
    fn expires(expire: Duration) -> Result<(), LockError> {
        panic!("never gets here with {expire:?}")
    }
    #[auto_mutex(retries = 3, interval = interval)]
    async fn polls(interval: Duration) -> Result<(), LockError> {
        panic!("never gets here with {interval:?}")
    }
    let client = client();
    let error = client
        .blocking_scope(|| expires(Duration::ZERO))
        .unwrap_err();
    assert_eq!(wrong_option(&error), "expire");
    let error = scoped_on(&client, polls(Duration::ZERO)).unwrap_err();
    assert_eq!(wrong_option(&error), "interval");
}
