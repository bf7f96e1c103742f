//! The lock order of a namespace, as the store keeps it: the reference for `scripts/order.lua`. `docs/protocol.md` has the
//! rules.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::store::limits::{EDGES_KEPT_MS, MOST_EDGES};
use crate::store::{MemberId, Op, OrderRecord, Reply};

/// The entries, by field. The field of a claim begins with a space.
#[derive(Debug, Default)]
pub(crate) struct OrderTable(BTreeMap<Arc<str>, Entry>);

/// Times are microseconds.
#[derive(Debug)]
struct Entry {
    /// Since when the store knows the entry.
    since: u64,
    /// When the entry was last written.
    seen: u64,
    /// For an edge: where in the source both locks are taken, the process, and why the order is allowed. For a claim: the
    /// member that has it.
    text: Arc<str>,
}

impl OrderTable {
    /// Runs [`Op::Order`] of `member` at `now`.
    pub(crate) fn apply(&mut self, now: u64, member: MemberId, op: &Op) -> Reply {
        let Op::Order {
            since,
            edges,
            claims,
        } = op
        else {
            return Reply::Gone;
        };
        self.0
            .retain(|_, entry| now < entry.seen.saturating_add(EDGES_KEPT_MS * 1000));
        for (field, text) in edges.iter() {
            let entry = self.entry(now, field, text);
            (entry.seen, entry.text) = (now, text.clone());
        }
        let own: Arc<str> = member.to_string().into();
        let claim = |field| {
            let entry = self.entry(now, field, &own);
            entry.seen = now;
            entry.text == own
        };
        let claimed = claims.iter().map(claim).collect();
        self.shrink();
        let edges = self
            .0
            .iter()
            .filter(|(field, entry)| !field.starts_with(' ') && entry.since >= *since);
        let edges = edges.map(|(field, entry)| OrderRecord {
            field: field.clone(),
            since: entry.since,
            text: entry.text.clone(),
        });
        Reply::Order {
            now,
            edges: edges.collect(),
            claimed,
        }
    }

    fn entry(&mut self, now: u64, field: &Arc<str>, text: &Arc<str>) -> &mut Entry {
        self.0.entry(field.clone()).or_insert_with(|| Entry {
            since: now,
            seen: now,
            text: text.clone(),
        })
    }

    /// If there are too many entries, drops those that were not written for the longest time.
    fn shrink(&mut self) {
        let excess = self.0.len().saturating_sub(MOST_EDGES);
        if excess == 0 {
            return;
        }
        let fields = self.0.iter();
        let mut fields: Vec<_> = fields
            .map(|(field, entry)| (entry.seen, field.clone()))
            .collect();
        fields.sort_unstable();
        for (_, field) in fields.into_iter().take(excess) {
            self.0.remove(&field);
        }
    }
}

#[cfg(repository)]
#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: u64 = EDGES_KEPT_MS * 1000;

    fn op(since: u64, edges: &[&str], claims: &[&str]) -> Op {
        Op::Order {
            since,
            edges: edges
                .iter()
                .map(|field| ((*field).into(), "t".into()))
                .collect(),
            claims: claims.iter().map(|claim| (*claim).into()).collect(),
        }
    }

    fn apply(
        table: &mut OrderTable,
        now: u64,
        member: MemberId,
        op: &Op,
    ) -> (Vec<String>, Vec<bool>) {
        match table.apply(now, member, op) {
            Reply::Order { edges, claimed, .. } => {
                let fields = edges.iter().map(|edge| edge.field.to_string());
                (fields.collect(), claimed)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_member_gets_the_edges_since_its_last_request() {
        let (mut table, member) = (OrderTable::default(), MemberId::random());
        let mut fields =
            |now, since, edges: &[&str]| apply(&mut table, now, member, &op(since, edges, &[])).0;
        assert_eq!(fields(10, 0, &["a b"]), ["a b"]);
        assert_eq!(fields(20, 10, &["c d"]), ["a b", "c d"]);
        assert_eq!(fields(30, 20, &[]), ["c d"]);
        // An edge that is written again is not new.
        assert_eq!(fields(40, 30, &["a b"]), [""; 0]);
    }

    #[test]
    fn one_member_has_a_claim_however_often_it_asks() {
        let mut table = OrderTable::default();
        let [first, second] = [(); 2].map(|()| MemberId::random());
        for (member, has) in [
            (first, true),
            (second, false),
            (first, true),
            (second, false),
        ] {
            let (edges, claimed) = apply(&mut table, 10, member, &op(0, &[], &[" a b"]));
            assert_eq!((edges.len(), claimed), (0, vec![has]));
        }
    }

    #[test]
    fn entries_that_nobody_writes_again_end_after_a_week() {
        let (mut table, member) = (OrderTable::default(), MemberId::random());
        apply(&mut table, 10, member, &op(0, &["a b", "c d"], &[" a b"]));
        apply(&mut table, 20, member, &op(0, &["c d"], &[]));
        assert_eq!(
            apply(&mut table, 9 + KEPT, member, &op(0, &[], &[]))
                .0
                .len(),
            2
        );
        assert_eq!(
            apply(&mut table, 10 + KEPT, member, &op(0, &[], &[])).0,
            ["c d"]
        );
        let other = MemberId::random();
        assert_eq!(
            apply(&mut table, 10 + KEPT, other, &op(0, &[], &[" a b"])).1,
            [true]
        );
    }

    #[test]
    fn the_oldest_make_room() {
        let (mut table, member) = (OrderTable::default(), MemberId::random());
        for number in 0..=MOST_EDGES as u64 {
            let field = format!("{number} x");
            apply(&mut table, number, member, &op(u64::MAX, &[&field], &[]));
        }
        let (fields, _) = apply(&mut table, 1 << 20, member, &op(0, &[], &[]));
        assert_eq!(fields.len(), MOST_EDGES);
        assert!(!fields.contains(&"0 x".to_owned()) && fields.contains(&"1 x".to_owned()));
    }
}
