//! Tests of the command with real servers. A test takes locks through the library, runs `auto-mutex`, and reads its
//! output.

mod acl;
mod chains;
mod doctor;
mod kept;
mod kick;
mod leaders;
mod list;
mod manual;
mod postgres;
mod reads;
mod rig;
mod run;
mod schema;
mod serve;
mod signals;
mod stores;
mod top;
mod watch;
