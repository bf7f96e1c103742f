//! [`Share`]: the exchange of edges with the other clients of the namespace, through the store.
//!
//! One request at a time carries the edges that the store does not have yet, and claims the reports about circles. The
//! answer contains the edges that other clients have added since the last answer, and states which claims are the first
//! ones. So each client knows all edges that are older than its own. If several clients find the same circle, only one
//! warns.
//!
//! If the store refuses, or does not answer for some seconds, this client warns of the circles that it knows.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use super::circle;
use super::graph::{Graph, Key};
use super::record;
use super::report::{self, Report};
use crate::clock::Instant;
use crate::error::{StoreError, StoreErrorKind};
use crate::observe::ORDER;
use crate::store::{Op, Reply};
use crate::wait;

/// How many edges, and how many claims, a request carries at most.
const BATCH: usize = 64;
/// The pause after a request without an answer.
const RETRY: Duration = Duration::from_secs(2);
/// The pause after the store has refused a request.
const REFUSED: Duration = Duration::from_secs(600);
/// How long a report waits for the answer to its claim.
const CLAIM: Duration = Duration::from_secs(10);
/// The interval at which a client writes its edges again. The store forgets edges after seven such intervals.
const REFRESH: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug)]
pub(super) struct Share {
    /// Edges of this client that the store does not have, or that are to be written again.
    unsent: Vec<Key>,
    findings: Vec<Finding>,
    /// The claims that the store has answered.
    settled: HashSet<Arc<str>>,
    /// The settled claims that are to be written again.
    renewals: Vec<Arc<str>>,
    asked: Option<Asked>,
    /// No request is sent before this time.
    pause: Instant,
    /// When this client writes all its edges again.
    refresh: Instant,
    /// The next answer has all edges of the store. Edges of other clients that it lacks are forgotten.
    whole: bool,
    /// The time of the last answer, by the store's clock, in microseconds.
    until: u64,
    refused: bool,
}

/// A circle whose report is not decided yet.
#[derive(Debug)]
struct Finding {
    claim: Arc<str>,
    report: Report,
    /// When the circle is reported without an answer; `NEVER`: it was reported.
    overdue: Instant,
}

/// The request in flight.
#[derive(Debug)]
struct Asked {
    keys: Vec<Key>,
    claims: Vec<Arc<str>>,
}

impl Default for Share {
    fn default() -> Self {
        Self {
            unsent: Vec::new(),
            findings: Vec::new(),
            settled: HashSet::new(),
            renewals: Vec::new(),
            asked: None,
            pause: Instant::START,
            refresh: Instant::NEVER,
            whole: true,
            until: 0,
            refused: false,
        }
    }
}

impl Share {
    /// Adds a new edge of this client.
    pub(super) fn added(&mut self, key: Key, graph: &Graph, now: Instant) {
        self.look(&key, graph, now);
        self.unsent.push(key);
    }

    /// Looks for a circle with the edge `key`.
    fn look(&mut self, key: &Key, graph: &Graph, now: Instant) {
        let Some(circle) = circle::with(graph, key) else {
            return;
        };
        let claim = record::claim(&circle::classes(&circle));
        let known = |finding: &Finding| finding.claim == claim;
        if self.settled.contains(&claim) || self.findings.iter().any(known) {
            return;
        }
        self.findings.push(Finding {
            claim,
            report: Report {
                text: report::text(&circle, graph),
                is_one_class: circle.len() == 1,
            },
            overdue: match self.refused {
                true => now,
                false => now.after(CLAIM),
            },
        });
    }

    /// When [`request`](Self::request) or [`overdue`](Self::overdue) has something to do.
    pub(super) fn due(&self) -> Instant {
        let idle = self.unsent.is_empty() && self.findings.is_empty() && self.renewals.is_empty();
        let send = match self.asked {
            Some(_) => Instant::NEVER,
            None if idle => self.refresh,
            None => self.pause,
        };
        let overdue = self.findings.iter().map(|finding| finding.overdue);
        overdue.fold(send, Instant::min)
    }

    /// The next request, if one is due.
    pub(super) fn request(&mut self, now: Instant, graph: &Graph) -> Option<Op> {
        if self.asked.is_some() || now < self.pause {
            return None;
        }
        if self.refresh <= now {
            self.refresh = Instant::NEVER;
            self.unsent = graph.own().cloned().collect();
            self.renewals = self.settled.iter().cloned().collect();
            (self.whole, self.until) = (true, 0);
        }
        let keys: Vec<_> = self.unsent.drain(..self.unsent.len().min(BATCH)).collect();
        let findings = self.findings.iter().map(|finding| finding.claim.clone());
        let mut claims: Vec<_> = findings.take(BATCH).collect();
        let room = (BATCH - claims.len()).min(self.renewals.len());
        claims.extend(self.renewals.drain(..room));
        if keys.is_empty() && claims.is_empty() {
            return None;
        }
        let edges = keys.iter().filter_map(|key| {
            let edge = graph.get(key)?;
            Some(record::write(key, edge))
        });
        let op = Op::Order {
            since: self.until,
            edges: edges.collect(),
            claims: claims.as_slice().into(),
        };
        self.asked = Some(Asked { keys, claims });
        Some(op)
    }

