//! Options of a test, each with a mistake.
#[auto_mutex::test(seeds = 0)] async fn zero() {}

#[auto_mutex::test(seeds = "100", shrnk, start_paused = true, flavor = "current_thread", expire = 10)]
async fn all_at_once() {}
#[auto_mutex::test(100)] async fn number() {}
#[auto_mutex::test(seeds, crate = "locks")] async fn values() {}
#[auto_mutex::test(shrink = true, shrink, seeds = 3, seeds = 4)] async fn twice() {}
#[auto_mutex::test(runs = 5)] async fn runs() {}
