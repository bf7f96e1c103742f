//! Generates the traits of the service in Rust alone. A program with a `.proto` file calls `tonic_prost_build` here.

use tonic_build::manual::{Builder, Method, Service};

fn main() {
    let method = |name: &str, route: &str| {
        Method::builder()
            .name(name)
            .route_name(route)
            .input_type("crate::Deposit")
            .output_type("crate::Balance")
            .codec_path("tonic_prost::ProstCodec")
            .build()
    };
    let service = Service::builder()
        .name("Bank")
        .package("bank")
        .method(method("deposit", "Deposit"))
        .build();
    Builder::new().compile(&[service]);
    println!("cargo::rerun-if-changed=build.rs");
}
