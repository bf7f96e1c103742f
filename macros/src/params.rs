//! The parameters of a function, which options may mention and handlers get as arguments.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Error, ExprClosure, FnArg, LitStr, Pat, PatSlice, PatTuple, PatTupleStruct, PatType,
    Receiver, ReceiverKind, Result, Signature, Token, Type, parse_quote,
};

use crate::tokens::{bare_type, find_word, ours, start, words};

/// The parameters of a function.
pub(crate) struct Params {
    pub(crate) function: String,
    /// The names that the patterns bind, without `r#`, and `self`.
    pub(crate) names: Vec<String>,
}

impl Params {
    pub(crate) fn of(sig: &Signature) -> Self {
        let mut names = Vec::new();
        for input in &sig.inputs {
            match input {
                FnArg::Receiver(_) => names.push("self".to_owned()),
                FnArg::Typed(param) => bindings(&param.pat, &mut names),
            }
        }
        Self {
            function: sig.ident.to_string(),
            names,
        }
    }
}

/// The parameters as arguments for handlers.
#[derive(Default)]
pub(crate) struct Arguments {
    /// In order, `self` first.
    pub(crate) values: Vec<Argument>,
    /// `let` statements for the patterns of reference parameters, which the signature replaces with names.
    pub(crate) prelude: TokenStream,
}

/// One argument of a handler.
pub(crate) struct Argument {
    /// The `#[cfg(…)]` of the parameter.
    pub(crate) conditions: TokenStream,
    /// The parameter's pattern, or `self`.
    pub(crate) pattern: TokenStream,
    /// An expression for the whole argument. The error is about a pattern that drops a part of it.
    pub(crate) value: Result<TokenStream>,
}

/// Returns the function's parameters as arguments for handlers, and gives names to parameters without one.
pub(crate) fn forwarded(sig: &mut Signature) -> Arguments {
    let mut arguments = Arguments::default();
    for (i, input) in sig.inputs.iter_mut().enumerate() {
        let argument = match input {
            FnArg::Receiver(receiver) => Argument {
                conditions: TokenStream::new(),
                pattern: receiver.self_token.to_token_stream(),
                value: Ok(receiver.self_token.to_token_stream()),
            },
            FnArg::Typed(param) => {
                let conditions = conditions(param);
                let pattern = param.pat.to_token_stream();
                let is_reference = matches!(bare_type(&param.ty), Type::Reference(_));
                let is_name = matches!(&*param.pat, Pat::Ident(_) | Pat::Type(_) | Pat::Paren(_));
                if matches!(&*param.pat, Pat::Wild(_)) {
                    name(param, i);
                } else if is_reference && !is_name {
                    // The pattern only binds parts of the value behind the reference. A name allows passing the whole
                    // reference to the handler.
                    arguments.prelude.extend(name(param, i));
                }
                let value = value(&param.pat).map(|value| whole(value, param));
                Argument {
                    conditions,
                    pattern,
                    value,
                }
            }
        };
        arguments.values.push(argument);
    }
    arguments
}

