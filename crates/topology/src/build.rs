//! From sites to a topology.

use crate::error::TopologyError;
use crate::hardware::{self, HardwareSpec, NODE_TYPES};
use crate::links::LinkSpec;
use scale_model::{Cores, Invalid, Links, Memory, Node, NodeId, Position, Seed, Topology};

/// A place where an edge node stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// A name of its own.
    pub name: String,
    /// Where it is.
    pub position: Position,
    /// What the data says about its hardware.
    pub given: Given,
}

/// What the data says about a site's hardware; what it leaves open is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// Index of its type in [`NODE_TYPES`].
    pub kind: Option<u16>,
    /// F_v, in place of that of its type.
    pub cores: Option<Cores>,
    /// C_v, in place of that of its type.
    pub memory: Option<Memory>,
}

/// The most sites of a topology: the links between them are a table of sites times sites, which then has 2 GiB.
pub const MAX_SITES: usize = 16_384;

/// Gives each site a node type and each pair of sites a rate. The seed decides only which site gets which type; what the
/// data says about a site ([`Given`]) stands above the draw and changes nothing for the other sites.
///
/// # Errors
/// A spec that makes no sense, no site at all or more than [`MAX_SITES`], two sites of one name, a position off the globe,
/// a type that there is not.
///
/// ```
/// use scale_model::{MegabytesPerSecond, NodeId, Position, Seed};
/// use scale_topology::{Given, HardwareSpec, LinkSpec, Site, build};
/// let site = |name: &str, longitude| {
///     Site { name: name.into(), position: Position { latitude: 0.0, longitude }, given: Given::default() }
/// };
/// // At one place, so the line rate; 90 degrees along the equator are 6371 km * pi / 2 = 10,007.5 km.
/// let sites = [site("a", 0.0), site("b", 0.0), site("c", 90.0)];
/// let links = LinkSpec { line_mb_s: 100.0, hop_m: 10_007_543.398 };
/// let topology = build(&sites, &HardwareSpec { cores_per_ghz: 2.0 }, &links, Seed(1))?;
/// let rate = |s, v| topology.links.rate(NodeId(s), NodeId(v)).0;
/// assert_eq!(rate(0, 0), f64::INFINITY);
/// assert_eq!(rate(0, 1), 100.0);
/// assert!((rate(0, 2) - 50.0).abs() < 1e-6); // two hops, half the rate
/// # Ok::<(), scale_topology::TopologyError>(())
/// ```
pub fn build(
    sites: &[Site],
    hardware: &HardwareSpec,
    links: &LinkSpec,
    seed: Seed,
) -> Result<Topology, TopologyError> {
    hardware.validate()?;
    links.validate()?;
    if sites.len() > MAX_SITES {
        let (field, value) = ("sites".into(), sites.len().to_string());
        return Err(Invalid { field, value, expected: "at most 16384 sites" }.into());
    }
    for (index, site) in sites.iter().enumerate() {
        // Also in `Topology::validate`, but by then a rate made of it would have been refused under another name.
        let Position { latitude, longitude } = site.position;
        for (field, value, limit, expected) in [
            ("latitude_deg", latitude, 90.0, "degrees from -90 to 90"),
            ("longitude_deg", longitude, 180.0, "degrees from -180 to 180"),
        ] {
            if value.is_nan() || value.abs() > limit {
                let field = format!("sites[{index}] ({}).{field}", site.name);
                return Err(Invalid { field, value: value.to_string(), expected }.into());
            }
        }
    }
    let kinds = hardware::draw_kinds(sites.len(), seed.derive("hardware", 0));
    let nodes = sites.iter().zip(kinds).enumerate().map(|(index, (site, drawn))| {
        let kind = site.given.kind.unwrap_or(drawn);
        let class = NODE_TYPES.get(usize::from(kind)).ok_or_else(|| Invalid {
            field: format!("sites[{index}] ({}).node_type", site.name),
            value: kind.to_string(),
            expected: "the index of a node type",
        })?;
        Ok(Node {
            name: site.name.clone(),
            kind,
            position: site.position,
            frequency: class.frequency,
            cores: site.given.cores.map_or_else(|| hardware.cores(class), Ok)?,
            memory: site.given.memory.unwrap_or(class.memory),
            registry_bandwidth: class.registry_bandwidth,
        })
    });
    let nodes = nodes.collect::<Result<Vec<Node>, TopologyError>>()?;
    let rate = |source: NodeId, target: NodeId| {
        links.rate(nodes[source.index()].position, nodes[target.index()].position)
    };
    let links = Links::from_fn(nodes.len(), rate)?;
    let topology = Topology { nodes, links };
    topology.validate()?;
    Ok(topology)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::Statistics;
    use crate::rule::{self, Area};
    use proptest::prelude::*;

    const HARDWARE: HardwareSpec = HardwareSpec { cores_per_ghz: 1.0 };
    const LINKS: LinkSpec = LinkSpec { line_mb_s: 100.0, hop_m: 500.0 };

    fn site(name: &str, latitude: f64) -> Site {
        Site { name: name.into(), position: Position { latitude, longitude: 0.0 }, given: Given::default() }
    }

    #[test]
    fn what_the_data_says_stands_above_the_draw() {
        let drawn: Vec<Site> = ["a", "b", "c"].map(|name| site(name, 0.0)).to_vec();
        let mut given = drawn.clone();
        let (cores, memory) = (Cores { milli: 1500 }, Memory { mb: 7 });
        given[1].given = Given { kind: Some(9), cores: Some(cores), memory: Some(memory) };
        let build = |sites: &[Site]| build(sites, &HARDWARE, &LINKS, Seed(1));
        let (drawn, built) = (build(&drawn).expect("a topology"), build(&given).expect("a topology"));
        assert_eq!([&drawn.nodes[0], &drawn.nodes[2]], [&built.nodes[0], &built.nodes[2]]);
        let node = &built.nodes[1];
        assert_eq!((node.kind, node.cores, node.memory), (9, cores, memory));
        assert_eq!(node.registry_bandwidth, NODE_TYPES[9].registry_bandwidth);
        given[1].given.kind = Some(10);
        let error = build(&given).expect_err("ten types").to_string();
        assert_eq!(error, "sites[1] (b).node_type: 10: expected the index of a node type");
        let many: Vec<Site> = (0..=MAX_SITES).map(|index| site(&index.to_string(), 0.0)).collect();
        let error = build(&many).expect_err("too many").to_string();
        assert_eq!(error, "sites: 16385: expected at most 16384 sites");
    }

    #[test]
    fn sites_that_make_no_sense_are_refused() {
        let table: [(&[Site], &str); 4] = [
            (&[], "topology.nodes: 0: expected at least one node"),
            (
                &[site("a", 0.0), site("a", 1.0)],
                "topology.nodes[1].name: \"a\", the name of topology.nodes[0] too: expected a name of its own",
            ),
            (&[site("a", 91.0)], "sites[0] (a).latitude_deg: 91: expected degrees from -90 to 90"),
            (
                &[site("a", 0.0), site("b", f64::NAN)],
                "sites[1] (b).latitude_deg: NaN: expected degrees from -90 to 90",
            ),
        ];
        for (sites, message) in table {
            let error = build(sites, &HARDWARE, &LINKS, Seed(1)).expect_err(message);
            assert_eq!(error.to_string(), message);
        }
        let hardware = HardwareSpec { cores_per_ghz: -1.0 };
        assert!(build(&[site("a", 0.0)], &hardware, &LINKS, Seed(1)).is_err());
        let links = LinkSpec { line_mb_s: 0.0, hop_m: 1.0 };
        assert!(build(&[site("a", 0.0)], &HARDWARE, &links, Seed(1)).is_err());
    }

    #[test]
    fn the_metropolitan_area_is_built_too() {
        let topology =
            build(&rule::embedded(&Area::MELBOURNE_METRO), &HARDWARE, &LINKS, Seed(1)).expect("a topology");
        let statistics = Statistics::of(&topology).expect("nodes");
        assert_eq!(statistics.nodes, 1464);
        // 146 times each type, 3 GHz and 20 GB in the mean, and four more.
        assert!((statistics.cores - 4392.0).abs() < 2.4, "{statistics}");
        assert!((statistics.memory_mb - 29_280_000.0).abs() <= 40_000.0, "{statistics}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn a_seed_decides_everything(nodes in 1_usize..60, seed: u64) {
            let sites = rule::sites(&Area::MELBOURNE_CBD, nodes, Seed(seed));
            let topology = build(&sites, &HARDWARE, &LINKS, Seed(seed)).expect("a topology");
            prop_assert_eq!(&topology, &build(&sites, &HARDWARE, &LINKS, Seed(seed)).expect("a topology"));
            prop_assert!(topology.validate().is_ok());
            prop_assert_eq!(topology.nodes.len(), nodes);
        }
    }
}
