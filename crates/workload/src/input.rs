//! The one way in: opens a file, plain or packed, and hands out its lines.
//!
//! What a file is packed with is told from its first bytes, not from its name: gzip (also several members), Zstandard
//! (also several frames) or a zip archive of one member. Checksums of the packing are held. A byte order mark and the
//! line ends of Windows are accepted. Memory does not depend on the length of the file: a buffer of 256 KiB, the
//! window of the packing (at most 100 MiB, and only where a Zstandard file asks for it), and one line of at most
//! [`MAX_LINE`] bytes.

use crate::error::WorkloadError;
use flate2::CrcReader;
use flate2::read::{DeflateDecoder, MultiGzDecoder};
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The longest line that is read, in bytes. The widest public table (5093 functions) has lines of some 50 KB. A line of
/// nothing but commas takes at most 50 times its length when it is split and is a header of names: 200 MiB.
pub const MAX_LINE: usize = 1 << 22;

/// Opens a file: plain, `.gz`, `.zst`, or `.zip` with one member.
///
/// # Errors
/// A file that cannot be read, an archive of other than one file, UTF-16 text.
pub fn open(path: &Path) -> Result<Lines, WorkloadError> {
    let failed = |source| WorkloadError::Io { path: path.into(), source };
    let refused = |found: String, expected: &str| WorkloadError::File {
        file: path.into(),
        found,
        expected: expected.into(),
    };
    let mut file = File::open(path).map_err(failed)?;
    let mut magic = Vec::new();
    (&mut file).take(4).read_to_end(&mut magic).map_err(failed)?;
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    let bytes: Box<dyn Read + Send> = match magic.as_slice() {
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(BufReader::with_capacity(BLOCK, file))),
        [0x28, 0xb5, 0x2f, 0xfd] => Box::new(Frames::new(file)),
        [b'P', b'K', 3, 4] | [b'P', b'K', 5, 6] => member(path, file)?,
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            return Err(refused("UTF-16 text".into(), "UTF-8 (save it as CSV in UTF-8)"));
        }
        _ => Box::new(file),
    };
    Lines::new(path, bytes).map_err(failed)
}

/// How much is read at a time.
const BLOCK: usize = 1 << 18;

/// The lines of a text, one at a time.
pub struct Lines {
    path: PathBuf,
    input: BufReader<Box<dyn Read + Send>>,
    buffer: Vec<u8>,
    number: u64,
}

impl Lines {
    /// The lines of any stream of bytes; `path` is what errors call it.
    ///
    /// # Errors
    /// What the stream says.
    pub fn new(path: &Path, mut bytes: Box<dyn Read + Send>) -> io::Result<Lines> {
        let mut head = Vec::new();
        (&mut bytes).take(3).read_to_end(&mut head)?;
        if head == b"\xef\xbb\xbf" {
            head.clear();
        }
        let bytes: Box<dyn Read + Send> = Box::new(io::Cursor::new(head).chain(bytes));
        let input = BufReader::with_capacity(BLOCK, bytes);
        Ok(Lines { path: path.into(), input, buffer: Vec::new(), number: 0 })
    }

    /// The next line that is not blank, without its end; `None` at the end of the file.
    ///
    /// # Errors
    /// What the file system or the packing says, and a line longer than [`MAX_LINE`].
    #[allow(clippy::should_implement_trait, reason = "the line is lent, which an iterator cannot")]
    pub fn next(&mut self) -> Result<Option<&[u8]>, WorkloadError> {
        loop {
            self.buffer.clear();
            let read = read_line(&mut self.input, &mut self.buffer);
            let read = read.map_err(|source| WorkloadError::Io { path: self.path.clone(), source })?;
            if read == 0 {
                return Ok(None);
            }
            self.number += 1;
            while self.buffer.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
                self.buffer.pop();
            }
            if read > MAX_LINE {
                return Err(WorkloadError::File {
                    file: self.path.clone(),
                    found: format!("a line {} of more than {MAX_LINE} bytes", self.number),
                    expected: "a text with line ends".into(),
                });
            }
            if !self.buffer.is_empty() {
                return Ok(Some(&self.buffer));
            }
        }
    }

    /// The line that was handed out last.
    pub fn line(&self) -> &[u8] {
        &self.buffer
    }

    /// Its number, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Appends a line with its end, or a little more than [`MAX_LINE`] bytes of a longer one.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    input.by_ref().take(MAX_LINE as u64 + 1).read_until(b'\n', line)
}

