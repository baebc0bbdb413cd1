//! Adds up the result lines that the test programs print.

use std::fmt;

/// Tests over all test programs of a run.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
    /// Test programs (and doctest runs) that got as far as their result.
    pub(crate) programs: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

impl Counts {
    /// Adds what a line of the output says; most lines say nothing.
    pub(crate) fn add_line(&mut self, line: &str) {
        if let Some([passed, failed, skipped]) = parse_result(line) {
            self.passed += passed;
            self.failed += failed;
            self.skipped += skipped;
            self.programs += 1;
        }
    }
}

/// Reads `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; ...`, coloured or not.
fn parse_result(line: &str) -> Option<[u64; 3]> {
    let (_, parts) = line.trim_end().strip_prefix("test result: ")?.split_once(". ")?;
    let mut parts = parts.split("; ");
    let mut number = |unit: &str| parts.next()?.strip_suffix(unit)?.trim_end().parse().ok();
    Some([number("passed")?, number("failed")?, number("ignored")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines() {
        let check = |line: &str, expected| assert_eq!(parse_result(line), expected, "{line:?}");
        let tail = "0 measured; 0 filtered out; finished in 0.00s";
        check(&format!("test result: ok. 3 passed; 0 failed; 1 ignored; {tail}"), Some([3, 0, 1]));
        check(&format!("test result: FAILED. 12 passed; 2 failed; 0 ignored; {tail}\r\n"), Some([12, 2, 0]));
        check(
            &format!("test result: \u{1b}[32mok\u{1b}(B\u{1b}[m. 7 passed; 0 failed; 0 ignored; {tail}"),
            Some([7, 0, 0]),
        );
        check("running 3 tests", None);
        check("test result_of_a_batch ... ok", None);
        check("test result: ok", None);
        check("test result: ok. many passed; 0 failed; 0 ignored", None);
        check("", None);
    }

    #[test]
    fn counts_add_up() {
        let mut counts = Counts::default();
        counts.add_line("test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured");
        counts.add_line("test a ... ok");
        counts.add_line("test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured");
        assert_eq!(counts, Counts { passed: 7, failed: 2, skipped: 1, programs: 2 });
        assert_eq!(counts.to_string(), "7 passed, 2 failed, 1 skipped");
    }
}
