//! A scenario: everything that fixes what is played, and how it becomes a platform and a workload.

use crate::{datasets, trace};
use anyhow::{Context, Result, bail, ensure};
use scale_model::{Cores, Memory, Milliseconds, Objective, Platform, Request, Seed, Slo, Time};
use scale_sim::SimConfig;
use scale_topology::{Area, HardwareSpec, LinkSpec, Site, Unplaced, eua, rule};
use scale_workload::calibrate::fitted_counts;
use scale_workload::collect::{Collector, adopt, busiest};
use scale_workload::{
    ArrivalSpec, Catalogue, CatalogueSpec, Format, Gap, Generated, GeneratorSpec, MinuteCounts, Rules,
    catalogue, generate, overlay, read_folder, synthetic_counts,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::PathBuf;

/// What is played. Where a value comes from stands in METHODOLOGY.md, the register of interpretations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Seed of what all seeds of the experiment share: node types, functions, the trace.
    pub platform_seed: u64,
    /// Days that agents may train on; the day that is played is not among them.
    pub train_days: Vec<u32>,
    /// Where the nodes stand.
    pub sites: Sites,
    /// Where the requests per minute come from.
    pub trace: Trace,
    /// What the nodes have.
    pub hardware: HardwareSpec,
    /// How fast data moves between them.
    pub links: LinkSpec,
    /// Containers and deferral.
    pub cluster: Cluster,
    /// What the functions need.
    pub functions: CatalogueSpec,
    /// How synthetic requests per minute move over days.
    pub generator: GeneratorSpec,
    /// How requests per minute become requests.
    pub arrivals: ArrivalSpec,
}

/// Where the nodes stand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Sites {
    /// The EUA data set where it is found, else the embedded default.
    Auto,
    /// The 125 sites of the EUA data set; an error where it is not found.
    Eua,
    /// 125 sites made by rule in the same bounding box.
    Embedded,
    /// As many sites as wanted, made by the rule of the embedded default.
    Rule(u32),
    /// The 1,464 sites of the metropolitan area where they are found, else as many made by rule.
    Metro,
    /// A file of the user: GeoJSON, GraphML or EUA's CSV.
    File(SiteFile),
}

/// A file of sites.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiteFile {
    /// As seen from the current folder, else below the folders of the data sets.
    pub path: PathBuf,
    /// What happens to sites without a position.
    #[serde(default)]
    pub unplaced: Unplaced,
}

/// Where the requests per minute come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trace {
    /// The generator, with the columns of the Huawei trace in place of its own where they are found.
    Auto,
    /// The generator alone.
    Synthetic,
    /// As `auto`, but an error where the Huawei trace is not found.
    Huawei,
    /// Any trace that can be read: its busiest functions take the place of the first of the catalogue, with what the trace
    /// knows of them; the others are synthetic.
    File(TraceFile),
    /// What `scale trace calibrate` fitted, in place of the first functions' synthetic counts.
    Fitted(FittedFile),
}

/// A trace that somebody brings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceFile {
    /// A file or folder, as it stands or below `SCALE_DATASETS`.
    pub path: String,
    /// How it is laid out; told from its files if not given.
    #[serde(default)]
    pub format: Format,
    /// How it is read. Days are chosen by `arrivals`, unless they are given here.
    #[serde(default)]
    pub rules: Rules,
}

/// Fits that stand in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FittedFile {
    /// The JSON file, as it stands or below `SCALE_DATASETS`.
    pub path: String,
}

/// Containers and deferral.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// How long an idle container stays, in ms.
    pub keep_alive_ms: f64,
    /// How long a request waits before it is rejected, in ms; for ever if not given.
    pub patience_ms: Option<f64>,
    /// What a late request costs an optimiser, in ms.
    pub slo_penalty_ms: f64,
    /// What a deferred request costs an optimiser, in ms.
    pub defer_penalty_ms: f64,
}

/// A scenario with its platform and its trace.
pub struct Built {
    /// The scenario.
    pub scenario: Scenario,
    /// Nodes, links, functions.
    pub platform: Platform,
    /// What the functions' requests are drawn from.
    pub catalogue: Catalogue,
    /// Requests per minute.
    pub counts: MinuteCounts,
    /// What was used, for the record and for every figure.
    pub data: String,
    /// 16 hexadecimal digits that differ if the scenario or its data differ.
    pub hash: String,
}

