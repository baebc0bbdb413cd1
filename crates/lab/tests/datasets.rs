//! Downloads against a server on this machine that cuts, corrupts, redirects, lies about lengths and ignores ranges.
//!
//! Azure/AzurePublicDataset#35: links to data die. Hence mirrors, checksums, and a message that says what to put where.

use scale_lab::datasets::fetch::{Fetched, Settings, fetch};
use scale_lab::datasets::{Dataset, DatasetError, Download, KnownFile};
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the server does with one request. Where not said otherwise it honours a range.
#[derive(Clone)]
enum Reply {
    /// The file, or the rest of it.
    Send,
    /// As many bytes of what was asked for, then the end of the connection.
    Cut(usize),
    /// As `Cut`, without ever having said how long it is.
    CutUnannounced(usize),
    /// Some bytes, then silence.
    Stall(usize),
    /// As `Send`, with one wrong byte.
    Corrupt,
    /// The whole file and 200, whatever was asked for.
    IgnoreRange,
    /// 206, but the bytes from another place on.
    WrongRange,
    /// A page of this many bytes in place of the file.
    Page(usize),
    /// The same, without saying how long it is.
    PageUnannounced(usize),
    /// Only a status.
    Status(u16),
    /// Sends the client to another path of this server.
    Redirect(&'static str),
    /// Nothing that HTTP knows.
    Garbage,
}

/// Shared with the thread of the server.
type Seen = Arc<Mutex<Vec<(String, Option<usize>)>>>;

struct Server {
    address: String,
    /// Path and start of the range of each request.
    seen: Seen,
}

impl Server {
    /// Answers the requests in this order; the last answer is given for ever. Paths below `/moved` are always answered well.
    fn start(content: Vec<u8>, replies: Vec<Reply>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut replies = replies.into_iter();
            let mut last = Reply::Send;
            for stream in listener.incoming().flatten() {
                let Some((path, range)) = request(&stream) else { continue };
                let moved = path.starts_with("/moved");
                log.lock().expect("the log").push((path, range));
                if !moved {
                    last = replies.next().unwrap_or(last);
                }
                let (reply, content) = (if moved { Reply::Send } else { last.clone() }, content.clone());
                // A client that has seen enough goes away; one that waits must not keep the next one waiting.
                std::thread::spawn(move || answer(stream, &content, range, &reply));
            }
        });
        Server { address, seen }
    }

    fn url(&self) -> String {
        format!("http://{}/file", self.address)
    }

    fn ranges(&self) -> Vec<Option<usize>> {
        self.seen.lock().expect("the log").iter().map(|(_, range)| *range).collect()
    }
}

/// Path and start of the range.
fn request(stream: &TcpStream) -> Option<(String, Option<usize>)> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    let path = lines.next()?.ok()?.split(' ').nth(1)?.to_owned();
    let mut range = None;
    for line in lines {
        let line = line.ok()?.to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        assert!(!line.starts_with("accept-encoding:") || line.ends_with(" identity"), "{line}");
        if let Some(value) = line.strip_prefix("range: bytes=") {
            range = value.strip_suffix('-').and_then(|start| start.parse().ok());
        }
    }
    Some((path, range))
}

