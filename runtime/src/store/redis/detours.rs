//! [`Detours`]: which names the short way was of no use to of late.

use std::collections::HashMap;

use super::command::Way;
use crate::name::Name;
use crate::store::Request;

/// How many requests of a name take the long way at once, after one that had to.
const LONG: u32 = 32;
/// Of how many names this is remembered. A wrong guess costs a round trip and nothing else.
const NAMES: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct Detours(HashMap<Name, u32>);

impl Detours {
    /// How to write a request.
    pub(super) fn way(&mut self, request: &Request) -> Way {
        if !self.0.is_empty()
            && let Some(left) = self.0.get_mut(&request.name)
        {
            *left -= 1;
            if *left == 0 {
                self.0.remove(&request.name);
            }
            return Way::Long;
        }
        Way::of(&request.op)
    }

    /// The short way did not do.
    pub(super) fn note(&mut self, request: &Request) {
        if self.0.len() >= NAMES {
            self.0.clear();
        }
        self.0.insert(request.name.clone(), LONG);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Op, RequestId, Ticket};
    use std::time::Duration;

    fn release(name: &str) -> Request {
        Request {
            id: RequestId(1),
            name: Name::from_escaped(name),
            op: Op::Release {
                ticket: Ticket::random(),
                park: Duration::ZERO,
                tomb: false,
                used: 0,
            },
        }
    }

    #[test]
    fn a_name_takes_the_long_way_for_a_while() {
        let mut detours = Detours::default();
        let [first, other] = [release("first"), release("other")];
        assert_eq!(detours.way(&first), Way::Short);
        detours.note(&first);
        for _ in 0..LONG {
            assert_eq!(detours.way(&first), Way::Long);
            assert_eq!(detours.way(&other), Way::Short);
        }
        assert_eq!(detours.way(&first), Way::Short);
    }

    #[test]
    fn it_is_remembered_of_so_many_names_and_no_more() {
        let mut detours = Detours::default();
        for index in 0..10 * NAMES {
            detours.note(&release(&format!("name{index}")));
            assert!(detours.0.len() <= NAMES);
        }
    }
}