/// The `#[cfg(…)]` of a parameter.
fn conditions(param: &PatType) -> TokenStream {
    let conditions = param.attrs.iter().filter(|it| is_condition(it));
    quote!(#(#conditions)*)
}

fn is_condition(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
}

/// Input:  `(a, b)`, for the parameter `(a, b): (u32, Pair)`
/// Output: `{ let __whole: (u32, Pair) = (a, b); __whole }`
///
/// If the pattern matches through a reference in the type, its parts are bound as references, and the output does not
/// compile.
fn whole(value: TokenStream, param: &PatType) -> TokenStream {
    let ty = &param.ty;
    let is_simple = matches!(&*param.pat, Pat::Ident(_) | Pat::Paren(_));
    if is_simple || find_word(ty.to_token_stream(), "impl").is_some() {
        return value;
    }
    quote_spanned!(ours(start(&param.pat))=> { let __whole: #ty = #value; __whole })
}

/// The statements that move all parameters into a future, which an `async fn` does itself, so that the future drops
/// them when it ends, whether its body uses them or not. Patterns are replaced by names, and matched in the future.
pub(crate) fn owned(sig: &mut Signature) -> TokenStream {
    let mut owned = TokenStream::new();
    for (i, input) in sig.inputs.iter_mut().enumerate() {
        match input {
            FnArg::Receiver(receiver) => {
                if !matches!(receiver.kind, ReceiverKind::Reference(..)) {
                    let this = &receiver.self_token;
                    owned.extend(quote_spanned!(ours(this.span)=> let _ = &#this;));
                }
            }
            FnArg::Typed(param) => {
                let is_reference = matches!(bare_type(&param.ty), Type::Reference(_));
                if let Pat::Ident(binding) = &*param.pat
                    && is_reference
                    && binding.by_ref.is_none()
                    && binding.mutability.is_none()
                    && binding.subpat.is_none()
                {
                    continue;
                }
                let conditions = conditions(param);
                let pattern = param.pat.to_token_stream();
                let span = ours(start(&pattern));
                let is_name = matches!(&*param.pat, Pat::Ident(_));
                let binding = name(param, i);
                let ident = &param.pat;
                let words = words(pattern);
                let borrows_mutably = words.windows(2).any(|pair| pair == ["ref", "mut"]);
                let mutable = borrows_mutably.then(|| quote!(mut));
                // The pattern may leave a part of the argument where it is, and the future then lacks that part.
                let all = (!is_name || mutable.is_some())
                    .then(|| quote_spanned!(span=> #conditions let #mutable #ident = #ident;));
                owned.extend([all.unwrap_or_default(), binding]);
            }
        }
    }
    owned
}

/// Whether a handler uses a parameter that would be gone if the body owned the parameters. Shared references are
/// copied. A closure with more inputs than the error gets all parameters.
pub(crate) fn shares(closure: &ExprClosure, sig: &Signature) -> bool {
    let gets_all = closure.inputs.len() > 1;
    let body = closure.body.to_token_stream();
    let uses = |name: &str| gets_all || mentions(body.clone(), name, false);
    sig.inputs.iter().any(|input| match input {
        FnArg::Receiver(receiver) => !is_shared(receiver) && uses("self"),
        FnArg::Typed(param) => {
            let mut names = Vec::new();
            bindings(&param.pat, &mut names);
            let is_copied = matches!(*param.pat, Pat::Ident(_)) && is_shared_type(&param.ty);
            !is_copied && names.iter().any(|name| uses(name))
        }
    })
}

/// Whether an expression uses the variable `name`. A literal does so only as the format string of a macro: in
/// `format!("{name}")`, but not in `"{name}"`, `format!("name {n}")` or `format!("{{name}}")`.
fn mentions(tokens: TokenStream, name: &str, in_macro: bool) -> bool {
    let mut before = [None, None];
    tokens.into_iter().any(|token| {
        let is = |at: usize, mark: char| {
            matches!(&before[at], Some(TokenTree::Punct(punct)) if punct.as_char() == mark)
        };
        let found = match &token {
            // After a dot, it is a field or a method, unless the dot ends a range.
            TokenTree::Ident(ident) => ident.unraw() == name && (!is(1, '.') || is(0, '.')),
            TokenTree::Group(group) => {
                let called = matches!(before[0], Some(TokenTree::Ident(_))) && is(1, '!');
                mentions(group.stream(), name, in_macro || called)
            }
            TokenTree::Literal(literal) if in_macro => {
                let text = syn::parse2::<LitStr>(literal.to_token_stream());
                text.is_ok_and(|text| captures(&text.value(), name))
            }
            _ => false,
        };
        before = [before[1].take(), Some(token)];
        found
    })
}

/// Whether a format string uses a variable: in `{name:?}` as the value, in `{:name$}` and `{:.name$}` as a width.
fn captures(format: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let format = format.replace("{{", "");
    let places = format
        .split('{')
        .skip(1)
        .filter_map(|rest| rest.split('}').next());
    places.into_iter().any(|place| {
        let (value, spec) = place.split_once(':').unwrap_or((place, ""));
        let mut widths = spec.split('$').rev().skip(1);
        value.trim() == name || widths.any(|it| it.rsplit(|c| !is_part(c)).next() == Some(name))
    })
}

/// Whether the receiver is `&self`, in any spelling.
pub(crate) fn is_shared(receiver: &Receiver) -> bool {
    match &receiver.kind {
        ReceiverKind::Reference(_, _, mutability) => mutability.is_none(),
        ReceiverKind::Typed(_, ty) => is_shared_type(ty),
        _ => false,
    }
}

fn is_shared_type(ty: &Type) -> bool {
    matches!(bare_type(ty), Type::Reference(reference) if reference.mutability.is_none())
}

/// Replaces the parameter's pattern by a name, and returns the statement that binds the pattern. Lint attributes go
/// there.
fn name(param: &mut PatType, index: usize) -> TokenStream {
    let (attrs, pattern) = (param.attrs.clone(), param.pat.clone());
    let span = ours(start(&pattern));
    let name = Ident::new(&format!("__arg{index}"), span);
    param.attrs.retain(is_condition);
    *param.pat = parse_quote!(#name);
    quote_spanned!(span=> #(#attrs)* let #pattern = #name;)
}

/// Input:  the pattern `Point { x, y: (a, b) }`
/// Output: the expression `Point { x, y: (a, b) }`; an error if a part of the pattern drops something
fn value(pattern: &Pat) -> Result<TokenStream> {
    let all = |patterns: &Punctuated<Pat, Token![,]>| {
        let values = patterns.iter().map(value);
        values.collect::<Result<Vec<_>>>()
    };
    Ok(match pattern {
        Pat::Ident(binding) if binding.by_ref.is_none() => binding.ident.to_token_stream(),
        Pat::Paren(paren) => value(&paren.pat)?,
        Pat::Type(typed) => value(&typed.pat)?,
        Pat::Reference(reference) => {
            let (and, mutability) = (reference.and_token, reference.mutability);
            let inner = value(&reference.pat)?;
            quote!(#and #mutability #inner)
        }
        Pat::Tuple(tuple) => {
            let elements = all(&tuple.elems)?;
            quote_spanned!(start(tuple)=> (#(#elements,)*))
        }
        Pat::Slice(slice) => {
            let elements = all(&slice.elems)?;
            quote_spanned!(start(slice)=> [#(#elements),*])
        }
        Pat::TupleStruct(tuple) => {
            let (path, elements) = (&tuple.path, all(&tuple.elems)?);
            quote!(#path(#(#elements),*))
        }
        Pat::Struct(fields) if fields.rest.is_none() => {
            let (path, members) = (&fields.path, fields.fields.iter());
            let values = members.clone().map(|field| value(&field.pat));
            let values = values.collect::<Result<Vec<_>>>()?;
            let members = members.map(|field| &field.member);
            quote!(#path { #(#members: #values),* })
        }
        pattern => {
            return Err(Error::new_spanned(
                pattern,
                "a handler with arguments gets all of them, and this pattern drops a part of one: \
                 name the parameter and take it apart in the body, or write the handler as a closure without arguments, `|| …`",
            ));
        }
    })
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
        Pat::Tuple(PatTuple { elems, .. })
        | Pat::Slice(PatSlice { elems, .. })
        | Pat::TupleStruct(PatTupleStruct { elems, .. }) => {
            elems.iter().for_each(|pattern| bindings(pattern, names));
        }
        Pat::Struct(fields) => fields
            .fields
            .iter()
            .for_each(|field| bindings(&field.pat, names)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_format_string_uses_a_variable() {
        let uses = |code: &str| mentions(code.parse().expect("tokens"), "x", false);
        for code in [
            "x",
            "r#x",
            "0..x",
            "{ f(&[x]) }",
            "format!(\"{x}\")",
            "f(tell!(error, \"{ x :?}\"))",
            "format![\"{:x$}\", 1]",
            "format!(r#\"{y:>1$.x$}\"#)",
            "format!(\"{{{x}}}\")",
        ] {
            assert!(uses(code), "{code}");
        }
        for code in [
            "\"x\"",
            "\"{x}\"",
            "f(\"{x}\")",
            "!f(\"{x}\")",
            "error.x",
            "error.x()",
            "format!(\"x {y} {{x}} {:x} {xx} {:xx$} {:?}\", 'x', b\"{x}\")",
            "format!(\"{{{{x}}}}\")",
        ] {
            assert!(!uses(code), "{code}");
        }
    }
}
