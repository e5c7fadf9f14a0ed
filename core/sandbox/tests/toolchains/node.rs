//! npm and pnpm: tests, and packages that were downloaded before.

use crate::machine::{Machine, as_everyone};
use crate::registry::Registry;

const TEST: &str = "const test = require('node:test'); const assert = require('node:assert'); const http = require('node:http');
test('the package answers', () => assert.equal(require('tiny')(), 42));
test('a server on loopback answers', (t, done) => {
  const server = http.createServer((_, answer) => answer.end('hello')).listen(0, '127.0.0.1', () => {
    http.get({ port: server.address().port, host: '127.0.0.1' }, (got) => { got.resume(); server.close(done); });
  });
});
";

/// A project that needs `tiny` of a registry on loopback.
fn prepare(machine: &Machine) -> Registry {
    machine.needs("node");
    machine.needs("npm");
    let registry = Registry::start();
    machine.write(
        "tiny/package.json",
        r#"{"name":"tiny","version":"1.0.0","main":"index.js"}"#,
    );
    machine.write("tiny/index.js", "module.exports = () => 42;\n");
    let packed = machine.outside("cd ../tiny && npm pack --json --silent");
    let packed: serde_json::Value = serde_json::from_str(&packed).unwrap();
    let archive = std::fs::read(machine.home("tiny/tiny-1.0.0.tgz")).unwrap();
    registry.publish("tiny", archive, packed[0]["integrity"].as_str().unwrap());
    machine.write("p/.npmrc", format!("registry={}/\n", registry.address));
    machine.write(
        "p/package.json",
        r#"{"name":"p","version":"1.0.0","scripts":{"test":"node --test"},"dependencies":{"tiny":"1.0.0"}}"#,
    );
    machine.write("p/p.test.js", TEST);
    registry
}

#[test]
fn npm_tests_and_installs_from_its_cache() {
    as_everyone(|machine| {
        let _registry = prepare(machine);
        machine.outside("npm install --no-audit --no-fund --silent");
        let said = machine.inside("npm test").well();
        assert!(
            said.contains("# pass 2"),
            "with the packages of the copy: {said}"
        );
        let said = machine
            .inside("rm -r node_modules && npm ci --offline --no-audit --no-fund && npm test")
            .well();
        assert!(
            said.contains("# pass 2"),
            "with packages from the cache: {said}"
        );
        assert!(
            machine.home("p/node_modules/tiny").exists(),
            "the original keeps its own"
        );
        let lost =
            "rm -r node_modules && rm -r ~/.npm/_cacache && npm ci --offline --no-audit --no-fund";
        machine.inside(lost).badly();
        assert!(
            machine.home(".npm/_cacache").exists(),
            "what is deleted inside is deleted inside"
        );
    });
}

#[test]
fn pnpm_installs_from_its_store() {
    as_everyone(|machine| {
        machine.needs("pnpm");
        let _registry = prepare(machine);
        // Installed for the person rather than for the machine, as most have it.
        machine.outside(
            "at=$(dirname $(dirname $(readlink -f $(command -v pnpm)))) && mkdir -p ~/.npm-global/lib/node_modules ~/.npm-global/bin
             cp -R $at ~/.npm-global/lib/node_modules/pnpm && ln -s ../lib/node_modules/pnpm/bin/pnpm.cjs ~/.npm-global/bin/pnpm",
        );
        machine.path.push(machine.home(".npm-global/bin"));
        let store = machine.home(".local/share/pnpm/store");
        machine.outside(&format!(
            "pnpm config set store-dir {} && pnpm install --silent",
            store.display()
        ));
        assert!(store.exists());
        let said = machine.inside("command -v pnpm && pnpm store path && pnpm install --offline --frozen-lockfile && pnpm test");
        let said = said.well();
        assert!(
            said.contains(&machine.home(".npm-global/bin/pnpm").display().to_string()),
            "the person's own: {said}"
        );
        assert!(
            said.contains(&store.display().to_string()),
            "the same store as outside: {said}"
        );
        assert!(
            !said.contains("Recreating"),
            "the folder that was copied is kept: {said}"
        );
        assert!(said.contains("# pass 2"), "{said}");
        let anew =
            "rm -r node_modules && pnpm install --offline --frozen-lockfile && pnpm test && ls -a";
        let said = machine.inside(anew).well();
        assert!(said.contains("# pass 2"), "{said}");
        assert!(
            !said.contains(".pnpm-store"),
            "no store in the project: {said}"
        );
    });
}