fn answer(mut stream: TcpStream, content: &[u8], range: Option<usize>, reply: &Reply) -> std::io::Result<()> {
    let total = content.len();
    let start = range.unwrap_or(0).min(total);
    let part = |start: usize| match range {
        Some(_) => format!(
            "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {start}-{}/{total}\r\nContent-Length: {}\r\n\r\n",
            total - 1,
            total - start
        ),
        None => format!("HTTP/1.1 200 OK\r\nContent-Length: {total}\r\n\r\n"),
    };
    let whole = "HTTP/1.1 200 OK\r\n\r\n";
    let (head, body) = match *reply {
        Reply::Send => (part(start), content[start..].to_vec()),
        Reply::Cut(length) | Reply::Stall(length) => {
            (part(start), content[start..(start + length).min(total)].to_vec())
        }
        Reply::CutUnannounced(length) => (whole.into(), content[..length].to_vec()),
        Reply::Corrupt => {
            let mut body = content[start..].to_vec();
            body[0] ^= 1;
            (part(start), body)
        }
        Reply::IgnoreRange => {
            (format!("HTTP/1.1 200 OK\r\nContent-Length: {total}\r\n\r\n"), content.to_vec())
        }
        Reply::WrongRange => (part(0), content.to_vec()),
        Reply::Page(length) => {
            (format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n"), vec![b'<'; length])
        }
        Reply::PageUnannounced(length) => (whole.into(), vec![b'<'; length]),
        Reply::Status(status) => (format!("HTTP/1.1 {status} No\r\nContent-Length: 0\r\n\r\n"), Vec::new()),
        Reply::Redirect(to) => {
            (format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n"), Vec::new())
        }
        Reply::Garbage => ("220 ready for mail\r\n".into(), Vec::new()),
    };
    // Each connection has one answer: a client that sent the next request on it would meet its end.
    let head = head.replacen("\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1);
    stream.write_all(head.as_bytes())?;
    stream.write_all(&body)?;
    stream.flush()?;
    if matches!(reply, Reply::Stall(_)) {
        std::thread::sleep(Duration::from_secs(2));
    }
    Ok(())
}

/// 200 kB in which every piece differs from every other.
fn content() -> Vec<u8> {
    (0..50_000_u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect()
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn dataset(urls: Vec<String>, content: &[u8]) -> Dataset {
    let path = "below/file.bin".to_owned();
    let (sha256, bytes) = (hex(content), content.len() as u64);
    Dataset {
        name: "test".into(),
        title: "A test".into(),
        path: path.clone(),
        download: Download::Direct,
        urls,
        how: "Put it there.".into(),
        obtained: "Made for this test.".into(),
        licence: "none".into(),
        citation: "none".into(),
        files: vec![KnownFile { path, sha256, bytes, rows: 0, excerpt: None }],
    }
}

fn settings() -> Settings {
    let (stall, pause) = (Duration::from_millis(500), Duration::ZERO);
    Settings { stall, attempts: 2, pause, ..Settings::default() }
}

/// Nothing but the file itself may lie in the folder, or the part if `part` says so.
fn names(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(root.join("below")).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn files_arrive_whole_or_not_at_all() {
    use Reply::*;
    let whole = content();
    let total = whole.len();
    let half = total / 2;
    let right = whole[..half].to_vec();
    let stale = vec![7; half];
    let no: Vec<u8> = Vec::new();
    let nothing: Vec<Reply> = Vec::new();
    type Case<'a> = (&'a str, Vec<Reply>, Vec<Reply>, &'a [u8], Result<(usize, Vec<Option<usize>>), &'a str>);
    let cases: Vec<Case<'_>> = vec![
        // (what, first mirror, second mirror, part that is here; the mirror that gives it and the ranges it was asked for)
        ("all is well", vec![Send], nothing.clone(), &no, Ok((0, vec![None]))),
        ("a part is gone on with", vec![Send], nothing.clone(), &right, Ok((0, vec![Some(half)]))),
        ("a whole part is only checked", vec![Status(404)], nothing.clone(), &whole, Ok((0, vec![]))),
        ("cut once", vec![Cut(1000), Send], nothing.clone(), &no, Ok((0, vec![None, Some(1000)]))),
        (
            "cut again and again, each time a little further",
            vec![Cut(1000), Cut(0), Cut(500), Cut(1), Send],
            nothing.clone(),
            &no,
            Ok((0, vec![None, Some(1000), Some(1000), Some(1500), Some(1501)])),
        ),
        (
            "cut, length unknown",
            vec![CutUnannounced(1000), Send],
            nothing.clone(),
            &no,
            Ok((0, vec![None, Some(1000)])),
        ),
        ("silence", vec![Stall(1000), Send], nothing.clone(), &no, Ok((0, vec![None, Some(1000)]))),
        ("a wrong byte", vec![Corrupt, Send], nothing.clone(), &no, Ok((0, vec![None, None]))),
        ("a part of another file", vec![Send], nothing.clone(), &stale, Ok((0, vec![Some(half), None]))),
        ("ranges are ignored", vec![IgnoreRange], nothing.clone(), &right, Ok((0, vec![Some(half)]))),
        (
            "ranges are ignored, the part is wrong",
            vec![IgnoreRange],
            nothing.clone(),
            &stale,
            Ok((0, vec![Some(half)])),
        ),
        ("another range", vec![WrongRange, Send], nothing.clone(), &right, Ok((0, vec![Some(half), None]))),
        ("no such range", vec![Status(416), Send], nothing.clone(), &right, Ok((0, vec![Some(half), None]))),
        ("moved", vec![Redirect("/moved/file")], nothing.clone(), &no, Ok((0, vec![None, None]))),
        (
            "moved, with a part",
            vec![Redirect("/moved/file")],
            nothing.clone(),
            &right,
            Ok((0, vec![Some(half), Some(half)])),
        ),
        ("busy", vec![Status(503), Status(429), Send], nothing.clone(), &no, Err("HTTP 429")),
        ("busy once", vec![Status(503), Send], nothing.clone(), &no, Ok((0, vec![None, None]))),
        ("gone, but there is a mirror", vec![Status(404)], vec![Send], &no, Ok((1, vec![None]))),
        (
            "another length, but there is a mirror",
            vec![Page(total - 1)],
            vec![Send],
            &no,
            Ok((1, vec![None])),
        ),
        (
            "a page, but there is a mirror",
            vec![PageUnannounced(300)],
            vec![Send],
            &no,
            Ok((1, vec![Some(300), None])),
        ),
        ("no HTTP, but there is a mirror", vec![Garbage], vec![Send], &no, Ok((1, vec![None]))),
        (
            "a mirror goes on where another was cut",
            vec![Cut(1000), Status(404)],
            vec![Send],
            &no,
            Ok((1, vec![Some(1000)])),
        ),
        ("always a wrong byte, but there is a mirror", vec![Corrupt], vec![Send], &no, Ok((1, vec![None]))),
        ("gone", vec![Status(404)], vec![Status(410)], &no, Err("HTTP 410")),
        ("forbidden", vec![Status(403)], nothing.clone(), &no, Err("HTTP 403")),
        ("a longer page", vec![Page(total + 1)], nothing.clone(), &no, Err("200001 bytes: expected 200000")),
        (
            "a longer page, length unknown",
            vec![PageUnannounced(total + 1)],
            nothing.clone(),
            &no,
            Err("more than 200000 bytes"),
        ),
        ("other bytes of the same length", vec![Page(total)], nothing.clone(), &no, Err("SHA-256 ")),
        ("round in circles", vec![Redirect("/file")], nothing.clone(), &no, Err("redirect")),
        ("silence for ever", vec![Stall(0)], nothing.clone(), &no, Err("cut after 0 of 200000 bytes")),
        ("cut for ever", vec![Cut(0)], nothing, &right, Err("100000 bytes are kept in ")),
    ];
    for (what, first, second, part, expected) in cases {
        let root = tempfile::tempdir().expect("a folder");
        let (path, part_path) = (root.path().join("below/file.bin"), root.path().join("below/file.bin.part"));
        if !part.is_empty() {
            fs::create_dir_all(root.path().join("below")).expect("a folder");
            fs::write(&part_path, part).expect("a part");
        }
        let servers: Vec<Server> = [first, second]
            .into_iter()
            .filter(|replies| !replies.is_empty())
            .map(|replies| Server::start(whole.clone(), replies))
            .collect();
        let urls: Vec<String> = servers.iter().map(Server::url).collect();
        let dataset = dataset(urls.clone(), &whole);
        match (fetch(&dataset, root.path(), &settings()), expected) {
            (Ok(fetched), Ok((mirror, ranges))) => {
                assert_eq!(fetched.path, path, "{what}");
                assert_eq!(fetched.from.as_ref(), Some(&urls[mirror]), "{what}");
                assert_eq!(servers[mirror].ranges(), ranges, "{what}");
                assert_eq!(fs::read(&path).expect("the file"), whole, "{what}");
                assert_eq!(names(root.path()), ["file.bin"], "{what}");
                // What is here is not asked for again.
                let again = fetch(&dataset, root.path(), &settings()).expect(what);
                assert_eq!(again, Fetched { path, from: None, bytes: 0 }, "{what}");
            }
            (Err(error @ DatasetError::Failed { .. }), Err(said)) => {
                let text = error.to_string();
                assert!(text.contains(said), "{what}: {text}");
                for url in &urls {
                    assert!(text.contains(url), "{what}: {text}");
                }
                // What a person can do instead.
                let hand = format!("{} (200000 bytes, SHA-256 {})", path.display(), hex(&whole));
                assert!(text.contains(&hand), "{what}: {text}");
                assert!(!path.exists(), "{what}");
                let kept: &[&str] = if text.contains("are kept") { &["file.bin.part"] } else { &[] };
                assert_eq!(names(root.path()), kept, "{what}");
            }
            (found, expected) => panic!("{what}: {found:?}, expected {expected:?}"),
        }
    }
}

#[test]
fn a_download_that_was_killed_goes_on_in_the_next_run() {
    let (root, whole) = (tempfile::tempdir().expect("a folder"), content());
    let server =
        Server::start(whole.clone(), vec![Reply::Cut(70_000), Reply::Cut(0), Reply::Cut(0), Reply::Send]);
    let dataset = dataset(vec![server.url()], &whole);
    let error = fetch(&dataset, root.path(), &settings()).expect_err("cut").to_string();
    assert!(error.contains("70000 bytes are kept in "), "{error}");
    let fetched = fetch(&dataset, root.path(), &settings()).expect("the rest");
    assert_eq!(fetched.bytes, 130_000);
    assert_eq!(server.ranges(), [None, Some(70_000), Some(70_000), Some(70_000)]);
    assert_eq!(fs::read(fetched.path).expect("the file"), whole);
}

#[test]
fn other_bytes_that_are_here_are_replaced_only_if_asked() {
    let (root, whole) = (tempfile::tempdir().expect("a folder"), content());
    let server = Server::start(whole.clone(), vec![Reply::Send]);
    let dataset = dataset(vec![server.url()], &whole);
    fs::create_dir(root.path().join("below")).expect("a folder");
    let path = root.path().join("below/file.bin");
    fs::write(&path, "mine").expect("a file");
    let error = fetch(&dataset, root.path(), &settings()).expect_err("other bytes").to_string();
    let expected = format!(
        "{}: SHA-256 {}: expected {}; --replace downloads it again",
        path.display(),
        hex(b"mine"),
        hex(&whole)
    );
    assert_eq!(error, expected);
    assert_eq!(fs::read(&path).expect("the file"), b"mine");
    assert!(server.ranges().is_empty());
    fetch(&dataset, root.path(), &Settings { replace: true, ..settings() }).expect("the file");
    assert_eq!(fs::read(&path).expect("the file"), whole);
}

#[test]
fn two_downloads_of_one_file_do_not_mix() {
    let (root, whole) = (tempfile::tempdir().expect("a folder"), content());
    let server = Server::start(whole.clone(), vec![Reply::Send]);
    fs::create_dir(root.path().join("below")).expect("a folder");
    let part = fs::File::create(root.path().join("below/file.bin.part")).expect("a part");
    part.lock().expect("a lock");
    let error = fetch(&dataset(vec![server.url()], &whole), root.path(), &settings()).expect_err("locked");
    assert!(error.to_string().ends_with("another download of this file is under way"), "{error}");
    assert!(server.ranges().is_empty());
}

/// What a port without a server says is what a machine without a network says.
#[test]
fn without_a_network_the_message_says_what_to_do() {
    let (root, whole) = (tempfile::tempdir().expect("a folder"), content());
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    let urls = vec![
        format!("http://127.0.0.1:{port}/file"),
        // Reserved by RFC 2606: no such host can be.
        "http://mirror.invalid/file".to_owned(),
    ];
    let error = fetch(&dataset(urls, &whole), root.path(), &settings()).expect_err("no server").to_string();
    for said in ["could not be downloaded", "there seems to be no network here", "HTTPS_PROXY", "by hand: "] {
        assert!(error.contains(said), "{said}: {error}");
    }
    assert_eq!(names(root.path()), Vec::<String>::new());
}

#[test]
fn a_manual_download_says_what_to_put_where() {
    let root = tempfile::tempdir().expect("a folder");
    let manual =
        Dataset { download: Download::Manual, ..dataset(vec!["https://example.org/page".into()], b"x") };
    let error = fetch(&manual, root.path(), &settings()).expect_err("manual").to_string();
    let path = root.path().join("below/file.bin");
    for said in
        ["is a manual download", &path.display().to_string(), "Put it there.", "https://example.org/page"]
    {
        assert!(error.contains(said), "{said}: {error}");
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let root = tempfile::tempdir().expect("a folder");
    fs::write(root.path().join("below"), "a file where the folder should be").expect("a file");
    let error = fetch(&dataset(vec![], b"x"), root.path(), &settings()).expect_err("no folder").to_string();
    assert!(error.starts_with(&root.path().join("below").display().to_string()), "{error}");
}

/// A proxy that lets tunnels through (CONNECT), counts them, and knows no other host.
fn proxy(target: String) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let mut lines = BufReader::new(client.try_clone().expect("a stream")).lines();
            let first = lines.next().and_then(Result::ok).unwrap_or_default();
            while lines.next().and_then(Result::ok).is_some_and(|line| !line.is_empty()) {}
            log.lock().expect("the log").push(first);
            let mut client = client;
            let server = TcpStream::connect(&target).expect("the server");
            client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").expect("the client");
            let (mut up, mut down) =
                (client.try_clone().expect("a stream"), server.try_clone().expect("a stream"));
            std::thread::spawn(move || std::io::copy(&mut up, &mut down));
            std::thread::spawn(move || {
                let mut server = server;
                let mut buffer = Vec::new();
                let _ = server.read_to_end(&mut buffer);
                let _ = client.write_all(&buffer);
                let _ = client.shutdown(std::net::Shutdown::Both);
            });
        }
    });
    (address, seen)
}

#[test]
fn a_proxy_is_used() {
    let (root, whole) = (tempfile::tempdir().expect("a folder"), content());
    let server = Server::start(whole.clone(), vec![Reply::CutUnannounced(1000), Reply::Send]);
    let (address, seen) = proxy(server.address.clone());
    // Only the proxy can find this host.
    let dataset = dataset(vec!["http://mirror.invalid/file".into()], &whole);
    let through = Settings { proxy: Some(address), ..settings() };
    let fetched = fetch(&dataset, root.path(), &through).expect("the file");
    assert_eq!(fs::read(fetched.path).expect("the file"), whole);
    assert_eq!(server.ranges(), [None, Some(1000)]);
    let seen = seen.lock().expect("the log").clone();
    assert!(!seen.is_empty() && seen.iter().all(|line| line.contains("mirror.invalid")), "{seen:?}");
}

/// The program: the proxy of the environment, and an exit code that says that there is nothing.
#[test]
fn the_program_uses_the_proxy_of_the_environment() {
    let root = tempfile::tempdir().expect("a folder");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let seen = std::thread::spawn(move || {
        let mut hosts = Vec::new();
        // One tunnel a mirror.
        for mut client in listener.incoming().flatten().take(3) {
            let mut lines =
                BufReader::new(client.try_clone().expect("a stream")).lines().map_while(Result::ok);
            hosts.push(lines.next().unwrap_or_default());
            lines.find(String::is_empty);
            let _ =
                client.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n");
        }
        hosts
    });
    let mut scale = assert_cmd::Command::cargo_bin("scale").expect("the program");
    for variable in
        ["ALL_PROXY", "all_proxy", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"]
    {
        scale.env_remove(variable);
    }
    scale.env("SCALE_DATASETS", root.path()).env("HTTPS_PROXY", format!("http://{address}"));
    let output = scale.args(["datasets", "fetch", "eua-sites"]).output().expect("a run");
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr);
    for said in ["proxy: ", "there seems to be no network here", "14735 bytes, SHA-256 c1031a8f", "by hand"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let hosts = seen.join().expect("the proxy");
    for host in ["raw.githubusercontent.com:443", "github.com:443", "cdn.jsdelivr.net:443"] {
        assert!(hosts.iter().any(|line| line.contains(host)), "{hosts:?}");
    }
}

#[test]
fn what_the_manifest_calls_direct_can_be_fetched() {
    for dataset in scale_lab::datasets::manifest().expect("the manifest") {
        assert!(!dataset.obtained.is_empty(), "{}", dataset.name);
        let Some(file) = dataset.direct() else {
            assert_eq!(
                dataset.download,
                Download::Manual,
                "{}: a direct download has one known file",
                dataset.name
            );
            continue;
        };
        assert!(dataset.urls.len() > 1, "{}: links die, so there should be mirrors", dataset.name);
        assert!(dataset.urls.iter().all(|url| url.starts_with("https://")), "{}", dataset.name);
        assert!(file.bytes > 0 && file.sha256.len() == 64, "{}", dataset.name);
    }
}

fn sample(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/samples");
    folder.join(name).to_str().expect("text").to_owned()
}

#[test]
fn an_experiment_plays_on_a_file_of_sites() {
    let quick = include_str!("../../../experiments/quick.toml");
    let start = quick.find("\nsites = ").expect("a line") + 1;
    let line = quick[start..].lines().next().expect("a line");
    let with = |sites: &str| {
        let text = quick.replacen(line, &format!("sites = {sites}"), 1);
        scale_lab::experiment::Experiment::parse(&text)
    };
    let build = |sites: &str| with(sites).expect("an experiment").scenario.build();
    let geojson =
        build(&format!("{{ file = {{ path = {:?} }} }}", sample("sites.geojson"))).expect("a platform");
    let nodes = &geojson.platform.topology.nodes;
    assert_eq!(nodes.len(), 6);
    assert_eq!((nodes[0].name.as_str(), nodes[0].cores.milli, nodes[0].memory.mb), ("roof-1", 8000, 32_000));
    assert!(geojson.data.starts_with("sites: sites.geojson (GeoJSON, SHA-256 "), "{}", geojson.data);
    let network = format!("{{ file = {{ path = {:?}, unplaced = \"skip\" }} }}", sample("network.graphml"));
    let network = build(&network).expect("a platform");
    assert_eq!(network.platform.topology.nodes.len(), 3);
    assert_ne!(network.hash, geojson.hash);
    for (sites, said) in [
        (
            "{ file = { path = \"no/such.geojson\" } }".to_owned(),
            "scenario.sites.file.path: no/such.geojson: no such file",
        ),
        (format!("{{ file = {{ path = {:?} }} }}", sample("network.graphml")), "29:5: node 3: latitude"),
    ] {
        let error = build(&sites).err().expect("no platform").to_string();
        assert!(error.contains(said), "{sites}: {error}");
    }
    let typo = with("{ file = { pat = \"x\" } }").expect_err("pat").to_string();
    assert!(typo.contains("sites") || typo.contains("pat"), "{typo}");
}

#[test]
fn topologies_are_described_in_numbers_and_as_a_map() {
    let out = tempfile::tempdir().expect("a folder");
    let scale = |arguments: &[&str]| {
        let mut scale = assert_cmd::Command::cargo_bin("scale").expect("the program");
        scale.current_dir(out.path()).env_remove("SCALE_DATASETS");
        let output = scale.args(["topology", "describe"]).args(arguments).output().expect("a run");
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        (output.status.success(), text.join("\n"))
    };
    let network = sample("network.graphml");
    let (done, text) = scale(&[&network, "--skip-unplaced", "--out", "maps"]);
    assert!(done, "{text}");
    for said in [
        "network.graphml (GraphML): 4 rows; ",
        "left out for want of a position: 1; edges, not used: 3; properties, not used: label",
        "nodes                 3",
        "latitude              -38.1499 to -37.5622",
        "longitude             143.8503 to 144.9631",
        // 16 + 4 + 16, of the file.
        "cores                 36.000",
        "from the file         node type of 0, cores of 3, memory of 1; the others are drawn",
        "figure-1-map.svg",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let svg = fs::read_to_string(out.path().join("maps/figure-1-map.svg")).expect("the map");
    assert!(svg.contains("The 3 edge nodes and their types"), "{svg}");
    for (arguments, said) in [
        (&[network.as_str()][..], "29:5: node 3: latitude: \"\": expected a position"),
        (&["no-such"][..], "no-such is no file: data set \"no-such\": expected one of eua-sites"),
    ] {
        let (done, text) = scale(arguments);
        assert!(!done && text.contains(said), "{arguments:?}: {text}");
    }
    let (done, text) = scale(&["embedded"]);
    assert!(done && text.contains("nodes                 125"), "{text}");
}
