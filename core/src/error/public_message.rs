//! `public_message`: the text of an error for strangers.

use super::LockError;

impl LockError {
    /// A text for strangers, such as the client of a web service.
    ///
    /// The text of `Display` is for the people who run the program. It names the lock, and also the holder's host, process
    /// and file, and the store's address; the [`source`](std::error::Error::source) has what the server replied. Write
    /// that to a log. This text has none of it: it's a constant for each kind of error, without any name, host, address,
    /// path, URL or owner.
    ///
    /// ```
    /// use auto_mutex::LockError;
    ///
    /// let error = LockError::unavailable("billing:close");
    /// assert!(error.to_string().contains("billing:close"));
    /// assert_eq!(error.public_message(), "the service cannot take its locks at the moment; try again later");
    /// ```
    #[must_use]
    pub fn public_message(&self) -> &'static str {
        match self {
            Self::Timeout { .. } | Self::TooManyAttempts { .. } => {
                "another request is doing this; try again later"
            }
            Self::InUse { .. } => "this is in use; try again later",
            Self::Lost { .. } => "the work was interrupted and may be incomplete",
            Self::NotReplicated { .. } | Self::Unavailable { .. } => {
                "the service cannot take its locks at the moment; try again later"
            }
            Self::AlreadyHeld { .. } | Self::Deadlock { .. } => {
                "this request and other work would wait for each other"
            }
            Self::ShutDown => "the service is shutting down; try again later",
            _ => "the service has an internal error",
        }
    }
}
