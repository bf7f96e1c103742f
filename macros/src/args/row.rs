//! A row of the table of options, and the macro that makes [`Options`](super::Options) of the table.

use syn::parse::ParseStream;
use syn::{Expr, Ident, LitStr, Path, Result};

use super::{Count, Handler, Length, OnLost, Options, Word};
use crate::errors::Errors;
use crate::kind::Kind;
use crate::params::Params;

/// All that is known of an option. [`ROW`] has the values of fields that a row leaves out.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// Another word for the option, or nothing.
    pub(super) alias: &'static str,
    /// The option as users write it. Without `=`, the option has no value.
    pub(super) example: &'static str,
    /// What the option says, for the hint to a word of another library.
    pub(super) meaning: &'static str,
    /// The words of other libraries that mean this option, in lower case and without underscores.
    pub(super) elsewhere: &'static str,
    /// The attributes that refuse the option, and why.
    pub(super) refused: &'static [(&'static [Kind], &'static str)],
    /// The attribute that needs the option, and what to write.
    pub(super) required: Option<(Kind, &'static str)>,
    /// Other options that contradict this one, and the error, which is about this option. A function's choice replaces
    /// what contradicts it in its block.
    pub(super) clashes: &'static [(&'static str, &'static str)],
    /// Whether the value of this option contradicts them.
    pub(super) clashes_if: fn(&Options) -> bool,
    /// Like `clashes`, but a function cannot replace the choice of its block.
    pub(super) clashes_across: &'static [(&'static str, &'static str)],
    /// The option without which this one means nothing, and the error.
    pub(super) needs: Option<(&'static str, &'static str)>,
    /// For an option of blocks only: the error for a function.
    pub(super) of_blocks: Option<&'static str>,
    /// Whether the option of a block is a default for its functions, given both kinds (first the function's).
    pub(super) is_default: fn(Kind, Kind) -> bool,
    /// The field of the site that has the option's value, or nothing.
    pub(crate) site: &'static str,
    /// The option's value, for the expansion.
    pub(crate) shape: fn(&Options) -> Shape<'_>,
    pub(super) read: fn(&mut Options, &Word, ParseStream) -> Result<()>,
    /// Copies the value of a block.
    pub(super) inherit: fn(&mut Options, &Options),
    /// Reports names of parameters that do not exist. The flag says whether the option comes from the block.
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
    site: "",
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

/// The value of an option, as far as options with such a value are expanded alike.
pub(crate) enum Shape<'a> {
    Length(Option<&'a Length>),
    Count(Option<&'a Count>),
    /// An expression, which is borrowed.
    Expr(Option<&'a Expr>),
    Text(Option<&'a LitStr>),
    Flag(Option<&'a bool>),
    /// A value that is expanded in its own way.
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

shaped!(
    Length as Length,
    Count as Count,
    Expr as Expr,
    LitStr as Text,
    bool as Flag
);
impl Value for Handler {}
impl Value for OnLost {}
impl Value for Ident {}
impl Value for Path {}
impl Value for () {}

/// Makes the struct `Options` and the list `TABLE` of a table. A row is `option: Type { read: …, … }`, or
/// `field as "option": …` if the option is a keyword; `read` parses the value.
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
            /// The place of the attribute.
            pub(crate) span: Span,
            /// The options as they were written, in the same order.
            pub(super) given: Vec<Given>,
            /// See [`word::DONE`](super::word::DONE).
            pub(crate) done: bool,
            $($(#[$doc])* pub(crate) $field: Option<$type>,)*
        }

        impl Options {
            /// Options of which none is set.
            pub(crate) fn of(kind: Kind, span: Span) -> Self {
                Self { kind, span, given: Vec::new(), done: false, $($field: None,)* }
            }
        }

        /// All options, in the order in which a hint lists them and a call evaluates their values. The lengths are in
        /// the order of those of a site in the runtime.
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
