//! `scale topology describe`: what a file of sites holds, as a topology, in numbers and as a map.

use crate::datasets;
use crate::draw::{self, Caption, MapNode};
use crate::experiment::{self, Experiment};
use anyhow::{Context, Result, ensure};
use scale_model::{Node, Seed};
use scale_topology::{Area, NODE_TYPES, ReadReport, Site, Statistics, Unplaced, rule};
use std::path::{Path, PathBuf};

/// `scale topology ...`
#[derive(Clone, Debug, PartialEq, Eq, clap::Subcommand)]
pub enum Command {
    /// Print what is in a file of sites and draw its map.
    ///
    /// Node types and links are those that the experiment `paper` would give these sites, except where the file says what
    /// a node has.
    Describe {
        /// A file (GeoJSON, GraphML or EUA's CSV; plain, .gz or .zip), the name of a data set, or `embedded`.
        sites: String,
        /// Leave out sites without a position, as many networks of the Internet Topology Zoo have them.
        #[arg(long)]
        skip_unplaced: bool,
        /// Where the map goes.
        #[arg(long, default_value = "target/scale/topology")]
        out: PathBuf,
    },
}

/// Prints the answer to a command.
///
/// # Errors
/// A file that is not there or not as it should be, a map that cannot be written.
pub fn run(command: &Command) -> Result<()> {
    let Command::Describe { sites, skip_unplaced, out } = command;
    let unplaced = if *skip_unplaced { Unplaced::Skip } else { Unplaced::Error };
    let described = describe(sites, unplaced)?;
    println!("{}", described.text);
    for path in described.map.write(out).with_context(|| format!("{}", out.display()))? {
        println!("{}", path.display());
    }
    Ok(())
}

/// A topology in words and as a map.
pub struct Described {
    /// What was read, and its numbers.
    pub text: String,
    /// Its nodes.
    pub map: draw::Figure,
}

/// Describes a file, a data set or the embedded default.
///
/// # Errors
/// As [`run`].
pub fn describe(sites: &str, unplaced: Unplaced) -> Result<Described> {
    let (sites, source, report) = read(sites, unplaced)?;
    let paper = Experiment::parse(experiment::built_in("paper").unwrap_or_default())?.scenario;
    let seed = Seed(paper.platform_seed).derive("hardware", 0);
    let topology = scale_topology::build(&sites, &paper.hardware, &paper.links, seed)?;
    // `build` has refused a topology without nodes.
    let statistics = Statistics::of(&topology).context("a topology has nodes")?;
    let mut text = format!("{source}: {report}\n{statistics}\n");
    let given = |is: fn(&Site) -> bool| sites.iter().filter(|site| is(site)).count();
    text += &format!(
        "from the file         node type of {}, cores of {}, memory of {}; the others are drawn",
        given(|site| site.given.kind.is_some()),
        given(|site| site.given.cores.is_some()),
        given(|site| site.given.memory.is_some())
    );
    let node = |node: &Node| MapNode {
        latitude: node.position.latitude,
        longitude: node.position.longitude,
        node_type: usize::from(node.kind),
    };
    let nodes: Vec<MapNode> = topology.nodes.iter().map(node).collect();
    let names: Vec<String> = NODE_TYPES.iter().map(|class| class.name.to_string()).collect();
    let caption = Caption { experiment: "none (scale topology describe)".into(), data: source };
    Ok(Described { text, map: draw::map(&nodes, &names, &caption)? })
}

/// Sites, where they come from, and what the reader met.
fn read(sites: &str, unplaced: Unplaced) -> Result<(Vec<Site>, String, ReadReport)> {
    if sites == "embedded" {
        let sites = rule::embedded(&Area::MELBOURNE_CBD);
        let report = ReadReport { rows: sites.len(), ..ReadReport::default() };
        return Ok((sites, "embedded default (made by rule)".into(), report));
    }
    let file = match datasets::resolve(Path::new(sites)) {
        Some(file) => file,
        None => {
            // The error for a wrong name lists the right ones.
            let dataset = datasets::find(sites).with_context(|| format!("{sites} is no file"))?;
            dataset.locate().with_context(|| format!("{sites} is not here\n{}", dataset.help()))?
        }
    };
    ensure!(!file.is_dir(), "{} is a folder: expected one of its files", file.display());
    let (sites, report, format) = scale_topology::read_sites(&file, unplaced)?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    Ok((sites, format!("{name} ({format})"), report))
}
