//! Subscribes to any sentinel that answers, so that a connection to a former primary ends at once, not only when that
//! server refuses a command.

use std::convert::Infallible;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use uuid::Uuid;

use super::super::connect::backoff::Backoff;
use super::super::connect::error::ConnectError;
use super::sentinel;
use super::sentinels::{SENTINEL_SILENCE, Sentinels};
use crate::config::Address;
use crate::wait;
use crate::wire::Limits;

/// After so long a silence, the sentinel is asked: it may be gone, or it was cut off during a failover.
const QUIET: Duration = Duration::from_secs(3);
/// How long the handshake with a sentinel may take.
const LONGEST: Duration = Duration::from_secs(10);

/// Watches the sentinels, one after the other.
pub(super) async fn run(sentinels: &Sentinels) {
    // Clients should not all listen to the first one.
    let mut index = Uuid::new_v4().as_u128() as usize;
    let mut backoff = Backoff::new();
    loop {
        let all = sentinels.all();
        index = index.wrapping_add(1);
        let address = &all[index % all.len()];
        let mut heard = false;
        let Err(error) = listen(sentinels, address, &mut heard).await;
        let address = address.to_string();
        wait::tell(move || {
            tracing::debug!(%address, ?error, "not listening to this sentinel any more");
        });
        sentinels.told(None);
        if heard {
            backoff = Backoff::new();
        }
        sleep(backoff.next()).await;
    }
}

/// Watches one sentinel until it is lost; `heard`: it has named the primary.
async fn listen(
    sentinels: &Sentinels,
    address: &Address,
    heard: &mut bool,
) -> Result<Infallible, ConnectError> {
    let endpoint = &sentinels.endpoint;
    let limits = Limits::new(LONGEST, SENTINEL_SILENCE);
    let tls = endpoint.access.tls.as_ref();
    let mut connection = sentinel::open(address, &endpoint.login, tls, limits).await?;
    sentinel::subscribe(&mut connection).await?;
    loop {
        let primary = sentinel::primary(&mut connection, &endpoint.service).await?;
        let Some(primary) = primary else {
            return Err(ConnectError::UnknownService(endpoint.service.clone()));
        };
        *heard = true;
        sentinels.told(Some(primary));
        // Asks for the current primary, whether the sentinel announced a new one or was silent for too long.
        if let Ok(told) = timeout(QUIET, sentinel::switched(&mut connection)).await {
            told?;
        }
    }
}
