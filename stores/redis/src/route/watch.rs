//! Subscribes to any sentinel that answers, so that a connection to a former primary is closed immediately.

use std::convert::Infallible;
use std::time::Duration;

use auto_mutex_core::store::{
    Address, Backoff, Throttle, first, lock, random_number, tell, with_sources,
};
use tokio::time::{sleep, timeout};

use super::sentinel;
use super::{Route, SENTINEL_SILENCE};
use crate::login::FIRST_PAUSE;
use crate::login::error::{ConnectError, accepted};
use crate::login::hello;
use crate::login::renewal::Renewal;
use crate::wire::Limits;

/// After this much silence, the sentinel is asked, because it may be dead, or may have been cut off during a failover.
const QUIET: Duration = Duration::from_secs(3);
const LONGEST: Duration = Duration::from_secs(10);

pub(super) async fn run(route: &Route) {
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
                tracing::warn!(error, "no connection to a sentinel, trying again");
            }),
            false => tell(move || {
                tracing::debug!(error, "not listening to this sentinel any more");
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
    let (mut connection, granted) = sentinel::open(endpoint, address, limits).await?;
    let mut renewal = Renewal::new(&endpoint.sentinel_login, address, LONGEST, granted);
    sentinel::subscribe(&mut connection).await?;
    loop {
        let view = sentinel::view(&mut connection, &endpoint.service).await?;
        let mut views = vec![(address.clone(), view)];
        route.take_in(&mut views);
        let Some((_, view)) = views.pop() else {
            return Err(ConnectError::unreachable(
                "this sentinel sees too few others",
            ));
        };
        *heard = true;
        route.latest.send_replace(Some(view.primary));
        let switched = async { sentinel::switched(&mut connection).await.map(|()| None) };
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
