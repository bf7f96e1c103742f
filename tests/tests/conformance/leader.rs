//! Leaders: who leads, who stands by, and what ends a term.

use std::cell::{Cell, RefCell};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{Notify, oneshot};

use crate::prelude::*;

/// Why a lead has ended.
#[derive(Debug)]
enum End {
    /// The body returned an error of its own.
    Own,
    Lead(LockError),
}

impl From<LockError> for End {
    fn from(error: LockError) -> Self {
        Self::Lead(error)
    }
}

/// Is set when the body ends in any way.
struct Ends<'a>(&'a Cell<bool>);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

/// Waits until somebody leads.
async fn led(seat: &Leader) {
    becomes!("somebody leads", seat.current().await.unwrap().is_some());
}

/// Runs `lead`, whose term must come soon.
async fn leads<T>(lead: impl Future<Output = Result<T, End>>) -> Result<T, End> {
    soon("the lead ends", lead).await
}

pub(crate) async fn the_next_one_takes_over_when_a_body_ends(store: &dyn TestStore) {
    let [one, two] = store.members();
    let (seat, other) = (one.leader("s"), two.leader("s"));
    let mut last = 0;
    for ends in [Some(Ok(1)), Some(Err(End::Own)), None] {
        let (ended, number) = (Cell::new(false), Cell::new(0));
        let is_dropped = ends.is_none();
        let mut result = ends;
        let lead = leads(seat.lead(async |term: &Term| {
            let _ends = Ends(&ended);
            number.set(term.number());
            assert_eq!((term.name(), term.check().is_ok()), ("suite:s", true));
            waiters(&two.mutex("s"), 1).await;
            match result.take() {
                Some(result) => result,
                None => pending().await,
            }
        }));
        let stands = async {
            led(&other).await;
            let body = async |term: &Term| {
                assert!(ended.get(), "two bodies");
                Ok(term.number())
            };
            leads(other.lead(body)).await.unwrap()
        };
        let next = if is_dropped {
            let given_up = async {
                let waits = async {
                    becomes!("the body runs", number.get() > 0);
                    waiters(&two.mutex("s"), 1).await;
                };
                tokio::select! {
                    led = lead => panic!("{led:?}"),
                    () = waits => {}
                }
            };
            tokio::join!(given_up, stands).1
        } else {
            let (led, next) = tokio::join!(lead, stands);
            is!(led, Ok(1) | Err(End::Own));
            next
        };
        assert!(last < number.get() && number.get() < next);
        last = next;
    }
}

pub(crate) async fn neither_leaders_nor_standbys_are_slow(store: &dyn TestStore) {
    let (name, loud) = (listen(), listen());
    let member = || {
        let config = store.config().slow(Duration::from_millis(40));
        Client::connect(config).expect("a client")
    };
    let (one, two) = (member(), member());
    let lead = one.leader(&name);
    let lead = leads(lead.lead(async |_| {
        waiters(&two.mutex(&name), 1).await;
        let mutex = one.mutex(&loud);
        let _guard = mutex.lock().await?;
        // Another task: this one would only be told that it waits for itself.
        let waits = tokio::spawn(async move { mutex.lock().await.map(drop) });
        becomes!(
            "who waits for a mutex is told",
            hears::told(&[&loud, WAITS]).len() >= 2
        );
        waits.abort();
        Ok(())
    }));
    let standby = two.leader(&name);
    let stands = async {
        led(&standby).await;
        leads(standby.lead(async |_| Ok(()))).await
    };
    let (led, stood) = tokio::join!(lead, stands);
    led.unwrap();
    stood.unwrap();
    let of_seat = format!("name=suite:{name} ");
    assert_eq!(hears::told(&[&of_seat]), [""; 0]);
}

pub(crate) async fn who_resigns_leads_after_all_who_waited(store: &dyn TestStore) {
    let clients = store.members::<3>();
    let (order, heard) = (RefCell::new(Vec::new()), Heard::from_now());
    // The last one belongs to the process of the first.
    let stands = async |number: usize| {
        let client = &clients[number % 3];
        let mutex = clients[2].mutex("s");
        becomes!("those before it stand", {
            let info = mutex.info().await.unwrap();
            info.holders.len() + info.waiters.len() == number
        });
        let body = async |term: &Term| {
            order.borrow_mut().push(number);
            if order.borrow().len() == 1 {
                waiters(&mutex, 3).await;
                term.resign();
                assert!(term.is_lost());
                pending::<()>().await;
            }
            Ok(())
        };
        leads(client.leader("s").lead(body)).await.unwrap();
    };
    tokio::join!(stands(0), stands(1), stands(2), stands(3));
    heard.assert_eq(order.into_inner().as_slice(), &[0, 1, 2, 3, 0]);
}

