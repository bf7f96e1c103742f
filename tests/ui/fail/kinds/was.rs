//! The old name is a whole one; with several locks nobody owns a single one.
use auto_mutex::{LockError, auto_mutex, auto_semaphore, auto_write};

type Out = Result<(), LockError>;

#[auto_mutex(was = "")] fn empty() -> Out { Ok(()) }
#[auto_mutex(was = "billing:{namespace}")] fn no_such_parameter() -> Out { Ok(()) }
#[auto_mutex(was = OLD)] fn no_text() -> Out { Ok(()) }

const REGION: &str = "eu";

#[auto_mutex(was = "billing:Ledger:close:{REGION}")] fn constant() -> Out { Ok(()) }

#[auto_mutex(was = "billing:Ledger:close:{mnth}")] fn misspelt(month: u32) -> Out { Ok(()) }
#[auto_mutex(was = "billing:Ledger:close:{self.id}:{0}")] fn no_self(id: u32) -> Out { Ok(()) }
#[auto_mutex(was = "billing:Ledger:close:{month}{id}")] fn two_in_a_part(month: u32, id: u32) -> Out { Ok(()) }
#[auto_mutex(was = "billing:Ledger:close}")] fn unbalanced() -> Out { Ok(()) }
#[auto_mutex(was = "billing:Ledger:close:{month}")] fn not_display(month: Vec<u8>) -> Out { Ok(()) }
#[auto_semaphore(permits = 2, was = "billing:Ledger:close")] fn semaphore() -> Out { Ok(()) }
#[auto_write(was = "billing:Ledger:close", owner = "me")] fn write() -> Out { Ok(()) }
#[auto_mutex(was = "billing:Ledger:close", owner = "me")] fn owned() -> Out { Ok(()) }
#[auto_mutex(owner = "me", keys = [a])] fn owned_keys(a: u32) -> Out { Ok(()) }
