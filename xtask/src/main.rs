//! Prepares the machine and runs cargo: everything that the README and the CI call goes through here.
//!
//! Thin on purpose. It links none of our crates, so that it builds in seconds on a machine where nothing is
//! installed yet; what it knows is which cargo command to run, with which tools ([`tools`]), and how to read the
//! outcome ([`counts`]). All heavy builds are `--release` ones: one profile, so HiGHS is compiled once.
//! (The xtask program itself is a debug build, which also keeps `cargo test` from overwriting it while it runs.)

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::workspace::{Failed, Workspace};

mod counts;
mod tools;
mod workspace;

const HELP: &str = "\
Usage: cargo xtask <command>

Commands:
  reproduce [name...] [--quick | --full]
                                   Run the experiments and draw the figures into target/reproduce: all that two cores do
                                   in about 30 minutes, or only what is named, such as fig6, cdf or load.
                                   --quick: small runs, for a first look. --full: every experiment.
  test [-- args...]                Run all tests and count them. The args go to the test programs.
  bench [args...]                  Run the benchmarks. The args go to `cargo bench`.
  ci                               Everything that must pass before a change lands.
  scale [args...]                  Build and run the program `scale`: list, simulate, measure, solve, ...
  datasets [args...]               The same as `scale datasets`: list, verify, where, fetch.
  fuzz [args...]                   Feed mutated samples to every reader: --minutes 20, --seed 2, --reader geojson.
  tools                            Print the variables that a plain `cargo build` needs.
                                   For a shell: eval \"$(cargo xtask tools)\"
  help                             Print this text.

Before it builds, a missing cmake or libclang is put below the build directory; the system stays as it is.
Paths in args are relative to the workspace root.";

/// What the user asks for.
#[derive(Debug, PartialEq, Eq)]
enum Invocation {
    Reproduce { flags: Vec<String>, names: Vec<String> },
    Test { arguments: Vec<String> },
    Bench { arguments: Vec<String> },
    Ci,
    Scale { arguments: Vec<String> },
    Fuzz { arguments: Vec<String> },
    Tools,
    Help,
}

fn main() -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    let invocation = match parse(&arguments) {
        Ok(invocation) => invocation,
        Err(message) => {
            eprintln!("xtask: {message}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match perform(invocation) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            // The exit code of the program that failed says more than a code of ours.
            let code = error.downcast_ref::<Failed>().and_then(|failed| failed.code);
            ExitCode::from(
                code.and_then(|code| u8::try_from(code).ok()).filter(|&code| code != 0).unwrap_or(1),
            )
        }
    }
}

fn parse(arguments: &[String]) -> Result<Invocation, String> {
    let Some((command, rest)) = arguments.split_first() else {
        return Err("which command?".to_owned());
    };
    // What follows `--` belongs to another program, its `--help` too.
    let own = rest.iter().take_while(|argument| *argument != "--");
    if command != "scale" && own.clone().any(|argument| argument == "--help" || argument == "-h") {
        return Ok(Invocation::Help);
    }
    let alone = |invocation| match rest.first() {
        None => Ok(invocation),
        Some(extra) => Err(format!("`{command}` takes no argument, so what is `{extra}`?")),
    };
    match command.as_str() {
        "reproduce" => {
            let (flags, names): (Vec<_>, Vec<_>) =
                rest.iter().cloned().partition(|argument| argument.starts_with('-'));
            match flags.iter().find(|flag| !["--quick", "--full"].contains(&flag.as_str())) {
                Some(unknown) => Err(format!("`reproduce` has no flag `{unknown}`")),
                None => Ok(Invocation::Reproduce { flags, names }),
            }
        }
        "test" => match rest.split_first() {
            None => Ok(Invocation::Test { arguments: Vec::new() }),
            Some((separator, arguments)) if separator == "--" => {
                Ok(Invocation::Test { arguments: arguments.to_vec() })
            }
            Some((other, _)) => {
                Err(format!("arguments for the test programs come after `--`, so what is `{other}`?"))
            }
        },
        "bench" => Ok(Invocation::Bench { arguments: rest.to_vec() }),
        "ci" => alone(Invocation::Ci),
        "scale" => Ok(Invocation::Scale { arguments: rest.to_vec() }),
        "datasets" => Ok(Invocation::Scale { arguments: arguments.to_vec() }),
        "fuzz" => Ok(Invocation::Fuzz { arguments: rest.to_vec() }),
        "tools" => alone(Invocation::Tools),
        "help" | "--help" | "-h" => Ok(Invocation::Help),
        unknown => Err(format!("there is no command `{unknown}`")),
    }
}

