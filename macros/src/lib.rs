//! The attributes of `auto-mutex`. Use them through `auto-mutex`, which re-exports them: their expansions call that
//! crate.
//!
//! A pipeline: `args` parses the options, `item` the annotated item, and `flavor` how its body runs. Then `expand`
//! writes the protected function. Each step adds its errors to a list. If there are any, `fallback` reports them all
//! and emits the user's item unchanged.

#![forbid(unsafe_code)]

mod args;
mod errors;
mod expand;
mod fallback;
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

#[doc = include_str!("docs/auto_mutex.md")]
#[proc_macro_attribute]
pub fn auto_mutex(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::protecting(Kind::Mutex, args.into(), item.into()).into()
}

#[doc = include_str!("docs/auto_semaphore.md")]
#[proc_macro_attribute]
pub fn auto_semaphore(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::protecting(Kind::Semaphore, args.into(), item.into()).into()
}

#[doc = include_str!("docs/auto_read.md")]
#[proc_macro_attribute]
pub fn auto_read(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::protecting(Kind::Read, args.into(), item.into()).into()
}

#[doc = include_str!("docs/auto_write.md")]
#[proc_macro_attribute]
pub fn auto_write(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::protecting(Kind::Write, args.into(), item.into()).into()
}

#[doc = include_str!("docs/auto_leader.md")]
#[proc_macro_attribute]
pub fn auto_leader(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::protecting(Kind::Leader, args.into(), item.into()).into()
}

#[doc = include_str!("docs/no_auto_mutex.md")]
#[proc_macro_attribute]
pub fn no_auto_mutex(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::no_auto_mutex(args.into(), item.into()).into()
}

#[doc = include_str!("docs/test.md")]
#[proc_macro_attribute]
pub fn test(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::test(args.into(), item.into()).into()
}
