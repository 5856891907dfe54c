//! The integration tests: one binary, one module a subject.
#![expect(clippy::disallowed_methods, reason = "tests play the host: they write files and start programs")]

mod architecture;
mod project;
>>>>>>> b9afc30 (A real project, from the first phase to the last)
mod refusals;
mod rig;
mod rig;
mod project;
mod run;
mod validate;
mod variants;
