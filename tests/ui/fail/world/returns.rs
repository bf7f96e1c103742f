//! What a test cannot return. The compiler looks at it only in a program of tests.
use auto_mutex::test::World;

#[auto_mutex::test]
async fn number(_: World) -> u32 {
    5
}
#[auto_mutex::test]
fn blocking_number() -> u32 {
    5
}
#[auto_mutex::test]
fn value() -> Result<u32, String> {
    Ok(5)
}
#[auto_mutex::test]
async fn another_parameter(_: u32) {}

struct Unprintable;

#[auto_mutex::test]
async fn unprintable() -> Result<(), Unprintable> {
    Ok(())
}
