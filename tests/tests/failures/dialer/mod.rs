//! Connections made by the program: through a proxy, or with its own TLS, and their failures.

mod faults;
mod proxy;
