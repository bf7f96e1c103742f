//! Runs the example, which `cargo test` has built, and calls the server.

use auto_mutex_examples::run::{Running, ask, built, command};

#[test]
fn a_server_with_locks_answers_and_stops() {
    let mut server = Running::start(&mut command(
        built("examples", "actix_handler"),
        "memory://",
    ));
    let address = server.address();
    // There is no global client: the middleware gives the handler its client.
    let closed = (200, "month 5 is closed".to_owned());
    assert_eq!(ask(&address, "POST", "/close/5"), closed);
    server.terminate();
    let (status, rest) = server.end();
    assert!(status.success(), "{status}");
    assert_eq!(rest, "every lock was released");
}
