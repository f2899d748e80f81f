//! Reads the sources and holds the house rules of ARCHITECTURE.md and CONTRIBUTING.md: which way the
//! arrows between crates and modules point, how long files and functions may be, which calls and names
//! are not used. Every rule stands beside a test that shows it biting on a small bad example.

mod arrows;
mod lex;
mod modules;
mod size;
mod tree;
mod words;
