//! `ns` and `name` are texts, the same for every call; so is an `owner` that is a text.
use auto_mutex::{LockError, auto_mutex};

const NAMESPACE: &str = "billing";

#[auto_mutex(ns = "", name = "")]
fn empty() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(ns = NAMESPACE, name = 5)]
fn no_text() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(name = "month-{month}")]
fn template(month: u32) -> Result<(), LockError> {
    let _ = month;
    Ok(())
}

#[auto_mutex(namespace = "")]
fn empty_by_the_other_word() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(ns = "a", namespace = "b")]
fn twice() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(namspace = "a")]
fn misspelt() -> Result<(), LockError> {
    Ok(())
}

struct Account {
    id: u32,
    tenant: String,
}

impl Account {
    #[auto_mutex(name = "acc:{self.id}")]
    fn field(&self) -> Result<(), LockError> {
        Ok(())
    }

    #[auto_mutex(name = "a:b-{{x}}:{other.id}:{self.id}")]
    fn field_of_another(&self, other: &Account) -> Result<(), LockError> {
        let _ = other;
        Ok(())
    }

    #[auto_mutex(ns = "{self.tenant}")]
    fn namespace(&self) -> Result<(), LockError> {
        Ok(())
    }

    #[auto_mutex(owner = "{self.tenant}")]
    fn owner(&self) -> Result<(), LockError> {
        Ok(())
    }
}

#[auto_mutex(name = "acc:{self.id}")]
impl Account {
    fn in_a_block(&self) -> Result<(), LockError> {
        Ok(())
    }

    fn also_in_a_block(&self) -> Result<(), LockError> {
        Ok(())
    }
}

#[auto_mutex(name = "jobs:{NAMESPACE}")]
fn constant() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(name = "a{", namespace = "b}")]
fn unbalanced() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(name = concat!("a", "b"))]
fn macro_call() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (empty(), no_text(), template(1), NAMESPACE);
}
