//! go: a module that was downloaded, the build cache, tests.

use crate::machine::as_everyone;

#[test]
fn go_builds_with_a_downloaded_module_and_tests() {
    as_everyone(|machine| {
        machine.needs("go");
        machine.needs("python3");
        machine.write(
            "p/go.mod",
            "module example.org/p\n\ngo 1.19\n\nrequire example.org/greet v1.0.0\n",
        );
        machine.write("p/main.go", "package main\n\nimport \"example.org/greet\"\n\nfunc main() { println(greet.Hello()) }\n");
        machine.write(
            "p/main_test.go",
            "package main\n\nimport (\n\t\"net/http/httptest\"\n\t\"testing\"\n\n\t\"example.org/greet\"\n)\n\n\
             func TestHello(t *testing.T) {\n\tserver := httptest.NewServer(nil)\n\tdefer server.Close()\n\
             \tif greet.Hello() != \"hello\" {\n\t\tt.Fatal(server.URL)\n\t}\n}\n",
        );
        publish(machine);
        machine.outside(
            "go mod download example.org/greet && go mod tidy && rm -rf ~/.cache/go-build",
        );
        machine.var("GOPROXY", "off");
        // No build cache yet: the project gets an empty one of its own.
        let said = machine
            .inside("go vet ./... && go test ./... && go build -o program . && ./program")
            .well();
        assert!(said.contains("ok  \texample.org/p"), "{said}");
        assert!(said.contains("hello"), "a compiled program runs: {said}");
        assert!(machine.cache("go-build/whole").exists());
        let again = machine.inside("go test ./...").well();
        assert!(
            again.contains("(cached)"),
            "the next session has the build cache: {again}"
        );
    });
}

/// Puts a module where `go` downloads it from, as <https://go.dev/ref/mod#goproxy-protocol> says.
fn publish(machine: &mut crate::machine::Machine) {
    let versions = "proxy/example.org/greet/@v";
    machine.write(&format!("{versions}/list"), "v1.0.0\n");
    machine.write(
        &format!("{versions}/v1.0.0.info"),
        "{\"Version\":\"v1.0.0\"}",
    );
    machine.write(
        &format!("{versions}/v1.0.0.mod"),
        "module example.org/greet\n\ngo 1.19\n",
    );
    let archive = machine.home(&format!("{versions}/v1.0.0.zip"));
    machine.outside(&format!(
        "python3 - <<'END'\nimport zipfile\narchive = zipfile.ZipFile('{}', 'w')\n\
         for name, text in [('go.mod', 'module example.org/greet\\n\\ngo 1.19\\n'),\n\
                            ('greet.go', 'package greet\\n\\nfunc Hello() string {{ return \"hello\" }}\\n')]:\n\
         \x20   archive.writestr('example.org/greet@v1.0.0/' + name, text)\narchive.close()\nEND",
        archive.display()
    ));
    machine.var(
        "GOPROXY",
        format!("file://{}", machine.home("proxy").display()),
    );
    machine.var("GONOSUMDB", "example.org");
    machine.var("GOSUMDB", "off");
    machine.var("GOFLAGS", "-mod=mod -modcacherw");
}
