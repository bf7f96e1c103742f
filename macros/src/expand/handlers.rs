//! Handlers that are functions of the same block take no lock. Otherwise such a function would wait for the lock that
//! its caller did not get, and its own handler would call it again.
//!
//! This requires that the handler's path certainly means the block's function. If it could mean another function, the
//! user has to write an unambiguous path.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::{ExprClosure, ExprPath, Pat};

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
        "if this is the `{name}` of this block, write `{own}`: then `{name}` takes no lock, which it would wait for again; \
         if it is another function, call it in a closure"
    )
}

/// Rejects a handler that calls the protected function to which it belongs.
pub(super) fn refuse_cycle(
    candidate: &Candidate,
    options: &Options,
    header: &Header,
    errors: &mut Errors,
) {
    let name = candidate.name();
    for (option, handler) in options.handlers() {
        let inherited = options.is_inherited(option);
        let cycle = match handler {
            Handler::Path { path, .. } => {
                let same_name = last(path).is_some_and(|last| last.unraw() == name);
                same_name
                    && match header.named_by(path) {
                        Named::This | Named::OfType => true,
                        Named::Unclear if !inherited => {
                            errors.on(path, may_be_itself(option, &name));
                            false
                        }
                        // For functions without their own attribute, `answering` has already reported the path.
                        Named::Unclear => candidate.marks.options.is_some(),
                        Named::Another => false,
                    }
            }
            // A closure in the function's own attribute calls the function on purpose. Only a closure inherited from
            // the block is rejected.
            Handler::Closure(closure) => inherited && calls(closure, option, &candidate.function),
            Handler::Skip(_) | Handler::Panic(_) => false,
        };
        if !cycle {
            continue;
        }
        if inherited {
            errors.on(&candidate.function.sig.ident, format!(
                "the `{option}` of the block calls `{name}` and answers for it too, so `{name}` would call itself endlessly: \
                 mark it with `#[auto_mutex::no_auto_mutex]`, or give it its own `{option}`"
            ));
        } else {
            refuse(option, &name, handler, errors);
        }
    }
}

/// For a function outside annotated blocks: rejects a handler that is or may be the function itself.
pub(super) fn refuse_itself(function: &Function, options: &Options, errors: &mut Errors) {
    let name = function.sig.ident.unraw().to_string();
    for (option, handler) in options.handlers() {
        let Handler::Path { path, .. } = handler else {
            continue;
        };
        if last(path).is_none_or(|last| last.unraw() != name) {
            continue;
        }
        let spelled = words(path.to_token_stream()).concat();
        if [format!("Self::{name}"), format!("<Self>::{name}")].contains(&spelled) {
            refuse(option, &name, handler, errors);
        } else if spelled != name || !function.knows_self() {
            // A single word is allowed in a function that knows `Self`: it names a free function, not the method.
            errors.on(path, may_be_itself(option, &name));
        }
    }
}

fn may_be_itself(option: &str, name: &str) -> String {
    format!(
        "if this is the annotated `{name}` itself, it would call itself endlessly: name another function as its `{option}`; \
         if it is another `{name}`, call it in a closure"
    )
}

fn refuse(option: &str, name: &str, handler: &Handler, errors: &mut Errors) {
    if let Handler::Path { path, .. } = handler {
        errors.on(path, format!(
            "`{name}` would call itself endlessly: name another function as its `{option}`, or call it in a closure"
        ));
    }
}

/// The last word of a path, which names the function.
fn last(path: &ExprPath) -> Option<&Ident> {
    path.path.segments.last().map(|segment| &segment.ident)
}

/// Whether a closure, given for a whole block, calls `function` through `self`, `Self`, or the parameter for `self`.
fn calls(closure: &ExprClosure, option: &str, function: &Function) -> bool {
    let name = function.sig.ident.unraw().to_string();
    let mut callers = vec!["self.".to_owned(), "Self::".to_owned()];
    // The first argument is the error.
    let errors = usize::from(option == "on_error");
    if function.sig.receiver().is_some()
        && closure.inputs.len() == function.sig.inputs.len() + errors
        && let Some(receiver) = closure.inputs.get(errors).and_then(binding)
    {
        callers.push(format!("{}.", receiver.unraw()));
    }
    has_call(closure.body.to_token_stream(), &callers, &name)
}

fn binding(pattern: &Pat) -> Option<&Ident> {
    match pattern {
        Pat::Ident(binding) => Some(&binding.ident),
        Pat::Type(typed) => binding(&typed.pat),
        _ => None,
    }
}

/// Whether `self.name(` or the like is among the tokens.
fn has_call(tokens: TokenStream, callers: &[String], name: &str) -> bool {
    let mut before = String::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match &token {
            TokenTree::Group(group) => {
                if has_call(group.stream(), callers, name) {
                    return true;
                }
                before.clear();
            }
            TokenTree::Ident(word) => {
                let called = tokens.peek().is_some_and(|next| match next {
                    TokenTree::Group(group) => group.delimiter() == Delimiter::Parenthesis,
                    // `name::<T>(`
                    TokenTree::Punct(punct) => punct.as_char() == ':',
                    _ => false,
                });
                if called && word.unraw() == name && callers.contains(&before) {
                    return true;
                }
                before = word.unraw().to_string();
            }
            TokenTree::Punct(punct) => before.push(punct.as_char()),
            TokenTree::Literal(_) => before.clear(),
        }
    }
    false
}
