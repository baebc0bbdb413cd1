//! The fast path for Huawei's wide tables: `day,time` and one column a function.
//!
//! A line goes through one loop without any allocation. Whatever that loop does not know (quotes, `1e+06`, a wrong
//! cell) makes it give up, and the line is read again slowly and with all checks; so the fast path cannot accept what the
//! slow one refuses.

use crate::counts::{MAX_COUNT, NO_DATA};
use crate::error::WorkloadError;
use crate::input::Table;
use crate::trace::{Fault, Tally, number};
use std::collections::BTreeMap;
use std::path::Path;

/// A wide table.
pub(crate) struct Wide {
    pub(crate) table: Table,
    /// Where `day` is: 1 if the table was written by pandas with its index, whose column has no name; else 0.
    pub(crate) day: usize,
    /// Names of the functions.
    pub(crate) functions: Vec<String>,
    /// Where each function is.
    columns: Vec<usize>,
    /// No column was left out, so that the fast path may run.
    whole: bool,
}

/// What may name a column.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Names {
    /// A number, as in the data of 2023.
    Numbers,
    /// `funcName---userID---poolName`, as in the data of 2025.
    FunctionIds,
}

impl Names {
    fn expected(self) -> &'static str {
        match self {
            Names::Numbers => "the number of a function",
            Names::FunctionIds => "funcName---userID---poolName",
        }
    }

    fn accept(self, name: &str) -> bool {
        match self {
            // Only the plain form: pandas renames the second column `4` to `4.1`.
            Names::Numbers => name.parse::<u32>().is_ok_and(|number| number.to_string() == *name),
            Names::FunctionIds => name.split("---").count() == 3,
        }
    }
}

/// The day and the time of a row, each as far as it is a whole number.
pub(crate) type Place = (Option<u64>, Option<u64>);

impl Wide {
    pub(crate) fn open(path: &Path, names: Names, tally: &mut Tally) -> Result<Wide, WorkloadError> {
        let table = Table::open(path, "day,time,0,1,...")?;
        Wide::new(table, names, tally)
    }

    pub(crate) fn new(table: Table, names: Names, tally: &mut Tally) -> Result<Wide, WorkloadError> {
        let header = &table.header;
        let wrong = |index: usize, expected: &str| WorkloadError::Cell {
            file: table.lines.path().into(),
            line: table.lines.number(),
            column: index + 1,
            field: "header".into(),
            value: header.get(index).cloned().unwrap_or_default(),
            expected: expected.into(),
        };
        let day = usize::from(header[0].is_empty());
        for (index, name) in [(day, "day"), (day + 1, "time")] {
            if header.get(index).is_none_or(|found| found != name) {
                return Err(wrong(index, &format!("{name:?} (the header is day,time,0,1,...)")));
            }
        }
        if header.len() == day + 2 {
            return Err(wrong(day + 2, names.expected()));
        }
        let mut seen = BTreeMap::new();
        let mut columns = Vec::new();
        for (index, name) in header.iter().enumerate().skip(day + 2) {
            if !names.accept(name) {
                tally.bad(Fault::BadColumn, wrong(index, names.expected()))?;
            } else if let Some(first) = seen.get(name) {
                let expected = format!("each function once (it is column {} too)", first + 1);
                tally.bad(Fault::BadColumn, wrong(index, &expected))?;
            } else {
                seen.insert(name, index);
                columns.push(index);
            }
        }
        let functions = columns.iter().map(|&index| header[index].clone()).collect();
        let whole = columns.len() == header.len() - day - 2;
        Ok(Wide { table, day, functions, columns, whole })
    }

    /// Reads the next row that is as long as the header into `cells`; its day and time, each as far as it is a whole
    /// number. `None` at the end.
    pub(crate) fn next<T: Cell>(
        &mut self,
        cells: &mut [T],
        tally: &mut Tally,
    ) -> Result<Option<Place>, WorkloadError> {
        loop {
            let Some(line) = self.table.lines.next()? else { return Ok(None) };
            if self.whole
                && let Some((day, time)) = fast(line, self.day, cells)
            {
                return Ok(Some((Some(day), Some(time))));
            }
            if let Some(answer) = self.slow(cells, tally)? {
                return Ok(Some(answer));
            }
        }
    }

    /// The row that was read last, again and with all checks; `None` if it is left out.
    #[cold]
    fn slow<T: Cell>(&mut self, cells: &mut [T], tally: &mut Tally) -> Result<Option<Place>, WorkloadError> {
        let table = &mut self.table;
        table.fields.split(table.lines.line());
        if !table.right_length() && !tally.repairs(Fault::RowLength, table.wrong_length())? {
            return Ok(None);
        }
        let place = |index: usize| whole(table.fields.get(index));
        let place = (place(self.day), place(self.day + 1));
        for (cell, &column) in cells.iter_mut().zip(&self.columns) {
            *cell = match table.fields.get(column) {
                [] => T::BLANK,
                field => match T::parse(field) {
                    Ok(value) => value,
                    Err((fault, expected, repaired)) => {
                        if tally.repairs(fault, table.wrong(column, expected))? { repaired } else { T::BLANK }
                    }
                },
            };
        }
        Ok(Some(place))
    }

