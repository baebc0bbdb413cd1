//! Tells the program what it is built from: git revision and compiler, for the provenance of records.

use std::process::Command;

fn main() {
    let revision = output("git", &["describe", "--always", "--dirty", "--abbrev=12"]);
    println!("cargo::rustc-env=SCALE_REVISION={}", revision.unwrap_or_else(|| "unknown".into()));
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    println!(
        "cargo::rustc-env=SCALE_TOOLCHAIN={}",
        output(&rustc, &["--version"]).unwrap_or_else(|| "unknown".into())
    );
    // A commit moves HEAD's log; a missing file would make cargo run this every time, which is right then.
    if let Some(log) = output("git", &["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={}/{log}", env!("CARGO_MANIFEST_DIR"));
    }
    println!("cargo::rerun-if-changed=src");
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
}
