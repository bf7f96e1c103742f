//! Where at a belt somebody stands.

use super::Kind;
use crate::belt;

/// The belt and its end.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) belt: String,
    pub(super) bound: u32,
    /// It puts items; else it takes them.
    pub(super) puts: bool,
}

impl Place {
    /// At one belt for all, every other one puts. With partners, whoever comes first puts, and waits for one who comes
    /// much later, mostly of another process: if a notification is lost on the way between two, they wait for ever.
    pub(super) fn find(kind: Kind, name: &str, number: u64, witness: u16) -> Self {
        match kind {
            Kind::Partners { pairs } => {
                let seat = belt::seat(witness);
                Self {
                    belt: format!("{name}{}", seat % pairs),
                    bound: 1,
                    puts: seat < pairs,
                }
            }
            Kind::HandOver { bound } => Self {
                belt: name.to_owned(),
                bound,
                puts: number.is_multiple_of(2),
            },
            other => panic!("no belt in {other:?}"),
        }
    }
}
