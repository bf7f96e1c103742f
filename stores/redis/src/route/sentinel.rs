//! A single sentinel: requests to it, and its replies.

use std::convert::Infallible;
use std::time::Duration;

use auto_mutex_net::{Backoff, FIRST_PAUSE, Throttle};
use auto_mutex_seam::store::{
    Address, Granted, STORE, first, lock, random_number, tell, with_sources,
};
use redis::Cmd;
use tokio::time::{sleep, timeout};

use super::{Route, SENTINEL_SILENCE};
use crate::RedisEndpoint;
use crate::login::error::{ConnectError, accept, accepted};
use crate::login::hello;
use crate::login::renewal::Renewal;
use crate::rights::SWITCHED;
use crate::wire::{Connection, Limits, Value};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Primary {
    pub(crate) address: Address,
    /// Grows with each failover. If two sentinels differ, the one with the higher epoch is right.
    pub(super) epoch: u64,
}

impl Primary {
    pub(super) fn read(reply: &Value<'_>) -> Option<Self> {
        Some(Self {
            address: address(reply)?,
            epoch: reply.field("config-epoch")?.parse().ok()?,
        })
    }

    pub(super) fn replaces(&self, other: &Self) -> bool {
        self.epoch > other.epoch && self.address != other.address
    }
}

/// What a sentinel answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct View {
    pub(super) primary: Primary,
    /// The other sentinels; those that it considers down come last.
    pub(super) others: Vec<Address>,
    /// How many of them are up.
    pub(super) up: usize,
}

impl View {
    pub(super) fn new(primary: Primary, others: &Value<'_>) -> Self {
        let others = others.as_list().unwrap_or_default().iter();
        let is_down = |other: &&Value<'_>| {
            let flags = other.field("flags").unwrap_or_default();
            flags.contains("_down") || flags.contains("disconnected")
        };
        let (down, up): (Vec<_>, Vec<_>) = others.partition(is_down);
        Self {
            primary,
            others: up
                .iter()
                .chain(&down)
                .copied()
                .filter_map(address)
                .collect(),
            up: up.len(),
        }
    }
}

pub(super) async fn open(
    endpoint: &RedisEndpoint,
    address: &Address,
    limits: Limits,
) -> Result<(Connection, Granted), ConnectError> {
    let (login, tls) = (&endpoint.sentinel_login, endpoint.tls.as_ref());
    let (mut sentinel, granted) = hello::dial(address, login, tls, limits).await?;
    let command = hello::command(&granted);
    match hello::greet(&mut sentinel, &command, address, tls).await? {
        Value::Error(error) => return Err(hello::refusal(&error)),
        reply if reply.field("mode") == Some("sentinel") => {}
        _ => {
            return Err(ConnectError::unreachable(
                "it is a Redis server, not a sentinel",
            ));
        }
    }
    Ok((sentinel, granted))
}

async fn primary(sentinel: &mut Connection, service: &str) -> Result<Primary, ConnectError> {
    let question = sentinel_command("MASTER", service);
    match sentinel.ask(&question).await? {
        Value::Error(error) if error.details.contains("No such master") => {
            Err(ConnectError::UnknownService(service.to_owned()))
        }
        reply => Primary::read(&accept(reply)?)
            .ok_or_else(|| ConnectError::unreachable("the sentinel's answer is invalid")),
    }
}

/// A failure to list the other sentinels does not matter.
pub(super) async fn view(sentinel: &mut Connection, service: &str) -> Result<View, ConnectError> {
    let primary = primary(sentinel, service).await?;
    let question = sentinel_command("SENTINELS", service);
    Ok(View::new(primary, &sentinel.ask(&question).await?))
}

/// Cancel safe.
async fn switched(sentinel: &mut Connection) -> Result<(), ConnectError> {
    loop {
        if let Value::Push(words) = sentinel.whenever().await?
            && words.get(1).and_then(Value::as_text) == Some(SWITCHED)
        {
            return Ok(());
        }
    }
}

fn sentinel_command(subcommand: &str, service: &str) -> Cmd {
    redis::cmd("SENTINEL").arg(subcommand).arg(service).take()
}

fn address(instance: &Value<'_>) -> Option<Address> {
    Some(Address::Tcp {
        host: instance.field("ip")?.to_owned(),
        port: instance.field("port")?.parse().ok()?,
    })
}

/// After this much silence, the sentinel is asked, because it may be dead, or may have been cut off during a failover.
const QUIET: Duration = Duration::from_secs(3);
const LONGEST: Duration = Duration::from_secs(10);

