//! What the tests of trunks share.
