//! Fuzz targets for the attributes. `fuzz/` runs them with generated input, and every test run with `fuzz/corpus`.
//!
//! The attributes must not panic or hang, and the expansion of a valid item must be valid.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::quote;
use syn::LitStr;

use crate::args::Options;
use crate::errors::Errors;
use crate::expand;
use crate::kind::Kind;

/// The deepest nesting of an input. syn parses recursively, and deeper input could overflow the stack. The compiler has
/// a limit as well.
const DEEPEST: usize = 24;

/// Expands `#[auto_mutex(…)] item`, or another attribute on an item.
pub(crate) fn attributes(bytes: &[u8]) {
    let Some((attribute, item)) = tokens(bytes).and_then(annotated) else {
        return;
    };
    let sound = syn::parse2::<syn::Item>(item.clone()).is_ok();
    let expansion = match Kind::named(&attribute.word) {
        Some(kind) => expand::protecting(kind, attribute.args, item),
        None if attribute.word == "no_auto_mutex" => expand::no_auto_mutex(attribute.args, item),
        None if attribute.word == "test" => expand::test(attribute.args, item),
        None => return,
    };
    if let (true, Err(error)) = (sound, syn::parse2::<syn::File>(expansion.clone())) {
        panic!("{error}: {expansion}");
    }
}

/// Expands attributes with the input as the text of their options, in particular as the template of a key.
pub(crate) fn templates(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let text = LitStr::new(text, Span::call_site());
    let options = quote!(key = #text, name = #text, ns = #text, was = #text, block = #text);
    let item = quote!(
        fn f(&self, id: u32, user: &User) -> Result<(), LockError> {}
    );
    let mut errors = Errors::default();
    Options::parse(Kind::Mutex, Span::call_site(), options.clone(), &mut errors);
    expand::protecting(Kind::Mutex, quote!(key = #text), item.clone());
    expand::protecting(Kind::Mutex, options, item.clone());
    expand::protecting(Kind::Leader, quote!(value = #text), item);
}

fn tokens(bytes: &[u8]) -> Option<TokenStream> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut depth: usize = 0;
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' | b'<' | b'&' | b'*' | b'!' | b'-' | b'|' => depth += 1,
            b')' | b']' | b'}' | b';' | b'\n' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST {
            return None;
        }
    }
    text.parse().ok()
}

struct Attribute {
    word: String,
    args: TokenStream,
}

fn annotated(tokens: TokenStream) -> Option<(Attribute, TokenStream)> {
    let mut tokens = tokens.into_iter();
    let (Some(TokenTree::Punct(_)), Some(TokenTree::Group(attribute))) =
        (tokens.next(), tokens.next())
    else {
        return None;
    };
    let mut inside = attribute.stream().into_iter();
    let Some(TokenTree::Ident(word)) = inside.next() else {
        return None;
    };
    let args = match inside.next() {
        Some(TokenTree::Group(args)) if args.delimiter() == Delimiter::Parenthesis => args.stream(),
        _ => TokenStream::new(),
    };
    let word = word.to_string();
    Some((Attribute { word, args }, tokens.collect()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    type Target = fn(&[u8]);

    #[test]
    fn what_the_fuzzers_kept_of_attributes_does_no_harm() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
        let targets: [(&str, Target); 2] = [
            ("attributes", super::attributes),
            ("templates", super::templates),
        ];
        for (name, target) in targets {
            let mut inputs = 0;
            for entry in fs::read_dir(corpus.join(name)).unwrap() {
                let path = entry.unwrap().path();
                let bytes = fs::read(&path).unwrap();
                // See `fuzz/run --keep`.
                for input in bytes.split(|byte| *byte == 0x1c) {
                    if std::panic::catch_unwind(|| target(input)).is_err() {
                        panic!("{}: {:?}", path.display(), input.escape_ascii());
                    }
                    inputs += 1;
                }
            }
            assert!(inputs > 3, "{name} has a corpus of {inputs}");
        }
    }
}
