//! The reports of the library about its locks: metrics, spans, warnings, and the records of holders and waiters.
//!
//! What the core reports is the same on every store. The metrics come from an observer of the tests, or from the
//! exporters that users have. The spans come from a subscriber of the tests.

mod counts;
mod dashboards;
mod exporters;
mod records;
mod seen;
mod series;
mod spans;
mod targets;
mod tree;
mod warnings;

auto_mutex_tests::conformance! {
    on memory, world;
    counts:
        a_call_counts_as_waiting_then_as_active_and_then_no_more,
        each_end_of_a_call_has_its_outcome,
        a_loss_is_counted_with_its_cause,
        several_locks_are_one_call_and_several_holds,
        a_nested_call_is_no_call,
        a_call_that_enters_a_kept_lock_says_so,
        a_wait_for_a_notification_releases_the_lock;
    records:
        a_waiter_and_a_holder_say_what_their_tasks_hold,
        one_that_holds_nothing_says_nothing;
    spans:
        #[needs(threads)]
        a_call_has_a_span_until_its_grant_and_a_body_one_until_its_end,
        #[needs(order)]
        the_span_of_a_wait_names_who_held_the_lock;
    warnings:
        a_timeout_is_told_with_the_place_of_the_holder,
        another_number_of_permits_is_told_once;
}
