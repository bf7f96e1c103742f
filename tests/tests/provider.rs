//! The program may choose the cryptography of TLS. The choice is process-wide, so this is a separate program.

use auto_mutex::{Client, SetupError};
use auto_mutex_tests::authority::Authority;
use auto_mutex_tests::redis::{Options, Redis};
use rustls::CipherSuite;
use rustls::crypto::{CryptoProvider, ring};

/// Starts a server that accepts only this cipher.
fn server(authority: &Authority, cipher: &str) -> Redis {
    let options = Options::default().tls(authority, authority.issue());
    let options = options.line("tls-protocols TLSv1.3");
    Redis::with(options.line(&format!("tls-ciphersuites {cipher}")))
}

#[test]
fn a_provider_that_the_program_has_installed_is_used() {
    let authority = Authority::new();
    let aes = server(&authority, "TLS_AES_128_GCM_SHA256");
    let chacha = server(&authority, "TLS_CHACHA20_POLY1305_SHA256");
    let connects = |redis: &Redis| Client::connect(redis.tls_url()).map(drop);
    // Nothing is installed: this library's own cryptography supports both ciphers, and is not installed for the
    // process.
    connects(&aes).unwrap();
    connects(&chacha).unwrap();
    assert!(CryptoProvider::get_default().is_none());
    // The program restricts the ciphers.
    let mut provider = ring::default_provider();
    provider
        .cipher_suites
        .retain(|suite| suite.suite() == CipherSuite::TLS13_CHACHA20_POLY1305_SHA256);
    provider.install_default().unwrap();
    connects(&chacha).unwrap();
    let error = connects(&aes).unwrap_err();
    assert!(matches!(error, SetupError::Tls { .. }), "{error:?}");
}