    /// The reports that have waited too long for an answer.
    pub(super) fn overdue(&mut self, now: Instant) -> Vec<Report> {
        let overdue = self.findings.iter_mut();
        let overdue = overdue.filter(|finding| finding.overdue <= now);
        let told = overdue.map(|finding| {
            finding.overdue = Instant::NEVER;
            finding.report.clone()
        });
        told.collect()
    }

    /// Handles the answer to the last request. Returns the reports to log.
    pub(super) fn answered(
        &mut self,
        result: Result<Reply, StoreError>,
        now: Instant,
        graph: &mut Graph,
    ) -> Vec<Report> {
        let Some(asked) = self.asked.take() else {
            return Vec::new();
        };
        let (store_now, records, claimed) = match result {
            Ok(Reply::Order {
                now,
                edges,
                claimed,
            }) => (now, edges, claimed),
            Ok(_) => {
                let text = "the store does not know lock order";
                self.refuse(StoreError::new(StoreErrorKind::Protocol, text), now);
                self.unsent.extend(asked.keys);
                return self.overdue(now);
            }
            Err(error) => {
                self.unsent.extend(asked.keys);
                match error.is_disconnected() || error.kind() == StoreErrorKind::Busy {
                    true => self.pause = now.after(RETRY),
                    false => self.refuse(error, now),
                }
                return self.overdue(now);
            }
        };
        if std::mem::take(&mut self.whole) {
            graph.forget_others();
        }
        graph.read(&records);
        (self.until, self.refused) = (store_now, false);
        let mut told = Vec::new();
        for (claim, is_first) in asked.claims.into_iter().zip(claimed) {
            let found = self
                .findings
                .iter()
                .position(|finding| finding.claim == claim);
            if let Some(index) = found {
                let finding = self.findings.swap_remove(index);
                let waits = finding.overdue < Instant::NEVER;
                told.extend((is_first && waits).then_some(finding.report));
            }
            self.settled.insert(claim);
        }
        for key in &asked.keys {
            self.look(key, graph, now);
        }
        if self.refresh == Instant::NEVER {
            self.refresh = now.after(REFRESH);
        }
        told
    }

    /// Handles a refusal of the store for a lasting reason: this client reports its circles without the store.
    fn refuse(&mut self, error: StoreError, now: Instant) {
        self.pause = now.after(REFUSED);
        for finding in &mut self.findings {
            if finding.overdue < Instant::NEVER {
                finding.overdue = now;
            }
        }
        if !std::mem::replace(&mut self.refused, true) {
            wait::tell(move || {
                tracing::debug!(target: ORDER, %error, "the lock order is not shared with other programs");
            });
        }
    }
}

#[cfg(repository)]
#[cfg(test)]
mod tests {
    use super::super::graph::key;
    use super::super::tests::{add, graph};
    use super::*;
    use crate::store::OrderRecord;

    const NOW: Instant = Instant::START;

    fn reply(records: &[OrderRecord], claimed: &[bool]) -> Result<Reply, StoreError> {
        Ok(Reply::Order {
            now: 5,
            edges: records.to_vec(),
            claimed: claimed.to_vec(),
        })
    }

    /// The records of these edges.
    fn records(texts: &[&str]) -> Vec<OrderRecord> {
        let graph = graph(texts);
        let record = |key: &Key| {
            let (field, text) = record::write(key, graph.get(key).unwrap());
            OrderRecord {
                field,
                since: 3,
                text,
            }
        };
        graph.counted().map(record).collect()
    }

    /// The fields and the claims of a request.
    fn sent(op: Option<Op>) -> (Vec<String>, Vec<String>) {
        let Some(Op::Order { edges, claims, .. }) = op else {
            panic!("{op:?}");
        };
        let fields = edges.iter().map(|(field, _)| field.to_string());
        let claims = claims.iter().map(|claim| claim.to_string());
        (fields.collect(), claims.collect())
    }

    /// A client that has seen these edges.
    fn client(texts: &[&str]) -> (Share, Graph) {
        let (mut share, mut graph) = (Share::default(), Graph::default());
        for text in texts {
            let key = add(&mut graph, text, true);
            share.added(key, &graph, NOW);
        }
        (share, graph)
    }

    #[test]
    fn an_edge_is_sent_once_and_again_the_next_day() {
        let (mut share, mut graph) = client(&["a b"]);
        assert_eq!(share.due(), NOW);
        assert_eq!(sent(share.request(NOW, &graph)).0, ["a b"]);
        assert!(share.request(NOW, &graph).is_none());
        assert_eq!(share.due(), Instant::NEVER);
        // The answer also contains the edge of the request.
        let own = records(&["a b"]);
        assert!(share.answered(reply(&own, &[]), NOW, &mut graph).is_empty());
        let tomorrow = NOW.after(REFRESH);
        assert_eq!(share.due(), tomorrow);
        assert!(share.request(NOW.after(REFRESH / 2), &graph).is_none());
        assert_eq!(sent(share.request(tomorrow, &graph)).0, ["a b"]);
    }

