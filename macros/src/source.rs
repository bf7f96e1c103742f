//! What the user wrote, as text, and where.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

/// Input:  `expire   = 100 , key = (a,  b)` over several lines
/// Output: `expire = 100 , key = (a, b)`
///
/// Spaces are where there was room between two tokens. The compiler's own text of tokens varies between versions.
pub(crate) fn text(tokens: TokenStream) -> String {
    let mut text = Text::default();
    text.add(tokens);
    text.written
}

#[derive(Default)]
struct Text {
    written: String,
    /// Where the last token ended.
    end: Option<Place>,
}

/// Line and column.
type Place = (usize, usize);

impl Text {
    fn add(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => {
                    let (open, close) = match group.delimiter() {
                        Delimiter::Parenthesis => ("(", ")"),
                        Delimiter::Brace => ("{", "}"),
                        Delimiter::Bracket => ("[", "]"),
                        Delimiter::None => {
                            self.add(group.stream());
                            continue;
                        }
                    };
                    self.token(open, group.span_open());
                    self.add(group.stream());
                    self.token(close, group.span_close());
                }
                token => self.token(&token.to_string(), token.span()),
            }
        }
    }

    fn token(&mut self, text: &str, span: Span) {
        let span = span.unwrap();
        let place = |span: proc_macro::Span| (span.line(), span.column());
        if self.end.is_some_and(|end| end != place(span.start())) {
            self.written.push(' ');
        }
        self.written.push_str(text);
        self.end = Some(place(span.end()));
    }
}

/// The file and line of a token.
pub(crate) fn place(span: Span) -> (String, u32) {
    let span = span.unwrap();
    (span.file(), u32::try_from(span.line()).unwrap_or(u32::MAX))
}
