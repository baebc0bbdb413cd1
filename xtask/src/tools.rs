//! What HiGHS needs to build: a C++ compiler with `make`, cmake, and libclang (for bindgen).
//!
//! A tool that the machine has is used as it is. A missing cmake or libclang is brought into a folder below the
//! build directory, as the wheels that the Python package index carries, so that the system stays untouched.
//! cargo hears of them through `CMAKE` and `LIBCLANG_PATH`, which the crates `cmake` and `clang-sys` read.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

/// Where the two tools are that the build scripts of our dependencies look for.
#[derive(Debug)]
pub(crate) struct Tools {
    cmake: Tool,
    libclang: Tool,
}

/// One tool: the value for its variable, and how it was found.
#[derive(Debug)]
struct Tool {
    variable: &'static str,
    path: PathBuf,
    source: Source,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// In a place where the build scripts look by themselves.
    System,
    /// The user's own setting of the variable.
    Variable,
    /// In our folder, now or by an earlier run.
    Fetched,
}

impl Tools {
    /// Finds every tool, and fetches what is missing into `folder`.
    pub(crate) fn prepare(folder: &Path) -> Result<Tools> {
        find_compiler()?;
        // A shell may still carry our own export lines from before a `cargo clean`; they bind nobody.
        let named_by_user =
            |variable| env::var_os(variable).filter(|path| !Path::new(path).starts_with(folder));
        let cmake = match find_cmake(named_by_user("CMAKE"), cmake_version)? {
            Some(tool) => tool,
            None => fetched(&CMAKE, folder)?,
        };
        let libclang = match find_libclang(named_by_user("LIBCLANG_PATH"))? {
            Some(tool) => tool,
            None => fetched(&LIBCLANG, folder)?,
        };
        Ok(Tools { cmake, libclang })
    }

    /// The variables to set for cargo.
    ///
    /// A system tool sets none: a changed `LIBCLANG_PATH` makes cargo build bindgen again, so a plain
    /// `cargo build` beside ours should see the same environment where it can.
    pub(crate) fn environment(&self) -> Vec<(&'static str, &Path)> {
        [&self.cmake, &self.libclang]
            .into_iter()
            .filter(|tool| tool.source != Source::System)
            .map(|tool| (tool.variable, tool.path.as_path()))
            .collect()
    }

    /// Lines for the user's shell, for `eval "$(cargo xtask tools)"`; those that only inform are comments.
    pub(crate) fn export_lines(&self) -> Vec<String> {
        [&self.cmake, &self.libclang].into_iter().map(|tool| export_line(tool, cfg!(windows))).collect()
    }
}

fn export_line(tool: &Tool, windows: bool) -> String {
    let path = tool.path.display().to_string();
    match (tool.source, windows) {
        (Source::System, _) => format!("# {} need not be set: {path}", tool.variable),
        (_, true) => format!("$env:{} = '{}'", tool.variable, path.replace('\'', "''")),
        (_, false) => format!("export {}='{}'", tool.variable, path.replace('\'', r"'\''")),
    }
}

