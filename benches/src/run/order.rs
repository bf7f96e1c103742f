//! The order in which contenders are measured.

/// Forward in even rounds, backward in odd rounds: A B, B A, A B, … A drift of the machine then affects all contenders
/// alike, and each round makes a pair.
pub(crate) fn order<T: Copy>(contenders: &[T], round: usize) -> Vec<T> {
    let mut order = contenders.to_vec();
    if round % 2 == 1 {
        order.reverse();
    }
    order
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn rounds_alternate() {
        let rounds: Vec<_> = (0..4).flat_map(|round| order(&['A', 'B'], round)).collect();
        assert_eq!(rounds, ['A', 'B', 'B', 'A', 'A', 'B', 'B', 'A']);
    }
}
