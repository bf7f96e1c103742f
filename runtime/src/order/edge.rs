//! [`OrderEdge`]: one order in which this process takes two locks.

use std::fmt;

/// One order of locks: a lock of one class was asked for while a lock of another class was held. See
/// [`lock_order`](crate::lock_order).
///
/// Its `Display` output is one line with both places.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OrderEdge {
    /// The lock that was held.
    pub before: OrderClass,
    /// The lock that was asked for.
    pub after: OrderClass,
    /// Whether the order contradicts other orders: it is part of a circle, so calls in these orders may wait for each
    /// other for ever. Also true if the two classes are the same.
    pub inverted: bool,
    /// Why the order is intended: the text of the option `order`, or `Config::allow_order`. Such an order contradicts
    /// no other.
    pub allowed: Option<String>,
}

/// A class of locks, and a place that takes one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OrderClass {
    /// The template of the names, as [`Site::name`](crate::Site::name) returns it; or the `metrics_label` of a handle.
    pub class: String,
    /// The file, as it was given to the compiler.
    pub file: String,
    /// The line of the function's name, or the line where the handle was made.
    pub line: u32,
}

impl fmt::Display for OrderEdge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, then {}", self.before, self.after)
    }
}

impl fmt::Display for OrderClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` ({}:{})", self.class, self.file, self.line)
    }
}
