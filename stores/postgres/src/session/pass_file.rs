//! The password file of libpq: `PGPASSFILE`, or `~/.pgpass`.

use std::path::{Path, PathBuf};
use std::{env, fs};

use auto_mutex_core::store::Address;
use tokio_postgres::Config;

use crate::engine::Postgres;

/// The password for this server in the file. `None` if there is no file, no line for the server, or a file that others
/// may read.
pub(super) fn password(postgres: &Postgres, config: &Config, server: &Address) -> Option<String> {
    let user = config.get_user()?;
    let path = postgres.pass_file.clone().or_else(usual_path)?;
    let text = fs::read_to_string(&path).ok()?;
    if is_public(&path) {
        let path = path.display().to_string();
        tracing::warn!(
            path,
            "the password file is ignored, because other users can read it: set its mode to 0600"
        );
        return None;
    }
    let (host, port) = match server {
        Address::Tcp { host, port } => (&**host, port.to_string()),
        // `localhost` stands for every socket, as in libpq for those in the default folder.
        Address::Unix(path) => {
            let port = path.extension().unwrap_or_default();
            ("localhost", port.to_string_lossy().into_owned())
        }
    };
    let database = config.get_dbname().unwrap_or(user);
    find(&text, [host, &port, database, user])
}

fn usual_path() -> Option<PathBuf> {
    let named = env::var_os("PGPASSFILE").map(PathBuf::from);
    named.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".pgpass")))
}

#[cfg(unix)]
fn is_public(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn is_public(_: &Path) -> bool {
    false
}

fn find(text: &str, wanted: [&str; 4]) -> Option<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(fields).find_map(|fields| {
        let (password, server) = fields.split_last()?;
        let fits = |(field, wanted): (&String, &&str)| field == "*" || field == *wanted;
        (server.len() == wanted.len() && server.iter().zip(&wanted).all(fits))
            .then(|| password.clone())
    })
}

/// Splits at colons. A backslash takes the next character as it is.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        let plain = match character {
            ':' if fields.len() < 5 => {
                fields.push(String::new());
                continue;
            }
            '\\' => characters.next().unwrap_or('\\'),
            other => other,
        };
        if let Some(field) = fields.last_mut() {
            field.push(plain);
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_fits_counts() {
        let text = "# comment\nother:*:*:*:no\nh\\:1:5432:*:u:a\\:b:c\\\\\n*:*:*:*:rest";
        let find = |server| find(text, server);
        assert_eq!(find(["h:1", "5432", "d", "u"]).unwrap(), "a:b:c\\");
        assert_eq!(find(["h", "5432", "d", "u"]).unwrap(), "rest");
        assert_eq!(super::find("h:1:d:u", ["h", "1", "d", "u"]), None);
    }
}
