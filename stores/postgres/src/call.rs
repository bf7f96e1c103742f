//! [`Call`]: an operation as a call of its function.

use std::borrow::Cow;
use std::fmt::Display;
use std::time::Duration;

use auto_mutex_seam::store::{Lease, MemberId, Mode, Name, Op, Retain, Share, Signal, millis};
use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

use crate::epoch::number;

/// The reply if the server has lost its locks since the connection was made. Only behind a pooler, which hides this.
pub(crate) const LOST: &str = "LOST";

pub(crate) const INSPECT: &str = "inspect";
pub(crate) const RUN: &str = "run";

/// A plan that was made when a table was empty must not read the whole table later. For the server, one that has to do
/// so costs enough to be compiled.
pub(crate) const PLANS: [(&str, &str); 2] = [("enable_seqscan", "off"), ("jit", "off")];
/// What each request relies on. A frozen process must not stop the whole connection.
pub(crate) const SETTINGS: [(&str, &str); 3] = [("lock_timeout", "1s"), PLANS[0], PLANS[1]];

/// The query that calls a function with so many parameters. In an epoch, it runs only if the next parameter is the id
/// of the epoch.
pub(crate) fn query(function: &str, count: usize, in_epoch: bool) -> String {
    if function == INSPECT {
        return "SELECT * FROM auto_mutex.inspect($1, $2, NULL)".to_owned();
    }
    let parameters: Vec<_> = (1..=count).map(|index| format!("${index}")).collect();
    let parameters = parameters.join(", ");
    // Most functions can be told the time, in tests.
    let call = match function {
        "probe" | "read_mail" => format!("auto_mutex.{function}({parameters})"),
        _ => format!("auto_mutex.{function}({parameters}, NULL)"),
    };
    if !in_epoch {
        return format!("SELECT {call}");
    }
    let is_same = format!("auto_mutex.is_epoch(${})", count + 1);
    // Behind a pooler, there is no session that could have them.
    let settings = SETTINGS
        .map(|(name, value)| format!("pg_catalog.set_config('{name}', '{value}', true) AS {name}"));
    let settings = settings.join(", ");
    match function {
        "read_mail" => format!(
            "SELECT pg_catalog.unnest(CASE WHEN {is_same} THEN {call} ELSE '{{{LOST}}}' END) FROM {settings}"
        ),
        RUN => {
            format!("SELECT CASE WHEN {is_same} THEN {call} ELSE '{{{LOST}}}' END FROM {settings}")
        }
        _ => format!("SELECT CASE WHEN {is_same} THEN {call} ELSE '{LOST}' END FROM {settings}"),
    }
}

/// A parameter of a query, with its type for queries that are not prepared.
pub(crate) type Value = (Box<dyn ToSql + Send + Sync>, Type);

pub(crate) fn text(text: &str) -> Value {
    (Box::new(storable(text).into_owned()), Type::TEXT)
}

pub(crate) fn id(id: impl Display) -> Value {
    (Box::new(uuid(id)), Type::UUID)
}

fn uuid(id: impl Display) -> Uuid {
    Uuid::try_parse(&id.to_string()).unwrap_or_default()
}

fn int(number: impl Into<i64>) -> Value {
    (Box::new(number.into()), Type::INT8)
}

fn count(count: u64) -> Value {
    int(number(count))
}

fn time(time: Duration) -> Value {
    count(millis(time))
}

fn flag(is: bool) -> Value {
    (Box::new(is), Type::BOOL)
}

/// 0, 1 or 2, as in the table.
fn retain(retain: Retain) -> Value {
    (Box::new(retain as i16), Type::INT2)
}

/// Whether [`Call::together`] takes the operation.
pub(crate) fn is_plain(op: &Op) -> bool {
    match op {
        Op::Acquire { .. } | Op::Touch { .. } => true,
        Op::Release {
            park, tomb, used, ..
        } => park.is_zero() && !tomb && *used == 0,
        _ => false,
    }
}

/// What [`Call::together`] does with one name.
struct Part<'a> {
    name: &'a Name,
    leaving: Option<Uuid>,
    next: Option<&'a Op>,
}

