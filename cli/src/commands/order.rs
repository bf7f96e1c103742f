//! `auto-mutex order`

use std::io::Write;

use auto_mutex::{OrderClass, OrderEdge};
use serde::Serialize;

use crate::args::{Format, Global, Order};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::json::List;
use crate::output::words::{clean, date};
use crate::output::{stdout, table};
use crate::store::look;

/// An edge of the lock order, as a document.
#[derive(Debug, Serialize)]
struct Shown<'a> {
    namespace: Option<&'a str>,
    before: Class<'a>,
    after: Class<'a>,
    host: &'a str,
    pod: Option<&'a str>,
    pid: u32,
    package: &'a str,
    since: String,
    inverted: bool,
    allowed: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Class<'a> {
    class: &'a str,
    file: &'a str,
    line: u32,
}

pub(crate) fn run(global: &Global, args: &Order) -> Outcome {
    let mut edges = look(global)?.lock_order()?;
    if args.namespace.is_some() {
        edges.retain(|edge| edge.namespace == args.namespace);
    }
    let mut out = stdout();
    match global.output.unwrap_or(Format::Table) {
        Format::Table if args.dot => draw(&mut out, &edges)?,
        Format::Table => list(&mut out, &edges)?,
        format => {
            let mut list = List::begin(&mut out, "edges", format == Format::Jsonl)?;
            edges
                .iter()
                .try_for_each(|edge| list.item(&Shown::of(edge)))?;
            list.end()?;
        }
    }
    out.flush()?;
    Ok(match edges.iter().any(|edge| edge.inverted) {
        true => Exit::Finding,
        false => Exit::Done,
    })
}

impl<'a> Shown<'a> {
    fn of(edge: &'a OrderEdge) -> Self {
        let class = |class: &'a OrderClass| Class {
            class: &class.class,
            file: &class.file,
            line: class.line,
        };
        Self {
            namespace: edge.namespace.as_deref(),
            before: class(&edge.before),
            after: class(&edge.after),
            host: &edge.program.host,
            pod: edge.program.pod.as_deref(),
            pid: edge.program.pid,
            package: &edge.program.package,
            since: date(edge.since),
            inverted: edge.inverted,
            allowed: edge.allowed.as_deref(),
        }
    }
}

fn list(out: &mut impl Write, edges: &[OrderEdge]) -> Result<(), Failure> {
    if edges.is_empty() {
        return Ok(writeln!(
            out,
            "No call has asked for a lock inside another one."
        )?);
    }
    let mut rows = table::table(&["", "HELD", "ASKED FOR", "PROGRAM", "SINCE", "ALLOWED"]);
    for edge in edges {
        let class = |class: &OrderClass| {
            let text = format!("{} ({}:{})", class.class, class.file, class.line);
            clean(&text).into_owned()
        };
        let allowed = edge.allowed.as_deref().unwrap_or_default();
        rows.add_row([
            if edge.inverted { "INVERTED" } else { "" }.to_owned(),
            class(&edge.before),
            class(&edge.after),
            clean(&edge.program.to_string()).into_owned(),
            date(edge.since),
            clean(allowed).into_owned(),
        ]);
    }
    table::write(out, &rows, "")
}

/// Writes the graph for Graphviz: a cluster for each namespace. Inverted edges are red, allowed ones dashed.
fn draw(out: &mut impl Write, edges: &[OrderEdge]) -> Result<(), Failure> {
    writeln!(out, "digraph lock_order {{")?;
    writeln!(out, "  rankdir=LR; node [shape=box];")?;
    for (number, edges) in edges
        .chunk_by(|one, next| one.namespace == next.namespace)
        .enumerate()
    {
        let namespace = edges.first().and_then(|edge| edge.namespace.as_deref());
        if let Some(namespace) = namespace {
            writeln!(out, "  subgraph cluster_{number} {{")?;
            writeln!(out, "  label={};", quoted(namespace))?;
        }
        for edge in edges {
            // The number is a part of the node, because two namespaces may have the same class.
            let node = |class: &OrderClass| quoted(&format!("{number} {}", class.class));
            for class in [&edge.before, &edge.after] {
                writeln!(out, "  {} [label={}];", node(class), quoted(&class.class))?;
            }
            let place = format!("{}:{}", edge.after.file, edge.after.line);
            let style = match (edge.inverted, &edge.allowed) {
                (true, _) => ", color=red, fontcolor=red, penwidth=2",
                (false, Some(_)) => ", style=dashed",
                (false, None) => "",
            };
            let (before, after) = (node(&edge.before), node(&edge.after));
            writeln!(
                out,
                "  {before} -> {after} [label={}{style}];",
                quoted(&place)
            )?;
        }
        if namespace.is_some() {
            writeln!(out, "  }}")?;
        }
    }
    Ok(writeln!(out, "}}")?)
}

/// Quotes a text for Graphviz.
fn quoted(text: &str) -> String {
    let text = clean(text).replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{text}\"")
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_text_of_the_graph_ends_where_it_should() {
        assert_eq!(quoted(r#"a"b\c"#), r#""a\"b\\c""#);
    }
}