impl Scenario {
    /// Makes the platform and the trace.
    ///
    /// # Errors
    /// A value that makes no sense, or data that is wanted and not found or not readable.
    pub fn build(&self) -> Result<Built> {
        let day = self.arrivals.day;
        ensure!(
            !self.train_days.contains(&day),
            "scenario.train_days: {:?}: expected not to hold day {day}, which is played",
            self.train_days
        );
        self.cluster.validate()?;
        self.arrivals.validate().context("scenario.arrivals")?;
        let seed = Seed(self.platform_seed);
        let (sites, sites_data) = self.sites(seed.derive("sites", 0))?;
        let topology = scale_topology::build(&sites, &self.hardware, &self.links, seed.derive("hardware", 0))
            .context("scenario")?;
        let mut catalogue =
            catalogue(&self.functions, seed.derive("functions", 0)).context("scenario.functions")?;
        let largest = (
            topology.nodes.iter().map(|node| node.cores).max_by_key(|cores| cores.milli),
            topology.nodes.iter().map(|node| node.memory).max_by_key(|memory| memory.mb),
        );
        let largest = largest.0.zip(largest.1).context("scenario.sites: no nodes")?;
        let (counts, trace_data) = self.counts(&mut catalogue, largest, seed.derive("trace", 0))?;
        let platform = Platform { topology, functions: catalogue.functions.clone() };
        platform.validate()?;
        let too_large = platform.function_ids().filter(|&id| !platform.can_ever_run(id)).count();
        if too_large > 0 {
            let functions = platform.functions.len();
            tracing::warn!("{too_large} of {functions} functions fit no node: their requests are rejected");
        }
        let data = format!("sites: {sites_data}; trace: {trace_data}");
        let hash = hash(&(self, &data))?;
        Ok(Built { scenario: self.clone(), platform, catalogue, counts, data, hash })
    }

    fn sites(&self, seed: Seed) -> Result<(Vec<Site>, String)> {
        let melbourne = Area::MELBOURNE_CBD;
        match &self.sites {
            Sites::Auto | Sites::Eua => {
                if let Some(file) = datasets::locate("eua-sites") {
                    let (sites, report) = eua::read_sites(&file)?;
                    tracing::info!("{}: {report}", file.display());
                    return Ok((sites, "EUA".into()));
                }
                ensure!(
                    self.sites == Sites::Auto,
                    "scenario.sites: the EUA sites are not found: `scale datasets where eua-sites` says where to get \
                     them and where to put them; or use sites = \"embedded\""
                );
                Ok((rule::embedded(&melbourne), "embedded default (made by rule)".into()))
            }
            Sites::Embedded => Ok((rule::embedded(&melbourne), "embedded default (made by rule)".into())),
            Sites::Rule(0) => bail!("scenario.sites: rule = 0: expected at least one site"),
            Sites::Rule(nodes) => Ok((rule::sites(&melbourne, *nodes as usize, seed), "made by rule".into())),
            Sites::Metro => {
                if let Some(file) = datasets::locate("eua-metro") {
                    let (sites, report) = eua::read_centers(&file)?;
                    tracing::info!("{}: {report}", file.display());
                    return Ok((sites, "EUA metro".into()));
                }
                Ok((rule::embedded(&Area::MELBOURNE_METRO), "metro (made by rule)".into()))
            }
            Sites::File(SiteFile { path, unplaced }) => {
                let file = datasets::resolve(path).with_context(|| {
                    format!(
                        "scenario.sites.file.path: {}: no such file, here or below the data sets",
                        path.display()
                    )
                })?;
                let (sites, report, format) = scale_topology::read_sites(&file, *unplaced)?;
                tracing::info!("{}: {report}", file.display());
                // The scenario's hash must tell a file from another one of the same name.
                let digest = &datasets::sha256(&file)?[..8];
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                Ok((sites, format!("{name} ({format}, SHA-256 {digest}...)")))
            }
        }
    }

    fn counts(
        &self,
        catalogue: &mut Catalogue,
        largest: (Cores, Memory),
        seed: Seed,
    ) -> Result<(MinuteCounts, String)> {
        let days = self.arrivals.days().context("scenario.arrivals")?;
        if let Trace::File(file) = &self.trace {
            return self.counts_of_file(file, catalogue, largest, seed);
        }
        let mut counts =
            synthetic_counts(&self.generator, catalogue, days.clone(), seed).context("scenario.generator")?;
        let synthetic = "synthetic (calibrated generator)".to_string();
        let folder = match &self.trace {
            Trace::Synthetic => return Ok((counts, synthetic)),
            Trace::Fitted(file) => {
                let path = find(&file.path)?;
                let mut fits = trace::read_fits(&path)?;
                fits.truncate(counts.functions.len());
                let fitted =
                    fitted_counts(&fits, days, seed.derive("fitted", 0)).context("scenario.trace")?;
                let (number, total) = (overlay(&mut counts, &fitted)?.len(), counts.functions.len());
                let digest = &datasets::sha256(&path)?[..8];
                let which = format!("{number} of {total} functions, SHA-256 {digest}...");
                return Ok((counts, format!("fitted ({which}), the others synthetic")));
            }
            Trace::Auto | Trace::Huawei | Trace::File(_) => datasets::locate("huawei-private"),
        };
        let Some(folder) = folder else {
            ensure!(
                self.trace == Trace::Auto,
                "scenario.trace: the Huawei trace is not found: `scale datasets where huawei-private` says where to get \
                 it and where to put it; or use trace = \"synthetic\""
            );
            return Ok((counts, synthetic));
        };
        let (real, report) = read_folder(&folder, days)?;
        tracing::info!(folder = %folder.display(), ?report, "read the Huawei trace");
        let functions = overlay(&mut counts, &real)?;
        let total = counts.functions.len();
        Ok((counts, format!("Huawei ({} of {total} functions), the others synthetic", functions.len())))
    }