impl<'a> Part<'a> {
    fn lease(&self) -> Option<&'a Lease> {
        match self.next {
            Some(Op::Acquire { lease, .. } | Op::Touch { lease, .. }) => Some(lease),
            _ => None,
        }
    }

    fn share(&self) -> Option<&'a Share> {
        match self.next {
            Some(Op::Acquire { share, .. }) => Some(share),
            _ => None,
        }
    }

    fn units(&self) -> u32 {
        match self.next {
            Some(Op::Touch { units, .. }) => *units,
            _ => self.share().map_or(0, |share| share.units),
        }
    }

    fn tries(&self) -> bool {
        matches!(
            self.next,
            Some(Op::Acquire {
                mode: Mode::Try,
                ..
            })
        )
    }

    fn meta(&self) -> Option<String> {
        match self.next {
            Some(Op::Acquire { meta, .. }) => Some(storable(meta).into_owned()),
            _ => None,
        }
    }
}

/// A request as the driver takes it.
pub(crate) struct Call {
    /// Its name in the schema.
    pub(crate) function: &'static str,
    pub(crate) values: Vec<Value>,
}

impl Call {
    /// `opens` is when the store grants again, or 0.
    pub(crate) fn of(name: &Name, op: &Op, caller: MemberId, opens: i64) -> Self {
        let mut values = Vec::with_capacity(14);
        values.push(text(name.as_str()));
        if !matches!(op, Op::Inspect { .. }) {
            values.push(id(caller));
        }
        let function = match op {
            Op::Acquire {
                lease,
                share,
                mode,
                meta,
            } => {
                values.extend([id(lease.ticket), count(lease.counter)]);
                values.extend([int(share.units), int(share.capacity)]);
                values.extend([flag(share.takes()), time(lease.hold), time(lease.place)]);
                values.extend([retain(lease.retain), flag(*mode == Mode::Try), text(meta)]);
                "acquire"
            }
            Op::Touch { lease, units } => {
                values.extend([id(lease.ticket), count(lease.counter)]);
                values.extend([int(*units), time(lease.hold), time(lease.place)]);
                values.push(retain(lease.retain));
                "touch"
            }
            Op::Release {
                ticket: own,
                park,
                tomb,
                used,
            } => {
                values.extend([id(*own), time(*park), flag(*tomb), count(*used)]);
                "release"
            }
            Op::Adopt { old, lease, meta } => {
                values.extend([id(*old), id(lease.ticket), count(lease.counter)]);
                values.extend([time(lease.hold), time(lease.place), text(meta)]);
                "adopt"
            }
            Op::Force => {
                let all: Value = (Box::new(None::<i64>), Type::INT8);
                values.extend([all, text("")]);
                "drop_holders"
            }
            Op::Kick { token, by } => {
                values.extend([count(*token), text(by)]);
                "drop_holders"
            }
            Op::Raise { ticket: own, token } => {
                values.extend([id(*own), count(*token)]);
                "raise"
            }
            Op::Signal {
                ticket: own,
                signal,
            } => {
                let (kind, said) = match signal {
                    Signal::Token(said) => ("token", &**said),
                    Signal::One => ("one", ""),
                    Signal::All => ("all", ""),
                };
                values.extend([id(*own), text(kind), text(said)]);
                "signal"
            }
            Op::Probe { to, text: said } => {
                values.extend([id(*to), text(said)]);
                "probe"
            }
            Op::Delete => "remove",
            Op::Inspect { above } => {
                values.push(int(*above));
                INSPECT
            }
        };
        if !["probe", INSPECT].contains(&function) {
            values.push(int(opens));
        }
        Self { function, values }
    }