/// The frames of a Zstandard file, one behind the other.
struct Frames {
    decoder: Option<StreamingDecoder<BufReader<File>, FrameDecoder>>,
    rest: Option<BufReader<File>>,
}

impl Frames {
    fn new(file: File) -> Frames {
        Frames { decoder: None, rest: Some(BufReader::with_capacity(BLOCK, file)) }
    }
}

impl Read for Frames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(mut rest) = self.rest.take() {
                if rest.fill_buf()?.is_empty() {
                    self.rest = Some(rest);
                    return Ok(0);
                }
                self.decoder = Some(StreamingDecoder::new(rest).map_err(io::Error::other)?);
            }
            let Some(decoder) = &mut self.decoder else { return Ok(0) };
            let read = decoder.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            let (told, computed) =
                (decoder.decoder.get_checksum_from_data(), decoder.decoder.get_calculated_checksum());
            if told.is_some() && told != computed {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "the checksum of the zst file does not match",
                ));
            }
            self.rest = self.decoder.take().map(StreamingDecoder::into_inner);
        }
    }
}

/// The only member of a zip archive.
fn member(path: &Path, mut file: File) -> Result<Box<dyn Read + Send>, WorkloadError> {
    let broken = |error: zip::result::ZipError| WorkloadError::Io {
        path: path.into(),
        source: io::Error::other(error),
    };
    let refused = |found: String, expected: &str| WorkloadError::File {
        file: path.into(),
        found,
        expected: expected.into(),
    };
    let mut archive = zip::ZipArchive::new(&mut file).map_err(broken)?;
    let mut files = Vec::new();
    for index in 0..archive.len() {
        if !archive.by_index_raw(index).map_err(broken)?.is_dir() {
            files.push(index);
        }
    }
    let [index] = files[..] else {
        let expected = "an archive of one file (unpack the others into a folder)";
        return Err(refused(format!("a zip archive of {} files", files.len()), expected));
    };
    let (start, size, crc, method) = {
        let member = archive.by_index_raw(index).map_err(broken)?;
        (member.data_start(), member.compressed_size(), member.crc32(), member.compression())
    };
    drop(archive);
    let start = start.ok_or_else(|| refused("a zip archive without its data".into(), "a whole archive"))?;
    file.seek(SeekFrom::Start(start)).map_err(|source| WorkloadError::Io { path: path.into(), source })?;
    let packed = BufReader::with_capacity(BLOCK, file).take(size);
    match method {
        zip::CompressionMethod::Stored => Ok(Box::new(Checked::new(packed, crc))),
        zip::CompressionMethod::Deflated => Ok(Box::new(Checked::new(DeflateDecoder::new(packed), crc))),
        other => Err(refused(format!("a zip member packed by {other}"), "one that is stored or deflated")),
    }
}

/// A stream that fails at its end if its checksum is another one.
struct Checked<R> {
    bytes: CrcReader<R>,
    crc: u32,
}

impl<R: Read> Checked<R> {
    fn new(bytes: R, crc: u32) -> Checked<R> {
        Checked { bytes: CrcReader::new(bytes), crc }
    }
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.bytes.read(buffer)?;
        if read == 0 && !buffer.is_empty() && self.bytes.crc().sum() != self.crc {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the checksum of the zip member does not match",
            ));
        }
        Ok(read)
    }
}

/// A table with named columns, read row by row.
pub(crate) struct Table {
    pub(crate) lines: Lines,
    pub(crate) header: Vec<String>,
    header_line: u64,
    pub(crate) fields: Fields,
}

impl Table {
    /// Opens a file and reads its header.
    pub(crate) fn open(path: &Path, expected: &str) -> Result<Table, WorkloadError> {
        Table::new(open(path)?, expected)
    }

