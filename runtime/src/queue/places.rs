//! How many tickets wait in the store, and for which of the local waiters each of them is.
//!
//! For a mutex that is one ticket: it waits for the first waiter, whoever that is by then. Waiters that could hold
//! together, readers for example, have one each, which goes to nobody who comes later: see [`Ask::suits`].

use std::collections::HashSet;
use std::sync::Arc;

use super::lock_queue::Transition;
use super::ticket::Ask;
use super::waiter::Waiter;

/// How many tickets wait in the store at most for waiters that could hold together. Signals are not limited: who
/// waits for one must be known to whoever signals to all.
const TOGETHER: usize = 64;

impl Transition<'_> {
    /// Sees to it that as many tickets wait in the store as waiters here could hold together, for what they want.
    pub(super) fn match_asks(&mut self) {
        if self.is_matched() {
            return;
        }
        let wanted = self.wanted();
        if wanted == 0 && self.keeps_spare() {
            return;
        }
        let owners = self.owners_behind(wanted);
        let first = self.state.waiters.iter().take(wanted).chain(&owners);
        let matching = first
            .clone()
            .zip(&self.state.asks)
            .take_while(|(waiter, ask)| ask.suits(waiter))
            .count();
        if matching == self.state.asks.len() && matching == wanted + owners.len() {
            return;
        }
        // Mostly one came or went, of many that want the same: the others go together in order.
        let others: Vec<_> = first.clone().skip(matching).cloned().collect();
        let mut served: Vec<_> = first.take(matching).cloned().collect();
        let spare = self.state.asks.split_off(matching);
        let mut spare: Vec<_> = spare.into_iter().map(Some).collect();
        let mut missing = Vec::new();
        let mut next = 0;
        for waiter in others {
            let suits = |ask: &Option<Ask>| ask.as_ref().is_some_and(|ask| ask.suits(&waiter));
            let mut order = (next..spare.len()).chain(0..next);
            let found = order.find(|&index| suits(&spare[index]));
            match found.and_then(|index| Some((index, spare[index].take()?))) {
                Some((index, ask)) => {
                    next = index + 1;
                    self.state.asks.push(ask);
                    served.push(waiter);
                }
                None => missing.push(waiter),
            }
        }
        let mut owed = Vec::new();
        for mut ask in spare.into_iter().flatten() {
            // A place that is known of is worth more than one that is only asked for.
            let mut kept = self.state.asks.iter_mut().zip(&served);
            let lesser = |(kept, waiter): &(&mut Ask, &Arc<Waiter>)| {
                ask.queued && !kept.queued && ask.suits(waiter)
            };
            if let Some((kept, _)) = kept.find(lesser) {
                std::mem::swap(kept, &mut ask);
            }
            self.withdraw(&ask.log);
            if !ask.queued {
                owed.push((ask.share, ask.owed));
            }
        }
        for waiter in missing {
            let share = &waiter.want.share;
            let owed = owed.iter().find(|owed| owed.0 == *share);
            let mut ask = self.new_ask(&waiter.want);
            ask.owed = owed.map_or(self.now, |owed| owed.1);
            self.send_ask(&mut ask, &waiter.want);
            self.state.asks.push(ask);
        }
    }

    /// Whether the only ticket waits for the first of waiters who exclude each other: mostly so.
    fn is_matched(&self) -> bool {
        let ([ask], Some(first)) = (&*self.state.asks, self.state.waiters.front()) else {
            return false;
        };
        let share = &first.want.share;
        share.units == share.capacity && !self.state.owners && ask.suits(first)
    }

    /// How many of the first waiters have a ticket in the store.
    fn wanted(&self) -> usize {
        let Some(first) = self.state.waiters.front() else {
            return 0;
        };
        let capacity = first.want.share.capacity;
        let mut room = capacity;
        let fits = |waiter: &&Arc<Waiter>| {
            let share = &waiter.want.share;
            let left = room.checked_sub(share.units);
            room = left.unwrap_or(0);
            share.capacity == capacity && (capacity == 0 || left.is_some())
        };
        let limit = if capacity == 0 { usize::MAX } else { TOGETHER };
        // What asks for more than there is gets its answer all the same.
        let together = self.state.waiters.iter().take_while(fits).take(limit);
        together.count().max(1)
    }

    /// Who waits behind the first `wanted` for what its owner may hold in another process, once for each owner: in
    /// the store it is let in, whatever its place.
    fn owners_behind(&mut self, wanted: usize) -> Vec<Arc<Waiter>> {
        if !self.state.owners {
            return Vec::new();
        }
        let owned = |waiter: &&Arc<Waiter>| !waiter.want.share.owner.is_empty();
        self.state.owners = self.state.waiters.iter().any(|waiter| owned(&waiter));
        let first = self.state.waiters.iter().take(wanted).filter(owned);
        let mut known: HashSet<_> = first.map(|waiter| &waiter.want.share.owner).collect();
        let behind = self.state.waiters.iter().skip(wanted).filter(owned);
        behind
            .filter(|waiter| known.insert(&waiter.want.share.owner))
            .cloned()
            .collect()
    }

    /// Where the waiter is that `ask`, which lies or lay at `index`, is for; or else the first one that it suits.
    pub(super) fn own_waiter(&self, index: usize, ask: &Ask) -> Option<usize> {
        let waiters = &self.state.waiters;
        match waiters.get(index) {
            Some(own) if ask.suits(own) => Some(index),
            _ => waiters.iter().position(|waiter| ask.suits(waiter)),
        }
    }

    /// Takes [`own_waiter`](Self::own_waiter) out.
    pub(super) fn take_own_waiter(&mut self, index: usize, ask: &Ask) -> Option<Arc<Waiter>> {
        let own = self.own_waiter(index, ask)?;
        self.state.waiters.remove(own)
    }

    /// Waiters that the store is known to have in its queue may rely on that.
    pub(super) fn register(&mut self) {
        let waits_for_signals = |waiter: &Arc<Waiter>| waiter.want.share.capacity == 0;
        if !self.state.waiters.front().is_some_and(waits_for_signals) {
            return;
        }
        for (waiter, ask) in self.state.waiters.iter().zip(&self.state.asks) {
            if ask.queued {
                waiter.note_registered(self.wakes);
            }
        }
    }
}
