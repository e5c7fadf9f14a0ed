//! Paths in files: text where the bytes are UTF-8, a list of numbers where they are not.

use std::fmt;

use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::Serializer;
use serde::de;

use crate::AbsPath;
use crate::ProjectPath;

impl Serialize for AbsPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write(self.as_bytes(), serializer)
    }
}

impl<'de> Deserialize<'de> for AbsPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use std::os::unix::ffi::OsStringExt;
        let bytes = deserializer.deserialize_any(PathBytes)?;
        Self::new(std::ffi::OsString::from_vec(bytes)).map_err(de::Error::custom)
    }
}

impl Serialize for ProjectPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write(self.as_bytes(), serializer)
    }
}

impl<'de> Deserialize<'de> for ProjectPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(deserializer.deserialize_any(PathBytes)?).map_err(de::Error::custom)
    }
}

fn write<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    match std::str::from_utf8(bytes) {
        Ok(text) => serializer.serialize_str(text),
        Err(_) => serializer.collect_seq(bytes),
    }
}

struct PathBytes;

impl<'de> de::Visitor<'de> for PathBytes {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a path as text or as a list of bytes")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<u8>, E> {
        Ok(text.as_bytes().to_vec())
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<u8>, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = seq.next_element()? {
            bytes.push(byte);
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_back_whatever_their_bytes() {
        for bytes in [&b"src/a.rs"[..], b"caf\xe9"] {
            let path = ProjectPath::new(bytes).unwrap();
            let text = serde_json::to_string(&path).unwrap();
            assert_eq!(
                serde_json::from_str::<ProjectPath>(&text).unwrap(),
                path,
                "{text}"
            );
        }
    }

    #[test]
    fn what_could_escape_is_refused_when_read() {
        assert!(
            serde_json::from_str::<ProjectPath>("\"../x\"").is_err(),
            "parent"
        );
        assert!(
            serde_json::from_str::<AbsPath>("\"x\"").is_err(),
            "relative"
        );
    }
}
