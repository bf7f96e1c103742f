//! [`Declared`]: what an expansion says of its function. It is the cheapest thing that compiles: a constant of two
//! texts, without a constructor, because every annotated function has one. The second text is read when the site is
//! first used.

use std::time::Duration;

use super::{Lengths, Owner, Site, SiteData};
use crate::base::error::HoldKind;

const MAX_WAITERS: &str = "max_waiters";

/// The path of the function's module, and the fields of `SiteData` in the order of `Declared::read`. A field is
/// `5:hello`, with the number of its bytes, or `-:` if there is none.
#[derive(Debug)]
#[repr(C)]
pub struct Declared(pub &'static str, pub &'static str);

impl Declared {
    pub(super) fn read(&self) -> Site {
        let mut fields = Fields(self.1);
        let package = fields.next();
        let mut text = || fields.next().unwrap_or_default();
        let (file, line, kind, owner, function) = (text(), text(), text(), text(), text());
        let (options, namespace) = (text(), fields.next());
        let (order, reentrant) = (fields.next(), fields.next());
        let lengths = Lengths::read(fields.next().unwrap_or_default());
        let mut key = Vec::new();
        while let Some(part) = fields.next() {
            key.push(part);
        }
        Site::new(SiteData {
            package,
            module: self.0,
            file,
            line: line.parse().unwrap_or_default(),
            kind: match kind {
                "Permit" => HoldKind::Permit,
                "Reader" => HoldKind::Reader,
                "Writer" => HoldKind::Writer,
                "Leader" => HoldKind::Leader,
                _ => HoldKind::Mutex,
            },
            owner: match owner.split_at_checked(1) {
                Some(("t", ty)) => Owner::Type(ty),
                Some(("n", name)) => Owner::Named(name),
                Some(("s", _)) => Owner::SelfType,
                _ => Owner::Module,
            },
            function,
            namespace,
            // A site is never dropped.
            key: key.leak(),
            options,
            order,
            reentrant: reentrant.map(|reentrant| reentrant == "true"),
            lengths,
        })
    }
}

impl Lengths {
    /// Input:  `expire=1.500000000 block=10.0 max_waiters=100`
    fn read(text: &str) -> Self {
        let mut lengths = Self::default();
        for (option, length) in text.split(' ').filter_map(|it| it.split_once('=')) {
            if option == MAX_WAITERS {
                lengths.max_waiters = length.parse().ok();
            } else if let Some(length) = duration(length) {
                lengths.set(option, length);
            }
        }
        lengths
    }
}

/// Input:  `1.500000000`, seconds and nanoseconds
fn duration(text: &str) -> Option<Duration> {
    let (seconds, nanos) = text.split_once('.')?;
    Some(Duration::new(seconds.parse().ok()?, nanos.parse().ok()?))
}

struct Fields(&'static str);

impl Fields {
    fn next(&mut self) -> Option<&'static str> {
        let (length, rest) = self.0.split_once(':')?;
        let length = length.parse();
        let (field, rest) = rest.split_at_checked(length.clone().unwrap_or(0))?;
        self.0 = rest;
        length.is_ok().then_some(field)
    }
}

#[cfg(test)]
mod tests {
    use auto_mutex_protocol::client::Tenure;

    use super::*;

    #[test]
    fn a_text_becomes_a_site() {
        let declared = Declared(
            "my_package::billing",
            "10:my-package12:src/a b:c.rs1:76:Writer7:tLedger5:close10:expire = 1-:0:4:true21:retain=0.7 expire=1.52:{a2:b}",
        );
        let data = declared.read().data;
        assert_eq!(data.package, Some("my-package"));
        assert_eq!(
            (data.module, data.file),
            ("my_package::billing", "src/a b:c.rs")
        );
        assert_eq!(
            (data.line, data.function, data.options),
            (7, "close", "expire = 1")
        );
        assert!(matches!(
            (data.kind, data.owner),
            (HoldKind::Writer, Owner::Type("Ledger"))
        ));
        assert_eq!(
            (data.namespace, data.order, data.reentrant),
            (None, Some(""), Some(true))
        );
        let tenure = Tenure {
            expire: Some(Duration::new(1, 5)),
            retain: Some(Duration::new(0, 7)),
            ..Tenure::default()
        };
        let lengths = Lengths {
            tenure,
            ..Lengths::default()
        };
        assert_eq!(data.lengths, lengths);
        assert_eq!(data.key, ["{a", "b}"]);
    }
}
