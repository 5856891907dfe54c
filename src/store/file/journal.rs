//! The journal of one execution as a file: format 2.
//!
//! One event a line, as JSON, ended by its hash: SHA-256 over the hash before and the line without it. Whoever knows a hash
//! can therefore tell whether anything before it was edited. Events are only appended. A power cut or a full disk may
//! tear the end; what is torn was never acknowledged, and the next owner cuts it off.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base16ct::lower::encode_string;
use sha2::{Digest, Sha256};
use tracing::{debug_span, trace_span};

use crate::events::{EVENT_VERSION, Envelope};
use crate::store::journal::durability;
use crate::store::{Durability, StoreError};
use crate::system::disk::{Disk, Growing};
use crate::system::files::{FileError, Privacy};

/// The most bytes of a journal that are read: some hundred thousand attempts.
const LONGEST: u64 = 1 << 30;
/// What stands between an event and its hash.
const SEPARATOR: &[u8] = b",\"hash\":\"";
/// The bytes of a hash with what stands around it: the separator, 64 digits, a quote and a brace.
const TAIL: usize = SEPARATOR.len() + 64 + 2;

/// The hash of the newest line, and by it of all lines before: 64 hexadecimal digits, all 0 for an empty journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head(String);

impl Default for Head {
    fn default() -> Self {
        Self("0".repeat(64))
    }
}

impl Head {
    /// The digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn of(before: &Self, body: &[u8]) -> Self {
        let digest = Sha256::new().chain_update(before.0.as_bytes()).chain_update(body).finalize();
        Self(encode_string(&digest))
    }
}

/// What a journal holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Contents {
    pub(super) envelopes: Vec<Envelope>,
    /// The hash behind each envelope.
    pub(super) heads: Vec<Head>,
    /// Bytes up to the end of the last whole line.
    pub(super) length: u64,
    /// Whether something torn follows.
    pub(super) torn: bool,
}

impl Contents {
    pub(super) fn head(&self) -> Head {
        self.heads.last().cloned().unwrap_or_default()
    }
}

/// A line as it is written, and the head behind it.
fn line(envelope: &Envelope, before: &Head) -> (Vec<u8>, Head) {
    let mut bytes = serde_json::to_vec(envelope).expect("an event is plain data with text keys");
    let head = Head::of(before, &bytes);
    // The closing brace makes room for the hash.
    bytes.pop();
    bytes.extend_from_slice(SEPARATOR);
    bytes.extend_from_slice(head.0.as_bytes());
    bytes.extend_from_slice(b"\"}\n");
    (bytes, head)
}

/// Why a line is not the next one.
enum Unusable {
    /// It was not written to its end.
    Torn,
    /// It was written whole, and is not what was written.
    Edited,
    /// It was written by a newer program.
    Newer(u64),
}

/// The envelope of a line without its newline, and the head behind it.
fn parse(bytes: &[u8], before: &Head, seq: u64) -> Result<(Envelope, Head), Unusable> {
    #[derive(serde::Deserialize)]
    struct Version {
        version: u64,
    }
    let (body, tail) = bytes.split_at_checked(bytes.len().saturating_sub(TAIL)).ok_or(Unusable::Torn)?;
    let body = [body, b"}"].concat();
    let head = Head::of(before, &body);
    let expected = [SEPARATOR, head.0.as_bytes(), b"\"}"].concat();
    if tail == expected
        && let Ok(envelope) = serde_json::from_slice::<Envelope>(&body)
        && envelope.version <= EVENT_VERSION
        && envelope.seq == seq
    {
        return Ok((envelope, head));
    }
    let version: Version = serde_json::from_slice(bytes).map_err(|_| Unusable::Torn)?;
    Err(if version.version > u64::from(EVENT_VERSION) { Unusable::Newer(version.version) } else { Unusable::Edited })
}

/// Whether nothing in these lines was ever acknowledged: no event that is synced but, at most, the very last one.
fn is_unsynced(bytes: &[u8]) -> bool {
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    let synced = |line: &&[u8]| {
        let envelope = serde_json::from_slice::<Envelope>(line);
        envelope.is_ok_and(|envelope| durability(&envelope.event) == Durability::Synced)
    };
    !lines.iter().rev().skip(1).any(synced)
}

