//! The parameter of type `&Term`.
use auto_mutex::{Client, LockError, Term, auto_leader};

type Out = Result<(), LockError>;

#[auto_leader] async fn two(term: &Term, other: &Term) -> Out { term.check()?; other.check() }
#[auto_leader] fn owned(term: Term) -> Out { term.check() }
#[auto_leader] fn mutable(term: &mut Term) -> Out { term.check() }
#[auto_leader] fn named<'a>(term: &'a Term) -> Result<&'a str, LockError> { Ok(term.name()) }
#[auto_leader(key = "{term}")] fn key(term: &Term) -> Out { term.check() }

mod console {
    pub struct Term;
}

#[auto_leader] fn another(_: &console::Term) -> Out { Ok(()) }
#[auto_leader] async fn escapes<'a>(terms: &mut Vec<&'a Term>, term: &Term) -> Out { terms.push(term); Ok(()) }
#[auto_leader] fn called(_: &Term) -> Out { Ok(()) }

fn calls() {
    let client = Client::connect("memory://").unwrap();
    let term = todo!();
    client.blocking_scope(|| called(term)).unwrap();
}
