//! python: an environment that was made outside, pytest, a server on loopback.

use crate::machine::as_everyone;

#[test]
fn pytest_runs_in_an_environment_that_was_made_outside() {
    as_everyone(|machine| {
        // The system's python has the system's pytest; others have their own packages.
        let python = "/usr/bin/python3";
        let has = |module: &str| {
            machine.outside(&format!(
                "{python} -c 'import {module}' && echo yes || true"
            ))
        };
        assert_eq!(
            has("pytest"),
            "yes\n",
            "this test needs python3-pytest: `cargo xtask setup` installs it"
        );
        machine.write("p/sums.py", "def add(a, b):\n    return a + b\n");
        machine.write(
            "p/test_sums.py",
            "import multiprocessing\nfrom sums import add\n\ndef test_add():\n    assert add(1, 2) == 3\n\n\
             def test_processes():\n    with multiprocessing.Pool(2) as pool:\n        assert pool.map(abs, [-1, -2]) == [1, 2]\n",
        );
        machine.outside(&format!(
            "{python} -m venv --system-site-packages --without-pip .venv"
        ));
        // A starter as pip writes it: the path of the environment's python is in its first line.
        let starter = machine.home("p/.venv/bin/pytest");
        machine.write(
            "p/.venv/bin/pytest",
            format!(
                "#!{}\nimport sys, pytest\nsys.exit(pytest.main())\n",
                machine.home("p/.venv/bin/python").display()
            ),
        );
        machine.outside(&format!("chmod +x {}", starter.display()));
        machine.path.push(machine.home("p/.venv/bin"));
        machine.var("VIRTUAL_ENV", machine.home("p/.venv"));
        let said = machine
            .inside("command -v pytest && pytest -q && python -m pytest -q && echo $VIRTUAL_ENV")
            .well();
        assert_eq!(said.matches("2 passed").count(), 2, "{said}");
        assert!(
            said.contains(&starter.display().to_string()),
            "the environment's own is first on the path: {said}"
        );
        assert!(
            !machine.home("p/.pytest_cache").exists(),
            "only the copy was written to"
        );
    });
}

#[test]
fn a_server_on_loopback_has_clients() {
    as_everyone(|machine| {
        machine.needs("python3");
        machine.write("p/index.html", "hello from inside\n");
        let said = machine.inside(
            "python3 -m http.server 8000 --bind 127.0.0.1 >/dev/null 2>&1 &
             for wait in 1 2 3 4 5 6 7 8 9 10; do
                 python3 -c 'import urllib.request as r; print(r.urlopen(\"http://localhost:8000/\").read().decode())' && exit 0
                 sleep 0.5
             done; exit 1",
        );
        assert!(said.well().contains("hello from inside"));
    });
}

#[test]
fn nothing_outside_answers() {
    as_everyone(|machine| {
        machine.needs("python3");
        let registry = crate::registry::Registry::start();
        registry.publish("tiny", Vec::new(), "");
        let address = registry.address.replace("http://", "");
        let ask = format!(
            "python3 -c 'import urllib.request as r; r.urlopen(\"http://{address}/tiny\", timeout=5); print(\"answered\")'"
        );
        assert_eq!(machine.outside(&ask), "answered\n", "outside it does");
        machine.inside(&ask).badly();
    });
}