fn perform(invocation: Invocation) -> Result<()> {
    if invocation == Invocation::Help {
        say(HELP);
        return Ok(());
    }
    let workspace = Workspace::prepare()?;
    match invocation {
        Invocation::Reproduce { flags, names } => reproduce(&workspace, &flags, &names),
        Invocation::Test { arguments } => {
            let counts = workspace.test(&arguments)?;
            say(counts);
            Ok(())
        }
        Invocation::Bench { arguments } => bench(&workspace, &arguments),
        Invocation::Ci => ci(&workspace),
        Invocation::Scale { arguments } => workspace.run("scale", &mut workspace.scale(&arguments)),
        Invocation::Fuzz { arguments } => fuzz(&workspace, &arguments),
        Invocation::Tools => {
            for line in workspace.tools().export_lines() {
                say(line);
            }
            Ok(())
        }
        Invocation::Help => Ok(()),
    }
}

/// The figures go below the workspace, where the README says they are, wherever cargo builds.
fn reproduce(workspace: &Workspace, flags: &[String], names: &[String]) -> Result<()> {
    let mut command = workspace.scale(&["reproduce"]);
    command.arg("--out").arg(workspace.root().join("target/reproduce"));
    workspace.run("reproduce", command.args(flags).args(names))
}

fn bench(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let mut command = workspace.cargo(["bench", "--profile", "release"]);
    // `--workspace` would overrule a package that the user names.
    let package = |argument: &String| {
        argument == "--package" || argument.starts_with("-p") || argument.starts_with("--package=")
    };
    if !arguments.iter().take_while(|argument| *argument != "--").any(package) {
        command.arg("--workspace");
    }
    workspace.run("bench", command.args(arguments))
}

/// The readers on mutated samples. `fuzz` is a workspace of its own, and shares what is built here.
fn fuzz(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let mut command = workspace.fuzz("run", &["--bin", "scale-fuzz", "--"]);
    workspace.run("fuzz", command.args(arguments))
}

/// The gate for a change; it stops at the first step that fails.
fn ci(workspace: &Workspace) -> Result<()> {
    const STEPS: usize = 6;
    let step = |number, name| Step::start(number, STEPS, name);

    let fmt = step(1, "fmt");
    workspace.run("fmt", &mut workspace.cargo(["fmt", "--all", "--check"]))?;
    fmt.passed();

    let clippy = step(2, "clippy");
    let arguments = ["clippy", "--release", "--workspace", "--all-targets", "--", "-D", "warnings"];
    workspace.run("clippy", &mut workspace.cargo(arguments))?;
    let alone =
        ["clippy", "--release", "--package", "scale-agents", "--no-default-features", "--all-targets"];
    workspace
        .run("clippy of the agents without candle", workspace.cargo(alone).args(["--", "-D", "warnings"]))?;
    clippy.passed();

    let doc = step(3, "doc");
    let mut command = workspace.cargo(["doc", "--release", "--workspace", "--no-deps"]);
    workspace.run("doc", command.env("RUSTDOCFLAGS", "-D warnings"))?;
    doc.passed();

    let test = step(4, "test");
    let counts = workspace.test(&[])?;
    test.passed();

    let golden = step(5, "golden record");
    let out = workspace.root().join("target/ci/reproduce");
    // `scale reproduce` resumes, and old records would answer in place of the code under test.
    remove(&out)?;
    let mut command = workspace.scale(&["reproduce"]);
    command.arg("--quick").arg("--out").arg(&out);
    command.arg("--golden").arg(workspace.root().join("experiments/golden/quick.csv"));
    workspace.run("golden record", &mut command)?;
    golden.passed();

    let short = step(6, "fuzz");
    let mut command = workspace.cargo(["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"]);
    workspace.run("fmt of fuzz", &mut command)?;
    let arguments = ["--all-targets", "--", "-D", "warnings"];
    workspace.run("clippy of fuzz", &mut workspace.fuzz("clippy", &arguments))?;
    workspace.run("test of fuzz", &mut workspace.fuzz("test", &[]))?;
    fuzz(workspace, &["--minutes".to_owned(), "0.5".to_owned()])?;
    short.passed();

    say(counts);
    Ok(())
}

