//! Actions and their scripts, started as the runner of GitHub starts them.

use std::path::Path;
use std::process::Command;

use assert_cmd::cargo::CommandCargoExt as _;
use serde_json::Value;

/// A shell that finds the programs that were built first.
pub(crate) fn bash(script: &str, folder: &Path) -> Command {
    let program = Command::cargo_bin("loa-validate").expect("the program is built");
    let built = Path::new(program.get_program()).parent().expect("a folder").to_owned();
    let path = std::env::var("PATH").expect("a path");
    let mut command = Command::new("bash");
    command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]).current_dir(folder);
    command.env("PATH", format!("{}:{path}", built.display()));
    command
}

/// The second step of an action, with its inputs as the runner would set them.
pub(crate) fn second_step(action: &Value, folder: &Path, inputs: &[(&str, &str)]) -> Command {
    let step = &action["runs"]["steps"][1];
    let mut command = bash(step["run"].as_str().expect("a script"), folder);
    for (variable, expression) in step["env"].as_object().expect("inputs") {
        let name = expression.as_str().and_then(|text| text.strip_prefix("${{ inputs.")?.strip_suffix(" }}"));
        let name = name.expect("an input");
        let default = action["inputs"][name]["default"].as_str().expect("every input has a default");
        let given = inputs.iter().find(|(input, _)| *input == name).map(|(_, value)| *value);
        command.env(variable, given.unwrap_or(default));
    }
    command
}
