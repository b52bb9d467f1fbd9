//! Prefilter: a fast search for keywords, at least one of which occurs in every credential.
//!
//! Most texts contain none of them, and the SIMD search is several times faster than the regular expression.

use std::sync::LazyLock;

use aho_corasick::packed::Searcher;

/// Every match of the regular expression contains one of these in lower case.
const KEYWORDS: [&str; 29] = [
    "://",
    "-----begin ",
    "ghb_",
    "ghe_",
    "ghi_",
    "ghk_",
    "gho_",
    "ghp_",
    "ghr_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "akia",
    "asia",
    "aiza",
    "xox",
    "hf_",
    "npm_",
    "sk-",
    "eyj",
    "authorization",
    "bearer",
    "basic",
    "passw",
    "pwd=",
    "key",
    "token",
    "secret",
];

/// `None` if the processor has no SIMD support.
static SEARCHER: LazyLock<Option<Searcher>> = LazyLock::new(|| Searcher::new(KEYWORDS));

/// The text is searched in chunks, because each is copied to convert it to lower case.
const CHUNK: usize = 4096;

/// Length of the longest keyword minus one, so that a keyword across two chunks is found in the second.
const OVERLAP: usize = 12;

/// Returns whether the regular expression may match. There are no false negatives.
pub(super) fn may_contain_credential(text: &str) -> bool {
    let Some(searcher) = &*SEARCHER else { return true };
    let (mut rest, mut buffer) = (text.as_bytes(), [0; CHUNK]);
    loop {
        let chunk = &mut buffer[..rest.len().min(CHUNK)];
        chunk.copy_from_slice(&rest[..chunk.len()]);
        chunk.make_ascii_lowercase();
        if searcher.find(chunk).is_some() {
            return true;
        }
        if rest.len() <= CHUNK {
            return false;
        }
        rest = &rest[CHUNK - OVERLAP..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keyword_across_two_chunks_is_found() {
        for keyword in KEYWORDS {
            assert!(keyword.len() <= OVERLAP + 1, "{keyword}");
            for before in CHUNK - keyword.len()..=CHUNK {
                let text = format!("{}{}{}", ".".repeat(before), keyword.to_uppercase(), ".".repeat(CHUNK));
                assert!(may_contain_credential(&text), "{keyword} after {before} bytes");
            }
        }
        assert!(!may_contain_credential(&".".repeat(3 * CHUNK)));
    }
}
