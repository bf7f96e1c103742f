//! Trait objects without `dyn`, such as `&Fn(u8) -> u8`, which edition 2018 allows and syn does not parse.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};

/// Input:  `fn apply(f: &Fn(u8) -> u8) {}`
/// Output: `fn apply(f: &dyn Fn(u8) -> u8) {}`
///
/// In a block, changes the functions' signatures, but not their bodies.
pub(super) fn with_dyn(item: TokenStream) -> TokenStream {
    let is_fn = |token: TokenTree| matches!(token, TokenTree::Ident(word) if word == "fn");
    let is_block = !item.clone().into_iter().any(is_fn);
    added(item, false, is_block)
}

/// `inside` tells whether the tokens are in parentheses, where the first of them may begin a type.
fn added(tokens: TokenStream, inside: bool, in_braces: bool) -> TokenStream {
    let mut output: Vec<TokenTree> = Vec::new();
    for token in tokens {
        let TokenTree::Group(group) = &token else {
            output.push(token);
            continue;
        };
        if group.delimiter() == Delimiter::Parenthesis
            && let Some(start) = object(&output, inside)
        {
            let word = Ident::new("dyn", Span::call_site());
            output.insert(start, word.into());
        }
        output.push(match group.delimiter() {
            Delimiter::Brace if !in_braces => token,
            delimiter => {
                let is_list = delimiter != Delimiter::Brace;
                let mut changed = Group::new(delimiter, added(group.stream(), is_list, false));
                changed.set_span(group.span());
                changed.into()
            }
        });
    }
    output.into_iter().collect()
}

/// Where a trait object's path begins, if `before` ends with one.
fn object(before: &[TokenTree], inside: bool) -> Option<usize> {
    let is_colon =
        |at: usize| matches!(&before[at], TokenTree::Punct(punct) if punct.as_char() == ':');
    let mut start = before.len().checked_sub(1)?;
    match &before[start] {
        TokenTree::Ident(word) if ["Fn", "FnMut", "FnOnce"].iter().any(|name| word == name) => {}
        _ => return None,
    }
    while start >= 2 && is_colon(start - 1) && is_colon(start - 2) {
        start -= 2;
        if matches!(before[..start].last(), Some(TokenTree::Ident(_)))
            && !is_before_a_type(&before[..start])
        {
            start -= 1;
        }
    }
    let is_type = match before[..start].last() {
        None => inside,
        Some(TokenTree::Punct(punct)) => "&<,".contains(punct.as_char()),
        Some(TokenTree::Ident(_)) => is_before_a_type(&before[..start]),
        _ => false,
    };
    is_type.then_some(start)
}

/// Whether the tokens end in `mut`, `const` or a lifetime.
fn is_before_a_type(tokens: &[TokenTree]) -> bool {
    match tokens {
        [.., TokenTree::Punct(quote), TokenTree::Ident(_)] if quote.as_char() == '\'' => true,
        [.., TokenTree::Ident(word)] => word == "mut" || word == "const",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Item;
    use super::*;
    use crate::kind::Kind;

    #[test]
    fn a_function_with_a_trait_object_of_edition_2018_is_parsed() {
        for item in [
            "fn f(f: &Fn(u8) -> u8) -> u8 { f(1) }",
            "impl S { fn f(&self, f: Box<Fn(u8) -> u8>, shown: &Display) -> u8 { f(1) } }",
        ] {
            let item: TokenStream = item.parse().expect("tokens");
            assert!(Item::parse(Kind::Mutex, item).is_ok());
        }
    }

    #[test]
    fn only_trait_objects_get_the_word() {
        for (item, expected) in [
            ("fn f(f: &Fn(u8) -> u8) {}", "fn f(f: &dyn Fn(u8) -> u8) {}"),
            (
                "fn f<'a>(f: &'a mut ::std::ops::FnMut(), g: Box<Fn() + Send>) {}",
                "fn f<'a>(f: &'a mut dyn ::std::ops::FnMut(), g: Box<dyn Fn() + Send>) {}",
            ),
            (
                "impl S { fn f(f: &'static (Fn(u8) + Sync)) { &Fn(1); } }",
                "impl S { fn f(f: &'static (dyn Fn(u8) + Sync)) { &Fn(1); } }",
            ),
        ] {
            let [item, expected]: [TokenStream; 2] =
                [item, expected].map(|text| text.parse().expect("tokens"));
            assert_eq!(with_dyn(item).to_string(), expected.to_string());
        }
        for item in [
            "fn f<F: Fn(u8), G>(f: &dyn Fn(u8), g: impl Fn(u8) + 'static) where G: FnOnce() {}",
            "pub(crate) fn f(Point(a, b): Point) { &Fn(1); }",
        ] {
            let item: TokenStream = item.parse().expect("tokens");
            assert_eq!(with_dyn(item.clone()).to_string(), item.to_string());
        }
    }
}
