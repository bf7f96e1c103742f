//! Handlers that are functions of the same block take no lock. Otherwise such a function would wait for the lock that
//! its caller did not get, and its own handler would call it again.
//!
//! This requires that the handler's path certainly means the block's function. If it could mean another function, the
//! user has to write an unambiguous path.

use proc_macro2::Ident;
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::{ExprClosure, ExprPath};

use super::block::Candidate;
use crate::args::{Handler, Options};
use crate::errors::Errors;
use crate::item::{Function, Header, Named};
use crate::tokens::words;

/// The names of a block's functions that take no lock, because handlers call them.
pub(super) fn answering<'a>(
    functions: impl Iterator<Item = &'a mut Candidate>,
    defaults: &mut Options,
    header: &Header,
    errors: &mut Errors,
) -> Vec<String> {
    let mut functions: Vec<_> = functions.collect();
    let by_default: Vec<String> = functions
        .iter()
        .filter(|function| function.is_by_default(defaults))
        .map(|function| function.name())
        .collect();
    let marked = functions
        .iter_mut()
        .filter_map(|function| function.marks.options.as_mut());
    let mut answering = Vec::new();
    for handler in marked.chain([defaults]).flat_map(Options::handlers_mut) {
        let Handler::Path { path, own } = handler else {
            continue;
        };
        let Some(function) = last(path) else { continue };
        let name = function.unraw().to_string();
        if !by_default.contains(&name) {
            continue;
        }
        match header.named_by(path) {
            Named::Another => continue,
            Named::Unclear => {
                errors.on(&*path, unclear(&name, header));
                continue;
            }
            Named::OfType => *own = Some(header.path_of(function)),
            Named::This => {}
        }
        answering.push(name);
    }
    answering
}

fn unclear(name: &str, header: &Header) -> String {
    let own = header.spelled(name);
    format!(
        "if this is the `{name}` of this block, write `{own}`: then `{name}` takes no lock, and cannot wait for its \
         own caller; if it is another function, call it in a closure"
    )
}

/// Rejects a handler that calls the protected function to which it belongs, or may call it. A function outside
/// annotated blocks has no `header`. A function that is not `marked` has its options from its block.
pub(super) fn refuse_cycle(
    function: &Function,
    options: &Options,
    header: Option<&Header>,
    marked: bool,
    errors: &mut Errors,
) {
    let name = function.sig.ident.unraw().to_string();
    for (option, handler) in options.handlers() {
        let inherited = options.is_inherited(option);
        let cycle = match handler {
            Handler::Path { path, .. } if last(path).is_some_and(|last| last.unraw() == name) => {
                match header.map_or_else(|| alone(path, function), |it| it.named_by(path)) {
                    Named::This | Named::OfType => true,
                    Named::Unclear if !inherited => {
                        errors.on(path, format!(
                            "if this is the annotated `{name}` itself, it would call itself endlessly: name another function as its `{option}`; \
                             if it is another `{name}`, call it in a closure"
                        ));
                        false
                    }
                    // For functions without their own attribute, `answering` has already reported the path.
                    Named::Unclear => marked,
                    Named::Another => false,
                }
            }
            // A closure in the function's own attribute calls the function on purpose. Only a closure inherited from
            // the block is rejected.
            Handler::Closure(closure) => inherited && calls(closure, option, function),
            _ => false,
        };
        match handler {
            _ if !cycle => {}
            Handler::Path { path, .. } if !inherited => errors.on(path, format!(
                "`{name}` would call itself endlessly: name another function as its `{option}`, or call it in a closure"
            )),
            _ => errors.on(&function.sig.ident, format!(
                "the `{option}` of the block calls `{name}` and answers for it too, so `{name}` would call itself endlessly: \
                 mark it with `#[auto_mutex::no_auto_mutex]`, or give it its own `{option}`"
            )),
        }
    }
}

/// The meaning of a path that ends with the name of a function outside annotated blocks.
fn alone(path: &ExprPath, function: &Function) -> Named {
    let name = &function.sig.ident;
    let spelled = words(path.to_token_stream());
    if spelled == words(quote!(Self::#name)) || spelled == words(quote!(<Self>::#name)) {
        Named::This
    } else if spelled.len() == 1 && function.knows_self() {
        // In a function that knows `Self`, a single word names a free function, not the method.
        Named::Another
    } else {
        Named::Unclear
    }
}

/// The last word of a path, which names the function.
fn last(path: &ExprPath) -> Option<&Ident> {
    path.path.segments.last().map(|segment| &segment.ident)
}

/// Whether a closure, given for a whole block, calls `function` through `self`, `Self`, or the parameter for `self`.
fn calls(closure: &ExprClosure, option: &str, function: &Function) -> bool {
    let name = function.sig.ident.unraw().to_string();
    // The first argument is the error.
    let errors = usize::from(option == "on_error");
    let gets_all = function.sig.receiver().is_some()
        && closure.inputs.len() == function.sig.inputs.len() + errors;
    let receiver = closure.inputs.get(errors).filter(|_| gets_all);
    let receiver = receiver.and_then(|pattern| {
        let mut words = words(pattern.to_token_stream()).into_iter();
        words.find(|word| word != "mut" && word != "ref")
    });
    let body = words(closure.body.to_token_stream());
    (0..body.len()).any(|at| {
        let is_called =
            body[at] == name && body.get(at + 1).is_some_and(|it| it == "(" || it == "<");
        is_called
            && match &body[..at] {
                [.., of, dot] if dot == "." => of == "self" || receiver.as_ref() == Some(of),
                [.., of, colon, _] => of == "Self" && colon == ":",
                _ => false,
            }
    })
}
