//! [`Slot`]: the hash slot of a name; and [`epoch_keys`], the keys for a node's epoch, in slots that the node serves.

use std::collections::HashMap;
use std::sync::LazyLock;

use auto_mutex_seam::store::{Address, Name};

use super::topology::Topology;
use crate::connect::epoch::EPOCH;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Slot(pub(super) u16);

impl Slot {
    pub(super) const COUNT: u16 = 16384;

    pub(super) fn of(name: &Name) -> Self {
        Self::of_tag(name.as_str())
    }

    pub(super) fn of_tag(tag: &str) -> Self {
        Self(crc16(tag.as_bytes()) % Self::COUNT)
    }

    pub(super) fn numbered(number: impl TryInto<u16>) -> Option<Self> {
        let number = number.try_into().ok()?;
        (number < Self::COUNT).then_some(Self(number))
    }
}

/// CRC-16/XMODEM.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        crc << 8 ^ TABLE[usize::from((crc >> 8) as u8 ^ byte)]
    })
}

const TABLE: [u16; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut crc = (index as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = crc << 1 ^ if crc & 0x8000 == 0 { 0 } else { 0x1021 };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
};

/// One key is not enough, because a key cannot be used while its slot migrates.
const SPARE: usize = 3;

/// All members of a cluster choose the same keys. The choice ignores the order of slot numbers, so it rarely changes
/// when a few slots move.
pub(super) fn epoch_keys(topology: &Topology, address: &Address) -> Vec<String> {
    let ranges = topology.ranges.iter().filter(|range| range.2 == *address);
    let slots = ranges.flat_map(|(first, last, _)| (first.0..=last.0).map(Slot));
    let mut slots: Vec<Slot> = slots.collect();
    slots.sort_unstable_by_key(rank);
    slots.truncate(SPARE);
    slots.into_iter().map(key).collect()
}

/// The XOR keeps slot 0 from always coming first.
fn rank(slot: &Slot) -> u16 {
    (slot.0 ^ 0x2545).wrapping_mul(40503)
}

fn key(slot: Slot) -> String {
    /// For each slot, a number whose text hashes to it.
    static TAGS: LazyLock<HashMap<Slot, u32>> = LazyLock::new(|| {
        let mut tags = HashMap::new();
        let mut numbers = 0..;
        while tags.len() < usize::from(Slot::COUNT)
            && let Some(number) = numbers.next()
        {
            tags.entry(Slot::of_tag(&number.to_string()))
                .or_insert(number);
        }
        tags
    });
    format!("{EPOCH}:{{{}}}", TAGS[&slot])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_servers() {
        // The expected slots are the output of `CLUSTER KEYSLOT`.
        assert_eq!(crc16(b"123456789"), 0x31c3);
        for (name, slot) in [("foo", 12182), ("n:a:b", 6359), ("user1000", 3443)] {
            assert_eq!(Slot::of(&Name::from_escaped(name)), Slot(slot), "{name}");
        }
    }

    #[test]
    fn there_are_so_many_and_no_more() {
        assert_eq!(Slot::numbered(16383), Some(Slot(16383)));
        for number in [16384, -1, i64::MAX] {
            assert_eq!(Slot::numbered(number), None);
        }
    }

    fn topology(ranges: &[(u16, u16, u16)]) -> Topology {
        let ranges = ranges.iter();
        Topology {
            ranges: ranges
                .map(|(first, last, port)| (Slot(*first), Slot(*last), at(*port)))
                .collect(),
            ..Topology::default()
        }
    }

    fn at(port: u16) -> Address {
        let host = "h".to_owned();
        Address::Tcp { host, port }
    }

    fn slot(key: &str) -> Slot {
        let tag = key.strip_prefix("auto_mutex:epoch:{").unwrap();
        Slot::of_tag(tag.strip_suffix('}').unwrap())
    }

    #[test]
    fn keys_are_in_slots_of_the_node() {
        let topology = topology(&[(0, 99, 1), (100, 16382, 2), (16383, 16383, 1)]);
        for (port, fits) in [(1, true), (2, false)] {
            let keys = epoch_keys(&topology, &at(port));
            assert_eq!(keys.len(), SPARE);
            for key in keys {
                let slot = slot(&key).0;
                assert_eq!(slot < 100 || slot == 16383, fits, "{slot}");
            }
        }
        assert_eq!(epoch_keys(&topology, &at(3)), [""; 0]);
    }

    #[test]
    fn they_stay_while_most_slots_stay() {
        let before = epoch_keys(&topology(&[(0, 5460, 1)]), &at(1));
        let changed = (1..100)
            .filter(|moved| epoch_keys(&topology(&[(moved * 10, 5460, 1)]), &at(1))[0] != before[0])
            .count();
        // `redis-cli` moves the slots of a node in ascending order.
        assert!(changed < 99, "each move changed the key");
    }
}
