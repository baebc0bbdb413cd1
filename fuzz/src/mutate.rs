//! Mutations of samples: of bytes, and of what text formats are made of: numbers, words, cells, lines, brackets.
//!
//! Without coverage there is no learning which mutation was interesting, so most of them are small and keep the rest of the
//! sample whole: one odd cell in a good file reaches further into a reader than noise.

use flate2::{Compression, write::GzEncoder};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::io::Write as _;
use std::ops::Range;

/// The largest input, in bytes.
const LARGEST: usize = 1 << 18;

/// What stands in place of a number: what people, spreadsheets and programs write, and the ends of types.
const NUMBERS: [&str; 30] = [
    "",
    "0",
    "-0",
    "1",
    "-1",
    "3.0",
    "0.0000001",
    "1e-400",
    "1e308",
    "1e309",
    "-1e309",
    "NaN",
    "nan",
    "inf",
    "-inf",
    "Infinity",
    "null",
    "127",
    "256",
    "65536",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "18446744073709551615",
    "18446744073709551616",
    "0x10",
    "1_000",
    "1,5",
    " 7 ",
];

/// What stands in place of a word.
const WORDS: [&str; 12] =
    ["", "\"", "\"\"", "'", "\u{feff}", "\0", "\u{e9}", "\u{1f600}", "true", "[]", "{}", "<!-- -->"];

/// What nests, or should be closed.
const OPENERS: [&str; 10] = ["[", "{", "{\"a\":", "<a>", "\"", "'", "(", "\n", ",", "[[a.a]]\n"];

/// A stream of inputs that depends on the seed alone.
pub struct Mutator(ChaCha8Rng);

impl Mutator {
    /// From a seed.
    pub fn new(seed: u64) -> Mutator {
        Mutator(ChaCha8Rng::seed_from_u64(seed))
    }

    /// The next input: one of the samples with one to some ten mutations.
    pub fn next(&mut self, corpus: &[&[u8]]) -> Vec<u8> {
        let mut bytes = corpus[self.below(corpus.len())].to_vec();
        loop {
            self.mutate(&mut bytes, corpus);
            bytes.truncate(LARGEST);
            if self.below(3) == 0 {
                break;
            }
        }
        if self.below(32) == 0 {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            // Into memory.
            let _ = encoder.write_all(&bytes);
            bytes = encoder.finish().unwrap_or_default();
        }
        bytes
    }

    fn mutate(&mut self, bytes: &mut Vec<u8>, corpus: &[&[u8]]) {
        let at = self.below(bytes.len() + 1);
        let range = at..(at + self.below(32)).min(bytes.len());
        match self.below(16) {
            0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            1 if at < bytes.len() => bytes[at] = self.below(256) as u8,
            2 => {
                let random: Vec<u8> = (0..self.below(8)).map(|_| self.below(256) as u8).collect();
                splice(bytes, at..at, &random);
            }
            3 => splice(bytes, range, b""),
            4 => {
                let piece = bytes[range].to_vec();
                splice(bytes, at..at, &piece);
            }
            5 => bytes.truncate(at),
            // The head of one sample and the tail of another.
            6 => {
                let other = corpus[self.below(corpus.len())];
                let from = self.below(other.len() + 1);
                splice(bytes, at..bytes.len(), &other[from..]);
            }
            7..=9 => {
                let number = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+');
                self.replace(bytes, at, number, &NUMBERS);
            }
            10 => {
                let word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b' ' | b'-');
                let all: Vec<&str> = WORDS.into_iter().chain(NUMBERS).collect();
                self.replace(bytes, at, word, &all);
            }
            11 | 12 => self.parts(bytes, at, b'\n'),
            13 => self.parts(bytes, at, b','),
            14 => {
                let opener = OPENERS[self.below(OPENERS.len())];
                let times = [1, 2, 130, 5000][self.below(4)];
                splice(bytes, at..at, opener.repeat(times).as_bytes());
            }
            _ => match self.below(3) {
                0 => splice(bytes, 0..0, b"\xef\xbb\xbf"),
                1 => {
                    *bytes = bytes
                        .iter()
                        .flat_map(|&byte| if byte == b'\n' { vec![b'\r', b'\n'] } else { vec![byte] })
                        .collect()
                }
                _ => bytes.retain(|&byte| byte != b'\r'),
            },
        }
    }

    /// Puts one of the texts in place of what is at, or right after, a place.
    fn replace(&mut self, bytes: &mut Vec<u8>, at: usize, is: impl Fn(u8) -> bool, texts: &[&str]) {
        let Some(start) = bytes[at..].iter().position(|&byte| is(byte)).map(|skip| at + skip) else { return };
        let before = bytes[..start].iter().rev().take_while(|&&byte| is(byte)).count();
        let after = bytes[start..].iter().take_while(|&&byte| is(byte)).count();
        let text = texts[self.below(texts.len())];
        splice(bytes, start - before..start + after, text.as_bytes());
    }

    /// Drops, doubles, moves or cuts the line or cell at a place.
    fn parts(&mut self, bytes: &mut Vec<u8>, at: usize, separator: u8) {
        let start = bytes[..at].iter().rposition(|&byte| byte == separator).map_or(0, |end| end + 1);
        let end =
            bytes[at..].iter().position(|&byte| byte == separator).map_or(bytes.len(), |skip| at + skip + 1);
        let part = bytes[start..end].to_vec();
        match self.below(4) {
            0 => splice(bytes, start..end, b""),
            1 => splice(bytes, start..start, &part),
            2 => {
                splice(bytes, start..end, b"");
                let to = self.below(bytes.len() + 1);
                splice(bytes, to..to, &part);
            }
            _ => splice(bytes, start + self.below(part.len() + 1)..end, &[separator]),
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.0.next_u64()) * bound as u128) >> 64) as usize
    }
}

fn splice(bytes: &mut Vec<u8>, range: Range<usize>, with: &[u8]) {
    drop(bytes.splice(range, with.iter().copied()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_everything_and_every_input_differs() {
        let corpus: [&[u8]; 2] = [b"a,1\nb,2\n", b"{\"c\": [3]}"];
        let inputs = |seed| {
            let mut mutator = Mutator::new(seed);
            (0..20_000).map(|_| mutator.next(&corpus)).collect::<Vec<_>>()
        };
        let first = inputs(1);
        assert_eq!(first, inputs(1));
        assert_ne!(first, inputs(2));
        let mut distinct = first.clone();
        distinct.sort();
        distinct.dedup();
        assert!(distinct.len() > 1000, "{}", distinct.len());
        // Every kind of mutation shows.
        let has =
            |what: &[u8]| first.iter().any(|input| input.windows(what.len()).any(|window| window == what));
        for what in [
            &b"NaN"[..],
            b"18446744073709551616",
            b"\xef\xbb\xbf",
            b"[[[[[[[[",
            b"\x1f\x8b",
            b"b,2\nb,2\n",
            b"a,1\n{\"c\"",
        ] {
            assert!(has(what), "{:?}", String::from_utf8_lossy(what));
        }
        let gzip = |input: &&Vec<u8>| input.starts_with(b"\x1f\x8b");
        assert!(first.iter().filter(|input| !gzip(input)).all(|input| input.len() <= LARGEST));
    }
}