    /// Requests per minute and functions of a trace that somebody brings.
    fn counts_of_file(
        &self,
        file: &TraceFile,
        catalogue: &mut Catalogue,
        largest: (Cores, Memory),
        seed: Seed,
    ) -> Result<(MinuteCounts, String)> {
        let path = find(&file.path)?;
        let days = self.arrivals.days().context("scenario.arrivals")?;
        // What is held over a gap may stand in the days before.
        let first = if file.rules.gap == Gap::Hold { 0 } else { *days.start() };
        let rules = Rules { days: file.rules.days.or(Some([first, *days.end()])), ..file.rules };
        let mut collector = Collector::default();
        let mut read = scale_workload::trace::read(&path, file.format, &rules, &mut |row| collector.row(row))
            .context("scenario.trace")?;
        let mut chosen = busiest(&read, catalogue.functions.len());
        let mut tally = std::mem::take(&mut read.tally);
        let adopted = adopt(catalogue, &read, &mut chosen, largest, &mut tally).context("scenario.trace")?;
        if !tally.is_empty() {
            tracing::warn!("{}:\n{tally}", path.display());
        }
        let real = collector.finish(&read, &chosen, days.clone()).context("scenario.trace")?;
        let mut counts =
            synthetic_counts(&self.generator, catalogue, days, seed).context("scenario.generator")?;
        overlay(&mut counts, &real)?;
        let (number, total) = (adopted.functions.len(), counts.functions.len());
        let name = read.format.name();
        // Digits of the counts stand for the bytes of the trace, so that another trace is another experiment.
        let digits = hash(&format!("{:?}", (&real, &adopted)))?;
        let data =
            format!("{name} {digits} ({number} of {total} functions: {adopted}), the others synthetic");
        Ok((counts, data))
    }
}

/// A path as it stands, or below the folders of data sets.
fn find(path: &str) -> Result<PathBuf> {
    let places =
        std::iter::once(PathBuf::from(path)).chain(datasets::roots().into_iter().map(|root| root.join(path)));
    let places: Vec<PathBuf> = places.collect();
    let found = places.iter().find(|place| place.exists()).cloned();
    found.with_context(|| {
        let places: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
        format!(
            "scenario.trace: {path:?} is not found; looked for: {}; or use trace = \"synthetic\"",
            places.join(", ")
        )
    })
}

impl Built {
    /// The requests of one seed.
    ///
    /// # Errors
    /// Arrivals that make no sense.
    pub fn workload(&self, seed: u64) -> Result<Generated> {
        let seed = Seed(seed).derive("workload", 0);
        let arrivals = &self.scenario.arrivals;
        let mut generated = generate(arrivals, &self.counts, &self.catalogue, &self.platform, seed)
            .context("scenario.arrivals")?;
        // The simulator measures from an instant on, and the warm-up ends with its last window: the next one begins.
        let day = |request: &&Request| request.arrival > generated.warmup_until;
        if let Some(first) = generated.workload.requests.iter().find(day) {
            generated.warmup_until = first.arrival;
        }
        generated
            .workload
            .validate(&self.platform)
            .context("the generator made a request that makes no sense")?;
        Ok(generated)
    }

    /// What the simulator needs to know besides.
    pub fn sim(&self, warmup_until: Time) -> SimConfig {
        let Cluster { keep_alive_ms, patience_ms, slo_penalty_ms, defer_penalty_ms } = self.scenario.cluster;
        SimConfig {
            keep_alive: Milliseconds(keep_alive_ms),
            patience: patience_ms.map(Milliseconds),
            warmup_until,
            objective: Objective {
                slo: Slo::Elastic { penalty_ms: Milliseconds(slo_penalty_ms) },
                defer_penalty: Milliseconds(defer_penalty_ms),
            },
            verify: false,
        }
    }
}

impl Cluster {
    fn validate(&self) -> Result<()> {
        let Cluster { keep_alive_ms, patience_ms, slo_penalty_ms, defer_penalty_ms } = *self;
        let fields = [
            ("keep_alive_ms", keep_alive_ms),
            ("patience_ms", patience_ms.unwrap_or(0.0)),
            ("slo_penalty_ms", slo_penalty_ms),
            ("defer_penalty_ms", defer_penalty_ms),
        ];
        for (name, value) in fields {
            ensure!(
                value.is_finite() && value >= 0.0,
                "scenario.cluster.{name}: {value}: expected a finite number of at least 0"
            );
        }
        Ok(())
    }
}

/// The first 16 hexadecimal digits of the SHA-256 of a value's JSON.
fn hash(value: &impl Serialize) -> Result<String> {
    let digest = Sha256::digest(serde_json::to_vec(value)?);
    Ok(digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect())
}