/// What to install by hand, for the machines where the wheels are no way.
const INSTALL: &str = "\
Install what is missing with your system's packages:
  Debian, Ubuntu:  sudo apt-get install g++ make cmake libclang-dev
  Fedora:          sudo dnf install gcc-c++ make cmake clang-devel
  macOS:           xcode-select --install && brew install cmake
  Windows:         winget install Microsoft.VisualStudio.2022.BuildTools (with \"Desktop development with C++\")
                   winget install Kitware.CMake LLVM.LLVM
or tell the build where they are: CMAKE=<the cmake program>, LIBCLANG_PATH=<the folder of libclang>.";

// ---------------------------------------------------------------------------------------------- C++ compiler

/// A compiler cannot be brought along, so without one this is an error that says what to install.
fn find_compiler() -> Result<()> {
    if cfg!(windows) {
        // Visual Studio does not put its compiler on the PATH; its installer's own finder tells that it is there.
        let installer =
            env::var_os("ProgramFiles(x86)").map(|base| PathBuf::from(base).join("Microsoft Visual Studio"));
        let installed = installer.is_some_and(|base| base.join(r"Installer\vswhere.exe").is_file());
        ensure!(installed || runs("cl") || runs("g++"), "no C++ compiler is installed.\n{INSTALL}");
        return Ok(());
    }
    if let Some(named) = env::var_os("CXX") {
        // CXX may carry a launcher and flags, such as `ccache g++`.
        let program = named.to_string_lossy().split_whitespace().next().map(str::to_owned);
        ensure!(
            program.is_some_and(|program| runs(&program)),
            "the variable CXX names a C++ compiler that does not run: {}",
            named.display()
        );
    } else {
        ensure!(
            ["c++", "g++", "clang++"].into_iter().any(runs),
            "no C++ compiler is installed (looked for CXX, c++, g++, clang++).\n{INSTALL}"
        );
    }
    // A minimal Debian has g++ without make; cmake's message about it is hard to read.
    ensure!(
        env::var_os("CMAKE_GENERATOR").is_some() || ["make", "gmake"].into_iter().any(runs),
        "`make` is not installed, and cmake needs it.\n{INSTALL}"
    );
    Ok(())
}

/// Whether `program --version` works; a name on the PATH alone proves nothing (shims, stubs of an app store).
fn runs(program: &str) -> bool {
    let status = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match status {
        // `cl` knows no `--version`: that it could be started is enough there.
        Ok(status) => status.success() || program == "cl",
        Err(_) => false,
    }
}

// ----------------------------------------------------------------------------------------------------- cmake

/// The oldest cmake that HiGHS accepts (`cmake_minimum_required` in its CMakeLists.txt).
const CMAKE_OLDEST: (u32, u32) = (3, 15);

/// The user's `CMAKE`, else the one on the PATH; `version` runs a program and reads its version.
fn find_cmake(
    named: Option<OsString>,
    version: impl Fn(&OsStr) -> Option<(u32, u32)>,
) -> Result<Option<Tool>> {
    let tool = |path: &OsStr, source| Tool { variable: "CMAKE", path: path.into(), source };
    if let Some(named) = named {
        // The user's word is not overruled silently: if it is wrong, say so.
        let found = version(&named)
            .with_context(|| format!("the variable CMAKE names no working cmake: {}", named.display()))?;
        ensure!(
            found >= CMAKE_OLDEST,
            "the variable CMAKE names cmake {}.{}, but HiGHS needs {}.{} or newer: {}",
            found.0,
            found.1,
            CMAKE_OLDEST.0,
            CMAKE_OLDEST.1,
            named.display()
        );
        return Ok(Some(tool(&named, Source::Variable)));
    }
    let name = OsStr::new("cmake");
    let usable = version(name).is_some_and(|found| found >= CMAKE_OLDEST);
    Ok(usable.then(|| tool(name, Source::System)))
}

fn cmake_version(program: &OsStr) -> Option<(u32, u32)> {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
    if !output.status.success() {
        return None;
    }
    parse_cmake_version(&String::from_utf8_lossy(&output.stdout))
}

fn parse_cmake_version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.lines().next()?.strip_prefix("cmake version ")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

// -------------------------------------------------------------------------------------------------- libclang

/// Looks where `clang-sys` will look, in its order.
fn find_libclang(named: Option<OsString>) -> Result<Option<Tool>> {
    let os = env::consts::OS;
    let tool = |path: PathBuf, source| Tool { variable: "LIBCLANG_PATH", path, source };
    if let Some(named) = named {
        let path = PathBuf::from(named);
        let is_library =
            path.is_file() && path.file_name().is_some_and(|name| is_libclang(os, &name.to_string_lossy()));
        ensure!(
            is_library || holds_libclang(os, &path),
            "the variable LIBCLANG_PATH names neither a libclang nor a folder with one: {}",
            path.display()
        );
        return Ok(Some(tool(path, Source::Variable)));
    }
    let directories = libclang_directories(os, |name| env::var_os(name), first_line_of);
    Ok(directories.into_iter().find(|path| holds_libclang(os, path)).map(|path| tool(path, Source::System)))
}

/// The folders in which `clang-sys` 1.9 searches when `LIBCLANG_PATH` is not set.
fn libclang_directories(
    os: &str,
    variable: impl Fn(&str) -> Option<OsString>,
    first_line_of: impl Fn(&OsStr, &[&str]) -> Option<String>,
) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let llvm_config = variable("LLVM_CONFIG_PATH").unwrap_or_else(|| "llvm-config".into());
    if let Some(prefix) = first_line_of(&llvm_config, &["--prefix"]) {
        found.extend(["bin", "lib", "lib64"].map(|folder| Path::new(&prefix).join(folder)));
    }
    if os == "macos"
        && let Some(developer) = first_line_of(OsStr::new("xcode-select"), &["--print-path"])
    {
        found.push(Path::new(&developer).join("Toolchains/XcodeDefault.xctoolchain/usr/lib"));
    }
    for name in ["LD_LIBRARY_PATH", "LIBRARY_PATH"] {
        found.extend(variable(name).iter().flat_map(env::split_paths));
    }
    let patterns: &[&str] = match os {
        "macos" => &[
            "/usr/local/opt/llvm*/lib/llvm*/lib",
            "/Library/Developer/CommandLineTools/usr/lib",
            "/Applications/Xcode.app/Contents/Developer/Toolchains/XcodeDefault.xctoolchain/usr/lib",
            "/usr/local/opt/llvm*/lib",
        ],
        // The DLL itself lies in `bin`, beside the `lib` that clang-sys lists.
        "windows" => &[
            r"C:\Users\*\scoop\apps\llvm\current\bin",
            r"C:\Program Files*\LLVM\bin",
            r"C:\LLVM\bin",
            r"C:\Program Files*\Microsoft Visual Studio\*\*\VC\Tools\Llvm\bin",
            r"C:\Program Files*\Microsoft Visual Studio\*\*\VC\Tools\Llvm\*\bin",
        ],
        _ => &[
            "/usr/local/llvm*/lib*",
            "/usr/local/lib*/*/*",
            "/usr/local/lib*/*",
            "/usr/local/lib*",
            "/usr/lib*/*/*",
            "/usr/lib*/*",
            "/usr/lib*",
        ],
    };
    found.extend(patterns.iter().flat_map(|pattern| expand(Path::new(pattern))));
    found
}

