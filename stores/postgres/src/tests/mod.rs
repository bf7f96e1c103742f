//! Tests with a real server.
