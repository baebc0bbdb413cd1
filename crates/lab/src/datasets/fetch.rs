//! Downloads a data set whose bytes the manifest knows.
//!
//! The file grows beside its place as `NAME.part` and gets its name only when its SHA-256 is that of the manifest, in one
//! step, so that nobody takes a part for the whole. A part that is there already is gone on with (HTTP range requests), also
//! from another mirror and in a later run; the checksum tells whether the pieces fit, and if not, the file is fetched anew.
//! The mirrors of the manifest are asked in their order.

use super::{Dataset, DatasetError, Download, KnownFile, Status, check, digest};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, IsTerminal as _, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;
use ureq::http::StatusCode;

/// What [`fetch`] did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The file.
    pub path: PathBuf,
    /// The mirror that gave the last byte; `None` if the file was here already.
    pub from: Option<String>,
    /// Bytes of the file that came over the network now.
    pub bytes: u64,
}

/// How patient a download is.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long to wait for a connection, for an answer and for each piece of the file.
    pub stall: Duration,
    /// How often a mirror may fail without sending a byte before the next one is asked.
    pub attempts: u32,
    /// How long to wait before a mirror is asked again; twice as long after each failure in a row.
    pub pause: Duration,
    /// The proxy; of the environment (`ALL_PROXY`, `HTTPS_PROXY`, `HTTP_PROXY`, without the hosts of `NO_PROXY`) if not given.
    pub proxy: Option<String>,
    /// Whether a file that is here and has other bytes is replaced.
    pub replace: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        let (stall, pause) = (Duration::from_secs(30), Duration::from_secs(1));
        Settings { stall, attempts: 4, pause, proxy: None, replace: false }
    }
}

/// Puts a data set below the folder `root`, unless it is there already.
///
/// # Errors
/// A data set that a person has to download, with what to put where; a file that is here and has other bytes; a folder that
/// cannot be written; another download of the same file; a file that no mirror gave, with what each of them said.
pub fn fetch(dataset: &Dataset, root: &Path, settings: &Settings) -> Result<Fetched, DatasetError> {
    let Some(known) = dataset.direct() else {
        let (name, help) = (dataset.name.clone(), dataset.help_in(&[root.to_owned()]));
        return Err(DatasetError::Manual { name, help });
    };
    let path = root.join(&known.path);
    if path.exists() {
        match check(&path, known)? {
            Status::Wrong { .. } if settings.replace => {}
            Status::Wrong { expected, found } => {
                return Err(DatasetError::Wrong { file: path, expected, found });
            }
            _ => return Ok(Fetched { path, from: None, bytes: 0 }),
        }
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    let error = |source| DatasetError::File { file: part.clone(), source };
    fs::create_dir_all(part.parent().unwrap_or(root)).map_err(error)?;
    let file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&part).map_err(error)?;
    file.try_lock().map_err(|reason| match reason {
        TryLockError::WouldBlock => error(io::Error::other("another download of this file is under way")),
        TryLockError::Error(source) => error(source),
    })?;
    let mut download = Transfer { settings, known, file, progress: Progress::new(known), bytes: 0 };
    let mut failures = Vec::new();
    for url in &dataset.urls {
        match download.ask(url) {
            Ok(()) => {
                let Transfer { file, bytes, .. } = download;
                file.sync_all().map_err(error)?;
                // Windows renames no open file.
                drop(file);
                fs::rename(&part, &path)
                    .map_err(|source| DatasetError::File { file: path.clone(), source })?;
                return Ok(Fetched { path, from: Some(url.clone()), bytes });
            }
            Err(Fault::Disk(source)) => return Err(error(source)),
            Err(fault) => {
                tracing::warn!("{url}: {fault}");
                failures.push((url, fault));
            }
        }
    }
    let Transfer { file, .. } = download;
    if file.metadata().map_err(error)?.len() == 0 {
        drop(file);
        fs::remove_file(&part).map_err(error)?;
    }
    Err(DatasetError::Failed { name: dataset.name.clone(), reasons: reasons(&failures, &path, known, &part) })
}

/// What each mirror said, and what a person can do.
fn reasons(failures: &[(&String, Fault)], path: &Path, known: &KnownFile, part: &Path) -> String {
    let mut text = String::new();
    for (url, fault) in failures {
        let _ = writeln!(text, "  {url}: {fault}");
    }
    if failures.iter().all(|(_, fault)| matches!(fault, Fault::Unreachable(_))) {
        text.push_str(
            "there seems to be no network here, or it is behind a proxy: set HTTPS_PROXY=http://HOST:PORT\n",
        );
    }
    if let Ok(kept) = part.metadata() {
        let _ =
            writeln!(text, "{} bytes are kept in {}; the next try goes on there", kept.len(), part.display());
    }
    let _ = write!(
        text,
        "by hand: download the file elsewhere and put it at\n  {} ({} bytes, SHA-256 {})\nthen `scale datasets verify` checks it",
        path.display(),
        known.bytes,
        known.sha256
    );
    text
}

