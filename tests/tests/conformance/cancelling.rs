//! Calls that are cancelled at random moments.

use auto_mutex_tests::seed::Seed;

use crate::prelude::*;

/// Spawns `tasks` calls in each round, and cancels half of them at some moment. A guard lives for a moment.
pub(crate) async fn at_any_moment<G: Send + 'static, F>(
    test: &str,
    rounds: u32,
    tasks: u32,
    mut call: impl FnMut(&mut Seed) -> F,
) where
    F: Future<Output = Option<G>> + Send + 'static,
{
    let mut seed = Seed::announce(test);
    for _ in 0..rounds {
        let tasks: Vec<_> = (0..tasks)
            .map(|_| {
                let call = call(&mut seed);
                tokio::spawn(async move {
                    let guard = call.await;
                    tokio::task::yield_now().await;
                    drop(guard);
                })
            })
            .collect();
        for task in &tasks {
            tokio::time::sleep(Duration::from_micros(seed.below(500))).await;
            if seed.below(2) == 0 {
                task.abort();
            }
        }
        for task in tasks {
            // A task may have been cancelled, but must not have panicked.
            if let Err(error) = soon("cancelled or in", task).await {
                assert!(error.is_cancelled(), "{error}");
            }
        }
    }
}
