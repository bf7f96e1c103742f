//! What leaves virtual time is named, with the call that brings it in.

use std::io;
use std::net::SocketAddr;
use std::thread;

use auto_mutex_core::{Client, LockError};
use tokio::net::{TcpListener, TcpStream};

use super::failures::message;
use super::*;
use crate::choices::Schedule;
use crate::runs::{attempt, needs_io};

const NOWHERE: &str = "127.0.0.1:0";

#[test]
fn what_needs_real_io_fails_at_once_and_the_report_says_what_to_do() {
    let schedule = Schedule::default();
    let socket = attempt(&schedule, &async |_| drop(TcpListener::bind(NOWHERE).await));
    assert!(needs_io(&*socket.expect_err("a socket").panic));
    let signal = attempt(&schedule, &async |_| drop(tokio::signal::ctrl_c().await));
    assert!(needs_io(&*signal.expect_err("a signal").panic));
    let of_a_task = attempt(&schedule, &async |world: World| {
        let bind = world.on(&world.client("a"), TcpListener::bind(NOWHERE));
        drop(tokio::spawn(bind).await.unwrap());
    });
    assert!(needs_io(&*of_a_task.expect_err("a socket").panic));
    let other = attempt(&schedule, &async |_| Err(LockError::timeout("x")));
    assert!(!needs_io(&*other.expect_err("an error").panic));
}

/// A server that answers some clients, each after a while.
fn slow_server() -> io::Result<SocketAddr> {
    let server = std::net::TcpListener::bind(NOWHERE)?;
    let address = server.local_addr();
    thread::spawn(move || {
        for client in server.incoming().take(3) {
            thread::sleep(Duration::from_millis(20));
            drop(client);
        }
    });
    address
}

#[test]
fn virtual_time_stands_still_during_a_declared_wait() {
    run(Runs::new(), |world| async move {
        let address = slow_server().unwrap();
        let a = world.client("a");
        let host = world.on(&a, async { sleep(5).await });
        world.idle().await;
        let mut answer = vec![0];
        let asked = world.real_time(async move {
            let client = TcpStream::connect(address).await?;
            client.readable().await?;
            client.try_read(&mut answer)
        });
        let asked = tokio::time::timeout(5 * SECOND, asked).await;
        assert_eq!(asked.expect("no time passes").unwrap(), 0);
        world
            .blocking(|| thread::sleep(Duration::from_millis(20)))
            .await;
        assert!(!host.is_finished());
        assert_eq!(world.now(), Duration::ZERO);
        host.await;
        assert_eq!(world.now(), 5 * SECOND);
    });
}

#[test]
fn a_declared_wait_may_take_longer_than_the_patience() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let world = super::limits::in_a_hurry();
        let long = 20 * super::limits::IN_A_HURRY;
        world.blocking(move || thread::sleep(long)).await;
        // Of a thread that outlives the World nothing is left.
        drop(world);
        let client = Client::connect("memory://beside").unwrap();
        let work = tokio::task::spawn_blocking(move || {
            let _held = client.mutex("x").blocking_lock().unwrap();
            let waits = client.mutex("x").block("10ms").blocking_lock();
            assert!(waits.unwrap_err().is_timeout());
        });
        work.await.unwrap();
    });
}

#[test]
fn a_call_that_would_wait_on_a_blocking_task_fails_at_once() {
    run(Runs::new().seeds(5), |world| async move {
        let mutex = world.client("a").mutex("x");
        let _held = world.hold_elsewhere("x").await;
        let call = tokio::task::spawn_blocking(move || drop(mutex.blocking_lock()));
        let panic = call.await.unwrap_err().into_panic();
        let failed = crate::gate::message(&*panic);
        assert!(failed.contains("call it from `World::thread`"), "{failed}");
    });
}

#[test]
fn a_thread_that_the_world_does_not_know_is_named() {
    let failed = message(|| {
        run(Runs::new(), |world| async move {
            let a = world.client("a");
            let thread = thread::spawn(move || drop(a.mutex("x").blocking_lock()));
            assert!(thread.join().is_err());
        });
    });
    let expected = "host `a` panicked: a thread that the World doesn't know calls a lock";
    assert!(failed.starts_with(expected), "{failed}");
}

#[test]
fn the_times_of_locks_are_those_of_the_world() {
    run(Runs::new(), |world| async move {
        let mutex = world.client("a").mutex("x");
        let _held = mutex.lock().await.unwrap();
        world.advance(60 * SECOND).await;
        let info = mutex.info().await.unwrap();
        let held = world.system_time().duration_since(info.holders[0].since);
        assert_eq!(held.unwrap(), 60 * SECOND);
    });
}
