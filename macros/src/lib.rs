//! The attributes of `auto-mutex`. Use them through `auto-mutex`, which re-exports them: their expansions call that
//! crate.
//!
//! A pipeline: `args` parses the options, `item` the annotated item, and `flavor` how its body runs. Then `expand`
//! writes the protected function. Each step adds its errors to a list. If there are any, `Errors::or` reports them
//! all and emits the user's item unchanged.

#![forbid(unsafe_code)]

mod args;
mod errors;
mod expand;
mod flavor;
#[cfg(test)]
mod fuzzing;
mod item;
mod kind;
mod params;
mod source;
mod suggest;
mod tokens;

use proc_macro::TokenStream;

use kind::Kind;

macro_rules! attributes {
    ($($name:ident: $expand:expr;)*) => {$(
        #[doc = include_str!(concat!("docs/", stringify!($name), ".md"))]
        #[proc_macro_attribute]
        pub fn $name(args: TokenStream, item: TokenStream) -> TokenStream {
            if source::is_of_edition_2015() {
                return expand::of_edition_2015(item.into()).into();
            }
            $expand(args.into(), item.into()).into()
        }
    )*};
}

attributes! {
    auto_mutex: |args, item| expand::protecting(Kind::Mutex, args, item);
    auto_semaphore: |args, item| expand::protecting(Kind::Semaphore, args, item);
    auto_read: |args, item| expand::protecting(Kind::Read, args, item);
    auto_write: |args, item| expand::protecting(Kind::Write, args, item);
    auto_leader: |args, item| expand::protecting(Kind::Leader, args, item);
    no_auto_mutex: expand::no_auto_mutex;
    test: expand::test;
}
