//! Parses the template of a key: texts and placeholders, in parts separated by colons.

use proc_macro2::Span;
use syn::{Error, LitStr, Result};

use super::key::{EMPTY, Part, Place, index, name};

/// Input:  `"user-{id}:{order.n}"`
/// Output: two parts: the placeholder `id` after the text `user-`, and the placeholder `order.n`
pub(super) fn parse(text: &LitStr) -> Result<Vec<Part>> {
    let wrong = |message: &str| Err(Error::new(text.span(), message));
    let value = text.value();
    if value.is_empty() {
        return wrong(EMPTY);
    }

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
                if part.place.is_some() {
                    return wrong(
                        "two placeholders in one part: separate them with `:`, so that distinct values never make the same name",
                    );
                }
                part.place = Some(place(inside.trim(), text.span())?);
            }
            '}' => {
                return wrong(
                    "unbalanced `}`: open the placeholder with `{`, or write `}}` for a brace",
                );
            }
            ':' => parts.push(std::mem::take(&mut part).finish(text)?),
            c => part.text(c),
        }
    }
    parts.push(part.finish(text)?);
    Ok(parts)
}

/// A part that is not complete yet.
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

    fn finish(self, text: &LitStr) -> Result<Part> {
        let Self {
            before,
            place,
            after,
        } = self;
        match place {
            Some(place) => Ok(Part::Shown {
                before,
                place,
                after,
            }),
            None if before.is_empty() => Err(Error::new(text.span(), EMPTY)),
            None => Ok(Part::Text(LitStr::new(&before, text.span()))),
        }
    }
}

fn place(inside: &str, span: Span) -> Result<Place> {
    let wrong = |message: String| Err(Error::new(span, message));
    if inside.is_empty() {
        return wrong("`{}` names nothing: write the parameter, as in `{id}`".to_owned());
    }
    if inside.contains(':') {
        return wrong(format!(
            "a placeholder is shown by `Display`, without a format: `{{{}}}`; for more use an expression: `key = …`",
            inside.split(':').next().unwrap_or_default().trim(),
        ));
    }
    let path: Vec<String> = inside
        .split('.')
        .map(|word| word.trim().trim_start_matches("r#").to_owned())
        .collect();
    let is_name = |word: &String| name(word, span).is_some();
    let is_field = |word: &String| is_name(word) || index(word).is_some();
    if !is_name(&path[0]) || !path[1..].iter().all(is_field) {
        return wrong(format!(
            "`{{{inside}}}` is neither a parameter nor a field of one: use an expression, as in `key = {inside}`"
        ));
    }
    Ok(Place { path, span })
}
