//! [`Call`]: an operation as a call of its function.

use std::sync::Arc;

use auto_mutex_core::store::{Lease, MemberId, Mode, Name, Op, Retain, SharedStr, Signal, millis};
use tokio_postgres::types::{ToSql, Type};

use crate::term::number;

macro_rules! functions {
    ($($function:ident $text:literal,)*) => {
        /// A function of the schema.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Function {
            $($function,)*
        }

        impl Function {
            pub(crate) const ALL: [Self; [$(Self::$function),*].len()] = [$(Self::$function),*];
            const CALLS: [&str; Self::ALL.len()] = [$(concat!("auto_mutex.", $text)),*];
        }
    };
}

functions! {
    Acquire "acquire($1, $2::text::uuid, $3::text::uuid, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, NULL)",
    Touch "touch($1, $2::text::uuid, $3::text::uuid, $4, $5, $6, $7, $8, $9, NULL)",
    Release "release($1, $2::text::uuid, $3::text::uuid, $4, $5, $6, $7, NULL)",
    Adopt "adopt($1, $2::text::uuid, $3::text::uuid, $4::text::uuid, $5, $6, $7, $8, $9, $10, NULL)",
    DropHolders "drop_holders($1, $2::text::uuid, $3, $4, $5, $6, NULL)",
    Refresh "refresh($1, $2::text::uuid, $3, $4, $5, NULL)",
    Signal "signal($1, $2::text::uuid, $3::text::uuid, $4, $5, $6, NULL)",
    Raise "raise($1, $2::text::uuid, $3::text::uuid, $4, $5, NULL)",
    Remove "remove($1, $2::text::uuid, $3, NULL)",
    Probe "probe($1, $2::text::uuid, $3::text::uuid, $4, $5)",
    Inspect "inspect($1, $2, NULL)",
}

/// The reply if the server has lost its locks since the connection was made. Only behind a pooler, which hides this.
pub(crate) const LOST: &str = "LOST";

const INSPECT: &str = "SELECT (i->>'at')::int8, (i->>'token')::int8, (i->>'capacity')::int8, (i->>'used')::int8, \
    (i->>'signals')::int8, (i->>'exists')::bool, i->'kick'->>0, i->'kick'->>1, i->'kick'->>2, \
    t->>0, t->>1, (t->>2)::int8, (t->>3)::bool, (t->>4)::int8, (t->>5)::int8, t->>6, (t->>7)::int8, (t->>8)::bool, \
    (t->>9)::bool, (t->>10)::bool, (t->>11)::bool \
    FROM (SELECT auto_mutex.inspect($1, $2, NULL) AS i) AS state \
    LEFT JOIN LATERAL jsonb_array_elements(i->'tickets') AS t ON true";

impl Function {
    /// The query that calls it.
    pub(crate) fn query(self) -> String {
        match self {
            Self::Inspect => INSPECT.to_owned(),
            other => format!("SELECT {}", Self::CALLS[other as usize]),
        }
    }

    /// The same, but it runs only in a term, the next parameter.
    pub(crate) fn query_in_term(self) -> String {
        let call = Self::CALLS[self as usize];
        let next = call.matches('$').count() + 1;
        match self {
            Self::Inspect => INSPECT.to_owned(),
            _ => format!(
                "SELECT CASE WHEN (SELECT id FROM auto_mutex.term) = ${next}::text::uuid THEN {call} ELSE '{LOST}' END"
            ),
        }
    }

    /// Whether most requests call it, so that it should be prepared.
    pub(crate) fn is_frequent(self) -> bool {
        matches!(self, Self::Acquire | Self::Touch | Self::Release)
    }
}

/// A parameter of a query.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    Int(i64),
    Small(i16),
    Bool(bool),
    NoText(Option<String>),
    NoInt(Option<i64>),
}

impl Value {
    pub(crate) fn kind(&self) -> Type {
        match self {
            Self::Text(_) | Self::NoText(_) => Type::TEXT,
            Self::Int(_) | Self::NoInt(_) => Type::INT8,
            Self::Small(_) => Type::INT2,
            Self::Bool(_) => Type::BOOL,
        }
    }
}

/// A request as the driver takes it.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) function: Function,
    pub(crate) values: Vec<Value>,
}

/// What a call says of the client that makes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(crate) member: MemberId,
    /// When the store grants again, or 0.
    pub(crate) opens: i64,
    /// Whether the client asks instead of listening.
    pub(crate) polls: bool,
}

