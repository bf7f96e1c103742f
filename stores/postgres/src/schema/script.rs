//! The SQL of the schema, and the rights to use it.

use auto_mutex_seam::store::{LIMITS, RW_LOCK, millis};

use super::{MARK, VERSION, Version};
use crate::call::PLANS;

/// The tables. A change of them is another version of the tables: clients of the older one must be updated, and its
/// locks are lost.
const TABLES: [&str; 2] = [
    include_str!("../sql/tables.sql"),
    include_str!("../sql/epoch_tables.sql"),
];
/// The functions. A newer version of them serves older clients too, so their parameters and results stay.
const RULES: [&str; 5] = [
    include_str!("../sql/steps.sql"),
    include_str!("../sql/operations.sql"),
    include_str!("../sql/upkeep.sql"),
    include_str!("../sql/epoch.sql"),
    include_str!("../sql/fence.sql"),
];

/// The owner, if who makes the schema may make a role: it cannot log in.
const OWNER: &str = "auto_mutex_owner";
/// What others call runs with the rights of the owner, and finds nothing that somebody else has made.
const DEFINER: &str = "SECURITY DEFINER SET search_path = pg_catalog, pg_temp";
/// The functions for readers, for operators beside those, and for programs.
const LOOKS: &str = "auto_mutex.inspect, auto_mutex.scan, auto_mutex.see_epoch, auto_mutex.size";
const BREAKS: &str = "auto_mutex.enter, auto_mutex.hear, auto_mutex.read_mail, auto_mutex.is_epoch, auto_mutex.begin_epoch, auto_mutex.tidy, \
    auto_mutex.drop_holders";
const LOCKS: &str = "auto_mutex.acquire, auto_mutex.touch, auto_mutex.release, auto_mutex.run, auto_mutex.adopt, \
    auto_mutex.signal, auto_mutex.remove, auto_mutex.probe, auto_mutex.raise, auto_mutex.fence";

/// Returns the query for what is wrong with a server: see `sql/problems.sql`.
pub(crate) fn problems() -> String {
    let names = |parts: &[&str], kind: &str, end: char| {
        let parts = parts.iter().flat_map(|part| part.split(kind).skip(1));
        let names = parts.filter_map(|part| part.split(end).next());
        names
            .map(|name| format!("auto_mutex.{name}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    include_str!("../sql/problems.sql")
        .replace("@TABLES@", &names(&TABLES, "TABLE auto_mutex.", ' '))
        .replace("@FUNCTIONS@", &names(&RULES, "FUNCTION auto_mutex.", '('))
        .replace("@LOOKS@", LOOKS)
        .replace("@BREAKS@", BREAKS)
        .replace("@LOCKS@", LOCKS)
}

/// Returns the SQL that makes the schema `auto_mutex`, or brings an older one to the version of this library: for an
/// administrator, or for the owner of the schema.
#[must_use]
pub fn schema() -> String {
    format!("BEGIN;\n\n{}\nCOMMIT;\n", script(VERSION))
}

/// Returns the SQL that lets a role use the locks. It may call functions, and gets no right on a table.
///
/// ```
/// let sql = auto_mutex_postgres::grants("app");
/// assert!(sql.contains("GRANT USAGE ON SCHEMA auto_mutex TO \"app\";"));
/// ```
#[must_use]
pub fn grants(role: &str) -> String {
    rights(role, &[LOOKS, BREAKS, LOCKS])
}

/// Returns the SQL that lets a role look at all locks, and change nothing.
#[must_use]
pub fn reading_grants(role: &str) -> String {
    rights(role, &[LOOKS])
}

/// Returns the SQL that lets a role look at all locks and break them, but not take one: for an operator.
#[must_use]
pub fn operating_grants(role: &str) -> String {
    rights(role, &[LOOKS, BREAKS])
}

fn rights(role: &str, functions: &[&str]) -> String {
    let (role, functions) = (role.replace('"', "\"\""), functions.join(", "));
    format!(
        "GRANT USAGE ON SCHEMA auto_mutex TO \"{role}\";\n\
         GRANT EXECUTE ON FUNCTION {functions} TO \"{role}\";\n"
    )
}

pub(crate) fn script(Version(tables, rules): Version) -> String {
    let functions = RULES.join("\n");
    let functions = functions.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION");
    let parts = TABLES.join("\n");
    let count = parts.matches("TABLE auto_mutex.").count();
    let parts = parts.replace("TABLE auto", "TABLE IF NOT EXISTS auto");
    let script = include_str!("../sql/schema.sql")
        .replace(
            "@PARTS@",
            &parts.replace("CREATE INDEX", "CREATE INDEX IF NOT EXISTS"),
        )
        .replace("@RULES@", &functions)
        .replace("@COUNT@", &count.to_string())
        .replace("@DEFINER@", DEFINER)
        .replace(
            "@PLANS@",
            &PLANS
                .map(|(name, value)| format!("SET {name} = {value}"))
                .join(" "),
        )
        .replace("@OWNER@", OWNER)
        .replace("@TABLES@", &tables.to_string())
        .replace("@MARK@", MARK)
        .replace("@VERSION@", &format!("{tables}.{rules}"));
    let limits = [
        ("@BATCH@", LIMITS.batch as u64),
        ("@CLAIM_MS@", millis(LIMITS.claim)),
        ("@CLAIM_US@", 1000 * millis(LIMITS.claim)),
        ("@KEPT_US@", 1000 * millis(LIMITS.kept)),
        ("@NEAR@", LIMITS.near as u64),
        ("@RW_LOCK@", RW_LOCK.into()),
        ("@NEAR_MS@", millis(LIMITS.near_touch)),
        ("@SIGNALS_KEPT_US@", 1000 * millis(LIMITS.signals_kept)),
        ("@TOMBSTONE_US@", 1000 * millis(LIMITS.tombstone)),
    ];
    limits.iter().fold(script, |script, (name, limit)| {
        script.replace(name, &limit.to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_filled_in() {
        let parts = schema();
        let mut words = parts.split('@').skip(1).filter(|it| !it.is_empty());
        let left = words.find(|it| it.bytes().all(|b| b == b'_' || b.is_ascii_uppercase()));
        assert_eq!(left, None);
    }

    #[test]
    fn a_role_is_quoted() {
        assert!(grants("a\"b").contains("TO \"a\"\"b\";"));
    }
}
