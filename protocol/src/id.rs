//! [`Ticket`] and [`MemberId`]: random UUIDs (version 4), never reused. Whoever makes one brings the random numbers.
//!
//! A ticket has a public half, which messages name, and a secret half, which only its client and the readers of its
//! record know: see "Messages are sealed" in `docs/protocol.md`.

use core::fmt;

use uuid::{Builder, Uuid};

/// One request for a lock, never reused. It identifies first a waiter, then a holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(Uuid);

/// One client in one process, as the store knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemberId(Uuid);

macro_rules! id {
    ($id:ident) => {
        impl $id {
            /// The id that these random bytes make.
            #[inline]
            pub const fn from_random(bytes: [u8; 16]) -> Self {
                Self(Builder::from_random_bytes(bytes).into_uuid())
            }

            /// The id with these [`as_bytes`](Self::as_bytes).
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Uuid::from_bytes(bytes))
            }

            /// The id as bytes.
            pub const fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }

            /// Parses the `Display` output.
            pub fn parse(text: &str) -> Option<Self> {
                Uuid::try_parse(text).ok().map(Self)
            }
        }

        impl fmt::Display for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.simple().fmt(f)
            }
        }
    };
}

id!(Ticket);
id!(MemberId);

impl Ticket {
    /// The half of the ticket that messages name: the first 16 hexadecimal digits.
    #[inline]
    pub fn public(self) -> u64 {
        self.0.as_u64_pair().0
    }

    /// The ticket without its secret half.
    pub fn without_secret(self) -> Self {
        Self::of_public(self.public())
    }

    /// A ticket with this public half, without a secret.
    pub fn of_public(public: u64) -> Self {
        Self(Uuid::from_u64_pair(public, 0))
    }
}
