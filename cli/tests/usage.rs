//! Compares every command's help, and the output on incorrect usage, with the files in `tests/cmd`. `TRYCMD=overwrite
//! cargo test -p auto-mutex-cli --test usage` rewrites these files.

#[test]
fn help_and_wrong_usage_are_as_written_down() {
    trycmd::TestCases::new()
        .env("COLUMNS", "100")
        .env("AUTO_MUTEX_URL", "")
        .case("tests/cmd/*.trycmd");
}
