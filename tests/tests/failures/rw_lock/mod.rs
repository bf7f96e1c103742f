//! A readers-writer lock on Redlock (a gist in Ruby), point by point.

mod holding;
