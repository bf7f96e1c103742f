//! The edges that a thread has seen recently. For these, a nested call locks nothing and allocates nothing.

use std::cell::Cell;

const SLOTS: usize = 64;

/// A label's address and length. Labels live as long as the program. (Of two labels at the same address, one is a
/// prefix of the other.)
pub(super) type LabelId = (usize, usize);

pub(super) type Pair = (LabelId, LabelId);

thread_local! {
    /// The id 0 belongs to no client.
    static KNOWN: [Cell<(u64, Pair)>; SLOTS] =
        const { [const { Cell::new((0, ((0, 0), (0, 0)))) }; SLOTS] };
}

#[inline]
pub(super) fn label_id(text: &'static str) -> LabelId {
    (text.as_ptr().addr(), text.len())
}

#[inline]
fn index(client: u64, (before, after): Pair) -> usize {
    // An odd number without a pattern. The highest bits of a product depend on all bits of the input.
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = (before.0 as u64 ^ client).wrapping_mul(MIX).rotate_left(29) ^ after.0 as u64;
    (mixed.wrapping_mul(MIX) >> 58) as usize % SLOTS
}

#[inline]
pub(super) fn has(client: u64, pair: Pair) -> bool {
    // An ending thread still has the table, because it needs no destructor.
    KNOWN.with(|known| known[index(client, pair)].get() == (client, pair))
}

pub(super) fn put(client: u64, pair: Pair) {
    KNOWN.with(|known| known[index(client, pair)].set((client, pair)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(before: &'static str, after: &'static str) -> Pair {
        (label_id(before), label_id(after))
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
        let texts: Vec<&'static str> = (0..4 * SLOTS)
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
        assert!((1..=SLOTS).contains(&left), "{left}");
        // The edges are spread over the table.
        assert!(left > SLOTS / 2, "{left}");
    }
}
