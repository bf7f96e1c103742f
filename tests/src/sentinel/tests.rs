//! Tests of the rig's service.

use auto_mutex::{Client, Config};

use super::{Service, ServiceOptions};
use crate::events::eventually;

#[test]
fn it_is_failed_over_by_command_and_by_itself() {
    let options = ServiceOptions::default()
        .server_password("p")
        .sentinel_password("q");
    let service = Service::with(options);
    assert_eq!(service.primary(), Some(0));
    let second = service.fail_over();
    assert_ne!(second, 0);
    service.wait_until_whole();
    service.watch_closely();
    service.server(second).kill9();
    let third = service.wait_until_replaced(second);
    assert_ne!(third, second);
    service.leave_alone();
    service.server(second).start_again();
    service.wait_until_whole();
    assert!(!service.server(second).is_primary());
}

#[test]
fn a_primary_that_is_isolated_goes_on_until_it_misses_its_replicas() {
    let options = ServiceOptions::default().proxied().needing_a_replica();
    let service = Service::with(options);
    service.watch_closely();
    service.isolate(0);
    assert!(service.server(0).is_primary());
    eventually("it refuses to write", || {
        service
            .server(0)
            .try_command(&["SET", "key", "value"])
            .is_err()
    });
    service.wait_until_replaced(0);
    assert!(service.server(0).is_primary(), "nobody has told it");
    service.reconnect(0);
    service.wait_until_whole();
    assert!(!service.server(0).is_primary());
}

#[test]
fn without_the_guard_the_new_primary_grants_at_once() {
    let service = Service::start();
    service.fail_over();
    let config = Config::new(service.url()).expect("a good URL");
    let config = config.restart_guard(false).trust_failover(true);
    let client = Client::connect(config).expect("a client");
    let guard = client.mutex("m").blocking_try_lock();
    assert!(guard.expect("an answer").is_some());
}
