//! What the launcher tells a stage, and what it hears from it, over one socket.
//!
//! Both ends are the same executable of the same session, so there is no version. The launcher writes one order and
//! closes its half; the stage answers with what happens, and executing the command closes its half: the end without a
//! refusal is the success. Nothing of a jailed program can speak here, as the descriptor is closed before it runs.

use std::io;

use serde::{Deserialize, Serialize};

use crate::Command;
use crate::spawned::Refusal;

/// What a stage is to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Order {
    /// The text of the profile to enter.
    pub(super) profile: String,
    /// Its parameters.
    pub(super) params: Vec<(String, String)>,
    /// What to become then.
    pub(super) command: Command,
}

/// What happens in a stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Reply {
    /// The sandbox could not be entered.
    NotEntered {
        /// At which step.
        step: Step,
        /// What the system said.
        said: String,
        /// Its number.
        errno: i32,
    },
    /// The sandbox is entered; the command is executed next.
    Entered,
    /// The command is not executed.
    Refused {
        /// Why.
        refusal: Refusal,
        /// What the kernel said.
        errno: i32,
    },
}

/// A step on the way into the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Step {
    /// Taking the terminal as the controlling one.
    Terminal,
    /// Limits on memory dumps.
    Limits,
    /// The profile.
    Sandbox,
}

/// What came of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The command runs, in the sandbox.
    Executed,
    /// The sandbox was not entered.
    NotEntered {
        /// At which step.
        step: Step,
        /// What the system said.
        said: String,
        /// Its number.
        errno: i32,
    },
    /// The command was not executed.
    Refused {
        /// Why.
        refusal: Refusal,
        /// What the kernel said.
        errno: i32,
    },
    /// The stage ended without a word.
    Silence,
}

impl Order {
    /// The bytes to send.
    pub(super) fn encode(&self) -> io::Result<Vec<u8>> {
        Ok(serde_json::to_vec(self)?)
    }

    /// What was sent.
    pub(super) fn decode(bytes: &[u8]) -> io::Result<Self> {
        Ok(serde_json::from_slice(bytes)?)
    }
}

impl Reply {
    /// The bytes to send.
    pub(super) fn encode(&self) -> io::Result<Vec<u8>> {
        Ok(serde_json::to_vec(self)?)
    }
}

impl Outcome {
    /// What all that was heard from a stage, until its end of the socket closed, comes down to.
    pub(super) fn of(heard: &[u8]) -> Self {
        let mut outcome = Self::Silence;
        for reply in serde_json::Deserializer::from_slice(heard).into_iter::<Reply>() {
            outcome = match reply {
                Ok(Reply::Entered) => Self::Executed,
                Ok(Reply::NotEntered { step, said, errno }) => {
                    return Self::NotEntered { step, said, errno };
                }
                Ok(Reply::Refused { refusal, errno }) => return Self::Refused { refusal, errno },
                // A word that was cut off: it died in the middle of it.
                Err(_) => return Self::Silence,
            };
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    use enclos_paths::AbsPath;
    use proptest::prelude::*;

    use super::*;
    use crate::{Piped, Stdio};

    fn heard(replies: &[Reply]) -> Vec<u8> {
        replies.iter().flat_map(|r| r.encode().unwrap()).collect()
    }

    const REFUSED: Reply = Reply::Refused {
        refusal: Refusal::CannotExecute,
        errno: 13,
    };

    #[test]
    fn only_a_stage_that_entered_and_then_fell_silent_has_executed() {
        let refused = Outcome::Refused {
            refusal: Refusal::CannotExecute,
            errno: 13,
        };
        assert_eq!(Outcome::of(&[]), Outcome::Silence);
        assert_eq!(Outcome::of(&heard(&[Reply::Entered])), Outcome::Executed);
        assert_eq!(Outcome::of(&heard(&[REFUSED])), refused);
        assert_eq!(Outcome::of(&heard(&[Reply::Entered, REFUSED])), refused);
        let not_entered = Reply::NotEntered {
            step: Step::Sandbox,
            said: "no".into(),
            errno: 1,
        };
        assert!(matches!(
            Outcome::of(&heard(&[not_entered])),
            Outcome::NotEntered {
                step: Step::Sandbox,
                errno: 1,
                ..
            }
        ));
        let whole = heard(&[Reply::Entered, REFUSED]);
        for cut in 0..whole.len() {
            let outcome = Outcome::of(&whole[..cut]);
            assert_ne!(outcome, refused, "{cut}");
            let entered = cut == heard(&[Reply::Entered]).len();
            assert_eq!(outcome == Outcome::Executed, entered, "{cut}");
        }
    }

    fn word() -> impl Strategy<Value = OsString> {
        prop::collection::vec(1_u8.., 0..20).prop_map(OsString::from_vec)
    }

    proptest! {
        #[test]
        fn an_order_keeps_every_byte(
            argv in prop::collection::vec(word(), 0..5),
            env in prop::collection::vec((word(), word()), 0..5),
            param in ".*",
            umask in any::<u32>(),
            [input, output, errors] in any::<[bool; 3]>(),
        ) {
            let command = Command {
                argv,
                env,
                cwd: AbsPath::new("/caf\u{e9}").unwrap(),
                umask,
                stdio: Stdio::Mixed { rows: 24, cols: 80, piped: Piped { input, output, errors } },
            };
            let order = Order {
                profile: "(version 1)".into(),
                params: vec![("TREE_0".into(), param)],
                command,
            };
            prop_assert_eq!(Order::decode(&order.encode().unwrap()).unwrap(), order);
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = Order::decode(&bytes);
            let _ = Outcome::of(&bytes);
        }
    }
}
