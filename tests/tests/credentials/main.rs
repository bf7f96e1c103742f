//! Credentials that rotate: who is asked for them and when, passwords that change under load, tokens that expire, and
//! providers in trouble. All servers ask for a password, and know it by `ACL SETUSER` only.

mod asked;
mod keeper;
mod renewal;
mod rig;
mod rotation;
mod trouble;
