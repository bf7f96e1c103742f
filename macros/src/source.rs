//! The user's tokens as text, and their location in the source, which is unknown outside the compiler, in tests and
//! fuzzers.

use std::ffi::{OsStr, OsString};
use std::sync::LazyLock;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

use crate::tokens::delimiters;

/// Input:  `expire   = 100 , key = (a,  b)` over several lines
/// Output: `expire = 100 , key = (a, b)`
///
/// Separates tokens by one space where there was any. The compiler's own text of tokens is not used, because it varies
/// between versions.
pub(crate) fn text(tokens: TokenStream) -> String {
    let mut text = Text::default();
    text.add(tokens);
    text.written
}

#[derive(Default)]
struct Text {
    written: String,
    /// The end of the last token.
    end: Option<Position>,
}

/// Line and column.
type Position = (usize, usize);

impl Text {
    fn add(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
                    self.add(group.stream());
                }
                TokenTree::Group(group) => {
                    let (open, close) = delimiters(&group);
                    // syn does not keep the spans of the delimiters, so they are derived from that of the group.
                    let (start, end) = ends(group.span());
                    self.token(open, start, (start.0, start.1 + 1));
                    self.add(group.stream());
                    self.token(close, (end.0, end.1.saturating_sub(1)), end);
                }
                token => {
                    let (start, end) = ends(token.span());
                    self.token(&token.to_string(), start, end);
                }
            }
        }
    }

    fn token(&mut self, text: &str, start: Position, end: Position) {
        if self.end.is_some_and(|last| last != start) {
            self.written.push(' ');
        }
        self.written.push_str(text);
        self.end = Some(end);
    }
}

fn ends(span: Span) -> (Position, Position) {
    if !proc_macro::is_available() {
        return ((0, 0), (0, 0));
    }
    let location = |span: proc_macro::Span| (span.line(), span.column());
    let span = span.unwrap();
    (location(span.start()), location(span.end()))
}

/// The file and line of a token.
pub(crate) fn location(span: Span) -> (String, u32) {
    if !proc_macro::is_available() {
        return (String::new(), 0);
    }
    let span = span.unwrap();
    (span.file(), u32::try_from(span.line()).unwrap_or(u32::MAX))
}

/// Whether the expansion is only shown or linted, by rustdoc or clippy. They know an `async fn` as it is written.
pub(crate) fn is_only_read() -> bool {
    static IS: LazyLock<bool> = LazyLock::new(|| {
        let program = std::env::current_exe().unwrap_or_default();
        let generates = |argument: OsString| {
            let argument = argument.to_string_lossy();
            argument.starts_with("--emit=") && argument.contains("link")
        };
        match program.file_stem().and_then(OsStr::to_str) {
            Some("rustdoc") => true,
            Some("clippy-driver") => !std::env::args_os().any(generates),
            _ => false,
        }
    });
    *IS
}

/// Whether the annotated crate has edition 2015, as cargo tells the compiler.
pub(crate) fn is_of_edition_2015() -> bool {
    static IS: LazyLock<bool> =
        LazyLock::new(|| std::env::args_os().any(|argument| argument == "--edition=2015"));
    *IS
}
