//! `auto-mutex schema`

use auto_mutex_postgres::{grants, operating_grants, reading_grants, schema};

use super::manual::write;
use crate::args::Schema;
use crate::exit::{Failure, Outcome};

pub(crate) fn run(args: &Schema) -> Outcome {
    let mut rights: Vec<_> = args.grant.iter().map(|role| grants(role)).collect();
    rights.extend(args.grant_reading.iter().map(|role| reading_grants(role)));
    rights.extend(
        args.grant_operating
            .iter()
            .map(|role| operating_grants(role)),
    );
    if args.only_rights && rights.is_empty() {
        let text = "--only-rights needs a role: --grant ROLE, --grant-reading ROLE, or --grant-operating ROLE";
        return Err(Failure::Usage(text.to_owned()));
    }
    let mut parts = Vec::new();
    if !args.only_rights {
        parts.push(schema());
    }
    parts.append(&mut rights);
    write(parts.join("\n").as_bytes())
}