/// The existing paths that match a pattern in which `*` stands for any text within one component.
fn expand(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for component in pattern.components() {
        let part = component.as_os_str();
        let text = part.to_string_lossy();
        found = match text.split_once('*') {
            None => found.into_iter().map(|base| base.join(part)).collect(),
            Some((start, end)) => found
                .iter()
                .flat_map(|base| names_in(base).into_iter().map(|name| base.join(name)))
                .filter(|path| {
                    let name = path.file_name().unwrap_or_default().to_string_lossy();
                    name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
                })
                .collect(),
        };
    }
    found.retain(|path| path.is_dir());
    found
}

/// The sorted names in a folder; none where it cannot be read.
fn names_in(folder: &Path) -> Vec<OsString> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect();
    names.sort();
    names
}

fn holds_libclang(os: &str, folder: &Path) -> bool {
    names_in(folder).iter().any(|name| is_libclang(os, &name.to_string_lossy()))
}

/// Whether bindgen can load a file of this name as libclang.
fn is_libclang(os: &str, name: &str) -> bool {
    // libclang-cpp is another library, which a search for `libclang-*` meets on many systems.
    if name.contains("-cpp.") {
        return false;
    }
    match os {
        "windows" => name == "libclang.dll" || name == "clang.dll",
        "macos" => name == "libclang.dylib",
        _ => {
            name == "libclang.so"
                || name.starts_with("libclang.so.")
                || (name.starts_with("libclang-") && (name.ends_with(".so") || name.contains(".so.")))
        }
    }
}

/// The first line that a program prints, if it runs and succeeds.
fn first_line_of(program: &OsStr, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| text.lines().next().map(str::to_owned))?
}

// ----------------------------------------------------------------------------- the Python package index's wheels

/// A tool as the Python package index carries it.
struct Wheel {
    package: &'static str,
    version: &'static str,
    variable: &'static str,
    /// The value of the variable inside of the unpacked wheel.
    payload: &'static str,
    /// SHA-256 of the wheel of each platform; pip takes no other file.
    hashes: &'static [&'static str],
}

