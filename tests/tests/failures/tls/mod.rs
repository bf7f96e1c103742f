//! TLS: what set-up finds wrong, and what becomes of a connection that is cut, replaced or half-open.

mod link;
mod refused;