    /// Plain operations, sorted by name. A release and the acquire after it share a part.
    pub(crate) fn together<'a>(
        operations: impl Iterator<Item = (&'a Name, &'a Op)>,
        caller: MemberId,
        opens: i64,
    ) -> Self {
        let mut parts: Vec<Part<'_>> = Vec::new();
        for (name, op) in operations {
            match (op, parts.last_mut()) {
                (Op::Acquire { .. }, Some(last)) if last.next.is_none() && last.name == name => {
                    last.next = Some(op);
                }
                (Op::Release { ticket, .. }, _) => parts.push(Part {
                    name,
                    leaving: Some(uuid(ticket)),
                    next: None,
                }),
                _ => parts.push(Part {
                    name,
                    leaving: None,
                    next: Some(op),
                }),
            }
        }
        let parts = &parts;
        let lease = |of: fn(&Lease) -> u64| {
            let column = move |part: &Part<'_>| number(part.lease().map_or(0, of));
            column_of(parts, column, Type::INT8_ARRAY)
        };
        let values = vec![
            column_of(
                parts,
                |it| storable(it.name.as_str()).into_owned(),
                Type::TEXT_ARRAY,
            ),
            id(caller),
            column_of(parts, |it| it.leaving, Type::UUID_ARRAY),
            column_of(
                parts,
                |it| it.lease().map(|it| uuid(it.ticket)),
                Type::UUID_ARRAY,
            ),
            lease(|it| it.counter),
            column_of(parts, |it| i64::from(it.units()), Type::INT8_ARRAY),
            column_of(
                parts,
                |it| it.share().map_or(0, |it| i64::from(it.capacity)),
                Type::INT8_ARRAY,
            ),
            column_of(
                parts,
                |it| it.share().is_some_and(Share::takes),
                Type::BOOL_ARRAY,
            ),
            lease(|it| millis(it.hold)),
            lease(|it| millis(it.place)),
            column_of(
                parts,
                |it| it.lease().map_or(0, |it| it.retain as i16),
                Type::INT2_ARRAY,
            ),
            column_of(parts, |it| it.tries(), Type::BOOL_ARRAY),
            column_of(parts, |it| it.meta(), Type::TEXT_ARRAY),
            int(opens),
        ];
        Self {
            function: RUN,
            values,
        }
    }

    /// A polling member's question for its messages.
    pub(crate) fn read_mail(member: MemberId) -> Self {
        let values = vec![id(member)];
        Self {
            function: "read_mail",
            values,
        }
    }

    /// The parameters for a query that is not prepared.
    pub(crate) fn typed(&self) -> Vec<(&(dyn ToSql + Sync), Type)> {
        let values = self.values.iter();
        values
            .map(|(value, kind)| (&**value as _, kind.clone()))
            .collect()
    }

    pub(crate) fn plain(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.values.iter().map(|(value, _)| &**value as _).collect()
    }
}

fn column_of<T>(parts: &[Part<'_>], of: impl Fn(&Part<'_>) -> T, kind: Type) -> Value
where
    Vec<T>: ToSql + Send + Sync + 'static,
{
    (Box::new(parts.iter().map(of).collect::<Vec<_>>()), kind)
}

/// The text without NUL characters, which PostgreSQL cannot store. [`stored`] is the inverse.
fn storable(text: &str) -> Cow<'_, str> {
    match text.contains(['\0', '\u{1}']) {
        true => text
            .replace('\u{1}', "\u{1}1")
            .replace('\0', "\u{1}0")
            .into(),
        false => text.into(),
    }
}

pub(crate) fn stored(text: &str) -> Cow<'_, str> {
    match text.contains('\u{1}') {
        true => text
            .replace("\u{1}0", "\0")
            .replace("\u{1}1", "\u{1}")
            .into(),
        false => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_can_be_stored() {
        for text in ["", "plain", "a\0b", "\u{1}0", "\u{1}\0\u{1}1", "\0"] {
            let inside = storable(text);
            assert!(!inside.contains('\0'));
            assert_eq!(stored(&inside), text);
        }
    }

    #[test]
    fn the_epoch_is_the_last_parameter() {
        let query = query("release", 7, true);
        assert!(
            query.contains(
                "auto_mutex.is_epoch($8) THEN auto_mutex.release($1, $2, $3, $4, $5, $6, $7, NULL)"
            ),
            "{query}"
        );
    }
}