/// Pinned: a newer one is taken by a change of this table, never by the calendar.
const CMAKE: Wheel = Wheel {
    package: "cmake",
    version: "4.4.5",
    variable: "CMAKE",
    payload: if cfg!(windows) { "cmake/data/bin/cmake.exe" } else { "cmake/data/bin/cmake" },
    hashes: &[
        "85625a9b6d5e88ff99c7eb79123d85570844e77ac076366cf75c609cc0b1b579", // manylinux2014 x86_64
        "25fc8469e67857124ef10c002331c0ab416eb7b8d9e1d6e4c58e84e730013ece", // manylinux2014 aarch64
        "56851f57f3017d81187793fa61f269d583c500c2904aff99cf5208cd341dec79", // musllinux_1_2 x86_64
        "7d7ef56092bc46b202c3d87796444a0a1db3145cea48523cdd4ebd13fef847b7", // musllinux_1_2 aarch64
        "e07a5716b4233dc9c69d6ca6993f4405eefc7687e718d9f6eebbb6cc1be304ef", // macOS, both
        "d5521b4a9e864505c550abae99ff593d501bd08225583e69b3a9a4ca7f36a03f", // Windows x86_64
        "cf9dc9375c239a56952b6e25b4e81b9f6f3d1f53820c92241719d93eb98a9f5b", // Windows aarch64
    ],
};

const LIBCLANG: Wheel = Wheel {
    package: "libclang",
    version: "18.1.1",
    variable: "LIBCLANG_PATH",
    payload: "clang/native",
    hashes: &[
        "c533091d8a3bbf7460a00cb6c1a71da93bffe148f172c7d03b1c31fbf8aa2a0b", // manylinux2010 x86_64
        "54dda940a4a0491a9d1532bf071ea3ef26e6dbaf03b5000ed94dd7174e8f9592", // manylinux2014 aarch64
        "69f8eb8f65c279e765ffd28aaa7e9e364c776c17618af8bff22a8df58677ff4f", // musllinux_1_2 x86_64
        "6f14c3f194704e5d09769108f03185fce7acaf1d1ae4bbb2f30a72c2400cb7c5", // macOS x86_64
        "0b2e143f0fac830156feb56f9231ff8338c20aecfe72b4ffe96f19e5a1dbb69a", // macOS arm64
        "4dd2d3b82fab35e2bf9ca717d7b63ac990a3519c7e312f19fa8e86dcc712f7fb", // Windows x86_64
        "3f0e1f49f04d3cd198985fea0511576b0aee16f9ff0e0f0cad7f9c57ec3c20e8", // Windows aarch64
    ],
};

/// The name of the file that says that a folder is whole.
const STAMP: &str = "scale-tool.stamp";

impl Wheel {
    fn folder_name(&self) -> String {
        format!("{}-{}", self.package, self.version)
    }

    /// What the stamp of a whole folder holds.
    fn stamp(&self) -> String {
        format!("{}=={}\n", self.package, self.version)
    }

    /// A requirements file that ties pip to the known wheels.
    fn requirements(&self) -> String {
        let hashes: String =
            self.hashes.iter().map(|hash| format!(" \\\n    --hash=sha256:{hash}")).collect();
        format!("{}=={}{hashes}\n", self.package, self.version)
    }

    /// The value for the variable, if the folder holds the whole, working tool.
    fn usable(&self, folder: &Path) -> Option<PathBuf> {
        let stamp = fs::read_to_string(folder.join(STAMP)).ok()?;
        let payload = folder.join(self.payload);
        (stamp == self.stamp() && self.works(&payload)).then_some(payload)
    }

    fn works(&self, payload: &Path) -> bool {
        match self.variable {
            "CMAKE" => cmake_version(payload.as_os_str()).is_some(),
            _ => holds_libclang(env::consts::OS, payload),
        }
    }
}

fn fetched(wheel: &Wheel, tools: &Path) -> Result<Tool> {
    let path = fetch(wheel, tools, install_with_pip)?;
    Ok(Tool { variable: wheel.variable, path, source: Source::Fetched })
}

