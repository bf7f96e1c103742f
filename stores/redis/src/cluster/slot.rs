//! [`Slot`]: the hash slot of a name.

use auto_mutex_core::store::Name;

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
}
