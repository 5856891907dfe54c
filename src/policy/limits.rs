//! What a stage may take of its host, and whether it takes more.

use std::fmt;

/// The most that the processes of a stage may take together; without a bound where there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Processes that live at a time.
    pub processes: Option<u64>,
    /// Bytes of memory that they hold.
    pub memory: Option<u64>,
    /// Bytes by which the disk of the workspace may become fuller.
    pub disk: Option<u64>,
    /// Files, sockets and pipes that they have open.
    pub handles: Option<u64>,
}

/// What is taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Taken {
    /// Processes.
    pub processes: u64,
    /// Bytes of memory.
    pub memory: u64,
    /// Bytes of the disk.
    pub disk: u64,
    /// Open files.
    pub handles: u64,
}

/// What can be bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// Processes.
    Processes,
    /// Memory.
    Memory,
    /// The disk.
    Disk,
    /// Open files.
    Handles,
}

/// A limit that was passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exceeded {
    /// Of what.
    pub resource: Resource,
    /// How much was taken.
    pub taken: u64,
    /// How much may be.
    pub limit: u64,
}

impl Limits {
    /// Whether nothing is bounded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Each with its name, as the configuration has it.
    #[must_use]
    pub fn each(self) -> [(&'static str, Option<u64>); 4] {
        [("processes", self.processes), ("memory", self.memory), ("disk", self.disk), ("handles", self.handles)]
    }

    /// The first limit that is passed.
    #[must_use]
    pub fn exceeded(&self, taken: &Taken) -> Option<Exceeded> {
        let all = [
            (Resource::Processes, taken.processes, self.processes),
            (Resource::Memory, taken.memory, self.memory),
            (Resource::Disk, taken.disk, self.disk),
            (Resource::Handles, taken.handles, self.handles),
        ];
        let mut passed = all.into_iter().filter_map(|(resource, taken, limit)| {
            let limit = limit.filter(|limit| taken > *limit)?;
            Some(Exceeded { resource, taken, limit })
        });
        passed.next()
    }
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, taken, limit } = *self;
        match resource {
            Resource::Processes => write!(f, "it had {taken} processes, and may have {limit}"),
            Resource::Memory => write!(f, "it held {} of memory, and may hold {}", size(taken), size(limit)),
            Resource::Disk => {
                write!(f, "the disk of the workspace became {} fuller, and may by {}", size(taken), size(limit))
            }
            Resource::Handles => write!(f, "it had {taken} files open, and may have {limit}"),
        }
    }
}

/// So many bytes in whole KiB or MiB.
fn size(bytes: u64) -> String {
    if bytes < 1 << 20 { format!("{} KiB", bytes >> 10) } else { format!("{} MiB", bytes >> 20) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_passed_by_more_than_it_and_the_first_is_named() {
        let limits = Limits { processes: Some(3), memory: Some(2 << 20), disk: Some(0), handles: None };
        let taken = Taken { processes: 3, memory: 2 << 20, disk: 0, handles: 1000 };
        assert_eq!(limits.exceeded(&taken), None);
        for (taken, said) in [
            (Taken { processes: 4, disk: 9, ..taken }, "it had 4 processes, and may have 3"),
            (Taken { memory: 3 << 20, ..taken }, "it held 3 MiB of memory, and may hold 2 MiB"),
            (Taken { disk: 2048, ..taken }, "the disk of the workspace became 2 KiB fuller, and may by 0 KiB"),
        ] {
            assert_eq!(limits.exceeded(&taken).map(|exceeded| exceeded.to_string()).as_deref(), Some(said));
        }
        let handles = Limits { handles: Some(9), ..Limits::default() };
        let said = handles.exceeded(&taken).map(|exceeded| exceeded.to_string());
        assert_eq!(said.as_deref(), Some("it had 1000 files open, and may have 9"));
        assert!(Limits::default().is_empty() && !handles.is_empty());
    }
}
