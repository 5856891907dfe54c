//! `loa-conform readme`: the tables of the README are written by the program, from the committed report.

use similar::TextDiff;

use super::args::Readme;
use super::measured::Reports;
use super::stored::LONGEST;
use crate::cli::console::print;
use crate::cli::{ExitStatus, Failure};
use crate::report;
use crate::system::files::{self, Privacy};

pub(super) fn readme(wish: &Readme) -> Result<ExitStatus, Failure> {
    let missing = |error| Failure::new(ExitStatus::NoInput, error);
    let reports = Reports::gather(&wish.measured)?;
    let bytes = files::read(&wish.file, LONGEST).map_err(missing)?;
    let text = String::from_utf8(bytes).map_err(|error| Failure::new(ExitStatus::NoInput, error))?;
    let written = report::readme(&text, &reports.joined()?, &reports.agents).map_err(|block| {
        let failure = Failure::new(ExitStatus::Config, format!("{} lacks a block", wish.file.display()));
        failure.hint(format!("put <!-- loa:{block} --> and <!-- /loa:{block} --> where the table belongs"))
    })?;
    match (written == text, wish.check) {
        (true, _) => Ok(ExitStatus::Success),
        (false, true) => {
            let difference = TextDiff::from_lines(&text, &written);
            let source = wish.measured.report.display();
            let mut shown = difference.unified_diff();
            let names = (wish.file.to_string_lossy(), format!("as {source} has it"));
            print(&shown.context_radius(1).header(&names.0, &names.1).to_string())?;
            let message = format!("{} is stale: its tables differ from {source}", wish.file.display());
            Err(Failure::new(ExitStatus::NotConforming, message)
                .hint("run `loa-conform readme` and commit what it writes"))
        }
        (false, false) => {
            let failed = |error| Failure::new(ExitStatus::WriteFailed, error);
            files::write_durably(&wish.file, written.as_bytes(), Privacy::Shared).map_err(failed)?;
            Ok(ExitStatus::Success)
        }
    }
}
