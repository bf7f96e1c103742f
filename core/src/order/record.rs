//! An edge as text in the store, and the name under which the clients of a namespace share their edges.
//!
//! The field of an edge contains its two classes. The text of an edge contains the place of the held lock (file, line),
//! the place of the lock that is asked for, machine, process id, package, and the reason why the order is allowed
//! (empty if it is not). All of these are percent-escaped words. So the field of an edge never begins with a space,
//! while the field of a claim does.

use std::sync::Arc;

use super::graph::{Edge, Graph, Key, Place};
use crate::name::{Name, escape, unescape};
use crate::store::{ORDER_NAME, OrderRecord, time_of};

/// The name under which the clients of `namespace` share their edges.
pub(crate) fn order_name(namespace: Option<&str>) -> Name {
    match namespace {
        Some(namespace) => Name::from_escaped(&format!("{ORDER_NAME}:{}", escape(namespace))),
        None => Name::from_escaped(ORDER_NAME),
    }
}

/// The namespace of a name that [`order_name`] made; `None` for any other name.
pub(crate) fn namespace_of(name: &str) -> Option<Option<String>> {
    match name.strip_prefix(ORDER_NAME)? {
        "" => Some(None),
        rest => Some(Some(unescape(rest.strip_prefix(':')?))),
    }
}

/// The field and the text of an edge.
pub(super) fn write(key: &Key, edge: &Edge) -> (Arc<str>, Arc<str>) {
    let Edge {
        before,
        after,
        machine,
        pid,
        package,
        allowed,
        ..
    } = edge;
    let (before_line, after_line) = (before.line, after.line);
    let [before, after, package] = [&before.file, &after.file, package].map(|text| escape(text));
    let allowed = escape(allowed.as_deref().unwrap_or_default());
    let text =
        format!("{before} {before_line} {after} {after_line} {machine} {pid} {package} {allowed}");
    let field = format!("{} {}", escape(&key.0), escape(&key.1));
    (field.into(), text.into())
}

/// The field that claims the report about a circle of these classes.
pub(super) fn claim(classes: &[Arc<str>]) -> Arc<str> {
    let mut claim = String::new();
    for class in classes {
        claim.push(' ');
        claim.push_str(&escape(class).to_string());
    }
    claim.into()
}

/// The edge in a record; `None` if this library did not write it.
fn read(record: &OrderRecord) -> Option<(Key, Edge)> {
    let (before, after) = record.field.split_once(' ')?;
    let mut words = record.text.split(' ');
    let mut place = || {
        Some(Place {
            file: unescape(words.next()?).into(),
            line: words.next()?.parse().ok()?,
        })
    };
    let (first, second) = (place()?, place()?);
    let edge = Edge {
        before: first,
        after: second,
        machine: words.next()?.into(),
        pid: words.next()?.parse().ok()?,
        package: unescape(words.next()?).into(),
        // A later version may append more words.
        allowed: match words.next()? {
            "" => None,
            reason => Some(unescape(reason).into()),
        },
        since: time_of(record.since),
        is_own: false,
    };
    let key = (unescape(before).into(), unescape(after).into());
    Some((key, edge))
}

impl Graph {
    /// The edges in these records.
    pub(crate) fn of(records: &[OrderRecord]) -> Self {
        let mut graph = Self::default();
        graph.read(records);
        graph
    }

    /// Adds the edges in these records.
    pub(super) fn read(&mut self, records: &[OrderRecord]) {
        for (key, edge) in records.iter().filter_map(read) {
            self.learn(key, edge);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::super::graph::key;
    use super::*;

    fn edge(allowed: Option<&str>) -> Edge {
        let place = |file: &str, line| Place {
            file: file.into(),
            line,
        };
        Edge {
            before: place("src/my file.rs", 7),
            after: place("", 0),
            machine: "host,pod/1".into(),
            pid: 17,
            package: "bücher".into(),
            since: SystemTime::UNIX_EPOCH + Duration::from_micros(5),
            allowed: allowed.map(Into::into),
            is_own: false,
        }
    }

    #[test]
    fn an_edge_survives_the_store() {
        let keys = [
            key("billing:Ledger:close:{month}", "a b"),
            key("%", "%41\n"),
            key(" x", ":"),
        ];
        for key in keys {
            for allowed in [None, Some("accounts before ledger"), Some("-")] {
                let edge = edge(allowed);
                let (field, text) = write(&key, &edge);
                assert!(!field.starts_with(' '), "{field:?}");
                let record = OrderRecord {
                    field,
                    since: 5,
                    text,
                };
                assert_eq!(read(&record), Some((key.clone(), edge)));
            }
        }
    }

    #[test]
    fn foreign_records_are_left_out_and_later_words_are_ignored() {
        let record = |field: &str, text: &str| OrderRecord {
            field: field.into(),
            since: 1,
            text: text.into(),
        };
        let (field, text) = write(&key("a", "b"), &edge(None));
        for (field, text) in [("a", &*text), (&*field, "x"), (&*field, "f x f 1 h 1 p ")] {
            assert_eq!(read(&record(field, text)), None, "{field} {text}");
        }
        assert!(read(&record(&field, &format!("{text} later"))).is_some());
    }

    #[test]
    fn a_namespace_has_a_name_that_no_lock_has() {
        for namespace in [None, Some("prod"), Some("a:b c"), Some("ü")] {
            let name = order_name(namespace);
            assert!(name.as_str().starts_with(':'));
            assert_eq!(
                namespace_of(name.as_str()),
                Some(namespace.map(str::to_owned))
            );
        }
        for name in ["order", ":ordered", ":ping0", "prod:order"] {
            assert_eq!(namespace_of(name), None, "{name}");
        }
    }

    #[test]
    fn a_claim_names_a_circle_whatever_its_beginning() {
        let classes = ["b c".into(), "a".into()];
        assert_eq!(&*claim(&classes), " b%20c a");
    }
}
