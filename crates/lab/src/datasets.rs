//! Which data sets there are, where they lie on this machine, and whether their bytes are the published ones.
//!
//! The facts stand in `datasets/manifest.toml`, which is part of the binary. Only [`fetch`](mod@fetch) uses the network, and
//! only when it is asked to: experiments run on what is here. Every data set has a licence of its own.

use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

pub mod fetch;

/// `scale datasets ...`
#[derive(Clone, Debug, PartialEq, Eq, clap::Subcommand)]
pub enum Command {
    /// List the data sets, and which of them are here.
    List,
    /// Compare the files that are here with the checksums of the manifest.
    Verify,
    /// Print where a data set lies, or how to get it.
    Where {
        /// Its name, as in the list.
        name: String,
    },
    /// Download a data set into $SCALE_DATASETS, else into datasets/data, and check its bytes.
    ///
    /// A download that was cut is gone on with. Proxies are those of ALL_PROXY, HTTPS_PROXY, HTTP_PROXY and NO_PROXY. A data set
    /// that a person has to download is not fetched; what to put where is printed instead.
    Fetch {
        /// Its name, as in the list.
        name: String,
        /// Replace a file that is here and has other bytes.
        #[arg(long)]
        replace: bool,
    },
}

/// Prints the answer to a command.
///
/// # Errors
/// A name that the manifest does not have, a data set that is not here, a file that cannot be read or has wrong bytes.
pub fn run(command: &Command) -> anyhow::Result<()> {
    match command {
        Command::List => print!("{}", list()?),
        Command::Verify => {
            let report = verify()?;
            print!("{report}");
            anyhow::ensure!(report.wrong() == 0, "{} files have wrong bytes", report.wrong());
        }
        Command::Where { name } => {
            let dataset = find(name)?;
            let path = dataset
                .locate()
                .ok_or_else(|| DatasetError::Absent { name: dataset.name.clone(), help: dataset.help() })?;
            println!("{}", path.display());
        }
        Command::Fetch { name, replace } => {
            let dataset = find(name)?;
            // What is here of a manual download needs no instructions.
            if let (None, Some(path)) = (dataset.direct(), dataset.locate()) {
                println!("{} (is here; a manual download)", path.display());
                return Ok(());
            }
            let settings = fetch::Settings { replace: *replace, ..fetch::Settings::default() };
            let root = roots().into_iter().next().unwrap_or_default();
            let fetch::Fetched { path, from, bytes } = fetch::fetch(&dataset, &root, &settings)?;
            match from {
                Some(url) => println!("{} ({bytes} bytes from {url}, SHA-256 checked)", path.display()),
                None => println!("{} (was here, SHA-256 checked)", path.display()),
            }
            println!("licence: {}\ncite: {}", dataset.licence, dataset.citation);
        }
    }
    Ok(())
}

