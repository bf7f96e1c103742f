//! The layer for servers built on tower: requests use the client of the layer.

use std::convert::Infallible;
use std::future::{Future, pending};
use std::pin::pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Poll, Waker};

use auto_mutex::tower::ScopeLayer;
use auto_mutex::{Client, LockError, auto_mutex};
use tower::util::BoxCloneService;
use tower::{Layer, Service, ServiceExt as _, service_fn};

use crate::support::{named_client, scoped_on};

#[auto_mutex(name = "requests")]
async fn handle(inside: impl FnOnce() + Send) -> Result<(), LockError> {
    inside();
    Ok(())
}

fn is_locked(client: &Client) -> bool {
    let mutex = client.mutex("requests");
    mutex.blocking_is_locked().expect("an answer")
}

/// The surrounding scope stands for the global client: a process has only one, for all tests.
#[test]
fn a_request_locks_with_the_client_of_the_layer() {
    let [outer, layers] = [named_client(), named_client()];
    let seen = {
        let [outer, layers] = [outer.clone(), layers.clone()];
        service_fn(move |sender: Sender<[bool; 2]>| {
            let [outer, layers] = [outer.clone(), layers.clone()];
            handle(move || {
                sender
                    .send([is_locked(&outer), is_locked(&layers)])
                    .expect("a test")
            })
        })
    };
    let ask = |service: BoxCloneService<_, _, _>| -> [bool; 2] {
        let (sender, receiver): (_, Receiver<_>) = channel();
        scoped_on(&outer, service.oneshot(sender)).expect("the lock");
        receiver.recv().expect("a body ran")
    };
    let layer = ScopeLayer::new(layers.clone());
    assert_eq!(
        ask(BoxCloneService::new(layer.layer(seen.clone()))),
        [false, true]
    );
    assert_eq!(ask(BoxCloneService::new(seen)), [true, false]);
}

/// Reports the client that is in force at each step, by its namespace.
struct Steps {
    ready: Poll<Result<(), Infallible>>,
    said: Sender<(&'static str, Option<String>)>,
}

fn in_force() -> Option<String> {
    let client = auto_mutex::client().ok()?;
    client.namespace().map(str::to_owned)
}

/// Reports when it is dropped.
struct OnDrop(Sender<(&'static str, Option<String>)>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        let _ = self.0.send(("drop", in_force()));
    }
}

impl Service<()> for Steps {
    type Response = ();
    type Error = Infallible;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<(), Infallible>>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        let _ = self.said.send(("ready", in_force()));
        self.ready
    }

    fn call(&mut self, (): ()) -> Self::Future {
        let _ = self.said.send(("call", in_force()));
        let dropped = OnDrop(self.said.clone());
        Box::pin(async move {
            let _ = dropped.0.send(("poll", in_force()));
            pending().await
        })
    }
}

#[test]
fn each_step_of_a_request_is_in_the_scope_and_readiness_is_passed_on() {
    let (said, steps) = channel();
    let config = auto_mutex::Config::new("memory://").expect("a URL");
    let client = Client::connect(config.namespace("layer")).expect("it is there");
    let mut service = ScopeLayer::new(client).layer(Steps {
        ready: Poll::Pending,
        said,
    });
    let mut cx = Context::from_waker(Waker::noop());
    assert!(service.poll_ready(&mut cx).is_pending());
    {
        let mut request = pin!(service.call(()));
        assert!(request.as_mut().poll(&mut cx).is_pending());
    }
    drop(service);
    let layer = || Some("layer".to_owned());
    let steps: Vec<_> = steps.iter().collect();
    let expected = ["ready", "call", "poll", "drop"].map(|step| (step, layer()));
    assert_eq!(steps, expected);
    assert_eq!(in_force(), None);
}
