//! A row in the table of options, and the macro that turns the table into [`Options`](super::Options).

use syn::parse::ParseStream;
use syn::{Expr, Ident, LitStr, Path, Result};

use super::{Count, Handler, Length, OnLost, Options, Word};
use crate::errors::Errors;
use crate::kind::Kind;
use crate::params::Params;

/// Everything known about an option. [`ROW`] has the defaults of fields that a row omits.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// An alias for the option, or nothing.
    pub(super) alias: &'static str,
    /// The option as users write it. Without `=`, the option has no value.
    pub(super) example: &'static str,
    /// What the option does, for the hint about a word of another library.
    pub(super) meaning: &'static str,
    /// Words of other libraries that mean this option, in lower case and without underscores.
    pub(super) elsewhere: &'static str,
    /// The attributes that reject the option, and why.
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
    pub(super) read: fn(&mut Options, &Word, ParseStream) -> Result<()>,
    /// Copies the value of a block.
    pub(super) inherit: fn(&mut Options, &Options),
    /// Reports missing parameters. The flag tells whether the option comes from the block.
    pub(super) check: fn(&Options, &Params, bool, &mut Errors),
}

pub(super) const ROW: Row = Row {
    name: "",
    alias: "",
    example: "",
    meaning: "",
    elsewhere: "",
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
    check: |_, _, _, _| {},
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
    Length(Option<&'a Length>),
    Count(Option<&'a Count>),
    /// A borrowed expression.
    Expr(Option<&'a Expr>),
    /// A value with its own expansion.
    Other,
}

/// The type of an option's value.
pub(super) trait Value: Clone {
    fn shape(_: Option<&Self>) -> Shape<'_> {
        Shape::Other
    }

    fn check(&self, _: Kind, _: &Params, _inherited: bool, _: &mut Errors) {}
}

macro_rules! shaped {
    ($($type:ident as $shape:ident),*) => {$(
        impl Value for $type {
            fn shape(value: Option<&Self>) -> Shape<'_> {
                Shape::$shape(value)
            }
        }
    )*};
}

shaped!(Length as Length, Count as Count, Expr as Expr);
impl Value for LitStr {}
impl Value for bool {}
impl Value for Handler {}
impl Value for OnLost {}
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
            shape: |options| Value::shape(options.$field.as_ref()),
            read: |options, word, input| {
                let read: fn(&Word, ParseStream) -> Result<$type> = $read;
                options.$field = Some(read(word, input)?);
                Ok(())
            },
            inherit: |options, block| options.$field.clone_from(&block.$field),
            check: |options, params, inherited, errors| {
                if let Some(value) = &options.$field {
                    value.check(options.kind, params, inherited, errors);
                }
            },
            $($key: $value,)*
            ..ROW
        }),*];
    };
}

pub(super) use table;
