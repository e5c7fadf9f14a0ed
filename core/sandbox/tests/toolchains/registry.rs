//! A registry of Node.js packages on loopback, to download from before a session.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Serves what it was given to any client of this machine until the process ends.
pub(crate) struct Registry {
    files: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    pub(crate) address: String,
}

impl Registry {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let files: Arc<Mutex<BTreeMap<String, Vec<u8>>>> = Arc::default();
        let served = Arc::clone(&files);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                answer(&stream.unwrap(), &served.lock().unwrap());
            }
        });
        Self { files, address }
    }

    /// Adds version 1.0.0 of `name`, whose archive is `archive` and has this `integrity`.
    pub(crate) fn publish(&self, name: &str, archive: Vec<u8>, integrity: &str) {
        let tarball = format!("/{name}/-/{name}-1.0.0.tgz");
        let description = format!(
            r#"{{"name":"{name}","dist-tags":{{"latest":"1.0.0"}},"time":{{"1.0.0":"2020-01-01T00:00:00.000Z"}},
            "versions":{{"1.0.0":{{"name":"{name}","version":"1.0.0","dist":
            {{"tarball":"{}{tarball}","integrity":"{integrity}"}}}}}}}}"#,
            self.address
        );
        let mut files = self.files.lock().unwrap();
        files.insert(tarball, archive);
        files.insert(format!("/{name}"), description.into_bytes());
    }
}

fn answer(stream: &TcpStream, files: &BTreeMap<String, Vec<u8>>) {
    let mut lines = BufReader::new(stream).lines();
    let Some(Ok(request)) = lines.next() else {
        return;
    };
    for line in lines.by_ref() {
        if line.is_ok_and(|line| line.is_empty()) {
            break;
        }
    }
    let path = request.split(' ').nth(1).unwrap_or_default();
    let (status, body) = match files.get(path) {
        Some(body) => ("200 OK", &body[..]),
        None => ("404 Not Found", &b"{}"[..]),
    };
    let kind = if path.ends_with(".tgz") {
        "application/octet-stream"
    } else {
        "application/json"
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let mut stream = stream;
    // A client that went away is its own affair.
    let _ = stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(body));
}
