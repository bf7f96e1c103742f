//! Sockets of the program, and their failures.

mod dialed;
