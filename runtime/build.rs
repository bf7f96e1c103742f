//! Says to the compiler that this is the repository: `cfg(repository)`. The published package has no build script, and
//! none of the tests that need a server, the model or minutes.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cfg=repository");
}
