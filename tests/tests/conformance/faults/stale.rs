//! Renewals and releases that a broken connection delays, and holders that die.

use std::pin::pin;
use std::task::{Context, Waker};

use auto_mutex::test::World;

use super::{LATE, LEASE, is_lost, member, members};
use crate::prelude::*;

#[auto_mutex::test(seeds = 10)]
async fn a_renewal_does_not_stop_after_a_failure(world: World) {
    let client = member(&world, "a");
    world.delay(LEASE / 20);
    let guard = client.mutex("m").lock().await.unwrap();
    for _ in 0..20 {
        // The cut may or may not hit a renewal in flight.
        world.disconnect(&client).await;
        world.reconnect(&client);
        world.advance(LEASE * 3 / 10).await;
        guard.check().unwrap();
    }
    assert!(guard.unlock().await.unwrap());
}

#[auto_mutex::test(seeds = 10)]
async fn a_renewal_does_not_outlive_its_guard(world: World) {
    let [client, other] = members(&world);
    for cut in [false, true] {
        for cancelled_by_time in [false, true] {
            world.delay(Duration::from_millis(100));
            let guard = client.mutex("m").lock().await.unwrap();
            let refresh = guard.refresh("60s");
            if cancelled_by_time {
                let short = Duration::from_millis(1);
                assert!(tokio::time::timeout(short, refresh).await.is_err());
            } else {
                let mut cx = Context::from_waker(Waker::noop());
                assert!(pin!(refresh).poll(&mut cx).is_pending());
            }
            if cut {
                world.disconnect(&client).await;
                world.reconnect(&client);
            }
            drop(guard);
            let next = soon("free", other.mutex("m").lock()).await.unwrap();
            world.advance(LATE).await;
            next.check().unwrap();
            assert!(next.unlock().await.unwrap());
        }
    }
}

#[auto_mutex::test(seeds = 20)]
async fn a_stale_holder_frees_nobody_else(world: World) {
    let [late, other, third] = members(&world);
    let lock = late.rw_lock("r");
    for released in [false, true] {
        world.delay(Duration::from_millis(100));
        let guard = late.mutex("m").lock().await.unwrap();
        let permit = late.semaphore("s", 1).acquire().await.unwrap();
        let readers = [lock.read().await.unwrap(), lock.read().await.unwrap()];
        let mut stale = Some((guard, permit, readers));
        if released {
            // The releases are on their way when the connection breaks. They are lost or late, and sent again.
            drop(stale.take());
        }
        world.disconnect(&late);
        let newer = other.mutex("m").lock().await.unwrap();
        let next = other.semaphore("s", 1).acquire().await.unwrap();
        let reading = [&other, &third].map(|client| client.rw_lock("r"));
        let [one, two] = &reading;
        becomes!(
            "the readers' leases are over",
            one.info().await.unwrap().holders.is_empty()
        );
        let reading = [one.read().await.unwrap(), two.read().await.unwrap()];
        world.reconnect(&late);
        if let Some((guard, permit, [one, two])) = stale {
            is_lost(guard.unlock().await);
            is_lost(permit.release().await);
            is_lost(one.unlock().await);
            drop(two);
        }
        world.advance(LATE).await;
        newer.check().unwrap();
        next.check().unwrap();
        let third_permit = third.semaphore("s", 1);
        assert!(third_permit.try_acquire().await.unwrap().is_none());
        assert!(third.mutex("m").try_lock().await.unwrap().is_none());
        assert!(newer.unlock().await.unwrap());
        assert_eq!(next.release().await.unwrap(), 1);
        // No count is below zero: each reader excludes a writer.
        for guard in reading {
            assert!(lock.try_write().await.unwrap().is_none());
            assert!(guard.unlock().await.unwrap());
        }
        let only = third_permit.try_acquire().await.unwrap();
        assert!(only.is_some());
        assert!(third_permit.try_acquire().await.unwrap().is_none());
        drop(lock.try_write().await.unwrap().expect("nobody reads"));
        assert_eq!(only.unwrap().release().await.unwrap(), 1);
    }
}

