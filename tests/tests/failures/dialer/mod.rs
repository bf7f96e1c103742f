//! Connections made by the program: through a proxy, or with its own TLS.

mod faults;
mod proxy;