/// Reads a journal; `None` when there is none. Nothing is changed.
///
/// # Errors
/// [`StoreError`]: it cannot be read, somebody edited it, or it comes from a newer program.
pub(super) fn read(disk: &dyn Disk, path: &Path) -> Result<Option<Contents>, StoreError> {
    match disk.read(path, LONGEST) {
        Err(error) if error.is_not_found() => Ok(None),
        bytes => contents(path, &bytes?).map(Some),
    }
}

fn contents(path: &Path, bytes: &[u8]) -> Result<Contents, StoreError> {
    let mut contents = Contents { envelopes: Vec::new(), heads: Vec::new(), length: 0, torn: false };
    let mut before = Head::default();
    let mut end = 0;
    for (number, line) in (1_u64..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
        let whole = line.strip_suffix(b"\n");
        end += line.len();
        match whole.map_or(Err(Unusable::Torn), |line| parse(line, &before, number)) {
            Ok((envelope, head)) => {
                contents.length += line.len() as u64;
                contents.envelopes.push(envelope);
                contents.heads.push(head.clone());
                before = head;
            }
            Err(Unusable::Newer(found)) => {
                return Err(StoreError::Newer { path: path.into(), found, known: EVENT_VERSION });
            }
            // A tear ends the file, or leaves zeros where a page never reached the disk; nothing else does.
            Err(Unusable::Torn) if whole.is_none() || (line.contains(&0) && is_unsynced(&bytes[end..])) => {
                contents.torn = true;
                return Ok(contents);
            }
            Err(Unusable::Torn | Unusable::Edited) => {
                return Err(StoreError::Edited { path: path.into(), line: number });
            }
        }
    }
    Ok(contents)
}

/// The journal of the execution that is being worked on, in the hand of its owner.
#[derive(Debug)]
pub(super) struct OpenJournal {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    file: Box<dyn Growing>,
    length: u64,
    head: Head,
    /// Why nothing is appended any more: what a failed sync left on the disk is not known.
    broken: bool,
}

impl OpenJournal {
    /// Creates the journal with its first event, durably. The folder must exist.
    pub(super) fn create(disk: &Arc<dyn Disk>, path: &Path, first: &Envelope) -> Result<Self, StoreError> {
        let (bytes, head) = line(first, &Head::default());
        disk.create_durably(path, &bytes, Privacy::Private)?;
        Self::at_end(disk, path, bytes.len() as u64, head)
    }

    /// Opens a journal that its owner read, to append to it. A torn end is cut off first.
    pub(super) fn open(disk: &Arc<dyn Disk>, path: &Path, contents: &Contents) -> Result<Self, StoreError> {
        let journal = Self::at_end(disk, path, contents.length, contents.head())?;
        if contents.torn {
            journal.file.cut_to(contents.length)?;
        }
        Ok(journal)
    }

    /// Opens a journal of so many bytes and this head. When it has become another one, nothing is appended to it.
    pub(super) fn at_end(disk: &Arc<dyn Disk>, path: &Path, length: u64, head: Head) -> Result<Self, StoreError> {
        let file = disk.append_to(path, Privacy::Private)?;
        Ok(Self { disk: disk.clone(), path: path.to_path_buf(), file, length, head, broken: false })
    }

