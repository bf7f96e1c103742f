//! Parses texts that may have placeholders (`key`, `was`) and those that may not (`name`, `ns`, `owner`). In all of
//! them, `{{` and `}}` stand for braces, so that no option takes a placeholder literally.

use proc_macro2::Span;
use syn::{Error, LitStr, Result};

use super::key::{EMPTY, Part, Place, index, name};

/// Input:  `"user-{id}:{order.n}"` for the option `key`
/// Output: two parts: the placeholder `id` after the text `user-`, and the placeholder `order.n`
pub(super) fn key(text: &LitStr) -> Result<Vec<Part>> {
    let parts = parts("key", text)?;
    if parts.iter().any(Part::is_empty) {
        return Err(Error::new(text.span(), EMPTY));
    }
    Ok(parts)
}

/// Parses a text that is the same for every call. The error for a placeholder says what to write `instead`.
pub(super) fn fixed(
    option: &str,
    text: &LitStr,
    instead: impl FnOnce(&Place) -> String,
) -> Result<LitStr> {
    let parts = parts(option, text)?;
    match parts.iter().find_map(Part::place) {
        Some(place) => Err(Error::new(text.span(), instead(place))),
        None => Ok(joined(&parts, text.span())),
    }
}

/// Splits the parts into those before the first placeholder, joined, and the rest.
pub(super) fn split(option: &str, text: &LitStr) -> Result<(LitStr, Vec<Part>)> {
    let mut parts = parts(option, text)?;
    let first = parts.iter().position(|part| part.place().is_some());
    let rest = parts.split_off(first.unwrap_or(parts.len()));
    Ok((joined(&parts, text.span()), rest))
}

/// Joins parts without placeholders.
fn joined(parts: &[Part], span: Span) -> LitStr {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.value()),
        _ => None,
    });
    LitStr::new(&texts.collect::<Vec<_>>().join(":"), span)
}

/// The parts between the colons. Parts without a placeholder may be empty. A `value` is only divided where a part would
/// have two placeholders.
pub(super) fn parts(option: &str, text: &LitStr) -> Result<Vec<Part>> {
    let wrong = |message: &str| Err(Error::new(text.span(), message));
    let value = text.value();
    let mut parts = Vec::new();
    let mut part = Draft::default();
    let mut chars = value.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '{' | '}' if chars.peek() == Some(&c) => {
                chars.next();
                part.text(c);
            }
            '{' => {
                let mut inside = String::new();
                loop {
                    match chars.next() {
                        Some('}') => break,
                        Some('{') | None => {
                            return wrong(
                                "unbalanced `{`: close the placeholder with `}`, or write `{{` for a brace",
                            );
                        }
                        Some(c) => inside.push(c),
                    }
                }
                if part.place.is_some() && option == "value" {
                    parts.push(std::mem::take(&mut part).finish(text.span()));
                } else if part.place.is_some() {
                    return wrong(
                        "two placeholders in one part: separate them with `:`, so that distinct values never make the same name",
                    );
                }
                part.place = Some(place(option, inside.trim(), text)?);
            }
            '}' => {
                return wrong(
                    "unbalanced `}`: open the placeholder with `{`, or write `}}` for a brace",
                );
            }
            ':' if option != "value" => parts.push(std::mem::take(&mut part).finish(text.span())),
            c => part.text(c),
        }
    }
    parts.push(part.finish(text.span()));
    Ok(parts)
}

/// An incomplete part.
#[derive(Default)]
struct Draft {
    before: String,
    place: Option<Place>,
    after: String,
}

impl Draft {
    fn text(&mut self, c: char) {
        match self.place {
            Some(_) => self.after.push(c),
            None => self.before.push(c),
        }
    }

    fn finish(self, span: Span) -> Part {
        let Self {
            before,
            place,
            after,
        } = self;
        match place {
            Some(place) => Part::Shown {
                before,
                place,
                after,
            },
            None => Part::Text(LitStr::new(&before, span)),
        }
    }
}

fn place(option: &str, inside: &str, text: &LitStr) -> Result<Place> {
    let span = text.span();
    let wrong = |message: String| Err(Error::new(span, message));
    let path: Vec<String> = inside
        .split('.')
        .map(|word| word.trim().trim_start_matches("r#").to_owned())
        .collect();
    if matches!(inside, "" | "_") || index(&path[0]).is_some() {
        return wrong(format!(
            "`{{{inside}}}` names no parameter: write the name of one, as in `{{id}}`"
        ));
    }
    if let Some((word, _)) = inside.split_once(':')
        && !inside.contains("::")
    {
        let option = if option == "value" { option } else { "key" };
        return wrong(format!(
            "a placeholder is shown by `Display`, without a format: `{{{}}}`; for more use an expression: `{option} = …`",
            word.trim(),
        ));
    }
    let alone = text.value().trim_matches(['{', '}']).trim() == inside;
    let is_name = |word: &String| name(word, span).is_some();
    let is_field = |word: &String| is_name(word) || index(word).is_some();
    if !is_name(&path[0]) || !path[1..].iter().all(is_field) {
        return wrong(format!(
            "`{{{inside}}}` is neither a parameter nor a field of one: {}",
            instead(option, inside, alone)
        ));
    }
    Ok(Place { path, alone, span })
}

/// Whether `word` looks like a constant, such as `MAX_PAGES`.
pub(super) fn is_constant(word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    word.starts_with(|c: char| c.is_ascii_uppercase()) && word.chars().all(is_part)
}

/// What to write instead of a placeholder with an expression. `alone` tells whether the text has nothing else.
pub(super) fn instead(option: &str, expression: &str, alone: bool) -> String {
    match option {
        "key" | "value" if alone => format!("write `{option} = {expression}`"),
        "key" | "keys" => format!("make it a separate part, as in `key = ({expression}, id)`"),
        "value" => "use an expression, as in `value = format!(…)`".to_owned(),
        _ => "an expression can only be the value of `key`".to_owned(),
    }
}