pub(crate) async fn resign_ends_the_body_first(store: &dyn TestStore) {
    let [client, other] = store.members();
    let seat = client.leader("s");
    assert!(!soon("an answer", seat.resign()).await.unwrap());
    let (ended, terms) = (Cell::new(false), Cell::new(0));
    let lead = leads(seat.lead(async |_| {
        let _ends = Ends(&ended);
        terms.set(terms.get() + 1);
        match terms.get() {
            1 => pending().await,
            _ => Ok(()),
        }
    }));
    let resigns = async {
        becomes!("the body runs", terms.get() == 1);
        // Another client does not lead.
        assert!(!other.leader("s").resign().await.unwrap());
        assert!(!ended.get());
        let any_handle = client.leader("s");
        assert!(soon("it resigns", any_handle.resign()).await.unwrap());
        assert!(ended.get());
    };
    tokio::join!(lead, resigns).0.unwrap();
    assert_eq!(terms.get(), 2);
}

pub(crate) async fn a_loss_drops_the_body_and_the_seat_stands_again(store: &dyn TestStore) {
    let [client, other] = store.members();
    let (ended, mut numbers) = (Cell::new(false), Vec::new());
    let body = async |term: &Term| {
        numbers.push(term.number());
        if numbers.len() == 2 {
            assert!(ended.get());
            return Ok(());
        }
        let _ends = Ends(&ended);
        assert!(other.mutex("s").force_unlock().await?);
        pending().await
    };
    leads(client.leader("s").lead(body)).await.unwrap();
    assert!(numbers[0] < numbers[1]);
}

pub(crate) async fn a_sync_body_is_told_by_check_and_its_error_ends_nothing(store: &dyn TestStore) {
    let [client, other] = store.members();
    let thread = store.thread(move || {
        let mut causes = Vec::new();
        let body = |term: &Term| {
            match causes.len() {
                0 => assert!(other.mutex("s").blocking_force_unlock()?),
                1 => term.resign(),
                _ => return Err(End::Own),
            }
            eventually("it is told", || term.is_lost());
            let Err(LockError::Lost { cause, .. }) = term.check() else {
                panic!("not lost");
            };
            causes.push(cause);
            match cause {
                LossCause::Forced => Err(End::Lead(term.check().unwrap_err())),
                _ => Err(End::Own),
            }
        };
        let led: Result<(), End> = client.leader("s").blocking_lead(body);
        is!(led, Err(End::Own));
        causes
    });
    assert_eq!(
        thread.await.unwrap(),
        [LossCause::Forced, LossCause::Released]
    );
}

pub(crate) async fn an_error_ends_a_term_only_if_that_is_wanted(store: &dyn TestStore) {
    let [client, other] = store.members();
    let mut numbers = Vec::new();
    let body = async |term: &Term| {
        numbers.push(term.number());
        match numbers.len() {
            1..4 => Err(End::Own),
            _ => Ok(()),
        }
    };
    leads(client.leader("s").again_on_error().lead(body))
        .await
        .unwrap();
    assert!(numbers.len() == 4 && numbers.is_sorted(), "{numbers:?}");
    // Others lead while it pauses, and a sync body does the same.
    let mut terms = 0;
    let seat = client.leader("s").again_on_error();
    let thread = store.thread(move || {
        let body = |_: &Term| {
            terms += 1;
            if terms == 2 { Ok(()) } else { Err(End::Own) }
        };
        seat.blocking_lead(body)
    });
    leads(other.leader("s").lead(async |_| Ok::<_, End>(())))
        .await
        .unwrap();
    soon("it leads again", thread).await.unwrap().unwrap();
}

pub(crate) async fn a_body_may_resign_by_any_handle(store: &dyn TestStore) {
    let client = store.member();
    let thread = store.thread(move || {
        let mut terms = 0;
        let led: Result<(), End> = client.leader("s").blocking_lead(|term: &Term| {
            terms += 1;
            if terms == 2 {
                return Ok(());
            }
            assert!(client.leader("s").blocking_resign()?);
            is!(
                term.check(),
                Err(LockError::Lost {
                    cause: LossCause::Released,
                    ..
                })
            );
            Err(End::Own)
        });
        led.map(|()| terms)
    });
    assert_eq!(soon("it ends", thread).await.unwrap().unwrap(), 2);
}

/// Waits until `watch` tells of the term `number`, or of no leader. On a quorum it may tell of attempts before that.
async fn told(watch: &mut LeaderWatch, number: Option<u64>) -> Option<LeaderInfo> {
    loop {
        let change = soon("a change of the leader", watch.changed()).await;
        let leader = change.unwrap();
        if leader.as_ref().map(|leader| leader.term) == number {
            return leader;
        }
    }
}

const ODD: &str = "the second: äöü %";

