//! Credentials that rotate: when the provider is asked and for which servers, passwords that change under load, tokens
//! that expire, and providers that fail. All servers require a password, and their users are made by `ACL SETUSER`
//! only.

mod keeper;
mod renewal;
mod rig;
mod rotation;
mod trouble;
