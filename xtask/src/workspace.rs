//! Runs cargo in this workspace, with the tools that it needs.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result};

use crate::counts::Counts;
use crate::tools::Tools;

/// A workspace whose tools are in place.
#[derive(Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
    cargo: OsString,
    /// `CARGO_TARGET_DIR` as an absolute path, where the user has set it.
    target_dir: Option<PathBuf>,
    tools: Tools,
}

/// A program ended without success. Its own output has said why.
#[derive(Debug)]
pub(crate) struct Failed {
    step: String,
    /// Its exit code; none if a signal ended it.
    pub(crate) code: Option<i32>,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "{} failed with exit code {code}", self.step),
            None => write!(f, "{} was ended by a signal", self.step),
        }
    }
}

impl std::error::Error for Failed {}

fn judge(step: &str, status: ExitStatus) -> Result<()> {
    if status.success() { Ok(()) } else { Err(Failed { step: step.to_owned(), code: status.code() }.into()) }
}

impl Workspace {
    /// Finds the workspace, and brings the tools that are missing.
    pub(crate) fn prepare() -> Result<Workspace> {
        // The run-time variable comes first: clones that share a build directory may share this very program.
        let manifest_dir =
            env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let root = Path::new(&manifest_dir).parent().context("xtask lies in no workspace")?.to_path_buf();
        // cargo runs at the root, so a path relative to the user's folder would point elsewhere.
        let target_dir = env::var_os("CARGO_TARGET_DIR")
            .map(std::path::absolute)
            .transpose()
            .context("CARGO_TARGET_DIR is no path")?;
        // Below CARGO_TARGET_DIR they outlive the clone, like the HiGHS that was built with them.
        let tools = Tools::prepare(&target_dir.clone().unwrap_or_else(|| root.join("target")).join("tools"))?;
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        Ok(Workspace { root, cargo, target_dir, tools })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn tools(&self) -> &Tools {
        &self.tools
    }

    /// A cargo command at the root, not yet started.
    pub(crate) fn cargo<const N: usize>(&self, arguments: [&str; N]) -> Command {
        let mut command = Command::new(&self.cargo);
        command.args(arguments).current_dir(&self.root).envs(self.tools.environment());
        if let Some(target_dir) = &self.target_dir {
            command.env("CARGO_TARGET_DIR", target_dir);
        }
        command
    }

    /// A subcommand of our program `scale`, built first if need be.
    pub(crate) fn scale(&self, arguments: &[impl AsRef<std::ffi::OsStr>]) -> Command {
        let mut command = self.cargo(["run", "--release", "--package", "scale-lab", "--bin", "scale", "--"]);
        command.args(arguments);
        command
    }

    /// A cargo command in the workspace `fuzz`, without libFuzzer, which needs a nightly toolchain.
    pub(crate) fn fuzz(&self, verb: &str, arguments: &[&str]) -> Command {
        let mut command = self.cargo([verb, "--release", "--locked", "--manifest-path", "fuzz/Cargo.toml"]);
        if self.target_dir.is_none() {
            // Its own would be `fuzz/target`, and HiGHS would be built twice.
            command.env("CARGO_TARGET_DIR", self.root.join("target"));
        }
        command.arg("--no-default-features").args(arguments);
        command
    }

    /// Runs a command that talks to the user directly.
    pub(crate) fn run(&self, step: &str, command: &mut Command) -> Result<()> {
        let status = command.status().with_context(|| format!("cannot start {step}"))?;
        judge(step, status)
    }

    /// Runs all tests, shows their output as it comes, and counts their results.
    ///
    /// When a test fails, the counts are printed here, before the error says so.
    pub(crate) fn test(&self, arguments: &[String]) -> Result<Counts> {
        // Without --no-fail-fast the counts would end at the first program with a failure.
        let mut command = self.cargo(["test", "--release", "--workspace", "--no-fail-fast", "--"]);
        let mut child =
            command.args(arguments).stdout(Stdio::piped()).spawn().context("cannot start cargo test")?;
        let output = child.stdout.take().context("cargo test has no output")?;
        let read = forward(output, io::stdout().lock());
        if read.is_err() {
            // Nobody reads any longer, so nobody waits for the rest; the error below is the one to report.
            let _ = child.kill();
        }
        let status = child.wait().context("cannot wait for cargo test")?;
        let counts = read.context("cannot pass on the output of cargo test")?;
        let judged = judge("test", status);
        // No program with a result means that nothing was built, and "0 failed" would mislead.
        if judged.is_err() && counts.programs > 0 {
            println!("{counts}");
        }
        judged.map(|()| counts)
    }
}

/// Copies `output` to `screen` as it comes, and counts the results in it.
fn forward(mut output: impl Read, mut screen: impl Write) -> io::Result<Counts> {
    let mut counts = Counts::default();
    let mut line = Vec::new();
    let mut buffer = [0; 8192];
    loop {
        let length = match output.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        // Not line by line: `test slow_one ... ` must show before its `ok`.
        screen.write_all(&buffer[..length])?;
        screen.flush()?;
        for &byte in &buffer[..length] {
            if byte == b'\n' {
                counts.add_line(&String::from_utf8_lossy(&line));
                line.clear();
            } else {
                line.push(byte);
            }
        }
    }
    counts.add_line(&String::from_utf8_lossy(&line));
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out one byte a time, the worst that a pipe can do to lines.
    struct Dribble<'a>(&'a [u8]);

    impl Read for Dribble<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Some((&first, rest)) = self.0.split_first() else {
                return Ok(0);
            };
            buffer[0] = first;
            self.0 = rest;
            Ok(1)
        }
    }

    #[test]
    fn output_passes_unchanged_and_is_counted() {
        let text = "running 2 tests\ntest a ... ok\n\
            test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured\n\u{1b}[0m\
            \ntest result: FAILED. 1 passed; 1 failed; 3 ignored; 0 measured";
        for dribble in [false, true] {
            let mut screen = Vec::new();
            let counts = if dribble {
                forward(Dribble(text.as_bytes()), &mut screen)
            } else {
                forward(text.as_bytes(), &mut screen)
            };
            assert_eq!(screen, text.as_bytes());
            let expected = Counts { passed: 3, failed: 1, skipped: 3, programs: 2 };
            assert_eq!(counts.expect("reads from memory"), expected);
        }
    }
}
