//! The options of `#[auto_mutex::test]`.

use proc_macro2::{Ident, TokenStream};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Error, Expr, Path, Result};

use super::word::{self, Word};
use super::{Count, read};
use crate::errors::Errors;

/// The options of a test.
#[derive(Default)]
pub(crate) struct TestOptions {
    given: Vec<Ident>,
    pub(crate) seeds: Option<Expr>,
    pub(crate) shrink: bool,
    /// The path of the runtime.
    pub(crate) runtime: Option<Path>,
}

impl TestOptions {
    /// Parses all options that are valid, and reports the others.
    pub(crate) fn parse(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut options = Self::default();
        read::each(tokens, errors, |input| options.option(input));
        options
    }

    fn option(&mut self, input: ParseStream) -> Result<()> {
        let missing = input.error("expected an option, as in `seeds = 100`");
        let word = input.call(Ident::parse_any).map_err(|_| missing)?;
        let text = word.to_string();
        if self.given.contains(&word) {
            return Err(Error::new(word.span(), "given twice: keep one"));
        }
        self.given.push(word.clone());
        let given = |example| Word::of(&word, &text, example);
        match &*text {
            "seeds" => {
                read::equals(&given("seeds = 100"), input)?;
                let seeds: Expr = input.parse()?;
                Count::parse(&text, 1..=u32::MAX, seeds.clone())?;
                self.seeds = Some(seeds);
            }
            "crate" => {
                let given = given("crate = ::my_crate::auto_mutex");
                read::equals(&given, input)?;
                self.runtime = Some(read::path(&given, input)?);
            }
            "shrink" => self.shrink = true,
            _ => {
                let hint = match &*text {
                    "start_paused" => Some("the clock of a test is always virtual: leave it out"),
                    "flavor" | "worker_threads" => Some("a test has one thread: leave it out"),
                    _ => None,
                };
                let names = ["seeds", "shrink", "crate"];
                return Err(word::none_of(&word, &names, &[], hint.map(str::to_owned)));
            }
        }
        Ok(())
    }
}
