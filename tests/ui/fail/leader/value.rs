//! The value that a leader publishes.
use auto_mutex::{LockError, auto_leader};

type Out = Result<(), LockError>;

const PORT: u16 = 9000;

struct Plain;

#[auto_leader(value = "{self.addr}")] fn no_self() -> Out { Ok(()) }
#[auto_leader(value = "{hots}:{PORT}")] fn no_parameter(host: &str) -> Out { Ok(()) }
#[auto_leader(value = "{host")] fn unbalanced(host: &str) -> Out { Ok(()) }
#[auto_leader(value = "{port:?}")] fn format(port: u16) -> Out { Ok(()) }
#[auto_leader(value = "{host()}")] fn expression() -> Out { Ok(()) }
#[auto_leader(value = plain)] async fn no_display(plain: &Plain) -> Out { Ok(()) }
#[auto_leader(value = load().await)] fn awaits() -> Out { Ok(()) }
async fn load() -> String { String::new() }
#[auto_leader(value = name, stop_within = true)] fn borrowed(name: String) -> Out { Ok(()) }
