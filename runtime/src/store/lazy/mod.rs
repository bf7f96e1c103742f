//! [`LazyStore`]: a store that is opened in the background, with retries until that succeeds
//! (`Config::connect_lazily`).
//!
//! `store/open.rs` opens the store, with the same checks as at set-up, so this file depends on no kind of store. (A store
//! in this process is never opened lazily, because it lends names.) Until the store is open, every request except a
//! release fails as it does while a connection is lost. The queues send the request again once there is a connection.
//! `pace.rs`: how long an attempt may take, and when the next one follows.

mod pace;

use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;

use self::pace::Pace;
use super::open::{Opened, Opening};
use super::redis::jittered;
use super::{
    Answer, Events, GrantBlock, LinkState, MemberId, Message, Node, Op, Reply, Request,
    ServerState, Store,
};
use crate::clock::Instant;
use crate::config::Settings;
use crate::error::{SetupError, StoreError, with_sources};
use crate::guarantees::Guarantees;
use crate::name::Name;
use crate::sync::Mutex;
use crate::wait::{self, first, lock};

/// The node of all names before the store is open. No store has this many nodes.
const PENDING: Node = Node(u32::MAX - 1);
/// How often the same failure is logged again.
const AGAIN: Duration = Duration::from_secs(60);

/// A member's access to a store that may not be open yet.
pub(crate) struct LazyStore {
    /// The servers, as in the URL.
    servers: String,
    opened: OnceLock<Arc<dyn Store>>,
    /// Whether `close` was called. Locked during `close` and while `opened` is being set.
    closed: Mutex<bool>,
    closing: Notify,
}

/// Opens the store, then runs it.
pub(crate) struct LazyDriver {
    store: Arc<LazyStore>,
    settings: Settings,
    member: MemberId,
}

/// A store that is not open yet. Its driver opens it.
pub(super) fn open(settings: &Settings, member: MemberId) -> (Arc<LazyStore>, LazyDriver) {
    let store = Arc::new(LazyStore {
        servers: settings.endpoint.servers(),
        opened: OnceLock::new(),
        closed: Mutex::new(false),
        closing: Notify::new(),
    });
    let driver = LazyDriver {
        store: store.clone(),
        settings: settings.clone(),
        member,
    };
    (store, driver)
}

impl LazyStore {
    /// From now on, requests are submitted to `opened`. `false`: `close` was called before.
    fn install(&self, opened: &Arc<dyn Store>) -> bool {
        let closed = lock(&self.closed);
        !*closed && self.opened.set(opened.clone()).is_ok()
    }

    /// The output of `future`; `None` if `close` is called first.
    async fn unless_closed<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        let closing = async {
            self.closing.notified().await;
            None
        };
        first(closing, async { Some(future.await) }).await
    }
}

impl LazyDriver {
    /// Reports at once that the store is not connected. The future runs until `close` is called.
    pub(crate) fn run(self, events: Arc<dyn Events>) -> impl Future<Output = ()> {
        let not_yet = StoreError::disconnected("the lock store is not connected yet");
        events.disconnected(PENDING, not_yet);
        self.drive(events)
    }

    async fn drive(self, events: Arc<dyn Events>) {
        let opening = self.open(&*events);
        let Some(opened) = self.store.unless_closed(opening).await else {
            return;
        };
        if !self.store.install(opened.store()) {
            return;
        }
        let (servers, guarantees) = (self.store.servers.clone(), opened.store().guarantees());
        wait::tell(move || {
            tracing::info!(address = servers, "the lock store is connected");
            guarantees.warn();
        });
        events.gone(PENDING);
        opened.run(Arc::new(Later(events))).await;
    }

    /// Tries until the store is open.
    async fn open(&self, events: &dyn Events) -> Opened {
        let mut opening = Opening::new(&self.settings, self.member);
        let mut pace = Pace::new(self.settings.connect_timeout);
        let mut told = Told::default();
        loop {
            let began = Instant::now();
            let error = match opening.attempt(pace.limit()).await {
                Ok(opened) => return opened,
                Err(error) => error,
            };
            let now = Instant::now();
            let text = with_sources(&error);
            told.failed(&error, &text, now);
            events.still_disconnected(PENDING, StoreError::disconnected(text));
            sleep(jittered(pace.pause(&error, began.until(now)))).await;
        }
    }
}

/// The failures that were logged.
#[derive(Default)]
struct Told {
    text: String,
    again: Option<Instant>,
}

impl Told {
    /// Logs a failure that is new, or was last logged a minute ago.
    fn failed(&mut self, error: &SetupError, text: &str, now: Instant) {
        if self.text == text && self.again.is_some_and(|again| now < again) {
            return;
        }
        text.clone_into(&mut self.text);
        self.again = Some(now.after(AGAIN));
        let (error, is_transient) = (text.to_owned(), error.is_transient());
        wait::tell(move || match is_transient {
            true => tracing::warn!(
                error,
                "the lock store cannot be reached yet; until it is, calls fail with `Unavailable`"
            ),
            false => tracing::error!(
                error,
                "the lock store cannot be used; trying again; until this succeeds, calls fail with `Unavailable`"
            ),
        });
    }
}

impl Store for LazyStore {
    fn submit(&self, request: Request) -> Option<Answer> {
        if let Some(opened) = self.opened.get() {
            return opened.submit(request);
        }
        // No server knows the ticket: nothing was sent yet.
        let result = match request.op {
            Op::Release { .. } => Ok(Reply::Gone),
            _ => Err(StoreError::disconnected(
                "the lock store is not connected yet",
            )),
        };
        Some(Answer { request, result })
    }

    fn flush(&self) {
        if let Some(opened) = self.opened.get() {
            opened.flush();
        }
    }

    fn close(&self) {
        let mut closed = lock(&self.closed);
        *closed = true;
        if let Some(opened) = self.opened.get() {
            opened.close();
        }
        drop(closed);
        self.closing.notify_one();
    }

    fn guarantees(&self) -> Guarantees {
        let opened = self.opened.get();
        opened.map_or_else(Guarantees::unknown, |opened| opened.guarantees())
    }

    fn node(&self, name: &Name) -> Node {
        self.opened
            .get()
            .map_or(PENDING, |opened| opened.node(name))
    }

    fn servers(&self, link: &dyn Fn(Node) -> LinkState) -> Vec<ServerState> {
        match self.opened.get() {
            Some(opened) => opened.servers(link),
            None => vec![link(PENDING).of(self.servers.clone())],
        }
    }

    fn pings(&self) -> Vec<Name> {
        let opened = self.opened.get();
        opened.map_or_else(|| vec![super::ping(0)], |opened| opened.pings())
    }
}

/// Passes on the events of the opened store. Its first connections are reported as reconnections, because earlier
/// requests have failed and must be sent again.
struct Later(Arc<dyn Events>);

impl Events for Later {
    fn answered(&self, answer: Answer) {
        self.0.answered(answer);
    }

    fn told(&self, name: &Name, message: Message) {
        self.0.told(name, message);
    }

    fn connected(&self, node: Node, _: bool) {
        self.0.connected(node, true);
    }

    fn disconnected(&self, node: Node, error: StoreError) {
        self.0.disconnected(node, error);
    }

    fn closed(&self, node: Node, closing: Option<GrantBlock>) {
        self.0.closed(node, closing);
    }

    fn still_disconnected(&self, node: Node, error: StoreError) {
        self.0.still_disconnected(node, error);
    }

    fn gone(&self, node: Node) {
        self.0.gone(node);
    }
}
