//! Feeds mutated samples to every reader in turn, for as long as it is told to, within bounds of time and memory.
//!
//! The seed alone decides the inputs of a reader, and how many there are depends on the machine. An input at fault is written
//! to `fuzz/artifacts/NAME-...`, and `--replay FILE` reads it again. What ends the process (no memory left, a stack that is too
//! deep) leaves its input in the file that is named at the start.

#![allow(clippy::disallowed_methods, reason = "the clock bounds a run; it decides no input")]

use anyhow::{Context, Result, anyhow, ensure};
use cap::Cap;
use clap::Parser;
use scale_fuzz::mutate::Mutator;
use scale_fuzz::{MEMORY, Reader, overwrite, readers, scratch};
use std::alloc::System;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, MEMORY);

/// Mutates samples of every reader's format and reads them.
#[derive(Parser)]
struct Arguments {
    /// How long, all readers together.
    #[arg(long, default_value_t = 1.0)]
    minutes: f64,
    /// Decides all inputs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only these readers.
    #[arg(long)]
    reader: Vec<String>,
    /// The longest that one input may take, in seconds by the clock: long enough for a machine with other work.
    #[arg(long, default_value_t = 60.0)]
    hang: f64,
    /// Where inputs at fault go.
    #[arg(long, default_value = "fuzz/artifacts")]
    artifacts: PathBuf,
    /// Read this file once with the readers named, and do nothing else.
    #[arg(long)]
    replay: Option<PathBuf>,
}

/// What is being read, for the watchman.
struct Current {
    reader: &'static str,
    since: Instant,
    input: Vec<u8>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let mut readers = readers();
    let wanted = |reader: &Reader| {
        arguments.reader.is_empty() || arguments.reader.iter().any(|name| name == reader.name)
    };
    readers.retain(wanted);
    ensure!(!readers.is_empty(), "no reader is named {}", arguments.reader.join(" or "));
    if let Some(file) = &arguments.replay {
        let bytes = fs::read(file).with_context(|| format!("{}", file.display()))?;
        readers.iter().for_each(|reader| (reader.read)(&bytes));
        println!("read without a fault");
        return Ok(());
    }
    let folder = &arguments.artifacts;
    fs::create_dir_all(folder).with_context(|| format!("{}", folder.display()))?;
    let current: Arc<Mutex<Option<Current>>> = Arc::default();
    watch(&current, Duration::from_secs_f64(arguments.hang), folder);

    // A panic is told once, with its input, and not by a trace for each.
    let said: Arc<Mutex<String>> = Arc::default();
    let hook = Arc::clone(&said);
    std::panic::set_hook(Box::new(move |panic| *locked(&hook) = panic.to_string()));

    let end = Instant::now() + Duration::from_secs_f64(60.0 * arguments.minutes);
    let mut states: Vec<State> =
        readers.iter().enumerate().map(|(index, _)| State::new(arguments.seed, index)).collect();
    let mut faults: Vec<String> = Vec::new();
    let share = Duration::from_millis(500);
    let last = scratch().join(format!("scale-fuzz-{}-last", std::process::id()));
    eprintln!("the input under way is in {}", last.display());
    while Instant::now() < end {
        for (reader, state) in readers.iter().zip(&mut states) {
            ALLOCATOR.set_limit(reader.memory).map_err(|()| anyhow!("{}: memory is held", reader.name))?;
            let start = Instant::now();
            while start.elapsed() < share {
                let input = state.mutator.next(&reader.corpus);
                overwrite(&last, &input).with_context(|| format!("{}", last.display()))?;
                let since = Instant::now();
                *locked(&current) = Some(Current { reader: reader.name, since, input: input.clone() });
                let outcome = catch_unwind(AssertUnwindSafe(|| (reader.read)(&input)));
                *locked(&current) = None;
                state.inputs += 1;
                state.slowest = state.slowest.max(since.elapsed());
                if outcome.is_err() {
                    let message = locked(&said).clone();
                    // One artifact for each place, not for each input.
                    let place = message.lines().next().unwrap_or_default().to_owned();
                    let known = format!("{}: {place}", reader.name);
                    if !faults.contains(&known) {
                        let file = folder.join(format!("{}-{}", reader.name, faults.len() + 1));
                        fs::write(&file, &input).with_context(|| format!("{}", file.display()))?;
                        eprintln!("{}: {message}\n  input: {}", reader.name, file.display());
                        faults.push(known);
                    }
                }
            }
            state.time += start.elapsed();
        }
    }
    fs::remove_file(&last).with_context(|| format!("{}", last.display()))?;
    println!("{:<12} {:>10} {:>9} {:>12} {:>10}", "reader", "inputs", "a second", "slowest", "memory");
    for (reader, state) in readers.iter().zip(&states) {
        let rate = state.inputs as f64 / state.time.as_secs_f64();
        println!(
            "{:<12} {:>10} {rate:>9.0} {:>9.1} ms < {:>4} MiB",
            reader.name,
            state.inputs,
            1e3 * state.slowest.as_secs_f64(),
            reader.memory >> 20
        );
    }
    let total: u64 = states.iter().map(|state| state.inputs).sum();
    let peak = ALLOCATOR.max_allocated() >> 20;
    println!("{total} inputs, seed {}; most memory {peak} MiB of {} MiB", arguments.seed, MEMORY >> 20);
    ensure!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    Ok(())
}

/// How far a reader has come.
struct State {
    mutator: Mutator,
    inputs: u64,
    time: Duration,
    slowest: Duration,
}

impl State {
    fn new(seed: u64, index: usize) -> State {
        // Far apart for any two seeds and readers.
        let seed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(index as u64);
        State { mutator: Mutator::new(seed), inputs: 0, time: Duration::ZERO, slowest: Duration::ZERO }
    }
}

/// Ends the process when one input takes too long, and keeps the input.
fn watch(current: &Arc<Mutex<Option<Current>>>, bound: Duration, folder: &Path) {
    let (current, folder) = (Arc::clone(current), folder.to_owned());
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_millis(100));
            let Some(stuck) = locked(&current).take_if(|current| current.since.elapsed() > bound) else {
                continue;
            };
            let file = folder.join(format!("{}-hang", stuck.reader));
            let kept = fs::write(&file, &stuck.input);
            eprintln!(
                "{}: more than {} s; input: {} ({kept:?})",
                stuck.reader,
                bound.as_secs_f64(),
                file.display()
            );
            std::process::exit(1);
        }
    });
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