/// The tool out of `tools`, after `install` has put it there if it was not.
///
/// A folder counts only with its stamp, and it gets its name by one rename of a finished install. So an
/// interrupted install leaves a `.partial-` folder at most, which the next one clears away.
fn fetch(
    wheel: &Wheel,
    tools: &Path,
    install: impl Fn(&Wheel, &Path, &Path) -> Result<()>,
) -> Result<PathBuf> {
    fs::create_dir_all(tools).with_context(|| format!("cannot create the folder {}", tools.display()))?;
    // One install at a time, also of two processes that share a build directory; the lock ends with the process.
    let lock_path = tools.join(".lock");
    let lock = File::create(&lock_path).with_context(|| format!("cannot create {}", lock_path.display()))?;
    lock.lock().with_context(|| format!("cannot lock {}", lock_path.display()))?;

    let folder = tools.join(wheel.folder_name());
    if let Some(path) = wheel.usable(&folder) {
        return Ok(path);
    }
    for name in names_in(tools).iter().filter(|name| name.to_string_lossy().starts_with(".partial-")) {
        remove(&tools.join(name))?;
    }
    eprintln!("xtask: bringing {} {} into {}", wheel.package, wheel.version, tools.display());
    let partial = tools.join(format!(".partial-{}-{}", wheel.folder_name(), std::process::id()));
    let target = partial.join("target");
    fs::create_dir_all(&target).with_context(|| format!("cannot create the folder {}", target.display()))?;
    let installed = install(wheel, &partial, &target).and_then(|()| {
        let payload = target.join(wheel.payload);
        ensure!(
            wheel.works(&payload),
            "pip installed {}, but {} does not work on this machine",
            wheel.folder_name(),
            payload.display()
        );
        fs::write(target.join(STAMP), wheel.stamp()).context("cannot write the stamp")?;
        remove(&folder)?;
        fs::rename(&target, &folder)
            .with_context(|| format!("cannot move {} to {}", target.display(), folder.display()))
    });
    remove(&partial)?;
    match installed {
        Ok(()) => Ok(folder.join(wheel.payload)),
        Err(error) => {
            bail!("{} is not installed, and it could not be fetched: {error:#}.\n{INSTALL}", wheel.package)
        }
    }
}

fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Lets pip unpack the wheel into `target`; `scratch` is for whatever else is needed on the way.
fn install_with_pip(wheel: &Wheel, scratch: &Path, target: &Path) -> Result<()> {
    let requirements = scratch.join("requirements.txt");
    fs::write(&requirements, wheel.requirements()).context("cannot write the requirements for pip")?;
    let mut pip = find_pip(scratch)?;
    pip.args(["install", "--require-hashes", "--only-binary=:all:", "--no-deps", "--no-compile"])
        // A user's pip.conf may ask for --user, which --target forbids.
        .args(["--no-user", "--no-input", "--quiet", "--disable-pip-version-check", "--target"])
        .arg(target)
        .arg("--requirement")
        .arg(&requirements)
        // An environment of our own cannot break the system's, so the warning to root would only alarm.
        .env("PIP_ROOT_USER_ACTION", "ignore")
        // Our own standard output may be read by a shell (`cargo xtask tools`).
        .stdout(Stdio::null())
        .stdin(Stdio::null());
    let status = pip.status().context("cannot start pip")?;
    ensure!(
        status.success(),
        "pip could not install {} ({status}; its own message is above). \
         It needs to reach https://pypi.org or the index that pip is configured for",
        wheel.folder_name()
    );
    Ok(())
}

/// A pip that runs: the one of a Python on the PATH, else one in a virtual environment in `scratch`.
fn find_pip(scratch: &Path) -> Result<Command> {
    let pythons: Vec<Vec<&str>> = [vec!["python3"], vec!["python"], vec!["py", "-3"]]
        .into_iter()
        .filter(|python| succeeds(python, &["-c", "import sys; sys.exit(sys.version_info < (3, 8))"]))
        .collect();
    if pythons.is_empty() {
        bail!("no Python 3.8 or newer is on the PATH (looked for python3, python, py -3)");
    }
    let pip = |python: &[&str]| {
        let mut command = Command::new(python[0]);
        command.args(&python[1..]).args(["-m", "pip"]);
        command
    };
    if let Some(python) = pythons.iter().find(|python| succeeds(python, &["-m", "pip", "--version"])) {
        return Ok(pip(python));
    }
    // Debian ships python3 without pip; python3-venv alone brings one through ensurepip.
    let venv = scratch.join("venv");
    let inside = venv.join(if cfg!(windows) { r"Scripts\python.exe" } else { "bin/python" });
    let (venv, inside) = (venv.to_string_lossy().into_owned(), inside.to_string_lossy().into_owned());
    for python in &pythons {
        if succeeds(python, &["-m", "venv", &venv]) && succeeds(&[&inside], &["-m", "pip", "--version"]) {
            return Ok(pip(&[&inside]));
        }
    }
    bail!(
        "Python is here, but neither its pip nor its venv works \
         (Debian, Ubuntu: sudo apt-get install python3-venv; Fedora: sudo dnf install python3-pip)"
    )
}

