//! Expands attributes, from tokens to tokens.

mod answer;
mod block;
mod body;
mod closure;
mod function;
mod handlers;
mod lead;
mod request;
mod site;
mod world;

pub(crate) use world::test;

use proc_macro2::{Span, TokenStream};
use quote::quote;

use crate::args::{DONE, Options};
use crate::errors::Errors;
use crate::item::Item;
use crate::kind::Kind;

/// Expands `#[auto_mutex(args)] item`, or another attribute on an item.
pub(crate) fn protecting(kind: Kind, args: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let options = Options::parse(kind, Span::call_site(), args, &mut errors);
    if options.done {
        return item;
    }
    match errors.note(Item::parse(kind, item.clone())) {
        Some(Item::Function(function)) => {
            let expansion = function::annotated(*function, &options, &mut errors);
            errors.or(expansion, lead::uncalled(item, &options))
        }
        Some(Item::Block(block)) => block::expand(*block, options, errors),
        None => errors.or(TokenStream::new(), item),
    }
}

/// Reports `#[no_auto_mutex(args)] item` outside an annotated block. The block would have removed the attribute.
pub(crate) fn no_auto_mutex(args: TokenStream, item: TokenStream) -> TokenStream {
    if args.to_string() == DONE {
        return item;
    }
    let mut errors = Errors::default();
    errors.at(
        Span::call_site(),
        "`#[no_auto_mutex]` leaves a function out of an `impl` or `trait` block with `#[auto_mutex]` or another of its kind: \
         there is none around it, so remove it",
    );
    errors.or(TokenStream::new(), item)
}

/// The only error in a crate of edition 2015, where paths like `::core::compile_error` mean something else.
pub(crate) fn of_edition_2015(item: TokenStream) -> TokenStream {
    quote! {
        compile_error! { "auto-mutex needs edition 2018 or later: write `edition = \"2024\"` in Cargo.toml" }
        #item
    }
}
