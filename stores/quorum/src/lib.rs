//! The quorum: several independent Redis servers, of which a majority decides, by the rules in `docs/protocol.md`. Each
//! server has its own Redis store. Which requests go to which server, and what their answers mean, is decided in
//! `auto_mutex_seam::store::quorum`; this crate carries it out.

mod driver;
mod engine;
mod inspector;
mod store;
