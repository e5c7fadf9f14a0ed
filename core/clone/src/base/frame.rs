//! One compressed file: magic, version, BLAKE3 of the contents, then an LZ4 frame.

use std::io;
use std::io::Read;
use std::io::Write;

const MAGIC: [u8; 8] = *b"ENCLOSbc";
const VERSION: u32 = 1;

/// Writes `contents` to `out`.
pub(super) fn write(out: &mut impl Write, contents: &[u8]) -> io::Result<()> {
    out.write_all(&MAGIC)?;
    out.write_all(&VERSION.to_le_bytes())?;
    out.write_all(blake3::hash(contents).as_bytes())?;
    let mut encoder = lz4_flex::frame::FrameEncoder::new(out);
    encoder.write_all(contents)?;
    encoder.finish()?;
    Ok(())
}

/// Reads contents of `size` bytes; none when the file does not hold what was written.
///
/// No more than `size` bytes are ever unpacked, whatever the file says.
pub(super) fn read(file: &mut impl Read, size: u64) -> io::Result<Option<Vec<u8>>> {
    let mut head = [0; MAGIC.len() + 4 + 32];
    match file.read_exact(&mut head) {
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        result => result?,
    }
    let (magic, rest) = head.split_at(MAGIC.len());
    let (version, hash) = rest.split_at(4);
    if magic != MAGIC || version != VERSION.to_le_bytes() {
        return Ok(None);
    }
    let mut contents = Vec::new();
    let decoder = lz4_flex::frame::FrameDecoder::new(file);
    if decoder
        .take(size.saturating_add(1))
        .read_to_end(&mut contents)
        .is_err()
    {
        return Ok(None);
    }
    let is_whole = contents.len() as u64 == size && blake3::hash(&contents).as_bytes() == hash;
    Ok(is_whole.then_some(contents))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_back(contents in prop::collection::vec(any::<u8>(), 0..10_000)) {
            let mut file = Vec::new();
            write(&mut file, &contents).unwrap();
            prop_assert_eq!(read(&mut &file[..], contents.len() as u64).unwrap(), Some(contents));
        }

        #[test]
        fn what_was_changed_or_cut_off_is_refused(
            contents in prop::collection::vec(any::<u8>(), 1..1000),
            at: prop::sample::Index,
            cut in any::<bool>(),
        ) {
            let mut file = Vec::new();
            write(&mut file, &contents).unwrap();
            let at = at.index(file.len());
            if cut { file.truncate(at) } else { file[at] ^= 0x55 }
            let read = read(&mut &file[..], contents.len() as u64).unwrap();
            prop_assert!(read.is_none_or(|read| read == contents), "damage that changes nothing is none");
        }
    }
}
