//! A toy engine, `toy://name`: a server that is a thread of this process. `docs/engines.md` walks through it, and the
//! conformance suite runs on it.
//!
//! The server runs the rules of the locks on a `State` for each name. An engine for a database would have these rules
//! in the database's own language.

mod reader;
mod server;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use auto_mutex_seam::store::{
    Answer, Boxed, Driver, Engine, Events, Layout, MemberId, Node, NodeChange, Parsed, Reader,
    Request, Scheme, Store, StoreOptions, Unconnected, invalid, lock, not_yet, same_kind,
};
use auto_mutex_seam::{Guarantees, SetupError};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use self::server::{Job, Said, Server};

// 1. The scheme. A program that links this crate can use the URL.
inventory::submit! {
    Scheme { names: &["toy"], parse: |_, rest| parse(rest), of_several: None }
}

fn parse(name: &str) -> Parsed {
    match name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        true => Ok(Arc::new(Toy { name: name.into() })),
        false => Err(invalid("the name has only letters, digits and `-`")),
    }
}

// 2. The engine: an address, and what it can say without a connection.
#[derive(Debug)]
struct Toy {
    name: String,
}

impl Engine for Toy {
    fn scheme(&self) -> &'static str {
        "toy"
    }

    fn layout(&self) -> Layout {
        Layout::OneServer
    }

    fn servers(&self) -> String {
        self.name.clone()
    }

    fn is_same_store(&self, other: &dyn Engine) -> bool {
        same_kind::<Self>(other).is_some_and(|other| other.name == self.name)
    }

    fn unconnected(&self, _: &StoreOptions, member: MemberId) -> Unconnected {
        let (name, server) = (self.name.clone(), Mutex::new(None));
        let store = Arc::new(ToyStore { server, member });
        let driver = ToyDriver(name, store.clone(), None);
        (store, Box::new(driver))
    }

    fn reader(&self, _: &StoreOptions) -> Box<dyn Reader> {
        Box::new(reader::ToyReader(Server::named(&self.name)))
    }
}

// 3. The store: takes requests from any thread.
struct ToyStore {
    /// The connection; `None` before the first one, and after `close`.
    server: Mutex<Option<Server>>,
    member: MemberId,
}

impl Store for ToyStore {
    fn submit(&self, request: Request) -> Option<Answer> {
        // The mutex keeps the order: `close` comes after every request that was accepted.
        let server = lock(&self.server);
        let Some(server) = &*server else {
            return Some(request.unsent());
        };
        server.send(Job::Run(self.member, request));
        None
    }

    fn close(&self) {
        if let Some(server) = lock(&self.server).take() {
            // The server forgets the member once all of its requests are answered. Then the driver ends.
            server.send(Job::Leave(self.member));
        }
    }

    fn guarantees(&self) -> Guarantees {
        // The locks end with the process, as those of `memory://`.
        Guarantees::of_memory()
    }
}

// 4. The driver: connects, and reports what the server says.
struct ToyDriver(String, Arc<ToyStore>, Option<UnboundedReceiver<Said>>);

impl ToyDriver {
    fn connect(&mut self) {
        let Self(name, store, inbox) = self;
        let (outbox, new) = unbounded_channel();
        let server = Server::named(name);
        server.send(Job::Join(store.member, outbox));
        *lock(&store.server) = Some(server);
        *inbox = Some(new);
    }
}

impl Driver for ToyDriver {
    fn open(&mut self, _: Duration) -> Boxed<'_, Result<(), SetupError>> {
        Box::pin(async {
            self.connect();
            Ok(())
        })
    }

    fn run(mut self: Box<Self>, events: Arc<dyn Events>) -> Boxed<'static, ()> {
        // `Config::connect_lazily`: nobody has called `open`.
        if self.2.is_none() {
            events.node_changed(Node::ONLY, NodeChange::Disconnected(not_yet()));
            self.connect();
        }
        Box::pin(async move {
            events.node_changed(Node::ONLY, NodeChange::Connected { again: false });
            let mut inbox = self.2.take().expect("connected above");
            while let Some(said) = inbox.recv().await {
                match said {
                    Said::Answer(answer) => events.answered(answer),
                    Said::Message(name, message) => events.told(&name, message),
                }
            }
        })
    }
}