fn succeeds(program: &[&str], arguments: &[&str]) -> bool {
    Command::new(program[0])
        .args(&program[1..])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// An empty folder, removed at the end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let path = env::temp_dir().join(format!("scale-xtask-{name}-{}", std::process::id()));
            remove(&path).expect("the old folder goes");
            fs::create_dir_all(&path).expect("a temporary folder");
            Scratch(path)
        }

        fn touch(&self, file: &str) {
            let path = self.0.join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("its folder");
            fs::write(path, "").expect("an empty file");
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn cmake_versions() {
        let check = |text: &str, expected| assert_eq!(parse_cmake_version(text), expected, "{text:?}");
        check("cmake version 3.25.1\n\nCMake suite maintained", Some((3, 25)));
        check("cmake version 4.4.5\r\n", Some((4, 4)));
        check("cmake version 3.31.0-rc1", Some((3, 31)));
        check("cmake: command not found", None);
        check("cmake version", None);
        check("", None);
    }

    #[test]
    fn cmake_search_order() {
        let versions = |named: Option<(u32, u32)>, on_path: Option<(u32, u32)>| {
            move |program: &OsStr| if program == "cmake" { on_path } else { named }
        };
        let found = |variable: Option<&str>, named, on_path| {
            find_cmake(variable.map(OsString::from), versions(named, on_path))
                .map(|tool| tool.map(|tool| tool.source))
                .map_err(|error| format!("{error:#}"))
        };
        assert_eq!(found(None, None, Some((3, 25))), Ok(Some(Source::System)));
        assert_eq!(found(None, None, Some((3, 14))), Ok(None), "too old counts as missing");
        assert_eq!(found(None, None, None), Ok(None));
        assert_eq!(found(Some("/x/cmake"), Some((4, 4)), Some((3, 25))), Ok(Some(Source::Variable)));
        // A wrong CMAKE is an error even where the PATH has a good one: the user meant something else.
        let message = found(Some("/x/cmake"), None, Some((3, 25))).expect_err("no program");
        assert!(message.contains("CMAKE") && message.contains("/x/cmake"), "{message}");
        let message = found(Some("/x/cmake"), Some((3, 5)), None).expect_err("too old");
        assert!(message.contains("3.5") && message.contains("3.15"), "{message}");
    }

    #[test]
    fn libclang_names() {
        let check = |os, name, expected| assert_eq!(is_libclang(os, name), expected, "{os}: {name}");
        check("linux", "libclang.so", true);
        check("linux", "libclang.so.1", true);
        check("linux", "libclang-14.so", true);
        check("linux", "libclang-14.so.1", true);
        check("linux", "libclang-cpp.so.14", false);
        check("linux", "libclang.a", false);
        check("linux", "libclang.dylib", false);
        check("macos", "libclang.dylib", true);
        check("macos", "libclang-cpp.dylib", false);
        check("windows", "libclang.dll", true);
        check("windows", "libclang.so", false);
    }

    #[test]
    fn libclang_search_order() {
        let scratch = Scratch::new("order");
        let searched = env::join_paths([scratch.0.join("a"), scratch.0.join("b")]).expect("a search path");
        let directories = libclang_directories(
            "linux",
            |name| (name == "LD_LIBRARY_PATH").then(|| searched.clone()),
            |program, _| (program == "llvm-config").then(|| "/llvm".to_owned()),
        );
        let start = [
            "/llvm/bin".into(),
            "/llvm/lib".into(),
            "/llvm/lib64".into(),
            scratch.0.join("a"),
            scratch.0.join("b"),
        ];
        assert_eq!(directories[..start.len()], start);
    }

    #[test]
    fn patterns_expand_within_a_component() {
        let scratch = Scratch::new("expand");
        for file in ["llvm-14/lib/x", "llvm-15/lib/x", "llvm-15/lib32/x", "other/lib/x", "llvm-file"] {
            scratch.touch(file);
        }
        let check = |pattern: &str, expected: &[&str]| {
            let expected: Vec<_> = expected.iter().map(|path| scratch.0.join(path)).collect();
            assert_eq!(expand(&scratch.0.join(pattern)), expected, "{pattern}");
        };
        check("llvm-14/lib", &["llvm-14/lib"]);
        check("llvm*/lib*", &["llvm-14/lib", "llvm-15/lib", "llvm-15/lib32"]);
        check("*/lib", &["llvm-14/lib", "llvm-15/lib", "other/lib"]);
        check("llvm*", &["llvm-14", "llvm-15"]);
        check("llvm-15*5", &[]);
        check("nowhere/*", &[]);
    }

    #[test]
    fn requirements_tie_pip_to_known_wheels() {
        for wheel in [&CMAKE, &LIBCLANG] {
            let text = wheel.requirements();
            assert!(text.starts_with(&format!("{}=={} \\\n", wheel.package, wheel.version)), "{text}");
            assert_eq!(text.matches("--hash=sha256:").count(), wheel.hashes.len());
            assert!(wheel.hashes.iter().all(|hash| hash.len() == 64), "a SHA-256 has 64 digits");
        }
    }

    /// An install of libclang that needs no network.
    fn install_fake(_: &Wheel, _: &Path, target: &Path) -> Result<()> {
        let native = target.join("clang/native");
        fs::create_dir_all(&native)?;
        for name in ["libclang.so", "libclang.dylib", "libclang.dll"] {
            fs::write(native.join(name), "")?;
        }
        Ok(())
    }

    #[test]
    fn a_tool_is_fetched_once() {
        let scratch = Scratch::new("once");
        let installs = Cell::new(0);
        let install = |wheel: &Wheel, partial: &Path, target: &Path| {
            installs.set(installs.get() + 1);
            install_fake(wheel, partial, target)
        };
        let first = fetch(&LIBCLANG, &scratch.0, install).expect("installs");
        let second = fetch(&LIBCLANG, &scratch.0, install).expect("is there");
        assert_eq!(first, scratch.0.join("libclang-18.1.1").join("clang/native"));
        assert_eq!((second, installs.get()), (first, 1));
    }

    #[test]
    fn what_an_interrupted_install_leaves_is_not_trusted() {
        let scratch = Scratch::new("interrupted");
        // The library is there, the stamp is not: nobody knows whether the rest is.
        scratch.touch("libclang-18.1.1/clang/native/libclang.so");
        scratch.touch("libclang-18.1.1/leftover");
        scratch.touch(".partial-libclang-18.1.1-1/target/clang/native/libclang.so");
        fetch(&LIBCLANG, &scratch.0, install_fake).expect("installs anew");
        assert!(!scratch.0.join("libclang-18.1.1/leftover").exists());
        assert_eq!(names_in(&scratch.0), [".lock", "libclang-18.1.1"]);
    }

    #[test]
    fn a_failed_install_leaves_nothing_and_says_what_to_do() {
        let scratch = Scratch::new("failed");
        let check = |install: fn(&Wheel, &Path, &Path) -> Result<()>, cause: &str| {
            let error = fetch(&LIBCLANG, &scratch.0, install).expect_err("fails");
            let message = format!("{error:#}");
            for expected in [cause, "libclang is not installed", "Debian", "Fedora", "macOS", "Windows"] {
                assert!(message.contains(expected), "no `{expected}` in: {message}");
            }
            assert_eq!(names_in(&scratch.0), [".lock"]);
        };
        check(|_, _, _| bail!("no network"), "no network");
        check(|_, _, _| Ok(()), "does not work on this machine");
    }

    #[test]
    fn lines_for_a_shell() {
        let check = |source, windows, expected: &str| {
            let tool = Tool { variable: "CMAKE", path: "/it's/cmake".into(), source };
            assert_eq!(export_line(&tool, windows), expected);
        };
        check(Source::System, false, "# CMAKE need not be set: /it's/cmake");
        check(Source::Variable, false, r"export CMAKE='/it'\''s/cmake'");
        check(Source::Fetched, true, "$env:CMAKE = '/it''s/cmake'");
    }
}
