//! The attributes at work: one file per topic, on `memory://`. Tests with several members also run on Redis.

#[path = "attribute/answering.rs"]
mod answering;
#[path = "attribute/async_traits.rs"]
mod async_traits;
#[path = "attribute/blocks.rs"]
mod blocks;
#[path = "attribute/bodies.rs"]
mod bodies;
#[path = "attribute/current.rs"]
mod current;
#[path = "attribute/executors.rs"]
mod executors;
#[path = "attribute/futures.rs"]
mod futures_returned;
#[path = "attribute/handlers.rs"]
mod handlers;
#[path = "attribute/hidden.rs"]
mod hidden;
#[path = "attribute/instrumented.rs"]
mod instrumented;
#[path = "attribute/keys.rs"]
mod keys;
#[path = "attribute/kinds.rs"]
mod kinds;
#[path = "attribute/leader.rs"]
mod leader;
#[path = "attribute/lints.rs"]
mod lints;
#[path = "attribute/lock_order.rs"]
mod lock_order;
#[path = "attribute/loss.rs"]
mod loss;
#[path = "attribute/mixed.rs"]
mod mixed;
#[path = "attribute/names.rs"]
mod names;
#[path = "attribute/options.rs"]
mod options;
#[path = "attribute/owners.rs"]
mod owners;
#[path = "attribute/readers.rs"]
mod readers;
#[path = "attribute/reentrant.rs"]
mod reentrant;
#[path = "attribute/reentry.rs"]
mod reentry;
#[path = "attribute/semaphores.rs"]
mod semaphores;
#[path = "attribute/several.rs"]
mod several;
#[path = "attribute/sizes.rs"]
mod sizes;
#[path = "attribute/support.rs"]
mod support;
#[path = "attribute/tower.rs"]
mod tower_layer;
#[path = "attribute/was.rs"]
mod was;

auto_mutex_tests::conformance! {
    on redis, world;
    leader:
        the_next_one_leads_after_the_end,
        #[needs(order)]
        who_resigns_leads_again_after_the_others,
        a_lost_term_ends_the_body_and_not_the_call;
    owners:
        tasks_of_an_owner_share_the_lock,
        other_owners_and_other_members_wait;
    readers:
        readers_are_inside_together,
        a_writer_is_alone,
        a_handle_takes_the_same_lock;
    semaphores:
        as_many_as_permits_are_inside,
        a_handle_shares_the_permits,
        a_name_of_other_permits_is_refused,
        #[needs(signals)]
        a_body_that_panics_gives_a_token_back;
    several:
        transfers_in_both_directions_all_end,
        all_of_them_are_held_or_none,
        the_loss_of_one_ends_the_body;
    was:
        both_versions_exclude_each_other,
        both_names_are_held_with_the_key,
        a_process_of_the_former_names_excludes_a_new_one;
}