impl Call {
    pub(crate) fn of(name: &Name, op: &Op, caller: Caller) -> Self {
        use Value::{Bool, Int, NoInt, NoText, Small, Text};
        let shared = |text: &SharedStr| Text(text.to_string());
        let id = |id: &dyn std::fmt::Display| Text(id.to_string());
        let count = |number: u32| Int(number.into());
        let time = |duration| Int(number(millis(duration)));
        let opens = Int(caller.opens);
        let mut values = vec![Text(name.as_str().to_owned())];
        if !matches!(op, Op::Inspect { .. }) {
            values.push(id(&caller.member));
        }
        let retain = |lease: &Lease| {
            // Nobody could ask a client that does not listen to give a lock back.
            Small(match lease.retain {
                Retain::No => 0,
                _ if caller.polls => 0,
                Retain::InUse => 1,
                Retain::Kept => 2,
            })
        };
        let function = match op {
            Op::Acquire {
                lease,
                share,
                mode,
                meta,
            } => {
                values.extend([id(&lease.ticket), Int(number(lease.counter))]);
                values.extend([count(share.units), count(share.capacity)]);
                values.extend([Bool(share.takes()), shared(&share.owner)]);
                values.extend([time(lease.hold), time(lease.place), retain(lease)]);
                values.extend([Bool(*mode == Mode::Try), Bool(caller.polls)]);
                values.extend([shared(meta), opens]);
                Function::Acquire
            }
            Op::Touch { lease, units } => {
                values.extend([id(&lease.ticket), Int(number(lease.counter))]);
                values.extend([count(*units), time(lease.hold), time(lease.place)]);
                values.extend([retain(lease), opens]);
                Function::Touch
            }
            Op::Release {
                ticket,
                park,
                tomb,
                used,
            } => {
                values.extend([id(ticket), time(*park), Bool(*tomb)]);
                values.extend([Int(number(*used)), opens]);
                Function::Release
            }
            Op::Adopt { old, lease, meta } => {
                values.extend([id(old), id(&lease.ticket), Int(number(lease.counter))]);
                values.extend([time(lease.hold), time(lease.place), Bool(caller.polls)]);
                values.extend([shared(meta), opens]);
                Function::Adopt
            }
            Op::Force { owner } => {
                values.extend([shared(owner), NoInt(None), NoText(None), opens]);
                Function::DropHolders
            }
            Op::Kick { token, by } => {
                values.extend([Text(String::new()), Int(number(*token))]);
                values.extend([shared(by), opens]);
                Function::DropHolders
            }
            Op::Refresh { owner, expire } => {
                values.extend([shared(owner), time(*expire), opens]);
                Function::Refresh
            }
            Op::Raise { ticket, token } => {
                values.extend([id(ticket), Int(number(*token)), opens]);
                Function::Raise
            }
            Op::Signal { ticket, signal } => {
                let (kind, text) = match signal {
                    Signal::Token(text) => ("token", storable(text)),
                    Signal::One => ("one", String::new()),
                    Signal::All => ("all", String::new()),
                };
                values.extend([id(ticket), Text(kind.to_owned()), Text(text), opens]);
                Function::Signal
            }
            Op::Probe { to, text } => {
                // Whether the other member listens, its presence tells.
                values.extend([id(to), Bool(false), shared(text)]);
                Function::Probe
            }
            Op::Delete => {
                values.push(opens);
                Function::Remove
            }
            Op::Inspect { above } => {
                values.push(count(*above));
                Function::Inspect
            }
        };
        Self { function, values }
    }

    /// The parameters with their types, for a query that is not prepared.
    pub(crate) fn typed(&self) -> Vec<(&(dyn ToSql + Sync), Type)> {
        let values = self.values.iter();
        values.map(|value| (value.sql(), value.kind())).collect()
    }

    pub(crate) fn plain(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.values.iter().map(Value::sql).collect()
    }
}

/// A text without NUL characters, which PostgreSQL cannot store. [`stored`] is the inverse.
fn storable(text: &str) -> String {
    text.replace('\u{1}', "\u{1}1").replace('\0', "\u{1}0")
}

pub(crate) fn stored(text: &str) -> Arc<str> {
    match text.contains('\u{1}') {
        true => text
            .replace("\u{1}0", "\0")
            .replace("\u{1}1", "\u{1}")
            .into(),
        false => text.into(),
    }
}

impl Value {
    fn sql(&self) -> &(dyn ToSql + Sync) {
        match self {
            Self::Text(text) => text,
            Self::Int(number) => number,
            Self::Small(number) => number,
            Self::Bool(is) => is,
            Self::NoText(text) => text,
            Self::NoInt(number) => number,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_signal_can_be_stored() {
        for text in ["", "plain", "a\0b", "\u{1}0", "\u{1}\0\u{1}1", "\0"] {
            let inside = storable(text);
            assert!(!inside.contains('\0'));
            assert_eq!(&*stored(&inside), text);
        }
    }

    #[test]
    fn the_term_is_the_last_parameter() {
        let query = Function::Release.query_in_term();
        assert!(
            query.contains("$8::text::uuid THEN auto_mutex.release($1"),
            "{query}"
        );
    }
}
