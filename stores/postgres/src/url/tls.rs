//! `sslmode` and what belongs to it. The names of our other engines work too: `ca`, `cert`, `key`.

use auto_mutex_core::SetupError;
use auto_mutex_core::store::{Url, invalid, socket};
use tokio_postgres::Config;
use tokio_postgres::config::ChannelBinding;

use super::{one_of, text};
use crate::engine::{Tls, TlsMode};

const MODES: [(&str, TlsMode); 6] = [
    ("disable", TlsMode::Disable),
    // libpq tries it without TLS first. With it is better.
    ("allow", TlsMode::Prefer),
    ("prefer", TlsMode::Prefer),
    ("require", TlsMode::Require),
    ("verify-ca", TlsMode::VerifyCa),
    ("verify-full", TlsMode::VerifyFull),
];
const BINDINGS: [(&str, ChannelBinding); 3] = [
    ("disable", ChannelBinding::Disable),
    ("prefer", ChannelBinding::Prefer),
    ("require", ChannelBinding::Require),
];

pub(super) fn tls(url: &mut Url<'_>, config: &mut Config) -> Result<Tls, SetupError> {
    let asked = one_of(url, "sslmode", &MODES)?;
    let binding = one_of(url, "channel_binding", &BINDINGS)?;
    let mut file =
        |name, ours| -> Result<_, SetupError> { Ok(url.file(name)?.or(url.file(ours)?)) };
    let ca = file("sslrootcert", "ca")?;
    let identity = match (file("sslcert", "cert")?, file("sslkey", "key")?) {
        (Some(cert), Some(key)) => Some((cert, key)),
        (None, None) => None,
        _ => return Err(invalid("`sslcert` and `sslkey` only make sense together")),
    };
    let is_of_system = ca.as_ref().is_some_and(|ca| ca.as_os_str() == "system");
    let mode = match (asked, &ca) {
        _ if is_of_system => TlsMode::VerifyFull,
        // As libpq: who names an authority wants to know the server.
        (Some(TlsMode::Require), Some(_)) => TlsMode::VerifyCa,
        (asked, _) => asked.unwrap_or(TlsMode::Prefer),
    };
    let needs = mode >= TlsMode::Require || binding == Some(ChannelBinding::Require);
    if needs && !cfg!(feature = "tls-no-provider") {
        return Err(SetupError::unsupported(
            "postgres",
            "this program was built without TLS: run `cargo add auto-mutex --features tls`",
        ));
    }
    if let Some(binding) = binding {
        config.channel_binding(binding);
    }
    let files = socket::Tls {
        ca: ca.filter(|_| !is_of_system),
        identity,
        server_name: text(url, "server_name"),
        #[cfg(feature = "tls-no-provider")]
        verifier: crate::socket::verifier(mode),
    };
    Ok(Tls { mode, files })
}
