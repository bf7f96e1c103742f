//! The servers of a URL: before its path as usual, or in the parameters `host` and `port` as in libpq.

use std::net::Ipv6Addr;
use std::path::Path;

use auto_mutex_core::SetupError;
use auto_mutex_core::store::{Address, Url, decode, host_and_port, invalid, number};

use super::text;

const PORT: u16 = 5432;

pub(super) fn servers(url: &mut Url<'_>, hosts: &str) -> Result<Vec<Address>, SetupError> {
    let (named, ports) = (text(url, "host"), text(url, "port").unwrap_or_default());
    let ports = ports.split(',').map(|port| match (port, number(port)) {
        ("", _) => Ok(PORT),
        (_, Some(port)) if port > 0 => Ok(port),
        _ => Err(invalid("`port` is not a number from 1 to 65535")),
    });
    let ports = ports.collect::<Result<Vec<_>, _>>()?;
    let hosts = match (hosts, named) {
        ("", Some(named)) => named,
        ("", None) => {
            return Err(invalid(
                "the host is missing: `postgres://user@host/database`, or `postgres:///database?host=/run/postgresql`",
            ));
        }
        (hosts, None) => hosts.to_owned(),
        _ => {
            return Err(invalid(
                "it names hosts twice: before the `/`, and as `host`",
            ));
        }
    };
    let hosts: Vec<_> = hosts.split(',').collect();
    if ports.len() > 1 && ports.len() != hosts.len() {
        return Err(invalid("it has more or fewer ports than hosts"));
    }
    let hosts = hosts.into_iter().zip(ports.into_iter().cycle());
    hosts.map(|(host, port)| address(host, port)).collect()
}

fn address(text: &str, port: u16) -> Result<Address, SetupError> {
    let path = decode(text)?;
    // A host that begins with a slash is the folder of a socket.
    if path.starts_with('/') {
        let (folder, port) = match path.rsplit_once(':') {
            Some((folder, given)) => (folder, number(given).unwrap_or(port)),
            None => (&*path, port),
        };
        let socket = Path::new(folder).join(format!(".s.PGSQL.{port}"));
        return Ok(Address::Unix(socket));
    }
    match text.parse::<Ipv6Addr>() {
        Ok(_) => host_and_port(&format!("[{text}]"), port),
        Err(_) => host_and_port(text, port),
    }
}
