//! Sets `cfg(repository)`, which marks a build inside the repository. The published package has no build script, and
//! none of the tests that need a server, the model, or minutes of time.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cfg=repository");
}