    /// Reads the header of a text; `expected` says what it should be if there is none.
    pub(crate) fn new(mut lines: Lines, expected: &str) -> Result<Table, WorkloadError> {
        if lines.next()?.is_none() {
            let expected = format!("a header {expected}");
            return Err(WorkloadError::File {
                file: lines.path().into(),
                found: "an empty file".into(),
                expected,
            });
        }
        let mut fields = Fields::default();
        fields.split(lines.line());
        let header = (0..fields.len()).map(|index| fields.text(index).into_owned()).collect();
        Ok(Table { header_line: lines.number(), lines, header, fields })
    }

    /// Where a column is.
    ///
    /// # Errors
    /// If there is none of that name: the message names it, and the columns that there are.
    pub(crate) fn column(&self, name: &str) -> Result<usize, WorkloadError> {
        self.optional(name).ok_or_else(|| WorkloadError::Cell {
            file: self.lines.path().into(),
            line: self.header_line,
            column: self.header.len() + 1,
            field: "header".into(),
            value: abridged(&self.header),
            expected: format!("a column {name:?}"),
        })
    }

    /// Where a column is, if there is one of that name.
    pub(crate) fn optional(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|found| found.trim() == name)
    }

    /// Reads the next row into `fields`; `false` at the end.
    pub(crate) fn next(&mut self) -> Result<bool, WorkloadError> {
        if self.lines.next()?.is_none() {
            return Ok(false);
        }
        self.fields.split(self.lines.line());
        Ok(true)
    }

    /// Whether the row has as many fields as the header.
    pub(crate) fn right_length(&self) -> bool {
        self.fields.len() == self.header.len()
    }

    /// What is wrong with the length of the row.
    #[cold]
    pub(crate) fn wrong_length(&self) -> WorkloadError {
        let (found, expected) = (self.fields.len(), self.header.len());
        self.error(
            found.min(expected),
            "row",
            format!("{found} fields"),
            format!("{expected}, as in the header"),
        )
    }

    /// What is wrong with a field of the row.
    #[cold]
    pub(crate) fn wrong(&self, index: usize, expected: impl Into<String>) -> WorkloadError {
        let field = self.header.get(index).map_or("", String::as_str);
        self.error(index, field, self.fields.text(index).into_owned(), expected.into())
    }

    fn error(&self, index: usize, field: &str, value: String, expected: String) -> WorkloadError {
        WorkloadError::Cell {
            file: self.lines.path().into(),
            line: self.lines.number(),
            column: index + 1,
            field: field.into(),
            value,
            expected,
        }
    }
}

/// The fields of one line.
#[derive(Default)]
pub(crate) struct Fields {
    bytes: Vec<u8>,
    places: Vec<(usize, usize)>,
}

impl Fields {
    /// Splits a line at its commas. A line with quotes is left to the csv crate; a quoted field ends on its line.
    pub(crate) fn split(&mut self, line: &[u8]) {
        self.bytes.clear();
        self.places.clear();
        if line.contains(&b'"') {
            let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(line);
            let mut record = csv::ByteRecord::new();
            // A slice cannot fail, and any bytes are a record.
            if reader.read_byte_record(&mut record).is_ok() {
                for field in &record {
                    let start = self.bytes.len();
                    self.bytes.extend_from_slice(field);
                    self.places.push((start, self.bytes.len()));
                }
                return;
            }
        }
        self.bytes.extend_from_slice(line);
        let mut start = 0;
        for (at, _) in line.iter().enumerate().filter(|(_, byte)| **byte == b',') {
            self.places.push((start, at));
            start = at + 1;
        }
        self.places.push((start, line.len()));
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// A field; an empty one where the row is too short.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> &[u8] {
        self.places.get(index).map_or(&[], |&(start, end)| &self.bytes[start..end])
    }

    pub(crate) fn text(&self, index: usize) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(self.get(index))
    }
}

/// The first and the last of many names.
pub(crate) fn abridged(names: &[String]) -> String {
    match names {
        [first, .., last] if names.len() > 4 => format!("{first}, ..., {last}"),
        _ => names.join(", "),
    }
}
