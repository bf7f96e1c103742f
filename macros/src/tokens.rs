//! Helpers for tokens and spans.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::{Expr, ExprLit, Lit, LitStr, Path, Type};

/// `span` with the hygiene of `mixed_site`: local variables with this span cannot clash with the user's, and errors
/// still point at the user's code.
pub(crate) fn ours(span: Span) -> Span {
    span.resolved_at(Span::mixed_site())
}

/// `quote!` with names of this crate: local variables cannot clash with the user's.
macro_rules! quote_ours {
    ($($tokens:tt)*) => {
        ::quote::quote_spanned!(::proc_macro2::Span::mixed_site()=> $($tokens)*)
    };
}
pub(crate) use quote_ours;

/// The span of the first token, or that of the attribute if there are no tokens. A stable compiler joins no spans.
pub(crate) fn start(tokens: &impl ToTokens) -> Span {
    tokens
        .to_token_stream()
        .into_iter()
        .next()
        .map_or_else(Span::call_site, |token| token.span())
}

/// The span of the last token, or that of the attribute if there are no tokens.
pub(crate) fn end(tokens: &impl ToTokens) -> Span {
    let last = tokens.to_token_stream().into_iter().last();
    last.map_or_else(Span::call_site, |token| token.span())
}

/// The path of the runtime's module for expansions.
pub(crate) fn private(runtime: Option<&Path>) -> TokenStream {
    module(runtime, "__private")
}

/// The path of a module of the runtime.
pub(crate) fn module(runtime: Option<&Path>, name: &str) -> TokenStream {
    let name = Ident::new(name, Span::mixed_site());
    match runtime {
        Some(path) => quote_ours!(#path::#name),
        None => quote_ours!(::auto_mutex::#name),
    }
}

/// The same tokens at another span. Their names still resolve as in the user's code (`$crate`).
pub(crate) fn moved(tokens: TokenStream, span: Span) -> TokenStream {
    let token = |mut token: TokenTree| {
        token.set_span(token.span().located_at(span));
        token
    };
    tokens.into_iter().map(token).collect()
}

/// `{ … }`, whose braces have the given span.
pub(crate) fn braced(tokens: TokenStream, span: Span) -> TokenTree {
    let mut group = Group::new(Delimiter::Brace, tokens);
    group.set_span(span);
    group.into()
}

/// Removes the invisible groups that `macro_rules!` puts around a fragment.
pub(crate) fn bare_expr(mut expr: &Expr) -> &Expr {
    while let Expr::Group(group) = expr {
        expr = &group.expr;
    }
    expr
}

/// The text, if the expression is one.
pub(crate) fn text(expr: &Expr) -> Option<&LitStr> {
    match bare_expr(expr) {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => Some(text),
        _ => None,
    }
}

/// The last word of a path; nothing for an empty path.
pub(crate) fn last_word(path: &Path) -> String {
    let last = path.segments.last();
    last.map_or_else(String::new, |segment| segment.ident.to_string())
}

/// Removes invisible groups and parentheses.
pub(crate) fn bare_type(mut ty: &Type) -> &Type {
    loop {
        ty = match ty {
            Type::Group(group) => &group.elem,
            Type::Paren(paren) => &paren.elem,
            ty => return ty,
        };
    }
}

/// The first identifier spelled `word`, at any depth.
pub(crate) fn find_word(tokens: TokenStream, word: &str) -> Option<Span> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Ident(ident) => (ident == word).then(|| ident.span()),
        TokenTree::Group(group) => find_word(group.stream(), word),
        _ => None,
    })
}

/// Input:  `Ledger::<r#u8>(1)`, with or without invisible groups
/// Output: `Ledger`, `<`, `u8`, `>`, `(`, `1`, `)`
pub(crate) fn words(tokens: TokenStream) -> Vec<String> {
    let mut words = Vec::new();
    collect(tokens, &mut words);
    words
}

fn collect(tokens: TokenStream, words: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => words.push(ident.unraw().to_string()),
            TokenTree::Group(group) => {
                let (open, close) = delimiters(&group);
                words.extend((!open.is_empty()).then(|| open.to_owned()));
                collect(group.stream(), words);
                words.extend((!close.is_empty()).then(|| close.to_owned()));
            }
            TokenTree::Punct(punct) if punct.as_char() == '<' => {
                // In an expression, `::` precedes the type parameters. It is dropped here.
                if words.len() > 2 && words.ends_with(&[":".to_owned(), ":".to_owned()]) {
                    words.truncate(words.len() - 2);
                }
                words.push("<".to_owned());
            }
            token => words.push(token.to_string()),
        }
    }
}

/// How a group begins and ends; both texts are empty for an invisible group.
pub(crate) fn delimiters(group: &Group) -> (&'static str, &'static str) {
    match group.delimiter() {
        Delimiter::Parenthesis => ("(", ")"),
        Delimiter::Brace => ("{", "}"),
        Delimiter::Bracket => ("[", "]"),
        Delimiter::None => ("", ""),
    }
}
