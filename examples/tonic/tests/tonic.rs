//! Runs the example, which `cargo test` has built, and checks its output.

use auto_mutex_examples::run::{Running, built, command};

#[test]
fn accounts_are_locked_one_by_one() {
    let mut bank = Running::start(&mut command(
        built("examples", "tonic_service"),
        "memory://",
    ));
    bank.line("no such account");
    bank.line("[15, 15]");
    let (status, rest) = bank.end();
    assert!(status.success(), "{status}");
    assert_eq!(rest, "every lock was released");
}
