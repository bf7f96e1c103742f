//! The parameters of a function, which options may mention and handlers get as arguments.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{
    Attribute, Error, ExprClosure, FnArg, Pat, PatIdent, PatSlice, PatTuple, PatTupleStruct,
    PatType, Receiver, ReceiverKind, Result, Signature, Type,
};

use crate::tokens::{bare_type, find_word, ours, start};

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

/// The parameters as arguments for handlers.
#[derive(Default)]
pub(crate) struct Arguments {
    /// In order, `self` first.
    pub(crate) values: Vec<Argument>,
    /// `let` statements for the patterns of reference parameters, which the signature replaces with names.
    pub(crate) prelude: TokenStream,
}

/// `Ok` is an expression for the whole argument. `Err` is the span in its pattern that drops a part of the value.
type Value = std::result::Result<TokenStream, TokenStream>;

/// One argument of a handler.
pub(crate) struct Argument {
    /// The `#[cfg(…)]` of the parameter.
    pub(crate) conditions: Vec<Attribute>,
    /// The parameter's pattern, or `self`.
    pattern: TokenStream,
    value: Value,
}

impl Argument {
    /// The argument's value for a handler that is given by its path.
    pub(crate) fn for_path(&self) -> Result<TokenStream> {
        let conditions = &self.conditions;
        let value = self.value(
            "a handler given by its path gets all arguments, and this pattern drops a part of one: \
             name the parameter and take it apart in the body, or write the handler as a closure without arguments, `|| …`",
        )?;
        Ok(quote!(#(#conditions)* #value))
    }

    /// The argument's value for a handler that is a closure with arguments.
    pub(crate) fn for_closure(&self) -> Result<TokenStream> {
        self.value(
            "a closure with arguments gets all of them, and this pattern drops a part of one: \
             name the parameter and take it apart in the body, or write the closure without arguments: it sees what the pattern binds",
        )
    }

    /// The argument as it would appear in a closure's parameter list.
    pub(crate) fn shown(&self) -> String {
        self.pattern.to_string()
    }

    fn value(&self, hidden: &str) -> Result<TokenStream> {
        self.value
            .clone()
            .map_err(|pattern| Error::new_spanned(pattern, hidden))
    }
}

/// Returns the function's parameters as arguments for handlers, and gives names to parameters without one.
pub(crate) fn forwarded(sig: &mut Signature) -> Arguments {
    let mut arguments = Arguments::default();
    for (i, input) in sig.inputs.iter_mut().enumerate() {
        let argument = match input {
            FnArg::Receiver(receiver) => Argument {
                conditions: Vec::new(),
                pattern: receiver.self_token.to_token_stream(),
                value: Ok(receiver.self_token.to_token_stream()),
            },
            FnArg::Typed(param) => {
                let conditions: Vec<Attribute> = param
                    .attrs
                    .iter()
                    .filter(|attribute| attribute.path().is_ident("cfg"))
                    .cloned()
                    .collect();
                let pattern = param.pat.to_token_stream();
                let is_reference = matches!(bare_type(&param.ty), Type::Reference(_));
                let is_name = matches!(&*param.pat, Pat::Ident(_) | Pat::Type(_) | Pat::Paren(_));
                if matches!(&*param.pat, Pat::Wild(_)) {
                    name(param, i);
                } else if is_reference && !is_name {
                    // The pattern only binds parts of the value behind the reference. A name allows passing the whole
                    // reference to the handler.
                    name(param, i);
                    let ident = &param.pat;
                    let prelude = quote_spanned!(ours(start(&pattern))=> #(#conditions)* let #pattern = #ident;);
                    arguments.prelude.extend(prelude);
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

/// The statements that move all parameters into a future, which an `async fn` does itself, so that the future drops them
/// when it ends, whether its body uses them or not. Patterns are replaced by names, and matched in the future.
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
                let conditions = param.attrs.iter().filter(|it| it.path().is_ident("cfg"));
                let pattern = param.pat.to_token_stream();
                let span = ours(start(&pattern));
                let conditions = quote!(#(#conditions)*);
                let is_name = matches!(&*param.pat, Pat::Ident(_));
                name(param, i);
                let ident = &param.pat;
                let mutable = borrows_mutably(pattern.clone()).then(|| quote!(mut));
                // The pattern may leave a part of the argument where it is, and the future then lacks that part.
                let all = (!is_name || mutable.is_some())
                    .then(|| quote_spanned!(span=> #conditions let #mutable #ident = #ident;));
                owned.extend(quote_spanned!(span=> #all #conditions let #pattern = #ident;));
            }
        }
    }
    owned
}

/// Whether a pattern has a `ref mut`.
fn borrows_mutably(pattern: TokenStream) -> bool {
    let mut before = String::new();
    pattern.into_iter().any(|token| match token {
        TokenTree::Group(group) => borrows_mutably(group.stream()),
        token => std::mem::replace(&mut before, token.to_string()) == "ref" && before == "mut",
    })
}

/// Whether a handler uses a parameter that would be gone if the body owned the parameters. Shared references are
/// copied. A closure with more inputs than the error gets all parameters.
pub(crate) fn shares(closure: &ExprClosure, sig: &Signature) -> bool {
    let gets_all = closure.inputs.len() > 1;
    let body = closure.body.to_token_stream();
    let uses = |name: &str| gets_all || mentions(body.clone(), name);
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

/// Whether the tokens contain the identifier `name`, or a text with it, such as `"{name}"`.
fn mentions(tokens: TokenStream, name: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident.unraw() == name,
        TokenTree::Literal(literal) => literal.to_string().contains(name),
        TokenTree::Group(group) => mentions(group.stream(), name),
        TokenTree::Punct(_) => false,
    })
}

/// Replaces the parameter's pattern by a name.
fn name(param: &mut PatType, index: usize) {
    let ident = Ident::new(&format!("__arg{index}"), ours(start(&param.pat)));
    *param.pat = Pat::Ident(PatIdent {
        attrs: Vec::new(),
        by_ref: None,
        mutability: None,
        ident,
        subpat: None,
    });
}

/// Input:  the pattern `Point { x, y: (a, b) }`
/// Output: the expression `Point { x, y: (a, b) }`; `Err` if a part of the pattern drops something
fn value(pattern: &Pat) -> Value {
    let all = |patterns: &mut dyn Iterator<Item = &Pat>| {
        patterns
            .map(value)
            .collect::<std::result::Result<Vec<_>, _>>()
    };
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
                .map(|field| -> Value {
                    let (member, value) = (&field.member, value(&field.pat)?);
                    Ok(quote!(#member: #value))
                })
                .collect::<std::result::Result<Vec<_>, TokenStream>>()?;
            quote!(#path { #(#values),* })
        }
        pattern => return Err(pattern.to_token_stream()),
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
