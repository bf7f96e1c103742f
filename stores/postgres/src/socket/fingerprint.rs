//! [`fingerprint`]: ties a login to the certificate of the server, so that nobody between the two can pass it on
//! (`tls-server-end-point` of RFC 5929).

use rustls::SupportedCipherSuite;
use rustls::crypto::CryptoProvider;
use rustls::crypto::hash::HashAlgorithm;

/// The hash of a certificate with the hash function of its signature (RFC 5929), if the provider has it.
pub(super) fn fingerprint(certificate: &[u8], provider: &CryptoProvider) -> Option<Vec<u8>> {
    let (_, inner, _) = element(certificate)?;
    let (_, _, after) = element(inner)?;
    let (_, algorithm, _) = element(after)?;
    let (_, identifier, _) = element(algorithm)?;
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1];
    const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3];
    let number = |family| identifier.strip_prefix(family);
    let wanted = match (number(RSA), number(ECDSA)) {
        // MD5 and SHA-1 count as SHA-256.
        (Some([4 | 5 | 11]), _) | (_, Some([2])) => HashAlgorithm::SHA256,
        (Some([12]), _) | (_, Some([3])) => HashAlgorithm::SHA384,
        (Some([13]), _) | (_, Some([4])) => HashAlgorithm::SHA512,
        _ => return None,
    };
    let hashes = provider.cipher_suites.iter().map(|suite| match suite {
        SupportedCipherSuite::Tls12(suite) => suite.common.hash_provider,
        SupportedCipherSuite::Tls13(suite) => suite.common.hash_provider,
    });
    let mut hashes = hashes.filter(|hash| hash.algorithm() == wanted);
    Some(hashes.next()?.hash(certificate).as_ref().to_vec())
}

/// The first element in DER: its tag, its content, and what follows.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
            let add = |sum: usize, digit: &u8| sum << 8 | usize::from(*digit);
            (digits.iter().fold(0, add), rest)
        }
        _ => return None,
    };
    let (content, after) = rest.split_at_checked(length)?;
    Some((*tag, content, after))
}
