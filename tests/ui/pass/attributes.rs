//! Attributes and visibility survive; so do inner ones. (That documentation does, `auto_mutex_tests::annotated` shows.)
#![deny(warnings)]
#![allow(
    clippy::mixed_attributes_style,
    unreachable_pub,
    clippy::double_must_use,
    clippy::new_without_default,
    clippy::non_minimal_cfg
)]
#![forbid(unsafe_code)]

use auto_mutex::{LockError, auto_mutex, no_auto_mutex};

/// A module.
pub mod billing {
    use super::*;

    /// Documented.
    #[auto_mutex]
    #[inline]
    #[must_use = "look at it"]
    #[cfg(all())]
    pub fn close() -> Result<u32, LockError> {
        #![allow(unused_variables)]
        let unused = 1;
        Ok(1)
    }

    #[auto_mutex]
    #[cfg(any())]
    pub fn undocumented() -> Nothing {}

    #[auto_mutex]
    #[allow(non_snake_case)]
    pub(crate) fn Odd() -> Result<u32, LockError> {
        Ok(1)
    }

    #[allow(dead_code)]
    #[auto_mutex]
    pub(super) async fn never_called() -> Result<u32, LockError> {
        Ok(1)
    }

    #[deprecated]
    #[auto_mutex]
    #[track_caller]
    #[cold]
    pub(in crate::pass::attributes::billing) fn old() -> Result<u32, LockError> {
        Ok(1)
    }

    /// Calls the old one.
    #[expect(deprecated)]
    pub fn calls() -> Result<u32, LockError> {
        old()
    }
}

/// A type.
#[derive(Debug)]
pub struct Ledger;

#[auto_mutex(expire = 10)]
#[allow(non_snake_case)]
impl Ledger {
    #![allow(dead_code)]

    /// A constant.
    pub const LIMIT: u32 = 3;

    /// Documented.
    #[must_use]
    #[cfg(all())]
    pub fn Close(&self) -> Result<u32, LockError> {
        Ok(Self::LIMIT)
    }

    /// Not there.
    #[cfg(any())]
    pub fn missing(&self) -> Nothing {}

    /// Const.
    #[no_auto_mutex]
    pub const fn new() -> Self {
        Ledger
    }

    fn private_and_unused(&self) -> Result<u32, LockError> {
        Ok(1)
    }
}

/// What is imported only for the functions of a block counts as used.
mod imports {
    use auto_mutex::{LockError, auto_mutex, no_auto_mutex};

    #[auto_mutex::auto_mutex(expire = 10)]
    impl super::Ledger {
        #[auto_mutex(expire = 20)]
        pub fn imported(&self) -> Result<u32, LockError> {
            Ok(self.plain())
        }

        #[no_auto_mutex]
        fn plain(&self) -> u32 {
            1
        }
    }
}

#[cfg_attr(all(), auto_mutex(expire = 10))]
fn conditional() -> Result<u32, LockError> {
    Ok(1)
}

#[test]
fn runs() {
    let client = auto_mutex::Client::connect("memory://").unwrap();
    client.blocking_scope(|| {
        assert_eq!(
            billing::close().unwrap() + billing::Odd().unwrap() + billing::calls().unwrap(),
            3
        );
        assert_eq!(Ledger::new().Close().unwrap() + conditional().unwrap(), 4);
        assert_eq!(Ledger::new().imported().unwrap(), 1);
    });
}
