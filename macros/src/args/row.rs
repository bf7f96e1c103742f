//! A row in the table of options, and the macro that turns the table into [`Options`](super::Options).

use syn::parse::ParseStream;
use syn::{Expr, Ident, LitStr, Path, Result};

use super::{Count, Given, Handler, Length, Options, Part};
use crate::kind::Kind;

/// Everything known about an option. [`ROW`] has the defaults of fields that a row omits.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// An alias for the option, or nothing.
    pub(super) alias: &'static str,
    /// The option as users write it. Without `=`, the option has no value.
    pub(super) example: &'static str,
    /// Whether attributes of this kind have the option. Those that protect may still refuse it, with a reason.
    pub(super) is_of: fn(Kind) -> bool,
    /// The attributes that reject the option, and why. `{}` stands for the option, as the user wrote it.
    pub(super) refused: &'static [(&'static [Kind], &'static str)],
    /// The attribute that needs the option, and what to write.
    pub(super) required: Option<(Kind, &'static str)>,
    /// Options that contradict this one, and the error, which is about this option. A function's choice replaces
    /// whatever contradicts it in its block.
    pub(super) clashes: &'static [(&'static str, &'static str)],
    /// Whether this option's value contradicts them.
    pub(super) clashes_if: fn(&Options) -> bool,
    /// Like `clashes`, but a function cannot replace its block's choice.
    pub(super) clashes_across: &'static [(&'static str, &'static str)],
    /// The option without which this one is meaningless, and the error.
    pub(super) needs: Option<(&'static str, &'static str)>,
    /// For an option that only blocks have: the error for a function.
    pub(super) of_blocks: Option<&'static str>,
    /// Whether a block's option is a default for its functions, given both kinds (the function's first).
    pub(super) is_default: fn(Kind, Kind) -> bool,
    /// The option's value, for its expansion.
    pub(crate) shape: fn(&Options) -> Shape<'_>,
    pub(super) read: fn(&mut Options, &Given, ParseStream) -> Result<()>,
    /// Copies the value of a block.
    pub(super) inherit: fn(&mut Options, &Options),
    /// The parts of the option's value, which may have placeholders.
    pub(super) parts: fn(&Options) -> Vec<&Part>,
}

pub(super) const ROW: Row = Row {
    name: "",
    alias: "",
    example: "",
    is_of: |kind| kind != Kind::Test,
    refused: &[],
    required: None,
    clashes: &[],
    clashes_if: |_| true,
    clashes_across: &[],
    needs: None,
    of_blocks: None,
    is_default: |_, _| true,
    shape: |_| Shape::Other,
    read: |_, _, _| Ok(()),
    inherit: |_, _| {},
    parts: |_| Vec::new(),
};

impl Row {
    pub(super) fn has_value(&self) -> bool {
        self.example.contains('=')
    }

    /// The error if attributes of this kind do not accept the option.
    pub(super) fn refused_by(&self, kind: Kind) -> Option<&'static str> {
        let mut refused = self.refused.iter();
        refused.find_map(|(kinds, why)| kinds.contains(&kind).then_some(*why))
    }

    /// Whether this option, with its value in `options`, contradicts `other`.
    pub(super) fn replaces(&self, other: &str, options: &Options) -> bool {
        (self.clashes_if)(options) && self.clashes.iter().any(|(clash, _)| *clash == other)
    }
}

/// The value of an option. Options with the same kind of value are expanded alike.
pub(crate) enum Shape<'a> {
    Length(&'a Length),
    Count(&'a Count),
    /// A borrowed expression.
    Expr(&'a Expr),
    /// A value with its own expansion, or none.
    Other,
}

/// The type of an option's value.
pub(super) trait Value {
    fn shape(&self) -> Shape<'_> {
        Shape::Other
    }

    fn parts(&self) -> Vec<&Part> {
        Vec::new()
    }
}

macro_rules! shaped {
    ($($type:ident),*) => {$(
        impl Value for $type {
            fn shape(&self) -> Shape<'_> {
                Shape::$type(self)
            }
        }
    )*};
}

shaped!(Length, Count, Expr);
impl Value for LitStr {}
impl Value for bool {}
impl Value for Handler {}
impl Value for Ident {}
impl Value for Path {}
impl Value for () {}

/// Makes the struct `Options` and the list `TABLE`. A row is `option: Type { read: …, … }`, or `field as "option": …`
/// if the option is a keyword; `read` parses the value.
macro_rules! table {
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
    ($($(#[$doc:meta])* $field:ident $(as $name:literal)?: $type:ty {
        read: $read:expr, $($key:ident: $value:expr,)*
    })*) => {
        /// The options of one attribute, or those of one function together with the defaults of its block.
        #[derive(Clone)]
        pub(crate) struct Options {
            pub(crate) kind: Kind,
            /// The span of the attribute.
            pub(crate) span: Span,
            /// The options as written, in order.
            pub(super) given: Vec<Given>,
            /// See [`word::DONE`](super::word::DONE).
            pub(crate) done: bool,
            $($(#[$doc])* pub(crate) $field: Option<$type>,)*
        }

        impl Options {
            /// No options set.
            pub(crate) fn of(kind: Kind, span: Span) -> Self {
                Self { kind, span, given: Vec::new(), done: false, $($field: None,)* }
            }
        }

        /// All options, in the order in which hints list them and calls evaluate their values.
        pub(crate) static TABLE: &[Row] = &[$(Row {
            name: table!(@name $field $($name)?),
            shape: |options| options.$field.as_ref().map_or(Shape::Other, Value::shape),
            read: |options, given, input| {
                let read: fn(&Given, ParseStream) -> Result<$type> = $read;
                options.$field = Some(read(given, input)?);
                Ok(())
            },
            inherit: |options, block| options.$field.clone_from(&block.$field),
            parts: |options| options.$field.as_ref().map_or(Vec::new(), Value::parts),
            $($key: $value,)*
            ..ROW
        }),*];
    };
}

pub(super) use table;
