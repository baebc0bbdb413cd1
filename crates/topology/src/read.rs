//! Sites from a file of any format that is known, told apart by what is in it.

use crate::build::{Given, Site};
use crate::error::TopologyError;
use crate::eua::{self, ReadReport, row_name};
use crate::input::{self, Unplaced, shorten};
use crate::{geojson, graphml};
use std::fmt;
use std::path::Path;

/// What a file of sites is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// [`eua::read_sites`]
    EuaSites,
    /// [`eua::read_centers`]
    EuaCenters,
    /// [`eua::read_users`], each user a site.
    EuaUsers,
    /// [`geojson`]
    GeoJson,
    /// [`graphml`]
    GraphMl,
}

/// Reads sites. A text that begins with `{` is GeoJSON, one that begins with `<` is GraphML, everything else is CSV, and its
/// header tells the layout. The file may be packed with gzip or zip.
///
/// # Errors
/// The first fault, with file, line, column, field, value and what was expected.
pub fn read_sites(
    path: impl AsRef<Path>,
    unplaced: Unplaced,
) -> Result<(Vec<Site>, ReadReport, Format), TopologyError> {
    parse_sites(path.as_ref(), &input::bytes(path.as_ref())?, unplaced)
}

/// As [`read_sites`], from the bytes of a file.
///
/// # Errors
/// As [`read_sites`].
pub fn parse_sites(
    file: &Path,
    bytes: &[u8],
    unplaced: Unplaced,
) -> Result<(Vec<Site>, ReadReport, Format), TopologyError> {
    let text = input::text(file, bytes, eua::cell_at)?;
    let format = Format::of(file, &text)?;
    let bytes = text.as_bytes();
    let (sites, report) = match format {
        Format::GeoJson => geojson::parse(file, bytes, unplaced)?,
        Format::GraphMl => graphml::parse(file, bytes, unplaced)?,
        Format::EuaSites => eua::parse_sites(file, bytes)?,
        Format::EuaCenters => eua::parse_centers(file, bytes)?,
        Format::EuaUsers => {
            let (users, report) = eua::parse_users(file, bytes)?;
            let site = |(index, position)| Site { name: row_name(index), position, given: Given::default() };
            (users.into_iter().enumerate().map(site).collect(), report)
        }
    };
    Ok((sites, report, format))
}

impl Format {
    fn of(file: &Path, text: &str) -> Result<Format, TopologyError> {
        match text.trim_start().chars().next() {
            Some('{' | '[') => return Ok(Format::GeoJson),
            Some('<') => return Ok(Format::GraphMl),
            _ => {}
        }
        let header = eua::header(text);
        let has = |name: &str| header.iter().any(|cell| cell == name);
        match () {
            () if has("SITE_ID") => Ok(Format::EuaSites),
            () if has("RADIUS_M") => Ok(Format::EuaCenters),
            () if has("Latitude") => Ok(Format::EuaUsers),
            () => Err(TopologyError::Cell {
                file: file.to_owned(),
                line: 1,
                column: 1,
                field: "header".into(),
                value: shorten(&header.join(",")),
                expected: "GeoJSON, GraphML, or CSV with SITE_ID,LATITUDE,LONGITUDE or LATITUDE,LONGITUDE,RADIUS_M or \
                           Latitude,Longitude"
                    .into(),
            }),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::EuaSites => "CSV, EUA sites",
            Format::EuaCenters => "CSV, EUA metropolitan sites",
            Format::EuaUsers => "CSV, EUA users",
            Format::GeoJson => "GeoJSON",
            Format::GraphMl => "GraphML",
        })
    }
}
