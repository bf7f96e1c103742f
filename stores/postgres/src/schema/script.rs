//! The SQL of the schema, and the rights to use it.

use super::{MARK, VERSION, Version};

/// The tables. A change of them is another version of the tables: clients of the older one must be updated, and its locks are
/// lost.
const TABLES: [&str; 2] = [
    include_str!("../sql/tables.sql"),
    include_str!("../sql/note.sql"),
];
/// The functions. A newer version of them serves older clients too, so their parameters and results stay.
const RULES: [&str; 5] = [
    include_str!("../sql/steps.sql"),
    include_str!("../sql/operations.sql"),
    include_str!("../sql/upkeep.sql"),
    include_str!("../sql/term.sql"),
    include_str!("../sql/fence.sql"),
];

/// Returns the SQL that makes the schema `auto_mutex`, or brings it to the version of this library: for an administrator, if
/// the program's user may not do so.
#[must_use]
pub fn schema() -> String {
    format!("BEGIN;\n\n{}\nCOMMIT;\n", script(VERSION))
}

/// Returns the SQL that lets a role use the locks, but not change the schema.
///
/// ```
/// let sql = auto_mutex_postgres::grants("app");
/// assert!(sql.contains("GRANT USAGE ON SCHEMA auto_mutex TO \"app\";"));
/// ```
#[must_use]
pub fn grants(role: &str) -> String {
    rights(role, "SELECT, INSERT, UPDATE, DELETE, TRUNCATE")
}

/// Returns the SQL that lets a role look at all locks, and change nothing: for an operator.
#[must_use]
pub fn reading_grants(role: &str) -> String {
    rights(role, "SELECT")
}

fn rights(role: &str, on_tables: &str) -> String {
    let role = role.replace('"', "\"\"");
    format!(
        "GRANT USAGE ON SCHEMA auto_mutex TO \"{role}\";\n\
         GRANT {on_tables} ON ALL TABLES IN SCHEMA auto_mutex TO \"{role}\";\n\
         GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA auto_mutex TO \"{role}\";\n"
    )
}

pub(crate) fn script(Version(tables, rules): Version) -> String {
    let functions = RULES.join("\n");
    let functions = functions.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION");
    include_str!("../sql/schema.sql")
        .replace("@PARTS@", &TABLES.join("\n"))
        .replace("@RULES@", &functions)
        .replace("@TABLES@", &tables.to_string())
        .replace("@MARK@", MARK)
        .replace("@VERSION@", &format!("{tables}.{rules}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_quoted() {
        assert!(grants("a\"b").contains("TO \"a\"\"b\";"));
    }
}