/// Why a mirror did not give the file.
#[derive(Debug, thiserror::Error)]
enum Fault {
    /// It cannot be reached.
    #[error("{0}")]
    Unreachable(String),
    /// It will say the same again.
    #[error("{0}")]
    Refused(String),
    /// It may do better the next time.
    #[error("{0}")]
    Passing(String),
    /// The part cannot be written.
    #[error("{0}")]
    Disk(#[from] io::Error),
}

/// A download under way.
struct Transfer<'a> {
    settings: &'a Settings,
    known: &'a KnownFile,
    /// What is here of the file.
    file: File,
    progress: Progress,
    /// Bytes that came over the network.
    bytes: u64,
}

impl Transfer<'_> {
    /// Asks one mirror until the file is whole, or there is no use in asking again.
    fn ask(&mut self, url: &str) -> Result<(), Fault> {
        // A server that sends one byte a connection makes progress too.
        const MOST_ATTEMPTS: u32 = 200;
        let agent = agent(self.settings)?;
        let (mut in_vain, mut anew) = (0, false);
        for _ in 0..MOST_ATTEMPTS {
            let here = self.here()?;
            let fault = if here == self.known.bytes {
                // Not by its path: on Windows nobody but this handle may read a locked file.
                self.file.seek(SeekFrom::Start(0))?;
                let found = digest(&self.file)?;
                if found == self.known.sha256 {
                    return Ok(());
                }
                self.file.set_len(0)?;
                let fault = format!("SHA-256 {found}: expected {}", self.known.sha256);
                // Perhaps only the seam between two pieces is wrong, or a byte on the way.
                if anew {
                    return Err(Fault::Refused(fault));
                }
                anew = true;
                fault
            } else {
                match self.attempt(&agent, url, here) {
                    Ok(()) => continue,
                    Err(Fault::Passing(fault)) => {
                        in_vain = if self.here()? > here { 0 } else { in_vain + 1 };
                        fault
                    }
                    Err(fault) => return Err(fault),
                }
            };
            if in_vain >= self.settings.attempts {
                return Err(Fault::Passing(fault));
            }
            tracing::info!("{url}: {fault}; asking again");
            std::thread::sleep(self.settings.pause * 2_u32.pow(in_vain.min(5)));
        }
        Err(Fault::Refused(format!("not done after {MOST_ATTEMPTS} connections")))
    }

    fn here(&mut self) -> Result<u64, Fault> {
        let here = self.file.metadata()?.len();
        if here > self.known.bytes {
            self.file.set_len(0)?;
            return Ok(0);
        }
        Ok(here)
    }

    /// One request. `Ok` means that the file has all its bytes now, of whatever kind.
    fn attempt(&mut self, agent: &ureq::Agent, url: &str, here: u64) -> Result<(), Fault> {
        // Bytes are stored as they are published, and ranges of packed bytes would be others.
        let mut request = agent.get(url).header("accept-encoding", "identity");
        if here > 0 {
            request = request.header("range", format!("bytes={here}-"));
        }
        let response = request.call().map_err(fault)?;
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let expected = self.known.bytes;
        let mut received = match response.status() {
            StatusCode::OK => {
                if let Some(length) = header("content-length")
                    .and_then(|length| length.parse::<u64>().ok())
                    .filter(|&length| length != expected)
                {
                    return Err(Fault::Refused(format!("{length} bytes: expected {expected}")));
                }
                // It has not heard of ranges: all of it comes again.
                self.file.set_len(0)?;
                0
            }
            StatusCode::PARTIAL_CONTENT if here > 0 => {
                let range = header("content-range").unwrap_or_default();
                if !starts(range, here, expected) {
                    self.file.set_len(0)?;
                    let wanted = format!("bytes {here}-{}/{expected}", expected - 1);
                    return Err(Fault::Passing(format!("content-range {range:?}: expected {wanted:?}")));
                }
                here
            }
            StatusCode::RANGE_NOT_SATISFIABLE if here > 0 => {
                self.file.set_len(0)?;
                return Err(Fault::Passing("HTTP 416: it has no such range".into()));
            }
            status @ (StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS) => {
                return Err(Fault::Passing(format!("HTTP {status}")));
            }
            status if status.is_server_error() => return Err(Fault::Passing(format!("HTTP {status}"))),
            status => return Err(Fault::Refused(format!("HTTP {status}"))),
        };
        self.file.seek(SeekFrom::Start(received))?;
        let mut body = response.into_body().into_reader();
        let mut buffer = vec![0; 1 << 16];
        loop {
            self.progress.show(received);
            let length = match body.read(&mut buffer) {
                Ok(0) if received == expected => return Ok(()),
                Ok(0) => return Err(Fault::Passing(format!("cut after {received} of {expected} bytes"))),
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    return Err(Fault::Passing(format!("cut after {received} of {expected} bytes: {error}")));
                }
            };
            received += length as u64;
            self.bytes += length as u64;
            if received > expected {
                self.file.set_len(0)?;
                return Err(Fault::Refused(format!("more than {expected} bytes")));
            }
            self.file.write_all(&buffer[..length])?;
        }
    }
}