/// Why a question about data sets has no answer.
#[derive(Debug, Error)]
pub enum DatasetError {
    /// The manifest is not what it should be.
    #[error("datasets/manifest.toml: {0}")]
    Manifest(#[from] toml::de::Error),
    /// No such data set.
    #[error("data set {name:?}: expected one of {}", known.join(", "))]
    Unknown {
        /// The name that was given.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// The data set is not on this machine.
    #[error("data set {name} is not here\n{help}")]
    Absent {
        /// Its name.
        name: String,
        /// Where it was looked for and how to get it.
        help: String,
    },
    /// The data set has to be downloaded by a person.
    #[error("data set {name} is a manual download\n{help}")]
    Manual {
        /// Its name.
        name: String,
        /// What to put where.
        help: String,
    },
    /// No mirror gave the data set.
    #[error("data set {name} could not be downloaded\n{reasons}")]
    Failed {
        /// Its name.
        name: String,
        /// What each mirror said, and what can be done.
        reasons: String,
    },
    /// A file that is here is not the one of the manifest.
    #[error("{}: SHA-256 {found}: expected {expected}; --replace downloads it again", file.display())]
    Wrong {
        /// The file.
        file: PathBuf,
        /// SHA-256 that it should have.
        expected: String,
        /// SHA-256 that it has.
        found: String,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// One entry of the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dataset {
    /// Short name, used in experiments.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// File or folder below the root.
    pub path: String,
    /// Whether `urls` are the files themselves.
    pub download: Download,
    /// Where it is published; of a direct download the mirrors, the first one to ask first.
    pub urls: Vec<String>,
    /// What to do to get it.
    pub how: String,
    /// How we came by what this entry knows of the bytes.
    pub obtained: String,
    /// Its licence.
    pub licence: String,
    /// What to cite.
    pub citation: String,
    /// What is known about single files.
    #[serde(default)]
    pub files: Vec<KnownFile>,
}

/// How a data set is downloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Download {
    /// A link gives the file.
    Direct,
    /// A person has to follow instructions.
    Manual,
}

/// A file whose bytes are known.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownFile {
    /// Path below the root.
    pub path: String,
    /// SHA-256, 64 hexadecimal digits.
    pub sha256: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Rows, the header not counted.
    pub rows: u64,
    /// If it is an excerpt: of what. Other bytes are then not wrong, only unchecked.
    pub excerpt: Option<String>,
}

/// All entries of the manifest.
///
/// # Errors
/// A manifest that is not what it should be.
pub fn manifest() -> Result<Vec<Dataset>, DatasetError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Manifest {
        dataset: Vec<Dataset>,
    }
    let manifest: Manifest = toml::from_str(include_str!("../../../datasets/manifest.toml"))?;
    Ok(manifest.dataset)
}

/// The entry of this name.
///
/// # Errors
/// A name that the manifest does not have.
pub fn find(name: &str) -> Result<Dataset, DatasetError> {
    let all = manifest()?;
    let known = || all.iter().map(|dataset| dataset.name.clone()).collect();
    match all.iter().find(|dataset| dataset.name == name) {
        Some(dataset) => Ok(dataset.clone()),
        None => Err(DatasetError::Unknown { name: name.to_owned(), known: known() }),
    }
}

/// Where the data set of this name lies, if it is here. [`find`] tells a wrong name from an absent data set.
pub fn locate(name: &str) -> Option<PathBuf> {
    find(name).ok()?.locate()
}

/// Folders to look in, the first one first: `$SCALE_DATASETS`, then `datasets/data` of the workspace.
pub fn roots() -> Vec<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    // An empty variable is no folder; it would mean the current one.
    let variable = std::env::var_os("SCALE_DATASETS").filter(|value| !value.is_empty());
    variable.map(PathBuf::from).into_iter().chain(workspace.map(|root| root.join("datasets/data"))).collect()
}

/// A file of the user: the path as it is, else below the roots.
pub fn resolve(path: &Path) -> Option<PathBuf> {
    std::iter::once(path.to_owned())
        .chain(roots().iter().map(|root| root.join(path)))
        .find(|path| path.is_file())
}

/// A table of all data sets for people.
///
/// # Errors
/// A manifest that is not what it should be.
pub fn list() -> Result<String, DatasetError> {
    list_in(&roots())
}

/// Looks at every file that is here.
///
/// # Errors
/// A file or folder that cannot be read.
pub fn verify() -> Result<Report, DatasetError> {
    verify_in(&roots())
}

impl Dataset {
    /// Where it lies, if it is here.
    pub fn locate(&self) -> Option<PathBuf> {
        self.locate_in(&roots())
    }

    fn locate_in(&self, roots: &[PathBuf]) -> Option<PathBuf> {
        roots.iter().map(|root| root.join(&self.path)).find(|path| path.exists())
    }

    /// Where it was looked for and how to get it.
    pub fn help(&self) -> String {
        self.help_in(&roots())
    }

    fn help_in(&self, roots: &[PathBuf]) -> String {
        let mut text = String::from("looked for:\n");
        for root in roots {
            let _ = writeln!(text, "  {}", root.join(&self.path).display());
        }
        let _ = writeln!(text, "how to get it: {}", self.how);
        if self.download == Download::Direct {
            let _ = writeln!(text, "  scale datasets fetch {}", self.name);
        }
        for url in &self.urls {
            match self.download {
                Download::Direct => {
                    let target = format!("datasets/data/{}", self.path);
                    let _ = writeln!(text, "  curl --fail --location --create-dirs --output {target} {url}");
                }
                Download::Manual => {
                    let _ = writeln!(text, "  {url}");
                }
            }
        }
        let _ = write!(text, "licence: {}\ncite: {}", self.licence, self.citation);
        text
    }
}

