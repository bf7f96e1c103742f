//! An annotated block: which of its functions are protected, and with which options.

use proc_macro2::TokenStream;
use quote::quote;

use super::function::protect;
use crate::args::Options;
use crate::errors::Errors;
use crate::fallback;
use crate::item::{Block, Function, Marks, Member, is_mark, second_mark};

/// A function of the block and what is said about it.
struct Candidate {
    function: Function,
    marks: Marks,
}

pub(crate) fn expand(mut block: Block, defaults: &Options, mut errors: Errors) -> TokenStream {
    for second in block.attrs.iter().filter(|attribute| is_mark(attribute)) {
        errors.on(second, second_mark(defaults.kind, second));
    }
    // `Err` is what is no function.
    let mut members = Vec::new();
    for member in std::mem::take(&mut block.members) {
        members.push(match member {
            Member::Other(tokens) => Err(tokens),
            Member::Function(mut function) => {
                let marks = Marks::take(&mut function, &mut errors);
                Ok(Candidate {
                    function: *function,
                    marks,
                })
            }
        });
    }
    let answering = answering(&members, defaults, block.owner.as_deref());

    let mut expanded = TokenStream::new();
    let mut untouched = TokenStream::new();
    for member in members {
        match member {
            Err(tokens) => {
                untouched.extend(tokens.clone());
                expanded.extend(tokens);
            }
            Ok(Candidate { function, marks }) => {
                let passed = marks.passed.clone();
                let plain = function.untouched();
                let plain = quote!(#passed #plain);
                untouched.extend(plain.clone());
                match options(&function, marks, defaults, &answering) {
                    Some(options) => {
                        let protected =
                            protect(function, &options, block.owner.as_deref(), &mut errors);
                        expanded.extend(quote!(#passed #protected));
                    }
                    None => expanded.extend(plain),
                }
            }
        }
    }
    if errors.is_empty() {
        block.with_members(expanded)
    } else {
        fallback::item(errors, block.with_members(untouched))
    }
}

/// The options of a function, or `None` if it is not protected.
fn options(
    function: &Function,
    marks: Marks,
    defaults: &Options,
    answering: &[String],
) -> Option<Options> {
    let marked = marks.options.is_some();
    let by_default = defaults.explicit.is_none()
        && function.body.is_some()
        && !answering.iter().any(|name| function.sig.ident == name);
    if marks.left_out || !(marked || by_default) {
        return None;
    }
    Some(match marks.options {
        Some(options) => options.over(defaults),
        None => Options::of(defaults.kind, defaults.span).over(defaults),
    })
}

/// The functions of the block that handlers in it call: protected, they would wait for the lock that was not
/// to be had.
fn answering(
    members: &[Result<Candidate, TokenStream>],
    defaults: &Options,
    owner: Option<&str>,
) -> Vec<String> {
    let marked = members
        .iter()
        .flatten()
        .filter_map(|candidate| candidate.marks.options.as_ref());
    marked
        .chain([defaults])
        .flat_map(|options| [&options.on_timeout, &options.on_error])
        .flatten()
        .filter_map(|handler| handler.method(owner))
        .collect()
}