pub(crate) async fn who_watches_is_told_of_each_change(store: &dyn TestStore) {
    let [one, two, third] = store.members();
    let (first_ends, second_ends) = (Notify::new(), Notify::new());
    let numbers = RefCell::new(Vec::new());
    let stands = async |client: &Client, value: &str, ends: &Notify| {
        let seat = client.leader("s").value(value);
        let body = async |term: &Term| {
            numbers.borrow_mut().push(term.number());
            ends.notified().await;
            Ok(())
        };
        leads(seat.lead(body)).await.unwrap();
    };
    let second = async {
        led(&two.leader("s")).await;
        stands(&two, ODD, &second_ends).await;
    };
    let watches = async {
        let third = third.leader("s");
        // The standby watches, too.
        let mut watches = [third.watch(), two.leader("s").watch()];
        for (count, value, ends) in [(1, "", &first_ends), (2, ODD, &second_ends)] {
            let has_begun = async || numbers.borrow().len() == count;
            becomes("a body runs", has_begun).await;
            let number = numbers.borrow().last().copied();
            for watch in &mut watches {
                let info = told(watch, number).await.expect("a leader");
                assert_eq!(info.value, value);
                assert!(store.is_ours(info.holder.pid));
            }
            waiters(&two.mutex("s"), 2 - count).await;
            ends.notify_one();
        }
        for watch in &mut watches {
            assert_eq!(told(watch, None).await, None);
        }
        assert_eq!(third.current().await.unwrap(), None);
    };
    tokio::join!(stands(&one, "", &first_ends), second, watches);
}

pub(crate) async fn a_body_that_hangs_does_not_lead_on(store: &dyn TestStore) {
    let other = store.member();
    // It hangs while it leads, or after it has resigned.
    for resigns in [false, true] {
        let client = store.member();
        let (begun, has_begun) = oneshot::channel();
        let (go_on, mut may_go_on) = oneshot::channel();
        let hangs = store.thread(move || {
            let mut begun = Some(begun);
            let seat = client.leader("s").stop_within("50ms").progress("50ms");
            let mut told = None;
            let led: Result<(), End> = seat.blocking_lead(|term| {
                if told.is_some() {
                    return Ok(());
                }
                begun.take().expect("one body").send(()).unwrap();
                if resigns {
                    term.resign();
                }
                eventually("it may go on", || may_go_on.try_recv().is_ok());
                told = Some(term.check());
                Err(End::Own)
            });
            led.unwrap();
            told
        });
        soon("the body runs", has_begun).await.unwrap();
        let next = other.leader("s");
        // Its body still runs.
        leads(next.lead(async |_| Ok(()))).await.unwrap();
        go_on.send(()).unwrap();
        let Some(Err(LockError::Lost { cause, .. })) = hangs.await.unwrap() else {
            panic!("not lost");
        };
        // A slow machine may find it stalled before it resigns.
        let resigned = resigns && cause == LossCause::Released;
        assert!(resigned || cause == LossCause::Stalled, "{cause}");
    }
}

pub(crate) async fn a_drain_ends_the_lead_after_the_body(store: &dyn TestStore) {
    let [client, other] = store.members();
    let ended = Arc::new(AtomicBool::new(false));
    let (begun, has_begun) = oneshot::channel();
    let (told, is_told) = oneshot::channel();
    let (go_on, mut may_go_on) = oneshot::channel();
    let leading = store.thread({
        let (client, ended) = (client.clone(), ended.clone());
        let mut tell = Some((begun, told));
        move || {
            client.leader("s").blocking_lead(|term| {
                let (begun, told) = tell.take().expect("one term");
                begun.send(()).unwrap();
                eventually("it is told", || term.is_lost());
                told.send(()).unwrap();
                eventually("it may go on", || may_go_on.try_recv().is_ok());
                ended.store(true, Ordering::Release);
                Err::<(), _>(End::Own)
            })
        }
    });
    soon("the body runs", has_begun).await.unwrap();
    let seat = other.leader("s");
    let standby = {
        let (seat, ended) = (seat.clone(), ended.clone());
        // The standby is a client that drains later, too.
        tokio::spawn(async move {
            let body = async move |_: &Term| {
                assert!(ended.load(Ordering::Acquire), "two bodies");
                pending::<Result<(), End>>().await
            };
            seat.lead(body).await
        })
    };
    waiters(&other.mutex("s"), 1).await;
    let draining = tokio::spawn(async move { client.drain("600s").await });
    soon("the body is told", is_told).await.unwrap();
    assert!(!draining.is_finished() && !leading.is_finished());
    waiters(&other.mutex("s"), 1).await;
    go_on.send(()).unwrap();
    is!(leading.await.unwrap(), Err(End::Lead(LockError::ShutDown)));
    let drained = soon("the drain ends", draining).await.unwrap().unwrap();
    assert!(drained.is_complete(), "{drained}");
    waiters(&other.mutex("s"), 0).await;
    led(&seat).await;
    let drained = soon("the other one drains", other.drain("600s")).await;
    assert!(drained.unwrap().is_complete());
    let stood = soon("its lead ends", standby).await.unwrap();
    is!(stood, Err(End::Lead(LockError::ShutDown)));
}
