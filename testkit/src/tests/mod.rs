//! The tests of the kit itself, and those that are part of the locks' tests, which have the files of the kit as a
//! module.

#[cfg(not(own_tests))]
mod in_core;
#[cfg(own_tests)]
mod own;
