//! Expands an annotated block: which of its functions are protected, and with which options.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;

use super::function::{is_inert, protect};
use super::handlers;
use super::lead::uncalled;
use crate::args::Options;
use crate::errors::Errors;
use crate::item::{Block, Function, Header, Marks, Member, is_mark, second_mark};

/// A function of the block and its attributes.
pub(super) struct Candidate {
    pub(super) function: Function,
    pub(super) marks: Marks,
}

pub(crate) fn expand(mut block: Block, mut defaults: Options, mut errors: Errors) -> TokenStream {
    for second in block.attrs.iter().filter(|attribute| is_mark(attribute)) {
        errors.on(second, second_mark(defaults.kind));
    }
    // In `members`, functions are `Ok`, and other items are `Err`.
    let explicit = defaults.explicit.is_some();
    // A macro may expand to annotated functions.
    let mut protects = block.members.iter().any(Member::is_macro);
    let mut members = Vec::new();
    for member in std::mem::take(&mut block.members) {
        members.push(match member {
            Member::Other(other) => Err(other.expand(explicit, &mut errors)),
            Member::Function(mut function) => {
                let marks = Marks::take(&mut function, &mut errors);
                Ok(Candidate {
                    function: *function,
                    marks,
                })
            }
        });
    }
    let functions = members.iter_mut().flatten();
    let answering = handlers::answering(functions, &mut defaults, &block.header, &mut errors);

    let owner = block.header.owner();
    let has_attributes = !block.attrs.iter().all(is_inert);
    let mut expanded = TokenStream::new();
    let mut untouched = TokenStream::new();
    for member in members {
        match member {
            Err(tokens) => {
                untouched.extend(tokens.clone());
                expanded.extend(tokens);
            }
            Ok(candidate) => {
                let passed = candidate.marks.passed.clone();
                let mut plain = candidate.function.untouched();
                if let Some(options) = &candidate.marks.options {
                    plain = uncalled(plain, options);
                }
                let plain = quote!(#passed #plain);
                untouched.extend(plain.clone());
                if candidate.is_protected(&defaults, &answering) {
                    protects = true;
                    let options = candidate.options(&defaults);
                    let header = Some(&block.header);
                    let marked = candidate.marks.options.is_some();
                    let function = &candidate.function;
                    handlers::refuse_cycle(function, &options, header, marked, &mut errors);
                    let protected = protect(
                        candidate.function,
                        &options,
                        owner.as_deref(),
                        has_attributes,
                        &mut errors,
                    );
                    expanded.extend(quote!(#passed #protected));
                } else {
                    expanded.extend(plain);
                }
            }
        }
    }
    if !protects && errors.is_empty() {
        errors.at(defaults.span, nothing(&block.header, &defaults));
    }
    errors.or(block.with_members(expanded), block.with_members(untouched))
}

/// The error for a block in which no function is protected.
fn nothing(header: &Header, defaults: &Options) -> String {
    let attribute = defaults.kind.word();
    let remedy = if defaults.explicit.is_some() {
        format!("mark its functions with `#[{attribute}]`, or leave `explicit` out")
    } else if header.is_trait() {
        "a function without a body is protected where it is implemented: put the attribute there"
            .to_owned()
    } else {
        "functions that are left out, answer as handlers, or are inherited from a trait take no lock: \
         write the functions out here, or remove the attribute"
            .to_owned()
    };
    format!("this block protects nothing: {remedy}")
}

impl Candidate {
    /// Whether the function is protected only because of the attribute on the block.
    pub(super) fn is_by_default(&self, defaults: &Options) -> bool {
        defaults.explicit.is_none()
            && self.function.body.is_some()
            && self.marks.options.is_none()
            && !self.marks.left_out
    }

    fn is_protected(&self, defaults: &Options, answering: &[String]) -> bool {
        let marked = self.marks.options.is_some() && !self.marks.left_out;
        marked || self.is_by_default(defaults) && !answering.contains(&self.name())
    }

    /// The function's own options, with those of the block as defaults.
    fn options(&self, defaults: &Options) -> Options {
        match &self.marks.options {
            Some(options) => options.clone().over(defaults),
            None => Options::of(defaults.kind, defaults.span).over(defaults),
        }
    }

    pub(super) fn name(&self) -> String {
        self.function.sig.ident.unraw().to_string()
    }
}
