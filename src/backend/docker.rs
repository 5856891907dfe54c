//! A backend whose program runs in a container: the same adapter, in other surroundings.

use std::io;

use crate::config::DockerSection;
use crate::runner::{Backend, Capabilities, Container, Invocation, Session, Surroundings, Task};

/// Another backend, in a container.
#[derive(Debug)]
pub struct Docker {
    inner: Box<dyn Backend>,
    section: DockerSection,
}

impl Docker {
    /// This backend, in that container.
    #[must_use]
    pub fn new(inner: Box<dyn Backend>, section: DockerSection) -> Self {
        Self { inner, section }
    }

    fn inside(&self, surroundings: &Surroundings) -> Surroundings {
        let container = Container { docker: self.section.clone(), credentials: self.inner.credentials() };
        Surroundings { container: Some(container), ..surroundings.clone() }
    }
}

impl Backend for Docker {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn is_contained(&self) -> bool {
        true
    }

    fn credentials(&self) -> Vec<String> {
        self.inner.credentials()
    }

    fn invoke(&self, task: &Task<'_>, session: Session<'_>) -> io::Result<Box<dyn Invocation>> {
        let surroundings = self.inside(task.surroundings);
        self.inner.invoke(&Task { surroundings: &surroundings, ..task.clone() }, session)
    }

    fn compact(&self, task: &Task<'_>, session: &str) -> io::Result<Option<Box<dyn Invocation>>> {
        let surroundings = self.inside(task.surroundings);
        self.inner.compact(&Task { surroundings: &surroundings, ..task.clone() }, session)
    }
}
