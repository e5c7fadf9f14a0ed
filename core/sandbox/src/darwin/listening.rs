//! Which ports of this Mac are taken when a session starts: what `netstat` prints, read.
//!
//! A profile cannot tell a session's own server from another service of the machine, so every port that is taken at the
//! start is closed to it. The promise: what listens for TCP, or waits for datagrams of anybody, is in the set. How it
//! could break: another layout of the table; then no line is understood, which is an error and not an empty set.

use std::collections::BTreeSet;
use std::io;

/// The ports in what `netstat -an` printed; none when it is not such a table.
///
/// A line is the protocol, two lengths of queues, the local and the foreign address, both ending in a dot and a port,
/// and for TCP a state.
#[must_use]
pub fn ports(table: &[u8]) -> Option<BTreeSet<u16>> {
    let mut understood = false;
    let mut ports = BTreeSet::new();
    for line in table.split(|byte| *byte == b'\n') {
        let words = line.split(u8::is_ascii_whitespace);
        let words: Vec<&[u8]> = words.filter(|word| !word.is_empty()).collect();
        let [protocol, _, _, local, foreign, rest @ ..] = words.as_slice() else {
            continue;
        };
        let waits = match protocol.get(..3) {
            Some(b"tcp") => rest.first() == Some(&&b"LISTEN"[..]),
            Some(b"udp") => *foreign == b"*.*",
            _ => continue,
        };
        understood = true;
        if waits {
            ports.extend(port(local));
        }
    }
    understood.then_some(ports)
}

fn port(address: &[u8]) -> Option<u16> {
    let dot = address.iter().rposition(|byte| *byte == b'.')?;
    std::str::from_utf8(&address[dot + 1..]).ok()?.parse().ok()
}

/// Runs `netstat` and reads what it prints. Takes some milliseconds.
///
/// # Errors
/// It cannot be run, fails, or prints something else.
pub fn now() -> io::Result<BTreeSet<u16>> {
    let output = std::process::Command::new("/usr/sbin/netstat")
        .args(["-a", "-n"])
        .env_clear()
        .current_dir("/")
        .stdin(std::process::Stdio::null())
        .output()?;
    if !output.status.success() {
        return Err(io::Error::other(output.status.to_string()));
    }
    ports(&output.stdout).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
Active Internet connections (including servers)
Proto Recv-Q Send-Q  Local Address          Foreign Address        (state)    
tcp4       0      0  192.168.1.5.50034      17.57.144.20.5223      ESTABLISHED
tcp4       0      0  127.0.0.1.5432         *.*                    LISTEN     
tcp46      0      0  *.8080                 *.*                    LISTEN     
tcp6       0      0  ::1.631                *.*                    LISTEN     
tcp6       0      0  fe80::aede:48ff:.49153 fe80::aede:48ff:.58312 ESTABLISHED
tcp4       0      0  127.0.0.1.49200        127.0.0.1.49201        TIME_WAIT  
udp4       0      0  *.5353                 *.*                               
udp6       0      0  *.5353                 *.*                               
udp4       0      0  192.168.1.5.55555      8.8.8.8.443                       
udp4       0      0  *.*                    *.*                               
icm6       0      0  *.*                    *.*                               
Active LOCAL (UNIX) domain sockets
Address          Type   Recv-Q Send-Q            Inode             Conn             Refs          Nextref Addr
77d8a6b1         stream      0      0                0         77d8a6b2                0                0 /var/run/x.8081
";

    #[test]
    fn what_waits_for_anybody_is_taken() {
        let taken: Vec<u16> = ports(TABLE.as_bytes()).unwrap().into_iter().collect();
        assert_eq!(taken, [631, 5353, 5432, 8080]);
    }

    #[test]
    fn what_is_no_table_is_an_error() {
        assert_eq!(ports(b""), None);
        assert_eq!(ports(b"netstat: command not found\n"), None);
        assert_eq!(
            ports("Proto Recv-Q Send-Q Local Address\n".as_bytes()),
            None
        );
    }
}
