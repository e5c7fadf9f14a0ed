//! Where a session's control socket lies.

use std::fs;
use std::io;
use std::os::unix::net::UnixListener;
use std::os::unix::net::UnixStream;

use enclos_paths::AbsPath;

use crate::private;
use crate::private::PrivateError;

/// The short private folder and the socket of one session.
#[derive(Debug, Clone)]
pub struct SocketPlace {
    runtime: AbsPath,
    folder: AbsPath,
    uid: u32,
}

impl SocketPlace {
    /// The place for the session whose folder is `session`: eight hexadecimal digits below `runtime`.
    #[must_use]
    pub fn new(runtime: &AbsPath, session: &AbsPath, uid: u32) -> Self {
        let digest = blake3::hash(session.as_bytes());
        let name: String = digest.to_hex().chars().take(8).collect();
        Self {
            runtime: runtime.clone(),
            folder: runtime.resolve(name),
            uid,
        }
    }

    /// Makes the folder and listens, replacing a socket that nobody serves any more.
    ///
    /// The caller holds the session's lock, so no other supervisor can be listening there.
    ///
    /// # Errors
    /// When the folder is not ours alone or the socket cannot be bound.
    pub fn listen(&self) -> Result<UnixListener, PlaceError> {
        private::folder(&self.runtime, self.uid)?;
        private::folder(&self.folder, self.uid)?;
        let socket = self.socket();
        match fs::remove_file(&socket) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(PlaceError::Socket {
                    path: socket,
                    source,
                });
            }
            _ => {}
        }
        UnixListener::bind(&socket).map_err(|source| PlaceError::Socket {
            path: socket,
            source,
        })
    }

    /// Connects to whoever serves the session.
    ///
    /// # Errors
    /// When nobody does, or the folder is not ours.
    pub fn connect(&self) -> Result<UnixStream, PlaceError> {
        let socket = self.socket();
        let stream = UnixStream::connect(&socket).map_err(|source| PlaceError::Socket {
            path: socket,
            source,
        })?;
        if is_from(&stream, self.uid) {
            Ok(stream)
        } else {
            Err(PlaceError::Stranger {
                path: self.socket(),
            })
        }
    }

    /// Whether the socket's file is still there; cleaners of temporary folders and logouts remove it.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.socket().as_path().symlink_metadata().is_ok()
    }

    /// Removes the socket and its folder.
    pub fn remove(&self) {
        // What a cleaner removed before us is as good as removed by us.
        let _ = fs::remove_file(self.socket());
        let _ = fs::remove_dir(&self.folder);
    }

    fn socket(&self) -> AbsPath {
        self.folder.resolve("s")
    }

    /// Whether whoever connected is the same user; the folder's mode says so too, but a mode can be changed.
    #[must_use]
    pub fn is_ours(&self, stream: &UnixStream) -> bool {
        is_from(stream, self.uid)
    }
}

fn is_from(stream: &UnixStream, uid: u32) -> bool {
    enclos_sys::peer::uid(stream).is_ok_and(|peer| peer == uid)
}

/// Why a control socket is not to be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// Its folder cannot be used.
    #[error(transparent)]
    Folder(#[from] PrivateError),
    /// The socket cannot be bound or connected to.
    #[error("the control socket {path} cannot be used")]
    Socket {
        /// The socket.
        path: AbsPath,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Somebody else serves it.
    #[error("the control socket {path} is served by another user")]
    Stranger {
        /// The socket.
        path: AbsPath,
    },
}
