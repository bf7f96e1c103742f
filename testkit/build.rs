//! Sets `cfg(repository)` and `cfg(own_tests)`, which mark this crate inside the repository: the tests of the locks
//! contain its files too, but not its tests. The published package has neither this script nor the tests.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cfg=repository");
    println!("cargo::rustc-cfg=own_tests");
}
