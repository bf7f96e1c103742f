//! The parameters of a function, which options may name and handlers get as arguments.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{Attribute, Error, FnArg, Pat, PatIdent, Result, Signature};

use crate::tokens::{ours, start};

/// The parameters of a function.
pub(crate) struct Params {
    function: String,
    has_self: bool,
    names: Vec<String>,
}

impl Params {
    pub(crate) fn of(sig: &Signature) -> Self {
        let mut names = Vec::new();
        for input in &sig.inputs {
            if let FnArg::Typed(param) = input {
                bindings(&param.pat, &mut names);
            }
        }
        Self {
            function: sig.ident.to_string(),
            has_self: sig.receiver().is_some(),
            names,
        }
    }

    /// The first parameter that `text` names in braces like a template.
    pub(crate) fn placeholder_in(&self, text: &str) -> Option<&str> {
        self.names()
            .find(|param| text.contains(&format!("{{{param}}}")))
    }

    pub(crate) fn function(&self) -> &str {
        &self.function
    }

    pub(crate) fn has_self(&self) -> bool {
        self.has_self
    }

    /// The names that the patterns bind, without `r#`.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }
}

/// The function's parameters as arguments for a handler, `self` first. Gives parameters `_` a name.
pub(crate) fn forwarded(sig: &mut Signature) -> Result<Vec<TokenStream>> {
    let mut arguments = Vec::new();
    for (i, input) in sig.inputs.iter_mut().enumerate() {
        arguments.push(match input {
            FnArg::Receiver(receiver) => receiver.self_token.to_token_stream(),
            FnArg::Typed(param) => {
                if let Pat::Wild(wild) = &*param.pat {
                    *param.pat = Pat::Ident(PatIdent {
                        attrs: Vec::new(),
                        by_ref: None,
                        mutability: None,
                        ident: Ident::new(&format!("__arg{i}"), ours(wild.underscore_token.span)),
                        subpat: None,
                    });
                }
                let value = value(&param.pat)?;
                let conditions: Vec<&Attribute> = param
                    .attrs
                    .iter()
                    .filter(|attribute| attribute.path().is_ident("cfg"))
                    .collect();
                quote!(#(#conditions)* #value)
            }
        });
    }
    Ok(arguments)
}

/// Input:  the pattern `Point { x, y: (a, b) }`
/// Output: the expression `Point { x, y: (a, b) }`
fn value(pattern: &Pat) -> Result<TokenStream> {
    let all =
        |patterns: &mut dyn Iterator<Item = &Pat>| patterns.map(value).collect::<Result<Vec<_>>>();
    Ok(match pattern {
        Pat::Ident(binding) if binding.by_ref.is_none() => binding.ident.to_token_stream(),
        Pat::Paren(paren) => value(&paren.pat)?,
        Pat::Type(typed) => value(&typed.pat)?,
        Pat::Reference(reference) => {
            let (and, mutability, inner) = (
                reference.and_token,
                reference.mutability,
                value(&reference.pat)?,
            );
            quote!(#and #mutability #inner)
        }
        Pat::Tuple(tuple) => {
            let elements = all(&mut tuple.elems.iter())?;
            quote_spanned!(start(tuple)=> (#(#elements,)*))
        }
        Pat::Slice(slice) => {
            let elements = all(&mut slice.elems.iter())?;
            quote_spanned!(start(slice)=> [#(#elements),*])
        }
        Pat::TupleStruct(tuple) => {
            let (path, elements) = (&tuple.path, all(&mut tuple.elems.iter())?);
            quote!(#path(#(#elements),*))
        }
        Pat::Struct(fields) if fields.rest.is_none() => {
            let path = &fields.path;
            let values = fields
                .fields
                .iter()
                .map(|field| {
                    let (member, value) = (&field.member, value(&field.pat)?);
                    Ok(quote!(#member: #value))
                })
                .collect::<Result<Vec<_>>>()?;
            quote!(#path { #(#values),* })
        }
        pattern => return Err(unnamed(pattern)),
    })
}

fn unnamed(pattern: &Pat) -> Error {
    Error::new_spanned(
        pattern,
        "a handler given by its path gets all arguments, and this pattern drops a part of one: \
         name the parameter and take it apart in the body, or write the handler as a closure",
    )
}

/// The identifiers that a pattern binds.
fn bindings(pattern: &Pat, names: &mut Vec<String>) {
    match pattern {
        Pat::Ident(binding) => {
            names.push(binding.ident.unraw().to_string());
            if let Some((_, inner)) = &binding.subpat {
                bindings(inner, names);
            }
        }
        Pat::Paren(paren) => bindings(&paren.pat, names),
        Pat::Type(typed) => bindings(&typed.pat, names),
        Pat::Reference(reference) => bindings(&reference.pat, names),
        Pat::Tuple(tuple) => tuple
            .elems
            .iter()
            .for_each(|pattern| bindings(pattern, names)),
        Pat::Slice(slice) => slice
            .elems
            .iter()
            .for_each(|pattern| bindings(pattern, names)),
        Pat::TupleStruct(tuple) => tuple
            .elems
            .iter()
            .for_each(|pattern| bindings(pattern, names)),
        Pat::Struct(fields) => fields
            .fields
            .iter()
            .for_each(|field| bindings(&field.pat, names)),
        _ => {}
    }
}
