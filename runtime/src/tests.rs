//! A program that was built without a feature is told which one it needs. These tests run where the crate is tested
//! alone: `cargo test -p auto-mutex`.

#[cfg(not(all(feature = "cluster", feature = "quorum", feature = "replicas")))]
fn needs(feature: &str, error: crate::SetupError) {
    let text = error.to_string();
    assert!(text.contains(&format!("the feature `{feature}`")), "{text}");
}

#[test]
#[cfg(not(feature = "cluster"))]
fn a_cluster() {
    let error = crate::Config::new("redis-cluster://canary").unwrap_err();
    needs("cluster", error);
}

#[test]
#[cfg(not(feature = "quorum"))]
fn a_quorum() {
    let error = crate::Config::new("redlock://a,b,c").unwrap_err();
    needs("quorum", error);
    let error = crate::Config::quorum(["redis://a", "redis://b", "redis://c"]).unwrap_err();
    needs("quorum", error);
}

#[test]
#[cfg(not(feature = "replicas"))]
fn replicas() {
    let config = crate::Config::new("redis://127.0.0.1:1").unwrap();
    let config = config.replicas(1, std::time::Duration::from_secs(1));
    needs("replicas", crate::Client::connect(config).unwrap_err());
}
