//! Certificates for a test: an authority, and the certificates that it signs, as files.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};
use tempfile::TempDir;

/// A certificate authority. Its files are deleted when it is dropped.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    dir: TempDir,
    issued: AtomicU32,
}

/// A certificate and its key, as files.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The certificate.
    pub cert: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// The validity period of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Valid {
    /// Valid now.
    Now,
    /// Expired years ago.
    Before,
    /// Not valid for many years to come.
    Later,
}

impl Authority {
    /// Makes a new authority, which no program trusts yet.
    #[expect(clippy::new_without_default, reason = "writes files")]
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params
            .distinguished_name
            .push(DnType::CommonName, "tests of auto-mutex");
        let issuer = CertifiedIssuer::self_signed(params, new_key()).expect("a certificate");
        let dir = tempfile::Builder::new()
            .prefix("am-ca-")
            .tempdir()
            .expect("a temporary directory");
        fs::write(dir.path().join("ca.pem"), issuer.pem()).expect("a file");
        let issued = AtomicU32::new(0);
        Self {
            issuer,
            dir,
            issued,
        }
    }

    /// The file of the authority's own certificate.
    pub fn ca(&self) -> PathBuf {
        self.dir.path().join("ca.pem")
    }

    /// Issues a valid certificate for this machine, usable by servers and clients.
    pub fn issue(&self) -> Identity {
        self.issue_for(&["localhost", "127.0.0.1"], Valid::Now)
    }

    /// Issues a certificate for these host names and addresses.
    pub fn issue_for(&self, names: &[&str], valid: Valid) -> Identity {
        let names: Vec<_> = names.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names).expect("names");
        params.use_authority_key_identifier_extension = true;
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        let years = match valid {
            Valid::Now => (2000, 2200),
            Valid::Before => (2000, 2010),
            Valid::Later => (2150, 2200),
        };
        params.not_before = date_time_ymd(years.0, 1, 1);
        params.not_after = date_time_ymd(years.1, 1, 1);
        let key = new_key();
        let cert = params.signed_by(&key, &self.issuer).expect("a certificate");
        let number = self.issued.fetch_add(1, Ordering::Relaxed);
        let identity = Identity {
            cert: self.dir.path().join(format!("{number}.pem")),
            key: self.dir.path().join(format!("{number}.key")),
        };
        fs::write(&identity.cert, cert.pem()).expect("a file");
        fs::write(&identity.key, key.serialize_pem()).expect("a file");
        identity
    }
}

impl Identity {
    /// Replaces this certificate and key with those of `other`; the file names stay the same.
    pub fn become_a_copy_of(&self, other: &Self) {
        replace(&self.cert, &other.cert);
        replace(&self.key, &other.key);
    }
}

/// Replaces `file` with a copy of `other`, atomically.
pub fn replace(file: &Path, other: &Path) {
    let new = file.with_extension("new");
    fs::copy(other, &new).expect("a copy");
    fs::rename(new, file).expect("another content");
}

fn new_key() -> KeyPair {
    KeyPair::generate().expect("a key")
}
