//! The edges that a thread has seen recently: a small table, by the addresses of the labels.
//!
//! A nested call whose edges are in the table does nothing else: it locks nothing and allocates nothing.

use std::cell::Cell;

/// The size of the table, a power of two.
const PLACES: usize = 64;

/// A label, by its address and length. A label lives as long as the program, so no other text gets its address later.
/// (If two different labels have the same address, one is a prefix of the other, so their lengths differ.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Label {
    address: usize,
    length: usize,
}

impl Label {
    #[inline]
    pub(super) fn of(label: &'static str) -> Self {
        Self {
            address: label.as_ptr().addr(),
            length: label.len(),
        }
    }
}

/// The labels of a held lock and of a lock that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pair {
    pub(super) before: Label,
    pub(super) after: Label,
}

/// An edge of a client. No client has the id 0.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry {
    client: u64,
    pair: Pair,
}

const NONE: Entry = Entry {
    client: 0,
    pair: Pair {
        before: Label {
            address: 0,
            length: 0,
        },
        after: Label {
            address: 0,
            length: 0,
        },
    },
};

thread_local! {
    static KNOWN: [Cell<Entry>; PLACES] = const { [const { Cell::new(NONE) }; PLACES] };
}

/// The place of an entry in the table.
#[inline]
fn index(client: u64, pair: Pair) -> usize {
    // Multiplies by an odd number without a pattern, so that the highest bits depend on all bits of the input.
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let (before, after) = (pair.before.address as u64, pair.after.address as u64);
    let mixed = (before ^ client).wrapping_mul(MIX).rotate_left(29) ^ after;
    (mixed.wrapping_mul(MIX) >> 58) as usize % PLACES
}

/// Whether this thread has seen the edge recently.
#[inline]
pub(super) fn has(client: u64, pair: Pair) -> bool {
    let place = index(client, pair);
    // A thread that is ending still has the table, because the table needs no destructor.
    KNOWN.with(|known| known[place].get() == Entry { client, pair })
}

/// Remembers an edge of `client`, which may replace another edge.
pub(super) fn put(client: u64, pair: Pair) {
    let place = index(client, pair);
    KNOWN.with(|known| known[place].set(Entry { client, pair }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(before: &'static str, after: &'static str) -> Pair {
        Pair {
            before: Label::of(before),
            after: Label::of(after),
        }
    }

    #[test]
    fn an_edge_is_known_in_one_direction_to_one_client() {
        let (there, back) = (pair("a", "b"), pair("b", "a"));
        assert!(!has(1, there));
        put(1, there);
        assert!(has(1, there));
        assert!(!has(1, back));
        assert!(!has(2, there));
        let other = std::thread::spawn(move || has(1, there)).join();
        assert!(!other.unwrap());
    }

    #[test]
    fn the_beginning_of_a_label_is_another_label() {
        let (text, other) = ("orders", "stock");
        put(1, pair(text, other));
        assert!(has(1, pair(text, other)));
        assert!(!has(1, pair(&text[..3], other)));
    }

    #[test]
    fn more_edges_than_places_replace_each_other() {
        let texts: Vec<&'static str> = (0..4 * PLACES)
            .map(|number| &*number.to_string().leak())
            .collect();
        // Equal literals may have different addresses, so all pairs use this variable.
        let last = "last";
        for text in &texts {
            put(1, pair(text, last));
            assert!(has(1, pair(text, last)));
        }
        let left = texts.iter().filter(|text| has(1, pair(text, last)));
        let left = left.count();
        assert!((1..=PLACES).contains(&left), "{left}");
        // The edges are spread over the table.
        assert!(left > PLACES / 2, "{left}");
    }
}