    /// Makes the error for a field of the row that was read last.
    #[cold]
    pub(crate) fn wrong(&mut self, index: usize, expected: String) -> WorkloadError {
        self.table.fields.split(self.table.lines.line());
        self.table.wrong(index, expected)
    }
}

/// A cell of a wide table.
pub(crate) trait Cell: Copy {
    /// Where the trace has no data.
    const BLANK: Self;
    /// Reads the cells of a line, separated by commas, into `cells`: `false` if there is anything but the usual, or more or
    /// fewer cells.
    fn fast(line: &[u8], cells: &mut [Self]) -> bool;
    /// Reads a whole cell that is not empty: its value, or the fault, what was expected, and what a repair gives.
    fn parse(field: &[u8]) -> Result<Self, (Fault, String, Self)>;
}

impl Cell for u32 {
    const BLANK: u32 = NO_DATA;

    #[inline]
    fn fast(line: &[u8], cells: &mut [u32]) -> bool {
        let mut at = 0;
        for slot in cells {
            if at > line.len() {
                return false;
            }
            // Most cells of the public tables are empty.
            if line.get(at) == Some(&b',') {
                *slot = NO_DATA;
                at += 1;
                continue;
            }
            let eight = line.get(at..at + 8).and_then(|eight| eight.try_into().ok());
            let (value, end) = match eight.map(digits_of_eight) {
                Some((value, read)) if read < 8 => (value, at + read),
                _ => digits(line, at),
            };
            let (read, mut behind) = (end - at, end);
            if line.get(end) == Some(&b'.') && read > 0 {
                behind += 1;
                while line.get(behind) == Some(&b'0') {
                    behind += 1;
                }
            }
            // Up to 15 digits cannot overflow.
            let usual =
                value <= u64::from(MAX_COUNT) && read <= 15 && matches!(line.get(behind), None | Some(b','));
            if !usual {
                return false;
            }
            *slot = if read == 0 { NO_DATA } else { value as u32 };
            at = behind + 1;
        }
        at == line.len() + 1
    }

    fn parse(field: &[u8]) -> Result<u32, (Fault, String, u32)> {
        let expected = |hint: &str| {
            format!("a whole number from 0 to {MAX_COUNT}, or nothing where there is no data{hint}")
        };
        match whole(field) {
            Some(count) if count <= u64::from(MAX_COUNT) => Ok(count as u32),
            _ => match number(field).filter(|_| !field.iter().any(u8::is_ascii_whitespace)) {
                Some(number) if number.fract() != 0.0 => {
                    let hint = " (a fraction is of another metric: is this the folder requests_minute?)";
                    Err((Fault::Fraction, expected(hint), NO_DATA))
                }
                Some(number) if number < 0.0 => Err((Fault::NegativeCount, expected(""), 0)),
                _ => Err((Fault::NotANumber, expected(""), NO_DATA)),
            },
        }
    }
}

impl Cell for f64 {
    const BLANK: f64 = f64::NAN;

    #[inline]
    fn fast(line: &[u8], cells: &mut [f64]) -> bool {
        let mut slots = cells.iter_mut();
        let (mut value, mut digits, mut places) = (0_u64, 0, 0);
        let mut point = false;
        let mut bytes = line.iter();
        loop {
            let next = bytes.next();
            if let Some(digit) = next.map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
                value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
                digits += 1;
                places += usize::from(point);
                continue;
            }
            if next == Some(&b'.') && digits > 0 && !point {
                point = true;
                continue;
            }
            let usual = digits <= 15 && matches!(next, None | Some(b','));
            let Some(slot) = slots.next().filter(|_| usual) else { return false };
            // Up to 15 digits over a power of ten up to 10^15: both are exact, so the quotient is the nearest number.
            *slot = if digits == 0 { f64::NAN } else { value as f64 / POWERS[places] };
            if next.is_none() {
                return slots.next().is_none();
            }
            (value, digits, places, point) = (0, 0, 0, false);
        }
    }

    fn parse(field: &[u8]) -> Result<f64, (Fault, String, f64)> {
        let expected = || "a number, or nothing where there is no data".to_string();
        number(field).ok_or_else(|| (Fault::BadValue, expected(), f64::NAN))
    }
}

const POWERS: [f64; 16] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// The digits from `at` on as a number, and where they end.
fn digits(line: &[u8], mut at: usize) -> (u64, usize) {
    let mut value = 0_u64;
    while let Some(digit) = line.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    (value, at)
}

