//! A phase changes what decides on it, or what a person has agreed to.

use super::{Stand, attacks, loa, run};

attacks! {
    another_script_of_its_gate:
        "A phase rewrites the script of the gate that looks at it", Some(true), Some(true), script;
    another_program_of_its_gate:
        "A phase lays a program of its own where its gate looks for one by PATH", Some(true), Some(true), program;
    another_protected_file:
        "A phase rewrites a test that `runtime.protects` names and its gate runs", Some(true), Some(true), protected;
    another_deployment_than_the_approved_one:
        "What is left of a phase rewrites the script of the deployment that a person is approving", Some(true), Some(true), deployment;
    another_program_that_tells_people:
        "A phase rewrites the script by which people are told, which runs outside of every boundary", Some(true), Some(true), telling;
}

fn script(stand: Stand) -> bool {
    let workspace = stand.configured(&[("design", "echo exit 0 > gate.sh")], "{ design: { verify: [sh, gate.sh] } }");
    workspace.write("gate.sh", "exit 1\n");
    let ran = run(&workspace);
    ran.code == Some(2) && ran.stderr.contains("gate script changed since the start: gate.sh")
}

fn program(stand: Stand) -> bool {
    let lay = "mkdir bin; printf '#!/bin/sh\\nexit 0\\n' > bin/check-it; chmod +x bin/check-it";
    let settings = "{ design: { verify: check-it, env: { PATH: 'bin:/usr/bin:/bin' } } }";
    let ran = run(&stand.configured(&[("design", lay)], settings));
    ran.code == Some(2) && ran.stderr.contains("program changed since the start: ./bin/check-it")
}

fn protected(stand: Stand) -> bool {
    let workspace = stand.with(
        "  protects: [tests/**]\n",
        &[("design", "echo exit 0 > tests/all")],
        "{ design: { verify: '. ./tests/all' } }",
    );
    std::fs::create_dir(workspace.path("tests")).expect("made");
    workspace.write("tests/all", "exit 1\n");
    let ran = run(&workspace);
    ran.code == Some(2) && ran.stderr.contains("tests/all; the gate was not asked")
}

fn deployment(stand: Stand) -> bool {
    let workspace = stand.workspace(&[("deploy", "sh deploy.sh")]);
    workspace.write("deploy.sh", "touch deployed\n");
    run(&workspace).exits(2).says(&["deploy waits for a human's approval"]);
    workspace.write("deploy.sh", "touch deployed evil\n");
    loa(&workspace, &["resolve", "fix_and_resume"]).exits(0);
    let resumed = loa(&workspace, &["resume"]);
    resumed.code == Some(2) && !workspace.path("deployed").exists()
}

fn telling(stand: Stand) -> bool {
    let told = "  notify: { patience_ms: 0, command: 'sh tell.sh' }\n";
    let workspace = stand.with(told, &[("design", "echo touch evil > tell.sh; exit 2")], "{}");
    workspace.write("tell.sh", "touch told\n");
    run(&workspace).exits(2);
    let status = loa(&workspace, &["status"]).stdout;
    status.contains("tell.sh changed since the run began") && !workspace.path("evil").exists()
}
