//! [`OrderEdge`]: one order in which a program takes two locks, in its public form.

use std::fmt;
use std::time::SystemTime;

use super::circle;
use super::graph::{Edge, Graph, Key, Place};
use crate::store::Meta;

/// One order of locks: a lock of one class was asked for while a lock of another class was held. See
/// [`lock_order`](crate::lock_order).
///
/// Its `Display` output is one line with both places.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OrderEdge {
    /// The namespace of the client: see [`Config::namespace`](crate::Config::namespace).
    pub namespace: Option<String>,
    /// The lock that was held.
    pub before: OrderClass,
    /// The lock that was asked for.
    pub after: OrderClass,
    /// The program that took the locks in this order. Of several programs, the one that reported the order last; but
    /// [`Client::lock_order`](crate::Client::lock_order) prefers the program that calls it.
    pub program: OrderProgram,
    /// Since when the order is known.
    pub since: SystemTime,
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

/// A running program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OrderProgram {
    /// The host name of the program's machine: see [`Holder::host`](crate::Holder::host).
    pub host: String,
    /// The program's pod: see [`Holder::pod`](crate::Holder::pod).
    pub pod: Option<String>,
    /// The process id.
    pub pid: u32,
    /// The package of the annotated function; for handles, the name of the executable file.
    pub package: String,
}

impl Graph {
    /// All edges. Those that are part of a circle are marked.
    pub(crate) fn edges(&self, namespace: Option<&str>) -> Vec<OrderEdge> {
        let inverted = circle::inverted(self);
        let edges = self.all().map(|(key, edge)| {
            let [before, after] = edge.classes(key);
            OrderEdge {
                namespace: namespace.map(str::to_owned),
                before,
                after,
                program: edge.program(),
                since: edge.since,
                inverted: inverted.contains(key),
                allowed: edge.allowed.as_deref().map(str::to_owned),
            }
        });
        edges.collect()
    }
}

impl Edge {
    /// The two classes of the edge's key, with their places.
    pub(super) fn classes(&self, (before, after): &Key) -> [OrderClass; 2] {
        let class = |class: &str, place: &Place| OrderClass {
            class: class.to_owned(),
            file: place.file.to_string(),
            line: place.line,
        };
        [class(before, &self.before), class(after, &self.after)]
    }

    pub(super) fn program(&self) -> OrderProgram {
        let (host, pod) = Meta::host_and_pod(&self.machine);
        OrderProgram {
            host,
            pod,
            pid: self.pid,
            package: self.package.to_string(),
        }
    }
}

impl fmt::Display for OrderEdge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            before,
            after,
            program,
            ..
        } = self;
        write!(f, "{before}, then {after}, by {program}")
    }
}

impl fmt::Display for OrderClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` ({}:{})", self.class, self.file, self.line)
    }
}

impl fmt::Display for OrderProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (pid {} on {}", self.package, self.pid, self.host)?;
        if let Some(pod) = &self.pod {
            write!(f, ", pod {pod}")?;
        }
        f.write_str(")")
    }
}
