//! `auto-mutex acl`

use std::io::Write;

use auto_mutex::Config;
use serde::Serialize;

use crate::args::{Acl, Global};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::document;
use crate::store::config;

#[derive(Debug, Serialize)]
struct Rules {
    rule: String,
    sentinels: Option<String>,
    commands: Vec<String>,
}

pub(crate) fn run(global: &Global, args: &Acl) -> Outcome {
    let is_plain = |c: char| c.is_ascii_graphic();
    if args.user.is_empty() || !args.user.chars().all(is_plain) {
        return Err(Failure::Usage(
            "a user of Redis has no spaces in its name".to_owned(),
        ));
    }
    let url = args.of.as_ref().or(global.url.as_ref());
    if url.is_some_and(|url| url.starts_with("postgres")) {
        let text = "PostgreSQL has roles in place of ACL rules: `auto-mutex schema --postgres --only-rights --grant ROLE` \
                    prints the rights";
        return Err(Failure::Usage(text.to_owned()));
    }
    let config = match &args.of {
        Some(url) => Config::new(url)?,
        None => config(global)?,
    };
    let mut rule = auto_mutex::acl_rule(config)?;
    if args.operator {
        rule = rule.operator();
    }
    if args.read_only {
        rule = rule.read_only();
    }
    if args.least {
        rule = rule.without_optional();
    }
    if args.setinfo {
        rule = rule.with_setinfo();
    }
    let rules = Rules {
        rule: rule.to_string(),
        sentinels: rule.sentinels().map(str::to_owned),
        commands: rule.commands().map(str::to_owned).collect(),
    };
    document(global, &rules, |out| {
        let user = &args.user;
        writeln!(out, "ACL SETUSER {user} reset on >PASSWORD {rule}")?;
        if let Some(sentinels) = &rules.sentinels {
            writeln!(out, "\n# On each sentinel:")?;
            writeln!(out, "ACL SETUSER {user} reset on >PASSWORD {sentinels}")?;
        }
        Ok(())
    })?;
    Ok(Exit::Done)
}
