//! `auto-mutex schema`

use auto_mutex_postgres::{grants, reading_grants, schema};

use super::manual::write;
use crate::args::Schema;
use crate::exit::{Failure, Outcome};

pub(crate) fn run(args: &Schema) -> Outcome {
    let is_empty = args.grant.is_empty() && args.grant_reading.is_empty();
    if args.only_rights && is_empty {
        let text = "--only-rights needs a role: --grant ROLE, or --grant-reading ROLE";
        return Err(Failure::Usage(text.to_owned()));
    }
    let mut parts = Vec::new();
    if !args.only_rights {
        parts.push(schema());
    }
    parts.extend(args.grant.iter().map(|role| grants(role)));
    parts.extend(args.grant_reading.iter().map(|role| reading_grants(role)));
    write(parts.join("\n").as_bytes())
}
