//! Runs the example, which `cargo test` has built, and checks its output.

use std::process::Command;

#[test]
fn accounts_are_locked_one_by_one() {
    let test = std::env::current_exe().expect("the path of this test");
    let target = test.ancestors().nth(2).expect("…/deps/axum_handler");
    let output = Command::new(target.join("examples/axum_handler"))
        .env_remove("AUTO_MUTEX_URL")
        .env_remove("AUTO_MUTEX_NAMESPACE")
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && complaints.is_empty(),
        "{said}{complaints}"
    );
    for line in ["/close: 200 OK: closed", "[15, 15]"] {
        assert!(said.contains(line), "{line:?} is missing in: {said}");
    }
    assert_eq!(said.matches("200 OK: balance").count(), 10, "{said}");
}
