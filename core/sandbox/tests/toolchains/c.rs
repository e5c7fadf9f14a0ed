//! make and gcc, and the program that they make.

use crate::machine::as_everyone;

#[test]
fn make_builds_a_program_that_runs() {
    as_everyone(|machine| {
        machine.needs("make");
        machine.needs("gcc");
        machine.write("p/answer.h", "int answer(void);\n");
        machine.write(
            "p/answer.c",
            "#include \"answer.h\"\nint answer(void) { return 42; }\n",
        );
        machine.write("p/main.c", "#include <stdio.h>\n#include \"answer.h\"\nint main(void) { printf(\"%d\\n\", answer()); }\n");
        machine.write(
            "p/Makefile",
            "program: main.o answer.o\n\t$(CC) -o $@ $^\ntest: program\n\ttest \"$$(./program)\" = 42 && echo fine\n.PHONY: test\n",
        );
        assert!(machine.inside("make -j2 test").well().contains("fine"));
        assert!(
            !machine.home("p/program").exists(),
            "only the copy was built in"
        );
    });
}
