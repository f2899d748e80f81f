//! The TOML plan: parse, check, explain.
//!
//! A plan file becomes a [`Document`] (with its includes and `--set`), that an [`Experiment`] (rows,
//! variants, figures), and that one [`model::Plan`] for each row and variant. Whatever is wrong comes
//! back as [`Diagnostics`]: all errors at once, each with its place, what was found and what is accepted.
//!
//! ```
//! use trunkline_plan::Document;
//!
//! let text = "name = \"x\"\n[[link]]\nname = \"a\"\nkind = \"serial\"\nrate = 28800\n";
//! let document = Document::parse("x.toml", text, &|_| Err("no includes here".into()))?;
//! let errors = document.check().to_string();
//! assert!(errors.contains("x.toml:5:8: `rate` has no unit"));
//! # Ok::<(), trunkline_plan::Diagnostics>(())
//! ```
//!
//! The grammar is written down in `docs/plan.md`.

pub mod cpu;
mod diagnostic;
mod discipline;
mod document;
mod experiment;
mod figure;
mod knee;
pub mod metric;
pub mod model;
pub mod network;
mod overlay;
pub mod quantity;
mod reader;
mod rows;
mod schema;
mod source;
mod template;
mod toggle;
mod tree;

pub use diagnostic::{Diagnostic, Diagnostics, nearest};
pub use document::{Document, Loader};
pub use experiment::{Experiment, Parameter, Published, Purpose, Scalar};
pub use figure::Figure;
pub use knee::Knee;
pub use rows::Row;
pub use source::Source;
pub use toggle::{Setting, Toggle};
