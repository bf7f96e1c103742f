//! The calls of a run: each waits for the lock, holds it, and leaves it, all in its own way.

use std::sync::Arc;
use std::time::Duration;

use super::{Run, Tally};
use crate::base::clock;
use crate::base::error::LockError;
use crate::locks::client::Client;
use crate::queue::tests::{somebody, wants};
use crate::queue::{ClientCore, Confirmed, Hold, Patience, Want};
use crate::store::RW_LOCK;
use crate::store::{Op, RandomId, Share, Signal, Ticket};
use crate::test_kit::Running;

pub(super) fn plain(share: Share, patience: Patience) -> Want {
    Want {
        patience,
        ..wants(share)
    }
}

impl Run {
    /// What a call wants.
    fn want(&self) -> Want {
        let patience = match self.below(6) {
            1 => Patience::NONE,
            2 => Patience::Queue(Some(self.millis(1, 8000))),
            3 => Patience::Poll {
                retries: 3,
                interval: Duration::from_millis(300),
                block: None,
            },
            _ => Patience::Queue(None),
        };
        let mut want = plain(self.share(), patience);
        if !self.calm && self.one_in(5) {
            want.terms.expire = Some(self.millis(50, 15_000));
        }
        if self.one_in(10) {
            want.terms.at_least = self.millis(0, 200);
        }
        want
    }

    /// One call on a host.
    pub(super) async fn call(
        self: Arc<Self>,
        host: usize,
        core: Arc<ClientCore>,
        tally: Arc<Tally>,
    ) {
        let (want, before) = (self.want(), self.seen().last_token);
        let entered = core.with_queue(&self.name, |queue| queue.enter(&want, &somebody()));
        let waits = entered.unwrap().unwrap();
        // The future need not be polled to wait. Some look late, and some never.
        match self.below(6) {
            1 => return self.pause([1, 3, 3000]).await,
            2 => self.pause([3, 3000]).await,
            _ => {}
        }
        let hold = match waits.await {
            Ok(hold) => hold,
            Err(
                LockError::Timeout { .. }
                | LockError::TooManyAttempts { .. }
                | LockError::Unavailable { .. },
            ) => return,
            Err(error) => panic!("{error:?}"),
        };
        hold.begin();
        if hold.is_valid() {
            self.obtained(host, &hold, before, &tally);
        }
        loop {
            match self.below(8) {
                0 | 1 => break,
                2 => self.renew(&hold, hold.renew()).await,
                3 if !self.calm => self.renew(&hold, hold.refresh(self.millis(10, 8000))).await,
                4 if hold.units() == RW_LOCK => self.renew(&hold, hold.downgrade(1)).await,
                _ => self.pause([3, 50, 1000]).await,
            }
        }
        self.leave(&hold).await;
        if self.one_in(3) {
            // Another caller may have the ticket of this hold by now.
            self.pause([1, 3, 50]).await;
            hold.release(false);
            assert!(hold.renew().is_none());
        }
    }

    async fn renew(&self, hold: &Hold, renewal: Option<Confirmed>) {
        if let Some(renewal) = renewal {
            let told = renewal.wait().await;
            assert!(told.is_ok() || !self.calm, "{hold:?}: {told:?}");
        }
    }

    /// Releases the hold, or unlocks it and waits for the store's answer.
    async fn leave(&self, hold: &Arc<Hold>) {
        let held = hold.is_valid();
        assert!(held || !self.calm, "lost for no reason: {hold:?}");
        let returned = held && self.one_in(5);
        if held {
            let mut seen = self.seen();
            // Durations are sent in whole milliseconds.
            let now = clock::now();
            let parked = hold.park(now).saturating_sub(Duration::from_millis(1));
            seen.kept_until = Some(now.after(parked));
            let used = hold.grant.signal.clone().filter(|_| !returned);
            seen.used.extend(used);
        }
        if returned || self.one_in(2) {
            return hold.release(returned);
        }
        match hold.unlock().wait().await {
            // Under faults the lease may end while the release is in flight.
            Ok(word) => assert!(
                word.is_some() == held || word.is_none() && !self.calm,
                "unlock says {word:?}, not {held}"
            ),
            Err(error) => assert!(!self.calm, "{error}"),
        }
    }

    /// Adds a signal.
    pub(super) fn signal(self: &Arc<Self>, client: &Client) -> Running<()> {
        let (run, core) = (self.clone(), client.core().clone());
        self.world.on(client, async move {
            let text: Arc<str> = format!("{:?}", Ticket::random()).into();
            let op = Op::Signal {
                ticket: Ticket::random(),
                signal: Signal::Token(text.clone()),
            };
            let asked = core.with_queue(&run.name, |queue| queue.query(&op));
            match asked.unwrap().wait().await {
                Ok(_) => assert!(run.seen().sent.insert(text)),
                Err(error) => assert!(!run.calm, "{error}"),
            }
        })
    }
}
