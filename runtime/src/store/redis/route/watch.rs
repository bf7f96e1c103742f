//! Listening to a sentinel, to whichever answers: so that a connection to a former primary ends at once, and not only when it
//! refuses something.

use std::time::Duration;

use tokio::time::{sleep, timeout};
use uuid::Uuid;

use super::super::backoff::Backoff;
use super::super::refusal::Refusal;
use super::super::wire::Limits;
use super::question::Sentinel;
use super::sentinels::{SILENCE, Sentinels};
use crate::config::Address;
use crate::wait;

/// A sentinel that has told nothing for so long is asked: it may be gone, or have been cut off when it happened.
const QUIET: Duration = Duration::from_secs(3);
/// How long a handshake with one may take.
const LONGEST: Duration = Duration::from_secs(10);

/// Listens to one after the other.
pub(super) async fn run(sentinels: &Sentinels) {
    // Clients should not all listen to the first one.
    let mut index = Uuid::new_v4().as_u128() as usize;
    let mut backoff = Backoff::new();
    loop {
        let all = sentinels.all();
        index = index.wrapping_add(1);
        let address = &all[index % all.len()];
        let mut heard = false;
        let Err(refusal) = listen(sentinels, address, &mut heard).await;
        let address = address.to_string();
        wait::tell(move || {
            tracing::debug!(%address, ?refusal, "not listening to this sentinel any more");
        });
        sentinels.told(None);
        if heard {
            backoff = Backoff::new();
        }
        sleep(backoff.next()).await;
    }
}

enum Never {}

/// Listens until it is lost; `heard`: it has told something.
async fn listen(
    sentinels: &Sentinels,
    address: &Address,
    heard: &mut bool,
) -> Result<Never, Refusal> {
    let endpoint = &sentinels.endpoint;
    let limits = Limits::new(LONGEST, SILENCE);
    let tls = endpoint.access.tls.as_ref();
    let mut sentinel = Sentinel::open(address, &endpoint.login, tls, limits).await?;
    sentinel.subscribe().await?;
    loop {
        let primary = sentinel.primary(&endpoint.service).await?;
        let Some(primary) = primary else {
            return Err(Refusal::UnknownService(endpoint.service.clone()));
        };
        *heard = true;
        sentinels.told(Some(primary));
        // In either case it is asked what it knows by now.
        if let Ok(told) = timeout(QUIET, sentinel.switched()).await {
            told?;
        }
    }
}
