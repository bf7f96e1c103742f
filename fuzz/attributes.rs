//! The source files of `macros`, included as modules, because only a compiler can call the attributes themselves.

extern crate proc_macro;

#[path = "../macros/src/args/mod.rs"]
mod args;
#[path = "../macros/src/errors.rs"]
mod errors;
#[path = "../macros/src/expand/mod.rs"]
mod expand;
#[path = "../macros/src/flavor/mod.rs"]
mod flavor;
#[path = "../macros/src/fuzzing.rs"]
mod fuzzing;
#[path = "../macros/src/item/mod.rs"]
mod item;
#[path = "../macros/src/kind.rs"]
mod kind;
#[path = "../macros/src/params.rs"]
mod params;
#[path = "../macros/src/source.rs"]
mod source;
#[path = "../macros/src/suggest.rs"]
mod suggest;
#[path = "../macros/src/tokens.rs"]
mod tokens;

pub fn attributes(bytes: &[u8]) {
    fuzzing::attributes(bytes);
}

pub fn templates(bytes: &[u8]) {
    fuzzing::templates(bytes);
}

/// Files of the corpus have many inputs, each followed by this byte: there are fewer files then.
const SEPARATOR: u8 = 0x1c;

pub fn each(bytes: &[u8], target: fn(&[u8])) {
    bytes.split(|byte| *byte == SEPARATOR).for_each(target);
}
