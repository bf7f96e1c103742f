//! The dashboard and the alerts in `docs/` use only metrics and labels that are exported.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use auto_mutex::{Metric, MetricKind};
use serde_json::Value;

fn document(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    fs::read_to_string(root.join("docs").join(name)).unwrap()
}

/// Returns a metric's names in Prometheus: dots become underscores, and units and totals become suffixes.
fn names(metric: Metric) -> Vec<String> {
    let name = metric.name().replace('.', "_");
    match metric.kind() {
        MetricKind::Histogram => ["bucket", "sum", "count"]
            .map(|part| format!("{name}_seconds_{part}"))
            .to_vec(),
        MetricKind::Counter => vec![format!("{name}_total")],
        _ => vec![name],
    }
}

/// The words of an expression: names, functions, labels.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != ':')
        .filter(|word| !word.is_empty())
}

/// Returns the labels that an expression compares (`name="…"`), each with its value.
fn compared(expression: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    for selector in expression.split('{').skip(1) {
        let (selector, _) = selector.split_once('}').expect("a brace that closes");
        for condition in selector.split(',').filter(|it| !it.trim().is_empty()) {
            let (label, value) = condition.split_once(['=', '~']).expect("a comparison");
            let value = value.trim_start_matches('~').trim().trim_matches('"');
            found.push((label.trim().trim_end_matches('!'), value));
        }
    }
    found
}

/// The labels that an expression groups by.
fn grouped(expression: &str) -> Vec<&str> {
    let groups = expression.split(" by (").skip(1);
    let lists = groups.map(|rest| rest.split(')').next().unwrap_or_default());
    lists
        .flat_map(|list| list.split(',').map(str::trim))
        .collect()
}

fn check(expressions: &[String]) -> BTreeSet<String> {
    let known: BTreeSet<String> = Metric::ALL.iter().copied().flat_map(names).collect();
    // Labels that Prometheus adds, and the boundaries of a histogram.
    let mut labels: BTreeSet<String> = ["job", "instance", "le"].map(str::to_owned).into();
    for metric in Metric::ALL {
        labels.extend(metric.labels().iter().map(|label| label.replace('.', "_")));
    }
    let values = include_str!("../../../stores/seam/src/observer/metric.rs");
    let mut used = BTreeSet::new();
    for expression in expressions {
        for (open, close) in [('(', ')'), ('{', '}'), ('[', ']')] {
            let count = |c| expression.matches(c).count();
            assert_eq!(count(open), count(close), "{expression}");
        }
        let ours: Vec<_> = words(expression)
            .filter(|word| word.starts_with("auto_mutex"))
            .collect();
        assert!(!ours.is_empty(), "{expression}");
        for name in ours {
            assert!(known.contains(name), "{name} is not exported: {expression}");
            used.insert(name.to_owned());
        }
        for (label, value) in compared(expression) {
            assert!(labels.contains(label), "{label} is no label: {expression}");
            let is_constant = |value: &&str| !value.starts_with('$') && !value.contains(".*");
            for value in value.split('|').filter(is_constant) {
                let documented = values.contains(&format!("`{value}`"));
                assert!(documented, "{label} is never {value}: {expression}");
            }
        }
        for label in grouped(expression) {
            assert!(labels.contains(label), "{label} is no label: {expression}");
        }
    }
    used
}

fn collect(value: &Value, key: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                match value {
                    Value::String(text) if name == key => found.push(text.clone()),
                    value => collect(value, key, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, key, found)),
        _ => {}
    }
}

#[test]
fn the_dashboard_shows_every_metric_and_asks_for_no_other() {
    let dashboard: Value = serde_json::from_str(&document("dashboard.json")).unwrap();
    let mut expressions = Vec::new();
    collect(&dashboard, "expr", &mut expressions);
    assert!(expressions.len() >= 10, "{expressions:?}");
    let used = check(&expressions);
    for metric in Metric::ALL {
        let shown = names(*metric).iter().any(|name| used.contains(name));
        assert!(shown, "{metric:?} is not on the dashboard");
    }
    // A legend may name only labels that its expression groups by.
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let expression = target["expr"].as_str().unwrap();
            let legend = target["legendFormat"].as_str().unwrap_or_default();
            for label in legend.split("{{").skip(1) {
                let label = label.split("}}").next().unwrap().trim();
                assert!(
                    grouped(expression).contains(&label),
                    "{label}: {expression}"
                );
            }
        }
    }
}

#[test]
fn the_alerts_ask_for_nothing_but_what_is_exported() {
    let alerts = document("alerts.yml");
    let expressions: Vec<String> = alerts
        .lines()
        .filter_map(|line| line.trim().strip_prefix("expr: "))
        .map(str::to_owned)
        .collect();
    assert!(expressions.len() >= 5, "{expressions:?}");
    check(&expressions);
    let count = |word: &str| alerts.lines().filter(|line| line.contains(word)).count();
    for each in [
        "- alert: ",
        " for: ",
        "severity: ",
        "summary: ",
        "description: ",
    ] {
        assert_eq!(count(each), expressions.len(), "{each}");
    }
}