/// Subscribes to any sentinel that answers, so that a connection to a former primary is closed immediately.
pub(super) async fn watch(route: &Route) {
    // The start is random, so that not all clients listen to the same sentinel.
    let mut index = random_number() as usize;
    let mut backoff = Backoff::new(FIRST_PAUSE, SENTINEL_SILENCE);
    let mut warnings = Throttle::default();
    loop {
        let all = lock(&route.all).clone();
        index = index.wrapping_add(1);
        let address = &all[index % all.len()];
        let mut heard = false;
        let Err(error) = listen(route, address, &mut heard).await;
        let address = address.to_string();
        if heard {
            backoff = Backoff::new(FIRST_PAUSE, SENTINEL_SILENCE);
            warnings = Throttle::default();
        }
        let needs_a_person = error.needs_a_person();
        let error = with_sources(&error.at(&address));
        match needs_a_person && warnings.is_new(&error) {
            true => tell(move || {
                tracing::warn!(target: STORE, error, "no connection to a sentinel, trying again");
            }),
            false => tell(move || {
                tracing::debug!(target: STORE, error, "not listening to this sentinel any more");
            }),
        }
        route.latest.send_replace(None);
        sleep(backoff.pause()).await;
    }
}

async fn listen(
    route: &Route,
    address: &Address,
    heard: &mut bool,
) -> Result<Infallible, ConnectError> {
    let endpoint = &route.endpoint;
    let limits = Limits::new(LONGEST, SENTINEL_SILENCE);
    let (mut connection, granted) = open(endpoint, address, limits).await?;
    let mut renewal = Renewal::new(&endpoint.sentinel_login, address, LONGEST, granted);
    let question = redis::cmd("SUBSCRIBE").arg(SWITCHED).get_packed_command();
    connection.send(&question).await?;
    accept(connection.next().await?)?;
    loop {
        let view = view(&mut connection, &endpoint.service).await?;
        let mut views = vec![(address.clone(), view)];
        route.take_in(&mut views);
        let Some((_, view)) = views.pop() else {
            return Err(ConnectError::unreachable(
                "this sentinel sees too few others",
            ));
        };
        *heard = true;
        route.latest.send_replace(Some(view.primary));
        let switched = async { switched(&mut connection).await.map(|()| None) };
        let due = async { Ok(Some(renewal.due().await)) };
        // A new primary, silence or due credentials have woken this task. The next iteration asks for the current
        // primary.
        if let Ok(woken) = timeout(QUIET, first(switched, due)).await
            && let Some(granted) = woken?
        {
            let auth = hello::auth(&granted);
            renewal.answered(accepted(&connection.ask(&auth).await?));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance<'a>(pairs: &[(&'a str, &'a str)]) -> Value<'a> {
        let text = |text: &'a str| Value::Text(text.as_bytes());
        let pairs = pairs.iter().flat_map(|pair| [text(pair.0), text(pair.1)]);
        Value::List(pairs.collect())
    }

    #[test]
    fn what_a_sentinel_says_is_understood() {
        let said = instance(&[
            ("name", "s"),
            ("ip", "::1"),
            ("port", "7000"),
            ("config-epoch", "3"),
        ]);
        let primary = Primary::read(&said).unwrap();
        assert_eq!(primary.address.to_string(), "[::1]:7000");
        assert_eq!(primary.epoch, 3);
        let down = instance(&[("ip", "h"), ("port", "1"), ("flags", "s_down,sentinel")]);
        let others = Value::List(vec![down, said, Value::Nil, instance(&[("ip", "h")])]);
        let view = View::new(primary.clone(), &others);
        let all: Vec<_> = view.others.iter().map(Address::to_string).collect();
        assert_eq!(
            (all, view.up),
            (vec!["[::1]:7000".to_owned(), "h:1".to_owned()], 3)
        );
    }

    #[test]
    fn everything_else_is_not() {
        let table: &[&[(&str, &str)]] = &[
            &[],
            &[("ip", "h"), ("port", "7000")],
            &[("ip", "h"), ("port", "70000"), ("config-epoch", "1")],
            &[("ip", "h"), ("port", "7000"), ("config-epoch", "-1")],
        ];
        for pairs in table {
            assert_eq!(Primary::read(&instance(pairs)), None, "{pairs:?}");
        }
        assert_eq!(Primary::read(&Value::Nil), None);
    }

    #[test]
    fn only_a_newer_word_about_another_server_replaces_it() {
        let primary = |port, epoch| Primary {
            address: Address::Tcp {
                host: "h".to_owned(),
                port,
            },
            epoch,
        };
        assert!(primary(2, 2).replaces(&primary(1, 1)));
        assert!(!primary(1, 2).replaces(&primary(1, 1)));
        assert!(!primary(2, 1).replaces(&primary(1, 1)));
        assert!(!primary(2, 1).replaces(&primary(1, 2)));
    }
}
