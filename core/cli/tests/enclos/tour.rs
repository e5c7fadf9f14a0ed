//! The README's tour, line by line, as it stands there.

use enclos_testkit::Agent;
use enclos_testkit::World;

use crate::world;

/// The command lines of the tour, without their comments.
fn tour() -> Vec<String> {
    let readme = include_str!("../../../../README.md");
    let section = readme
        .split("## A 30-second tour")
        .nth(1)
        .expect("the README has a tour");
    let block = section
        .split("```sh\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("the tour is a code block");
    block
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim().to_owned())
        .collect()
}

/// The id of some hunk of the session's changes.
fn a_hunk(world: &World) -> String {
    let json = world.enclos(["diff", "web-1", "--json"]).run().success();
    let diff: serde_json::Value =
        serde_json::from_slice(json.raw_stdout()).expect("`--json` prints JSON");
    let files = diff["trees"][0]["files"].as_array().expect("files");
    let hunk = files
        .iter()
        .find_map(|file| file["hunks"][0]["id"].as_str());
    hunk.expect("a text file changed").to_owned()
}

#[test]
fn every_line_of_it_works() {
    let world = world();
    let project = world
        .project("code/web")
        .file("src/a.rs", "fn a() {}\n")
        .file("notes", "1\n")
        .git_init()
        .build();
    let agent = Agent::new()
        .appends("src/a.rs", "fn b() {}\n")
        .appends("notes", "2\n");
    let mut seen = Vec::new();
    for line in tour() {
        let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        assert_eq!(words.remove(0), "enclos", "{line}");
        for word in &mut words {
            *word = word.replace('~', &world.home().to_string());
        }
        if let Some(at) = words.iter().position(|word| word == "--hunk") {
            words[at + 1] = a_hunk(&world);
        }
        let invocation = match words.iter().position(|word| word == "claude") {
            Some(at) => world.enclos(&words[..at]).args(agent.command()),
            None => world.enclos(&words),
        };
        let output = invocation.current_dir(&project).run().success();
        seen.push(words[0].clone());
        match words[0].as_str() {
            "apply" => assert!(
                project.read("src/a.rs").contains("fn b()") || project.read("notes").contains('2'),
                "{line}"
            ),
            "undo" => assert!(
                output.stdout().contains("Put "),
                "{line}: {}",
                output.stdout()
            ),
            _ => {}
        }
    }
    assert_eq!(
        seen,
        [
            "run", "sessions", "diff", "apply", "apply", "undo", "discard"
        ]
    );
}
