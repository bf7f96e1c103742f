//! Tests of the rig's service.

use auto_mutex::{Client, Config};

use super::Service;

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