/// What [`verify`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// One line a file that is here, or a data set that is not.
    pub lines: Vec<Checked>,
}

/// One file that is here, or a data set that is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Name of the data set.
    pub dataset: String,
    /// The file, or where the data set would lie.
    pub path: PathBuf,
    /// What is the matter with it.
    pub status: Status,
}

/// What is the matter with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Its bytes are those of the manifest.
    Ok {
        /// If it is an excerpt: of what.
        excerpt: Option<String>,
    },
    /// Its bytes are not those of the manifest.
    Wrong {
        /// SHA-256 that it should have.
        expected: String,
        /// SHA-256 that it has.
        found: String,
    },
    /// Nobody has published its checksum.
    Unchecked,
    /// It is not here.
    Absent,
}

impl Report {
    /// How many files have wrong bytes.
    pub fn wrong(&self) -> usize {
        self.lines.iter().filter(|line| matches!(line.status, Status::Wrong { .. })).count()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Checked { dataset, path, status } in &self.lines {
            write!(f, "{dataset:<15} ")?;
            let path = path.display();
            match status {
                Status::Ok { excerpt: None } => writeln!(f, "ok         {path}")?,
                Status::Ok { excerpt: Some(what) } => writeln!(f, "ok         {path} (excerpt: {what})")?,
                Status::Wrong { expected, found } => {
                    writeln!(f, "WRONG      {path}: SHA-256 {found}: expected {expected}")?;
                }
                Status::Unchecked => writeln!(f, "unchecked  {path} (no published checksum)")?,
                Status::Absent => writeln!(f, "absent     {path}")?,
            }
        }
        Ok(())
    }
}

fn list_in(roots: &[PathBuf]) -> Result<String, DatasetError> {
    let mut text = format!("{:<15} {:<7} {:<9} {}\n", "name", "here", "download", "what");
    for dataset in manifest()? {
        let here = if dataset.locate_in(roots).is_some() { "yes" } else { "no" };
        let download = match dataset.download {
            Download::Direct => "direct",
            Download::Manual => "manual",
        };
        let _ = writeln!(text, "{:<15} {here:<7} {download:<9} {}", dataset.name, dataset.title);
    }
    Ok(text)
}

fn verify_in(roots: &[PathBuf]) -> Result<Report, DatasetError> {
    let mut lines = Vec::new();
    for dataset in manifest()? {
        let mut push = |path, status| lines.push(Checked { dataset: dataset.name.clone(), path, status });
        let Some((root, path)) =
            roots.iter().map(|root| (root, root.join(&dataset.path))).find(|(_, path)| path.exists())
        else {
            push(PathBuf::from(&dataset.path), Status::Absent);
            continue;
        };
        for file in files(&path)? {
            let status = match dataset.files.iter().find(|known| root.join(&known.path) == file) {
                None => Status::Unchecked,
                Some(known) => check(&file, known)?,
            };
            push(file, status);
        }
    }
    Ok(Report { lines })
}

/// Whether a file has the bytes that it should have.
fn check(file: &Path, known: &KnownFile) -> Result<Status, DatasetError> {
    let found = sha256(file)?;
    Ok(match &known.excerpt {
        excerpt if found == known.sha256 => Status::Ok { excerpt: excerpt.clone() },
        Some(_) => Status::Unchecked,
        None => Status::Wrong { expected: known.sha256.clone(), found },
    })
}

/// A file itself, or the files of a folder in order of their names.
fn files(path: &Path) -> Result<Vec<PathBuf>, DatasetError> {
    let error = |source| DatasetError::File { file: path.to_owned(), source };
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries: Result<Vec<PathBuf>, io::Error> =
        path.read_dir().map_err(error)?.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut files: Vec<PathBuf> = entries.map_err(error)?.into_iter().filter(|path| path.is_file()).collect();
    files.sort();
    Ok(files)
}