    /// Waits until everything that was appended is on the disk, whoever appended it.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        Ok(self.file.sync()?)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn head(&self) -> &Head {
        &self.head
    }

    /// Appends events, and with `sync` waits until they and all before them are on the disk.
    ///
    /// # Errors
    /// [`StoreError::Superseded`] when somebody else appended meanwhile; [`StoreError::File`]. Nothing of them counts then.
    pub(super) fn append(&mut self, envelopes: &[Envelope], sync: bool) -> Result<(), StoreError> {
        let _span = debug_span!(target: "store", "append", events = envelopes.len(), sync).entered();
        self.check(envelopes.first().map_or(0, |first| first.epoch))?;
        let (mut bytes, mut head) = (Vec::new(), self.head.clone());
        for envelope in envelopes {
            let (line, next) = line(envelope, &head);
            bytes.extend_from_slice(&line);
            head = next;
        }
        if let Err(error) = self.file.append(&bytes) {
            // Half a line must not stand before the next one.
            self.broken = self.file.cut_to(self.length).is_err();
            return Err(error.into());
        }
        if sync {
            let _span = trace_span!(target: "store", "sync").entered();
            self.file.sync().inspect_err(|_| self.broken = true)?;
        }
        self.length += bytes.len() as u64;
        self.head = head;
        Ok(())
    }

    /// Whether the file still holds what was appended.
    ///
    /// # Errors
    /// [`StoreError`] where it does not.
    pub(super) fn verify(&self) -> Result<(), StoreError> {
        match read(self.disk.as_ref(), &self.path)? {
            Some(contents) if contents.head() == self.head && !contents.torn => Ok(()),
            _ => Err(self.changed()),
        }
    }

    fn changed(&self) -> StoreError {
        let source = std::io::Error::other("somebody removed it, or changed it, while we owned it");
        FileError { action: "append to", path: self.path.clone(), source }.into()
    }

    /// Whether the file is still the one that we know.
    fn check(&self, epoch: u64) -> Result<(), StoreError> {
        if self.broken {
            let source = std::io::Error::other("an earlier write did not reach the disk");
            return Err(FileError { action: "append to", path: self.path.clone(), source }.into());
        }
        match self.file.length_of_name()? {
            Some(length) if length == self.length => Ok(()),
            _ => {
                let now = read(self.disk.as_ref(), &self.path)?;
                let newest = now.and_then(|contents| Some(contents.envelopes.last()?.epoch)).unwrap_or_default();
                if newest > epoch {
                    return Err(StoreError::Superseded { epoch: newest });
                }
                Err(self.changed())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Event;
    use crate::system::{disk, files};
    use jiff::Timestamp;

    fn envelope(seq: u64, text: &str) -> Envelope {
        let at = Timestamp::from_second(1_769_868_000).expect("a time of this century");
        Envelope { version: EVENT_VERSION, seq, at, epoch: 1, event: Event::Notice { text: text.into() } }
    }

    /// A journal of three events: its folder and its bytes.
    fn three() -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("journal.jsonl");
        let mut journal = OpenJournal::create(&disk::host(), &path, &envelope(1, "one")).expect("created");
        journal.append(&[envelope(2, "two\n\"},\"hash\":\"")], false).expect("appended");
        journal.append(&[envelope(3, "three")], true).expect("appended");
        (folder, path)
    }

    fn texts(contents: &Contents) -> Vec<String> {
        let text = |envelope: &Envelope| match &envelope.event {
            Event::Notice { text } => text.raw().to_owned(),
            other => panic!("{other:?}"),
        };
        contents.envelopes.iter().map(text).collect()
    }

    #[test]
    fn what_is_appended_is_read_back_with_one_head() {
        let (_folder, path) = three();
        let contents = read(disk::host().as_ref(), &path).expect("read").expect("there");
        assert_eq!(texts(&contents), ["one", "two\n\"},\"hash\":\"", "three"]);
        assert!(!contents.torn && contents.head().as_str().len() == 64);
        let mut journal = OpenJournal::open(&disk::host(), &path, &contents).expect("opened");
        assert_eq!(journal.head(), &contents.head());
        journal.append(&[envelope(4, "four")], true).expect("appended");
        let again = read(disk::host().as_ref(), &path).expect("read").expect("there");
        assert_eq!((&again.head(), again.heads[2].clone()), (journal.head(), contents.head()));
    }

    #[test]
    fn a_tear_at_any_byte_costs_the_torn_line_and_nothing_else() {
        let (_folder, path) = three();
        let whole = files::read(&path, 1 << 20).expect("read");
        let ends: Vec<usize> = (1..=whole.len()).filter(|at| whole[at - 1] == b'\n').collect();
        for cut in 0..=whole.len() {
            for zeros in [0, 300] {
                let mut bytes = whole[..cut].to_vec();
                bytes.resize(cut + zeros, 0);
                let contents = contents(&path, &bytes).expect("a tear is no edit");
                let lines = ends.iter().filter(|end| **end <= cut).count();
                assert_eq!(contents.envelopes.len(), lines, "cut at {cut}, {zeros} zeros");
                assert_eq!(contents.torn, !ends.contains(&cut) && cut > 0 || zeros > 0, "cut at {cut}, {zeros} zeros");
                files::replace(&path, &bytes, Privacy::Private).expect("cut");
                if lines > 0 {
                    let mut journal = OpenJournal::open(&disk::host(), &path, &contents).expect("opened");
                    journal.append(&[envelope(lines as u64 + 1, "next")], true).expect("appended");
                    assert_eq!(
                        read(disk::host().as_ref(), &path).expect("read").expect("there").envelopes.len(),
                        lines + 1
                    );
                }
            }
        }
    }

    #[test]
    fn zeros_before_something_that_was_acknowledged_are_no_tear() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("journal.jsonl");
        let mut journal = OpenJournal::create(&disk::host(), &path, &envelope(1, "one")).expect("created");
        let reopened = Event::PhaseReopened { phase: crate::contract::Phase::Design };
        for seq in 2..5 {
            let event = if seq == 2 { Event::Notice { text: "two".into() } } else { reopened.clone() };
            journal.append(&[Envelope { event, ..envelope(seq, "") }], true).expect("appended");
        }
        let whole = files::read(&path, 1 << 20).expect("read");
        let begins: Vec<usize> = (1..whole.len()).filter(|at| whole[at - 1] == b'\n').collect();
        let zeroed = |line: usize| {
            let mut bytes = whole.clone();
            bytes[begins[line] + 5..begins[line] + 25].fill(0);
            contents(&path, &bytes)
        };
        assert!(matches!(zeroed(0), Err(StoreError::Edited { line: 2, .. })), "the third was synced behind it");
        assert_eq!(zeroed(1).expect("only the last follows").envelopes.len(), 2);
        assert_eq!(zeroed(2).expect("the last").envelopes.len(), 3);
    }

    #[test]
    fn every_edited_byte_is_noticed_with_its_line() {
        let (_folder, path) = three();
        let whole = files::read(&path, 1 << 20).expect("read");
        let last_line = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').expect("three lines") + 1;
        for at in 0..last_line {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            let line = whole[..at].split(|byte| *byte == b'\n').count() as u64;
            match contents(&path, &bytes) {
                Err(StoreError::Edited { line: found, .. }) => assert_eq!(found, line, "byte {at}"),
                // A higher version is what a newer program would have written.
                Err(StoreError::Newer { found: 3, .. }) => assert_eq!(whole[at], b'2'),
                other => panic!("byte {at}: {other:?}"),
            }
        }
        let second = whole.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
        let without_first = &whole[second..];
        assert!(matches!(contents(&path, without_first), Err(StoreError::Edited { line: 1, .. })));
    }

    #[test]
    fn the_journal_of_the_first_day_is_read_for_ever() {
        let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/formats/2/journal.jsonl");
        let contents = read(disk::host().as_ref(), Path::new(fixture)).expect("readable").expect("there");
        let state = crate::events::State::fold(&contents.envelopes).expect("an execution");
        assert_eq!((contents.envelopes.len(), contents.torn, state.seq, state.epoch), (34, false, 34, 2));
        assert!(contents.envelopes.iter().all(|envelope| envelope.event != Event::Other));
        assert_eq!(state.next_phase(), Some(crate::contract::Phase::Submit));
        assert_eq!((state.counters.remediation_loops(), state.resolutions.len(), state.reports.len()), (1, 1, 1));
    }

    #[test]
    fn whoever_was_superseded_appends_nothing() {
        let (_folder, path) = three();
        let contents = read(disk::host().as_ref(), &path).expect("read").expect("there");
        let mut old = OpenJournal::open(&disk::host(), &path, &contents).expect("opened");
        let mut new = OpenJournal::open(&disk::host(), &path, &contents).expect("opened");
        let next = Envelope { epoch: 2, ..envelope(4, "of the new owner") };
        new.append(&[next], true).expect("appended");
        let refused = old.append(&[envelope(4, "of the old owner")], true).expect_err("superseded");
        assert!(matches!(refused, StoreError::Superseded { epoch: 2 }), "{refused}");
        assert_eq!(read(disk::host().as_ref(), &path).expect("read").expect("there").envelopes.len(), 4);
        // Somebody put another file in its place.
        let bytes = files::read(&path, 1 << 20).expect("read");
        files::replace(&path, &bytes, Privacy::Private).expect("replaced");
        assert!(new.append(&[envelope(5, "into the void")], true).is_err());
    }
}
