//! Tests of what the explorer does not look at: bytes, and a queue that is longer than its worlds. The scripts and
//! functions of other engines are compared with this state (`stores/redis/src/tests/difference`,
//! `stores/postgres/src/tests/difference`).

mod bytes;
mod rules;
mod silent;