/// A step of the CI, announced with its name and, once it has passed, the time it took.
struct Step {
    label: String,
    start: Instant,
}

impl Step {
    fn start(number: usize, steps: usize, name: &str) -> Step {
        let label = format!("[{number}/{steps}] {name}");
        eprintln!("xtask: {label}");
        Step { label, start: now() }
    }

    fn passed(self) {
        eprintln!("xtask: {} passed in {}", self.label, seconds(now().duration_since(self.start)));
    }
}

#[expect(clippy::disallowed_methods, reason = "tells a reader of the CI log how long a step took; no result")]
fn now() -> Instant {
    Instant::now()
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

/// Prints a line; a reader who has seen enough (`| head`) is no reason to panic.
fn say(line: impl Display) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// Removes a folder that may not be there.
fn remove(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn command_lines_that_mean_something() {
        let check = |line: &str, expected| assert_eq!(parse(&strings(line)), Ok(expected), "{line}");
        let reproduce = |flags, names| Invocation::Reproduce { flags: strings(flags), names: strings(names) };
        check("reproduce", reproduce("", ""));
        check("reproduce --quick", reproduce("--quick", ""));
        check("reproduce cdf --quick map", reproduce("--quick", "cdf map"));
        check("reproduce --full load", reproduce("--full", "load"));
        check("test", Invocation::Test { arguments: vec![] });
        check("test --", Invocation::Test { arguments: vec![] });
        check("test -- --nocapture cold", Invocation::Test { arguments: strings("--nocapture cold") });
        check("test -- --help", Invocation::Test { arguments: strings("--help") });
        check("bench", Invocation::Bench { arguments: vec![] });
        check("bench -p scale-sim -- x", Invocation::Bench { arguments: strings("-p scale-sim -- x") });
        check("ci", Invocation::Ci);
        check("datasets verify", Invocation::Scale { arguments: strings("datasets verify") });
        check("scale simulate --help", Invocation::Scale { arguments: strings("simulate --help") });
        check("fuzz --minutes 0.5", Invocation::Fuzz { arguments: strings("--minutes 0.5") });
        check("tools", Invocation::Tools);
        check("help", Invocation::Help);
        check("--help", Invocation::Help);
        check("reproduce -h", Invocation::Help);
    }

    #[test]
    fn command_lines_that_do_not_name_the_culprit() {
        let check = |line: &str, culprit: &str| {
            let message = parse(&strings(line)).expect_err(line);
            assert!(message.contains(culprit), "{line}: {message}");
        };
        check("", "which command");
        check("reproduse", "`reproduse`");
        check("reproduce --fast", "`--fast`");
        check("reproduce --quick=yes", "`--quick=yes`");
        check("test cold", "`cold`");
        check("test --release", "`--release`");
        check("ci --quick", "`--quick`");
        check("tools cmake", "`cmake`");
    }
}
