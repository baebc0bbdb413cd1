//! Holds the layers of the design against what the manifests say: who may import whom.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

/// What each package may import of ours, beyond its tests. A change here is a change of the architecture.
const ALLOWED: &[(&str, &[&str])] = &[
    ("scale-model", &[]),
    ("scale-topology", &["scale-model"]),
    ("scale-workload", &["scale-model"]),
    ("scale-sim", &["scale-model"]),
    ("scale-heuristics", &["scale-model"]),
    ("scale-milp", &["scale-model"]),
    ("scale-evolve", &["scale-model"]),
    ("scale-agents", &["scale-model", "scale-sim"]),
    (
        "scale-lab",
        &[
            "scale-agents",
            "scale-evolve",
            "scale-heuristics",
            "scale-milp",
            "scale-model",
            "scale-sim",
            "scale-topology",
            "scale-workload",
        ],
    ),
    // Its tests cross crates, so everything it uses is a dev-dependency.
    ("scale-tests", &[]),
    // It must build where nothing is installed yet.
    ("xtask", &[]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn metadata() -> Metadata {
    let mut command = MetadataCommand::new();
    // `--no-deps` reads the manifests alone: no network, no lock file.
    command.manifest_path(root().join("Cargo.toml")).no_deps();
    command.exec().expect("cargo metadata runs")
}

#[test]
fn every_crate_imports_only_what_its_layer_may() {
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.iter().copied().collect();
    let packages = metadata().packages;
    let mut wrong = Vec::new();
    for package in &packages {
        let name = package.name.as_str();
        let Some(allowed) = allowed.get(name) else {
            wrong.push(format!("{name} is not in the table of allowed imports"));
            continue;
        };
        for dependency in &package.dependencies {
            let ours = packages.iter().any(|package| package.name.as_str() == dependency.name);
            let in_tests_only = dependency.kind == DependencyKind::Development;
            if ours && !in_tests_only && !allowed.contains(&dependency.name.as_str()) {
                wrong.push(format!("{name} imports {}, which its layer may not", dependency.name));
            }
        }
    }
    for (name, _) in ALLOWED {
        if !packages.iter().any(|package| package.name.as_str() == *name) {
            wrong.push(format!("{name} is in the table of allowed imports, but not in the workspace"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    for package in metadata().packages {
        let text = fs::read_to_string(&package.manifest_path).expect("the manifest can be read");
        let text = text.replace("\r\n", "\n");
        assert!(
            text.contains("[lints]\nworkspace = true\n"),
            "{} does not say `[lints] workspace = true`",
            package.manifest_path
        );
    }
}
