//! A body may run for several terms.
use auto_mutex::{LockError, Term, auto_leader};

type Out = Result<(), LockError>;

#[auto_leader]
async fn future(names: Vec<String>, term: &Term) -> Out {
    term.check()?;
    for name in names {
        println!("{name}");
    }
    Ok(())
}

#[auto_leader] fn sync(name: String) -> Out { drop(name); Ok(()) }

struct Queue(Vec<u32>);

impl Queue {
    #[auto_leader] async fn drain(self) -> Out { drop(self.0); Ok(()) }
    #[auto_leader] fn first(&mut self) -> Result<&mut u32, LockError> { self.0.first_mut().ok_or(LockError::NotSetUp) }
}
