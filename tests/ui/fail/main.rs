//! All cases, but those of the lints. A file whose name is a module's is a case; so is this one: there is no runtime at all.
//! (rustfmt would write each function on three lines.)

#![allow(unsafe_code, unused)]

use auto_mutex::{LockError, auto_mutex};

#[rustfmt::skip]
mod block { mod cfg_attr; mod constants; mod functions; mod macro_calls; mod marks; mod nothing; }
#[rustfmt::skip]
mod handlers { mod closures; mod cycles; mod error_method; mod forms; mod functions; mod itself; mod shadowed; mod unclear; }
#[rustfmt::skip]
mod item { mod functions; mod types; }
#[rustfmt::skip]
mod key { mod expressions; mod parts; }
#[rustfmt::skip]
mod kinds { mod items; mod keys; mod permits; mod types; mod was; }
#[rustfmt::skip]
mod leader { mod consumed; mod items; mod options; mod returns; mod term; mod value; }
#[rustfmt::skip]
mod options { mod guard; mod names; mod retain; mod values; mod words; }
#[rustfmt::skip]
mod returns { mod body; mod futures; mod nothing; }
#[rustfmt::skip]
mod time { mod literals; mod types; }
#[rustfmt::skip]
mod world { mod items; mod options; }

#[auto_mutex]
async fn main() -> Result<(), LockError> {
    Ok(())
}
