//! [`Call`]: an operation as a call of its function.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::Display;

use auto_mutex_core::store::{
    Lease, MemberId, Mode, Name, Op, Retain, SharedStr, Signal, Ticket, millis,
};
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

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
    Acquire "acquire($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, NULL)",
    Touch "touch($1, $2, $3, $4, $5, $6, $7, $8, $9, NULL)",
    Release "release($1, $2, $3, $4, $5, $6, $7, NULL)",
    Adopt "adopt($1, $2, $3, $4, $5, $6, $7, $8, $9, NULL)",
    DropHolders "drop_holders($1, $2, $3, $4, $5, $6, NULL)",
    Refresh "refresh($1, $2, $3, $4, $5, NULL)",
    Signal "signal($1, $2, $3, $4, $5, $6, NULL)",
    Raise "raise($1, $2, $3, $4, $5, NULL)",
    Remove "remove($1, $2, $3, NULL)",
    Probe "probe($1, $2, $3, $4)",
    ReadMail "read_mail($1)",
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
        let is_same = format!("(SELECT id FROM auto_mutex.term) = ${next}::text::uuid");
        match self {
            Self::Inspect => INSPECT.to_owned(),
            Self::ReadMail => {
                format!("SELECT unnest(CASE WHEN {is_same} THEN {call} ELSE '{{{LOST}}}' END)")
            }
            _ => format!("SELECT CASE WHEN {is_same} THEN {call} ELSE '{LOST}' END"),
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
    Text(SharedStr),
    Name(Name),
    Id([u8; 16]),
    Int(i64),
    Small(i16),
    Bool(bool),
}

impl Value {
    fn id(id: impl Display) -> Self {
        let number = u128::from_str_radix(&id.to_string(), 16);
        Self::Id(number.unwrap_or_default().to_be_bytes())
    }

    fn kind(&self) -> Type {
        match self {
            Self::Text(_) | Self::Name(_) => Type::TEXT,
            Self::Id(_) => Type::UUID,
            Self::Int(_) => Type::INT8,
            Self::Small(_) => Type::INT2,
            Self::Bool(_) => Type::BOOL,
        }
    }
}

impl ToSql for Value {
    fn to_sql(
        &self,
        kind: &Type,
        to: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Text(text) => (&**text).to_sql(kind, to),
            Self::Name(name) => name.as_str().to_sql(kind, to),
            Self::Id(bytes) => bytes.as_slice().to_sql(kind, to),
            Self::Int(number) => number.to_sql(kind, to),
            Self::Small(number) => number.to_sql(kind, to),
            Self::Bool(is) => is.to_sql(kind, to),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
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
}

impl Call {
    pub(crate) fn of(name: &Name, op: &Op, caller: Caller) -> Self {
        use Value::{Bool, Int, Small, Text};
        let shared = |text: &SharedStr| Text(storable(text).map_or(text.clone(), Into::into));
        let ticket = |id: Ticket| Value::id(id);
        let id = |id: MemberId| Value::id(id);
        let count = |number: u32| Int(number.into());
        let time = |duration| Int(number(millis(duration)));
        let retain = |lease: &Lease| {
            Small(match lease.retain {
                Retain::No => 0,
                Retain::InUse => 1,
                Retain::Kept => 2,
            })
        };
        let mut values = Vec::with_capacity(14);
        values.push(Value::Name(name.clone()));
        if !matches!(op, Op::Inspect { .. }) {
            values.push(id(caller.member));
        }
        let function = match op {
            Op::Acquire {
                lease,
                share,
                mode,
                meta,
            } => {
                values.extend([ticket(lease.ticket), Int(number(lease.counter))]);
                values.extend([count(share.units), count(share.capacity)]);
                values.extend([Bool(share.takes()), shared(&share.owner)]);
                values.extend([time(lease.hold), time(lease.place), retain(lease)]);
                values.extend([Bool(*mode == Mode::Try), shared(meta)]);
                Function::Acquire
            }
            Op::Touch { lease, units } => {
                values.extend([ticket(lease.ticket), Int(number(lease.counter))]);
                values.extend([count(*units), time(lease.hold), time(lease.place)]);
                values.push(retain(lease));
                Function::Touch
            }
            Op::Release {
                ticket: own,
                park,
                tomb,
                used,
            } => {
                values.extend([ticket(*own), time(*park), Bool(*tomb), Int(number(*used))]);
                Function::Release
            }
            Op::Adopt { old, lease, meta } => {
                values.extend([
                    ticket(*old),
                    ticket(lease.ticket),
                    Int(number(lease.counter)),
                ]);
                values.extend([time(lease.hold), time(lease.place), shared(meta)]);
                Function::Adopt
            }
            Op::Force { owner } => {
                values.extend([shared(owner), Int(0), Text(SharedStr::EMPTY)]);
                Function::DropHolders
            }
            Op::Kick { token, by } => {
                values.extend([Text(SharedStr::EMPTY), Int(number(*token)), shared(by)]);
                Function::DropHolders
            }
            Op::Refresh { owner, expire } => {
                values.extend([shared(owner), time(*expire)]);
                Function::Refresh
            }
            Op::Raise { ticket: own, token } => {
                values.extend([ticket(*own), Int(number(*token))]);
                Function::Raise
            }
            Op::Signal {
                ticket: own,
                signal,
            } => {
                let (kind, text) = match signal {
                    Signal::Token(text) => ("token", SharedStr::from(text.to_owned())),
                    Signal::One => ("one", SharedStr::EMPTY),
                    Signal::All => ("all", SharedStr::EMPTY),
                };
                values.extend([ticket(*own), Text(kind.into()), shared(&text)]);
                Function::Signal
            }
            Op::Probe { to, text } => {
                values.extend([id(*to), shared(text)]);
                Function::Probe
            }
            Op::Delete => Function::Remove,
            Op::Inspect { above } => {
                values.push(count(*above));
                Function::Inspect
            }
        };
        if !matches!(function, Function::Probe | Function::Inspect) {
            values.push(Int(caller.opens));
        }
        Self { function, values }
    }

    /// A polling member's question for its messages.
    pub(crate) fn read_mail(member: MemberId) -> Self {
        let values = vec![Value::id(member)];
        Self {
            function: Function::ReadMail,
            values,
        }
    }

    /// The parameters with their types, for a query that is not prepared.
    pub(crate) fn typed(&self) -> Vec<(&(dyn ToSql + Sync), Type)> {
        let values = self.values.iter();
        values.map(|value| (value as _, value.kind())).collect()
    }

    pub(crate) fn plain(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.values.iter().map(|value| value as _).collect()
    }
}

/// The text without NUL characters, which PostgreSQL cannot store; `None` if it has none. [`stored`] is the inverse.
fn storable(text: &str) -> Option<String> {
    let is_odd = text.contains(['\0', '\u{1}']);
    is_odd.then(|| text.replace('\u{1}', "\u{1}1").replace('\0', "\u{1}0"))
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
            let inside = storable(text).unwrap_or_else(|| text.to_owned());
            assert!(!inside.contains('\0'));
            assert_eq!(stored(&inside), text);
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
