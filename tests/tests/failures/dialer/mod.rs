//! Connections that the program makes: through a proxy, with its own TLS, and with what may go wrong there.

mod faults;
mod proxy;
