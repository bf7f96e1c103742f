//! Counts the allocations of redis-rs for the requests of one cycle, without a lock library.

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, Value};
use tokio::runtime::Builder;

use super::{CYCLES, Heap, WARM};
use crate::Failure;

/// The number of arguments of a request, and each argument: similar to the requests of auto-mutex.
const ARGUMENTS: usize = 18;
const ARGUMENT: &str = "auto_mutex:{bench:heap}";

/// Returns the allocated blocks per cycle. A cycle calls two scripts: one in place of acquire, one in place of release.
pub(super) fn blocks(url: &str, heap: &impl Fn() -> Heap) -> Result<f64, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let client = Client::open(url)?;
    let blocks = runtime.block_on(async {
        // Nothing here measures time: the server may take its own.
        let patient = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None);
        let mut connection = client
            .get_multiplexed_async_connection_with_config(&patient)
            .await?;
        let digest: String = redis::cmd("SCRIPT")
            .arg("LOAD")
            .arg("return 'GRANTED 1234567890123456'")
            .query_async(&mut connection)
            .await?;
        cycles(&mut connection, &digest, WARM).await?;
        let before = heap().blocks;
        cycles(&mut connection, &digest, CYCLES).await?;
        Ok::<_, Failure>(heap().blocks - before)
    })?;
    Ok(blocks as f64 / CYCLES as f64)
}

async fn cycles(
    connection: &mut MultiplexedConnection,
    digest: &str,
    times: u64,
) -> Result<(), Failure> {
    for _ in 0..2 * times {
        let mut command = Cmd::with_capacity(ARGUMENTS, 64 + ARGUMENTS * ARGUMENT.len());
        command.arg("EVALSHA").arg(digest).arg(1);
        for _ in 3..ARGUMENTS {
            command.arg(ARGUMENT);
        }
        let reply: Value = connection.send_packed_command(&command).await?;
        drop(reply);
    }
    Ok(())
}