/// Whether a `Content-Range` is the rest of the file.
fn starts(range: &str, at: u64, of: u64) -> bool {
    let parts = range.trim().strip_prefix("bytes ").and_then(|range| range.split_once('/'));
    let Some((range, total)) = parts else { return false };
    let start = range.split_once('-').and_then(|(start, _)| start.trim().parse().ok());
    start == Some(at) && (total == "*" || total.parse() == Ok(of))
}

fn agent(settings: &Settings) -> Result<ureq::Agent, Fault> {
    let proxy = match &settings.proxy {
        Some(proxy) => {
            Some(ureq::Proxy::new(proxy).map_err(|error| Fault::Refused(format!("{proxy:?}: {error}")))?)
        }
        None => ureq::Proxy::try_from_env(),
    };
    let stall = Some(settings.stall);
    let config = ureq::Agent::config_builder()
        .proxy(proxy)
        // A status is an answer like any other.
        .http_status_as_error(false)
        .timeout_resolve(stall)
        .timeout_connect(stall)
        .timeout_recv_response(stall)
        .timeout_per_read(stall)
        .user_agent(concat!("scale/", env!("CARGO_PKG_VERSION")))
        .build();
    Ok(config.into())
}

fn fault(error: ureq::Error) -> Fault {
    use io::ErrorKind as Kind;
    use ureq::{Error, Timeout};
    let text = error.to_string();
    match error {
        Error::HostNotFound
        | Error::ConnectionFailed
        | Error::Timeout(Timeout::Resolve | Timeout::Connect) => Fault::Unreachable(text),
        // A name that is not found has no kind: only the words of the standard library, and a number on Windows.
        Error::Io(io)
            if io.to_string().contains("failed to lookup address") || io.raw_os_error() == Some(11001) =>
        {
            Fault::Unreachable(text)
        }
        Error::Io(io) => match io.kind() {
            Kind::ConnectionRefused
            | Kind::HostUnreachable
            | Kind::NetworkUnreachable
            | Kind::NetworkDown => Fault::Unreachable(text),
            _ => Fault::Passing(text),
        },
        Error::ConnectProxyFailed(_) | Error::InvalidProxyUrl => Fault::Unreachable(format!("proxy: {text}")),
        Error::Timeout(_) | Error::BodyStalled | Error::Protocol(_) => Fault::Passing(text),
        _ => Fault::Refused(text),
    }
}

/// A bar on a terminal, a line for every tenth elsewhere.
struct Progress {
    bar: ProgressBar,
    name: String,
    expected: u64,
    tenths: u64,
}

impl Progress {
    fn new(known: &KnownFile) -> Progress {
        // A template that indicatif cannot read would be seen by the first test that draws one.
        let style =
            ProgressStyle::with_template("{msg} {bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
        let target = if io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(known.bytes), target).with_style(style);
        let name = known.path.rsplit('/').next().unwrap_or_default().to_owned();
        bar.set_message(name.clone());
        Progress { bar, name, expected: known.bytes, tenths: 0 }
    }

    fn show(&mut self, received: u64) {
        self.bar.set_position(received);
        let tenths = received.saturating_mul(10) / self.expected.max(1);
        if self.bar.is_hidden() && tenths != self.tenths {
            self.tenths = tenths;
            tracing::info!("{}: {received} of {} bytes", self.name, self.expected);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Dataset {
    /// The one file of a direct download.
    pub fn direct(&self) -> Option<&KnownFile> {
        let whole = |file: &&KnownFile| file.path == self.path && file.excerpt.is_none();
        self.files.iter().find(whole).filter(|_| self.download == Download::Direct)
    }
}
