//! The layer for servers built on tower: requests use the client of the layer.

use std::convert::Infallible;
use std::future::{Future, pending};
use std::pin::pin;
use std::sync::mpsc::{Sender, channel};
use std::task::{Context, Poll, Waker};

use auto_mutex::Client;
use auto_mutex::tower::ScopeLayer;
use tower::{Layer, Service};

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