    #[test]
    fn of_two_programs_that_find_a_circle_the_first_one_warns() {
        for is_first in [true, false] {
            let (mut share, mut graph) = client(&["a b"]);
            assert!(sent(share.request(NOW, &graph)).1.is_empty());
            let others = records(&["b a"]);
            assert!(
                share
                    .answered(reply(&others, &[]), NOW, &mut graph)
                    .is_empty()
            );
            let (edges, claims) = sent(share.request(NOW, &graph));
            assert_eq!((edges.len(), claims), (0, vec![" a b".to_owned()]));
            let told = share.answered(reply(&[], &[is_first]), NOW, &mut graph);
            assert_eq!(told.len(), usize::from(is_first));
            // The circle is not reported again.
            assert!(share.overdue(NOW.after(REFRESH)).is_empty());
            assert!(share.request(NOW, &graph).is_none());
        }
    }

    #[test]
    fn a_circle_within_one_program_is_claimed_with_its_edges() {
        let (mut share, graph) = client(&["a b", "b c", "c a"]);
        let (edges, claims) = sent(share.request(NOW, &graph));
        assert_eq!((edges.len(), claims), (3, vec![" a b c".to_owned()]));
    }

    #[test]
    fn a_lost_answer_is_asked_for_again() {
        let (mut share, mut graph) = client(&["a b", "b a"]);
        let first = sent(share.request(NOW, &graph));
        let lost = Err(StoreError::disconnected("gone"));
        assert!(share.answered(lost, NOW, &mut graph).is_empty());
        assert!(share.request(NOW, &graph).is_none());
        let later = NOW.after(RETRY);
        assert_eq!(share.due(), later);
        assert_eq!(sent(share.request(later, &graph)), first);
        // The store answers the second copy of a claim like the first: this client was the first one.
        let told = share.answered(reply(&[], &[true]), later, &mut graph);
        assert_eq!(told.len(), 1);
    }

    #[test]
    fn a_store_that_refuses_leaves_the_reports_to_this_client() {
        let (mut share, mut graph) = client(&["a b", "b a"]);
        share.request(NOW, &graph).unwrap();
        let full = StoreError::of_server(StoreErrorKind::Refused, "OOM", "command not allowed");
        let told = share.answered(Err(full), NOW, &mut graph);
        assert_eq!(told.len(), 1);
        assert_eq!(share.due(), NOW.after(REFUSED));
        // Later circles are reported at once.
        let key = add(&mut graph, "c c", true);
        share.added(key, &graph, NOW);
        assert_eq!(share.due(), NOW);
        let told = share.overdue(NOW);
        assert!(told.len() == 1 && told[0].is_one_class);
        // Later, the store gets all edges and claims. Its answer causes no second warning.
        let later = NOW.after(REFUSED);
        let (edges, claims) = sent(share.request(later, &graph));
        assert_eq!((edges.len(), claims.len()), (3, 2));
        assert!(
            share
                .answered(reply(&[], &[true, true]), later, &mut graph)
                .is_empty()
        );
    }

    #[test]
    fn a_store_that_does_not_answer_delays_a_report_by_seconds() {
        let (mut share, graph) = client(&["a b", "b a"]);
        share.request(NOW, &graph).unwrap();
        assert_eq!(share.due(), NOW.after(CLAIM));
        assert!(share.overdue(NOW).is_empty());
        assert_eq!(share.overdue(NOW.after(CLAIM)).len(), 1);
        assert_eq!(share.due(), Instant::NEVER);
    }

    #[test]
    fn edges_that_the_store_has_forgotten_are_forgotten_the_next_day() {
        let (mut share, mut graph) = client(&["a b"]);
        share.request(NOW, &graph).unwrap();
        share.answered(reply(&records(&["x y"]), &[]), NOW, &mut graph);
        assert_eq!(graph.len(), 2);
        let tomorrow = NOW.after(REFRESH);
        share.request(tomorrow, &graph).unwrap();
        assert!(graph.get(&key("x", "y")).is_some());
        share.answered(reply(&[], &[]), tomorrow, &mut graph);
        assert_eq!(graph.len(), 1);
    }

    #[test]
    fn many_edges_take_several_requests() {
        let texts: Vec<String> = (0..BATCH * 2 + 1).map(|n| format!("{n} x")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let (mut share, mut graph) = client(&texts);
        let mut all = HashSet::new();
        for count in [BATCH, BATCH, 1] {
            let (edges, _) = sent(share.request(NOW, &graph));
            assert_eq!(edges.len(), count);
            all.extend(edges);
            share.answered(reply(&[], &[]), NOW, &mut graph);
        }
        assert_eq!(all.len(), texts.len());
        assert!(share.request(NOW, &graph).is_none());
    }
}