/// The digits at the start of eight bytes as a number, and how many they are: all eight at once, as a branch for every digit
/// would be guessed wrong for every other cell.
#[inline]
fn digits_of_eight(bytes: [u8; 8]) -> (u64, usize) {
    // Digits become 0-9, all else 10 or more; adding 0x76 to that reaches the highest bit. A carry only goes to later bytes.
    let word = u64::from_le_bytes(bytes) ^ 0x3030_3030_3030_3030;
    let others = (word.wrapping_add(0x7676_7676_7676_7676) | word) & 0x8080_8080_8080_8080;
    let read = (others.trailing_zeros() / 8) as usize;
    if read == 0 {
        return (0, 0);
    }
    // The digits move to the end and zeros in front of them; then pairs, fours and eights are added up.
    let word = word << (64 - 8 * read);
    let pairs = word.wrapping_mul(10).wrapping_add(word >> 8);
    let low = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(100 + (1_000_000 << 32));
    let high = ((pairs >> 16) & 0x0000_00ff_0000_00ff).wrapping_mul(1 + (10_000 << 32));
    (low.wrapping_add(high) >> 32, read)
}

/// A whole line of the usual kind: its day and time, with the cells filled in.
#[inline]
fn fast<T: Cell>(line: &[u8], index_columns: usize, cells: &mut [T]) -> Option<(u64, u64)> {
    let mut at = 0;
    if index_columns == 1 {
        at = digits(line, 0).1;
        at = behind_comma(line, at)?;
    }
    let place = |at: usize| -> Option<(u64, usize)> {
        let (value, end) = digits(line, at);
        (1..=15).contains(&(end - at)).then_some((value, end))
    };
    let (day, end) = place(at)?;
    let (time, end) = place(behind_comma(line, end)?)?;
    T::fast(line.get(behind_comma(line, end)?..)?, cells).then_some((day, time))
}

fn behind_comma(line: &[u8], at: usize) -> Option<usize> {
    (line.get(at) == Some(&b',')).then_some(at + 1)
}

/// A whole number of at least 0 in any of the forms that pandas writes: `2891`, `6.0`, `1e+06`.
#[inline]
pub(crate) fn whole(cell: &[u8]) -> Option<u64> {
    // Up to 15 digits cannot overflow, and are exact in the slow form too.
    let digits = cell.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if (1..=15).contains(&digits) {
        let rest = &cell[digits..];
        if rest.is_empty() || (rest[0] == b'.' && rest[1..].iter().all(|&byte| byte == b'0')) {
            return Some(cell[..digits].iter().fold(0, |sum, &digit| 10 * sum + u64::from(digit - b'0')));
        }
    }
    let number: f64 = std::str::from_utf8(cell).ok()?.parse().ok()?;
    (number.fract() == 0.0 && (0.0..1e15).contains(&number)).then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The eight bytes at once say what one by one says.
    #[test]
    fn eight_digits_are_read_at_once() {
        for text in [
            "12345678",
            "00000000",
            "99999999",
            "1,345678",
            ",2345678",
            "123.0,45",
            "12\u{e9}4567",
            "1:345678",
            "1/345678",
        ] {
            let bytes: [u8; 8] = text.as_bytes()[..8].try_into().expect("eight bytes");
            let (value, end) = digits(&bytes, 0);
            assert_eq!(digits_of_eight(bytes), (value, end), "{text}");
        }
    }

    proptest! {
        #[test]
        fn eight_bytes_are_read_as_one_by_one(bytes in any::<[u8; 8]>(), kept in 0_usize..9, digit in any::<[u8; 8]>()) {
            let mut bytes = bytes;
            (0..kept).for_each(|at| bytes[at] = b'0' + digit[at] % 10);
            prop_assert_eq!(digits_of_eight(bytes), digits(&bytes, 0));
        }

        /// What the fast path accepts is what the slow path reads.
        #[test]
        fn the_fast_path_agrees_with_the_slow_one(line in "([0-9]{0,10}(\\.0{0,3}|[.x -]|)?,){0,6}[0-9]{0,9}(\\.[0-9]{0,4})?") {
            let fields: Vec<&str> = line.split(',').collect();
            let mut counts = vec![7_u32; fields.len()];
            if u32::fast(line.as_bytes(), &mut counts) {
                for (field, count) in fields.iter().zip(&counts) {
                    let slow = if field.is_empty() { NO_DATA } else { u32::parse(field.as_bytes()).expect("a count") };
                    prop_assert_eq!(*count, slow);
                }
            }
            let mut numbers = vec![7_f64; fields.len()];
            if f64::fast(line.as_bytes(), &mut numbers) {
                for (field, number) in fields.iter().zip(&numbers) {
                    let slow = if field.is_empty() { f64::NAN } else { f64::parse(field.as_bytes()).expect("a number") };
                    prop_assert_eq!(number.to_bits(), slow.to_bits());
                }
            }
            for wrong in [fields.len() - 1, fields.len() + 1] {
                prop_assert!(!u32::fast(line.as_bytes(), &mut vec![0; wrong]), "{} cells", wrong);
            }
        }
    }
}
