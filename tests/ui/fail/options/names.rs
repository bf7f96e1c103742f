//! `ns` and `name` are texts, the same for every call; so is an `owner` that is a text.
use auto_mutex::{LockError, auto_mutex};

type Out = Result<(), LockError>;

const NAMESPACE: &str = "billing";

#[auto_mutex(ns = "", name = "")] fn empty() -> Out { Ok(()) }
#[auto_mutex(ns = NAMESPACE, name = 5)] fn no_text() -> Out { Ok(()) }
#[auto_mutex(name = "month-{month}")] fn template(month: u32) -> Out { Ok(()) }
#[auto_mutex(namespace = "")] fn empty_by_the_other_word() -> Out { Ok(()) }
#[auto_mutex(ns = "a", namespace = "b")] fn twice() -> Out { Ok(()) }
#[auto_mutex(namspace = "a")] fn misspelt() -> Out { Ok(()) }

struct Account {
    id: u32,
    tenant: String,
}

impl Account {
    #[auto_mutex(name = "acc:{self.id}")] fn field(&self) -> Out { Ok(()) }
    #[auto_mutex(name = "a:b-{{x}}:{other.id}:{self.id}")] fn field_of_another(&self, other: &Account) -> Out { Ok(()) }
    #[auto_mutex(ns = "{self.tenant}")] fn namespace(&self) -> Out { Ok(()) }
    #[auto_mutex(owner = "{self.tenant}")] fn owner(&self) -> Out { Ok(()) }
}

#[auto_mutex(name = "acc:{self.id}")]
impl Account {
    fn in_a_block(&self) -> Out { Ok(()) }
    fn also_in_a_block(&self) -> Out { Ok(()) }
}

#[auto_mutex(name = "jobs:{NAMESPACE}")] fn constant() -> Out { Ok(()) }
#[auto_mutex(name = "a{", namespace = "b}")] fn unbalanced() -> Out { Ok(()) }
#[auto_mutex(name = concat!("a", "b"))] fn macro_call() -> Out { Ok(()) }