/// SHA-256 of a file, 64 hexadecimal digits. In pieces: a trace may be larger than the memory.
///
/// # Errors
/// A file that cannot be read.
pub fn sha256(path: &Path) -> Result<String, DatasetError> {
    let read = || File::open(path).and_then(digest);
    read().map_err(|source| DatasetError::File { file: path.to_owned(), source })
}

fn digest(mut reader: impl Read) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match reader.read(&mut buffer)? {
            0 => break,
            read => hash.update(&buffer[..read]),
        }
    }
    let mut text = String::with_capacity(64);
    for byte in hash.finalize() {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_is_consistent() {
        let all = manifest().expect("the manifest");
        let mut names: Vec<&str> = all.iter().map(|dataset| dataset.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all.len());
        for dataset in &all {
            // A direct download is one file whose bytes are known.
            assert_eq!(dataset.download == Download::Direct, dataset.direct().is_some(), "{}", dataset.name);
            for file in &dataset.files {
                assert!(file.path.starts_with(&dataset.path), "{}", file.path);
                let hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
                assert!(file.sha256.len() == 64 && file.sha256.bytes().all(hex), "{}", file.sha256);
            }
        }
    }

    #[test]
    fn a_wrong_name_gets_the_right_ones() {
        let error = find("eua-site").expect_err("no such name").to_string();
        assert!(
            error.starts_with("data set \"eua-site\": expected one of eua-sites, eua-users, "),
            "{error}"
        );
        assert_eq!(locate("eua-site"), None);
        let help = find("eua-sites").expect("an entry").help();
        assert!(help.contains("curl --fail --location --create-dirs --output datasets/data/eua/"), "{help}");
        assert!(help.contains("licence: MIT"), "{help}");
    }

    #[test]
    fn files_are_ok_wrong_unchecked_or_absent() {
        let folder = tempfile::tempdir().expect("a folder");
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        let write = |root: &Path, path: &str, content: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(&path, content).expect("a file");
            path
        };
        let users = write(&second, "eua/users-melbcbd-generated.csv", "abc");
        let day = write(&second, "huawei/private_dataset/requests_minute/day_000.csv", "day,time\n");
        let other = write(&second, "huawei/private_dataset/requests_minute/day_099.csv", "day,time\n");
        let roots = [first, second];
        let report = verify_in(&roots).expect("a report");
        let status = |path: &Path| {
            let line = report.lines.iter().find(|line| line.path == path).expect("a line");
            line.status.clone()
        };
        // The SHA-256 of "abc" is an example of FIPS 180.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let expected = "4ab470ecc719b410f7505ca1362c2a32317c0f0a4c429b349ea34aaa7c2c03f0";
        let (expected, found) = (expected.to_owned(), abc.to_owned());
        assert_eq!(status(&users), Status::Wrong { expected, found });
        assert_eq!(status(&day), Status::Unchecked);
        assert_eq!(status(&other), Status::Unchecked);
        assert_eq!(status(Path::new("eua/site-optus-melbCBD.csv")), Status::Absent);
        assert_eq!(report.wrong(), 1);
        let text = report.to_string();
        assert!(text.contains("eua-sites       absent     eua/site-optus-melbCBD.csv\n"), "{text}");
        let list = list_in(&roots).expect("a list");
        assert!(list.contains("eua-users       yes     direct "), "{list}");
        assert!(list.contains("eua-sites       no      direct "), "{list}");
    }

    #[test]
    fn the_real_files_are_ok() {
        let Some(root) = std::env::var_os("SCALE_DATASETS").map(PathBuf::from) else {
            println!("skipped: SCALE_DATASETS is not set");
            return;
        };
        let report = verify_in(&[root]).expect("a report");
        assert_eq!(report.wrong(), 0, "{report}");
        let sites = report.lines.iter().find(|line| line.dataset == "eua-sites").expect("a line");
        assert_eq!(sites.status, Status::Ok { excerpt: None });
        assert_eq!(locate("eua-sites"), Some(sites.path.clone()));
    }
}