#[auto_mutex::test(seeds = 3)]
async fn cleaning_up_after_the_dead_leaves_the_living(world: World) {
    let [one, dead, two, observer] = members(&world);
    let mut permits = Vec::new();
    for client in [&one, &dead, &two] {
        permits.push(client.semaphore("s", 3).acquire().await.unwrap());
    }
    let readers = [&one, &dead].map(|client| client.rw_lock("r"));
    let reading = [
        readers[0].read().await.unwrap(),
        readers[1].read().await.unwrap(),
    ];
    let held = dead.mutex("m").lock().await.unwrap();
    world.kill(&dead);
    let killed = world.now();
    let next = observer.mutex("m").lock().await.unwrap();
    assert!(world.now() - killed <= LEASE + Duration::from_millis(10));
    assert!(next.fencing_token() > held.fencing_token());
    // Many clients ask and acquire, until well after the lease of the killed one has ended.
    let cleaners = [(); 4].map(|()| {
        let semaphore = member(&world, "cleaner").semaphore("s", 3);
        tokio::spawn(async move {
            let mut most = 0;
            for _ in 0..200 {
                most = most.max(semaphore.available().await.unwrap());
                if let Some(permit) = semaphore.try_acquire().await.unwrap() {
                    permit.release().await.unwrap();
                }
                tokio::time::sleep(LEASE / 100).await;
            }
            most
        })
    });
    let mut most = 0;
    for cleaner in cleaners {
        most = most.max(cleaner.await.unwrap());
    }
    assert_eq!(most, 1, "the permit of the dead one, and no other");
    assert!(observer.rw_lock("r").try_write().await.unwrap().is_none());
    let [reader, _] = reading;
    assert!(reader.unlock().await.unwrap());
    assert!(observer.rw_lock("r").try_write().await.unwrap().is_some());
    for living in [0, 2] {
        permits[living].check().unwrap();
    }
}

#[auto_mutex::test(seeds = 20)]
async fn a_crash_at_any_moment_loses_no_permit_and_no_token(world: World) {
    let observer = member(&world, "observer");
    let (semaphore, jobs) = (observer.semaphore("s", 2), observer.semaphore("jobs", 0));
    jobs.signal("one").await.unwrap();
    jobs.signal("two").await.unwrap();
    world.delay(Duration::from_millis(10));
    for round in 0..6 {
        let hosts = ["a", "b", "c"].map(|host| member(&world, host));
        let working = hosts.each_ref().map(|client| {
            let (permits, jobs) = (client.semaphore("s", 2), client.semaphore("jobs", 0));
            world.on(client, async move {
                let _permit = permits.acquire().await.unwrap();
                let _job = jobs.acquire().await.unwrap();
                std::future::pending::<()>().await;
            })
        });
        world.advance(Duration::from_millis(7 * round)).await;
        for client in &hosts {
            world.kill(client);
        }
        drop(working);
    }
    // A permit that is lost for good, or one too many, would show.
    let both = soon("all permits come back", semaphore.acquire_many(2)).await;
    assert_eq!(semaphore.available().await.unwrap(), 0);
    assert_eq!(both.unwrap().release().await.unwrap(), 2);
    world.advance(LEASE * 2).await;
    for token in ["one", "two"] {
        let job = soon("a job", jobs.acquire()).await.unwrap();
        assert_eq!(job.token(), Some(token));
        job.release().await.unwrap();
    }
    assert_eq!(jobs.available().await.unwrap(), 0, "none came twice");
}

#[auto_mutex::test(seeds = 20)]
async fn a_late_copy_of_a_request_takes_nothing(world: World) {
    let [client, other] = members(&world);
    world.delay(Duration::from_millis(100));
    for cancelled in [false, true] {
        let mutex = client.mutex("m");
        let asking = tokio::spawn(async move { mutex.lock().await.unwrap().unlock().await });
        // The request is on its way when the connection breaks.
        world.advance(Duration::from_millis(10)).await;
        world.disconnect(&client).await;
        world.reconnect(&client);
        if cancelled {
            asking.abort();
        } else {
            assert!(soon("it is sent again", asking).await.unwrap().unwrap());
        }
        let guard = soon("free", other.mutex("m").lock()).await.unwrap();
        assert!(guard.unlock().await.unwrap());
        world.advance(LATE).await;
        let info = other.mutex("m").info().await.unwrap();
        assert!(
            info.holders.is_empty() && info.waiters.is_empty(),
            "{info:?}"
        );
    }
}
