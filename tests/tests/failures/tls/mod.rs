//! TLS: the faults that set-up finds, and connections that are cut, replaced or half-open.

mod link;
mod refused;
