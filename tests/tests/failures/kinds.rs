//! Waiters and holders of other kinds of locks while their server or process is away for some time.

use auto_mutex::Client;
use auto_mutex_tests::events::{LONG, becomes, soon};
use auto_mutex_tests::redis::Options;

use crate::rig::{Rig, config};

fn patient(rig: &Rig) -> Client {
    Client::connect(config(&rig.redis.url()).lease(LONG).store_timeout("60s")).unwrap()
}

#[tokio::test]
async fn a_restart_with_data_keeps_holders_and_waiters_of_every_kind() {
    let rig = Rig::with(Options::default().survives_kills());
    let (holder, waiter) = (patient(&rig), patient(&rig));
    let permit = holder.semaphore("s", 1).acquire().await.unwrap();
    let reader = holder.rw_lock("l").read().await.unwrap();
    let both = holder.multi(["a", "c"]).lock().await.unwrap();
    holder.semaphore("t", 0).signal("token").await.unwrap();
    let token = holder.semaphore("t", 0).acquire().await.unwrap();
    holder.semaphore("t", 0).signal("next").await.unwrap();
    let own = waiter.mutex("m").lock().await.unwrap();
    let waiting = tokio::spawn(async move {
        let (permits, lock) = (waiter.semaphore("s", 1), waiter.rw_lock("l"));
        let (three, condvar) = (waiter.multi(["a", "b", "c"]), waiter.condvar("m"));
        tokio::join!(
            permits.acquire(),
            lock.write(),
            three.lock(),
            condvar.wait(own)
        )
    });
    becomes("all wait", async || {
        let waits = |info: auto_mutex::LockInfo| info.waiters.len() == 1;
        waits(holder.semaphore("s", 1).info().await.unwrap())
            && waits(holder.rw_lock("l").info().await.unwrap())
            && waits(holder.mutex("a").info().await.unwrap())
            && !holder.mutex("m").is_locked().await.unwrap()
    })
    .await;
    rig.redis.restart();
    becomes("both are back", async || rig.redis.members() == 2).await;
    assert_eq!(token.token(), Some("token"));
    token.check().unwrap();
    assert_eq!(token.release().await.unwrap(), 1, "the next token");
    permit.release().await.unwrap();
    assert!(reader.unlock().await.unwrap());
    assert!(both.unlock().await.unwrap());
    becomes("the waiter is there to be notified", async || {
        holder.condvar("m").notify_one().await.unwrap()
    })
    .await;
    let (permit, writer, three, own) = soon("everybody", waiting).await.unwrap();
    permit.unwrap().check().unwrap();
    writer.unwrap().check().unwrap();
    assert_eq!(three.unwrap().names().count(), 3);
    own.unwrap().check().unwrap();
}
