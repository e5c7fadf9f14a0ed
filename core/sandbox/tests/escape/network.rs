//! No way out, and a loopback that works.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use crate::world::{Without, as_everyone};

#[test]
fn nothing_outside_is_reached() {
    as_everyone(|world| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let local = format!("socket.create_connection(('127.0.0.1', {port}), 5)");
        assert_eq!(
            world.refused(&local, Without::Jail),
            "ECONNREFUSED",
            "the host's loopback is another one"
        );
        let far =
            "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('192.0.2.1', 53))";
        let said = world
            .jailed(&crate::world::words(&crate::world::python(far)))
            .out;
        assert_eq!(said.trim(), "refused: ENETUNREACH");
        let far =
            "s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.connect(('2001:db8::1', 53))";
        let said = world
            .jailed(&crate::world::words(&crate::world::python(far)))
            .out;
        assert_eq!(said.trim(), "refused: ENETUNREACH");
    });
}

#[test]
fn a_server_on_loopback_is_reached_from_inside() {
    let script = "\
import threading
for family, address in ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')):
    s = socket.socket(family); s.bind((address, 0)); s.listen()
    threading.Thread(target=lambda: s.accept()[0].sendall(b'served')).start()
    c = socket.create_connection((address, s.getsockname()[1])); assert c.recv(6) == b'served'
assert socket.gethostbyname('localhost') == '127.0.0.1'";
    as_everyone(|world| {
        let said = world.jailed(&crate::world::words(&crate::world::python(script)));
        assert_eq!(said.out.trim(), "REACHED", "{said:?}");
    });
}

/// Abstract sockets have no path that could be covered: they belong to the network namespace.
#[test]
fn abstract_sockets_of_the_machine_are_not_there() {
    as_everyone(|world| {
        let name = format!("enclos-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let listener = UnixListener::bind_addr(&address).unwrap();
        let server = std::thread::spawn(move || {
            let mut connection = listener.accept().unwrap().0;
            let mut byte = [0];
            connection.read_exact(&mut byte).unwrap();
            connection.write_all(b"!").unwrap();
        });
        let attack = format!(
            "s = socket.socket(socket.AF_UNIX); s.connect('\\0{name}'); s.send(b'?'); s.recv(1)"
        );
        assert_eq!(world.refused(&attack, Without::Jail), "ECONNREFUSED");
        server.join().unwrap();
    });
}
