//! It is for functions, alone.
use std::future::Future;

use auto_mutex::{LockError, Term, auto_leader, auto_mutex};

type Out = Result<(), LockError>;

struct Scheduler;

#[auto_leader]
impl Scheduler {
    fn run(&self) -> Out { Ok(()) }
}

#[auto_leader]
trait Run {}

#[auto_leader]
struct Struct;

#[auto_leader] const fn constant() -> Out { Ok(()) }

#[auto_leader]
#[auto_mutex]
fn two() -> Out { Ok(()) }

#[auto_leader]
fn made(term: &Term) -> impl Future<Output = Out> {
    let number = term.number();
    async move {
        println!("{number}");
        Ok(())
    }
}

#[auto_mutex]
impl Scheduler {
    #[cfg_attr(all(), auto_leader)] fn conditional(&self) -> Out { Ok(()) }
}

#[auto_leader]
#[track_caller]
fn tracked() -> Out { Ok(()) }

trait Lead {
    #[auto_leader] fn bodiless(&self) -> Out;
}
