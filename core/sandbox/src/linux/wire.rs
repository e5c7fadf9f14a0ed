//! What the launcher and the stage say to each other, over one socket, in frames.
//!
//! Both ends are the same executable of the same session, so there is no version and no tolerance: a frame that does
//! not decode exactly ends the conversation. Lengths are checked before anything is allocated. The messages are pure;
//! descriptors travel beside the frames and are the business of [`super::channel`].

use enclos_paths::AbsPath;

use super::codec::{
    Reader, put_bytes, put_command, put_confinement, put_errno, put_len, put_step, put_u32,
};
use super::plan::{Confinement, OverlayMount};
use crate::spawned::Refusal;
use crate::{Command, Exit, Signal};

/// What the launcher tells the stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ToStage {
    /// Give up these rights, first of all. Said once.
    Confine(Confinement),
    /// Start this command; its three pipes come along, unless it has a terminal.
    Spawn {
        /// Names the command from now on.
        id: u32,
        /// The command.
        command: Command,
    },
    /// Pass this signal on to the command's process group.
    Signal {
        /// The command.
        id: u32,
        /// The signal.
        signal: Signal,
    },
    /// Send this signal to every process of the jail.
    Everyone {
        /// The signal.
        signal: Signal,
    },
    /// Stop every process where it is; answered by [`FromStage::Held`].
    Freeze,
    /// Let them go on.
    Thaw,
}

/// What the stage tells the launcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FromStage {
    /// It runs as process 1; a descriptor of itself (pidfd) comes along.
    Hello,
    /// The confinement could not be entered; it has ended.
    NotConfined {
        /// At which step.
        step: Step,
        /// What the kernel said.
        errno: i32,
    },
    /// A command was executed; the other end of its terminal comes along, if it has one.
    Started {
        /// The command.
        id: u32,
    },
    /// A command was not executed.
    Refused {
        /// The command.
        id: u32,
        /// Why.
        refusal: Refusal,
        /// What the kernel said.
        errno: i32,
    },
    /// A command has ended.
    Ended {
        /// The command.
        id: u32,
        /// How.
        exit: Exit,
    },
    /// Whether every process stands still now.
    Held {
        /// If not, all of them go on.
        still: bool,
    },
}

/// The steps into confinement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// Giving up privileges for good.
    Privileges,
    /// The Landlock rule for this path.
    Rule(AbsPath),
    /// Landlock as a whole.
    Landlock,
    /// The system call filter.
    Filter,
}

/// What the outer stage is to do; it comes as a file in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Order {
    /// What to execute in the end.
    pub(crate) bwrap: AbsPath,
    /// What to mount first.
    pub(crate) overlays: Vec<OverlayMount>,
}

/// The longest frame, in bytes: far above what the kernel takes as arguments and environment (usually 2 MiB).
pub(crate) const LONGEST: usize = 16 << 20;

impl ToStage {
    /// The frame's bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(4096);
        match self {
            Self::Confine(confinement) => {
                out.push(0);
                put_confinement(&mut out, confinement);
            }
            Self::Spawn { id, command } => {
                out.push(1);
                put_u32(&mut out, *id);
                put_command(&mut out, command);
            }
            Self::Signal { id, signal } => {
                out.push(2);
                put_u32(&mut out, *id);
                out.push(signal_number(*signal));
            }
            Self::Everyone { signal } => out.extend([3, signal_number(*signal)]),
            Self::Freeze => out.push(4),
            Self::Thaw => out.push(5),
        }
        out
    }

    /// What `frame` says; none when it is malformed.
    pub(crate) fn decode(frame: &[u8]) -> Option<Self> {
        let mut from = Reader(frame);
        let message = match from.u8()? {
            0 => Self::Confine(from.confinement()?),
            1 => Self::Spawn {
                id: from.u32()?,
                command: from.command()?,
            },
            2 => Self::Signal {
                id: from.u32()?,
                signal: signal_of(from.u8()?)?,
            },
            3 => Self::Everyone {
                signal: signal_of(from.u8()?)?,
            },
            4 => Self::Freeze,
            5 => Self::Thaw,
            _ => return None,
        };
        from.0.is_empty().then_some(message)
    }
}

impl FromStage {
    /// The frame's bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Hello => out.push(0),
            Self::NotConfined { step, errno } => {
                out.push(1);
                put_step(&mut out, step);
                put_errno(&mut out, *errno);
            }
            Self::Started { id } => {
                out.push(2);
                put_u32(&mut out, *id);
            }
            Self::Refused { id, refusal, errno } => {
                out.push(3);
                put_u32(&mut out, *id);
                out.push(match refusal {
                    Refusal::NotFound => 0,
                    Refusal::CannotExecute => 1,
                    Refusal::WorkingFolder => 2,
                    Refusal::Resources => 3,
                });
                put_errno(&mut out, *errno);
            }
            Self::Ended { id, exit } => {
                out.push(4);
                put_u32(&mut out, *id);
                out.extend(match exit {
                    Exit::Code(code) => [0, *code],
                    Exit::Signal(signal) => [1, *signal],
                    Exit::Killed => [2, 0],
                });
            }
            Self::Held { still } => out.extend([5, u8::from(*still)]),
        }
        out
    }

    /// What `frame` says; none when it is malformed.
    pub(crate) fn decode(frame: &[u8]) -> Option<Self> {
        let mut from = Reader(frame);
        let message = match from.u8()? {
            0 => Self::Hello,
            1 => Self::NotConfined {
                step: from.step()?,
                errno: from.errno()?,
            },
            2 => Self::Started { id: from.u32()? },
            3 => {
                let id = from.u32()?;
                let refusal = match from.u8()? {
                    0 => Refusal::NotFound,
                    1 => Refusal::CannotExecute,
                    2 => Refusal::WorkingFolder,
                    3 => Refusal::Resources,
                    _ => return None,
                };
                Self::Refused {
                    id,
                    refusal,
                    errno: from.errno()?,
                }
            }
            4 => {
                let id = from.u32()?;
                let exit = match (from.u8()?, from.u8()?) {
                    (0, code) => Exit::Code(code),
                    (1, signal) => Exit::Signal(signal),
                    (2, 0) => Exit::Killed,
                    _ => return None,
                };
                Self::Ended { id, exit }
            }
            5 => match from.u8()? {
                0 => Self::Held { still: false },
                1 => Self::Held { still: true },
                _ => return None,
            },
            _ => return None,
        };
        from.0.is_empty().then_some(message)
    }
}

impl Order {
    /// The file's bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_bytes(&mut out, self.bwrap.as_bytes());
        put_len(&mut out, self.overlays.len());
        for OverlayMount { lower, upper, work } in &self.overlays {
            for path in [lower, upper, work] {
                put_bytes(&mut out, path.as_bytes());
            }
        }
        out
    }

    /// What `bytes` say; none when they are malformed.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = Reader(bytes);
        let bwrap = from.path()?;
        let count = from.count(12)?;
        let overlay = |_| {
            Some(OverlayMount {
                lower: from.path()?,
                upper: from.path()?,
                work: from.path()?,
            })
        };
        let overlays = (0..count).map(overlay).collect::<Option<_>>()?;
        from.0.is_empty().then_some(Self { bwrap, overlays })
    }
}

/// The numbers these signals have on every Linux.
pub(crate) fn signal_number(signal: Signal) -> u8 {
    match signal {
        Signal::Hangup => 1,
        Signal::Interrupt => 2,
        Signal::Quit => 3,
        Signal::Terminate => 15,
    }
}

fn signal_of(number: u8) -> Option<Signal> {
    [
        Signal::Hangup,
        Signal::Interrupt,
        Signal::Quit,
        Signal::Terminate,
    ]
    .into_iter()
    .find(|signal| signal_number(*signal) == number)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    use proptest::prelude::*;

    use super::*;
    use crate::linux::filter::Instruction;
    use crate::linux::plan::{FileRule, Landlock};
    use crate::{Piped, Stdio};

    fn word() -> impl Strategy<Value = OsString> {
        prop::collection::vec(1_u8.., 0..20).prop_map(OsString::from_vec)
    }

    fn path() -> impl Strategy<Value = AbsPath> {
        "(/[a-z\u{e9}]{1,8}){1,4}".prop_map(|text| AbsPath::new(text).unwrap())
    }

    fn command() -> impl Strategy<Value = Command> {
        let stdio = prop_oneof![
            Just(Stdio::Pipes),
            (any::<u16>(), any::<u16>()).prop_map(|(rows, cols)| Stdio::Terminal { rows, cols }),
            (any::<u16>(), any::<u16>(), any::<[bool; 3]>()).prop_map(
                |(rows, cols, [input, output, errors])| {
                    Stdio::Mixed {
                        rows,
                        cols,
                        piped: Piped {
                            input,
                            output,
                            errors,
                        },
                    }
                }
            ),
        ];
        let words = prop::collection::vec(word(), 0..5);
        let env = prop::collection::vec((word(), word()), 0..5);
        (words, env, path(), any::<u32>(), stdio).prop_map(|(argv, env, cwd, umask, stdio)| {
            Command {
                argv,
                env,
                cwd,
                umask,
                stdio,
            }
        })
    }

    fn confinement() -> impl Strategy<Value = Confinement> {
        let rule = (path(), any::<u64>()).prop_map(|(path, rights)| FileRule { path, rights });
        let rules = (
            any::<u64>(),
            any::<u64>(),
            prop::collection::vec(rule, 0..4),
        );
        let landlock = prop::option::of(rules.prop_map(|(handled, scoped, rules)| Landlock {
            handled,
            scoped,
            rules,
        }));
        let step = any::<(u16, u8, u8, u32)>().prop_map(|(code, jt, jf, k)| Instruction {
            code,
            jt,
            jf,
            k,
        });
        (landlock, prop::collection::vec(step, 0..9))
            .prop_map(|(landlock, filter)| Confinement { landlock, filter })
    }

    fn to_stage() -> impl Strategy<Value = ToStage> {
        prop_oneof![
            confinement().prop_map(ToStage::Confine),
            (any::<u32>(), command()).prop_map(|(id, command)| ToStage::Spawn { id, command }),
            any::<u32>().prop_map(|id| ToStage::Signal {
                id,
                signal: Signal::Interrupt
            }),
            Just(ToStage::Everyone {
                signal: Signal::Hangup
            }),
        ]
    }

    fn from_stage() -> impl Strategy<Value = FromStage> {
        let step = prop_oneof![
            Just(Step::Landlock),
            path().prop_map(Step::Rule),
            Just(Step::Filter)
        ];
        let exit = prop_oneof![
            any::<u8>().prop_map(Exit::Code),
            any::<u8>().prop_map(Exit::Signal),
            Just(Exit::Killed)
        ];
        prop_oneof![
            Just(FromStage::Hello),
            (step, any::<i32>()).prop_map(|(step, errno)| FromStage::NotConfined { step, errno }),
            any::<u32>().prop_map(|id| FromStage::Started { id }),
            (any::<u32>(), any::<i32>()).prop_map(|(id, errno)| FromStage::Refused {
                id,
                refusal: Refusal::CannotExecute,
                errno
            }),
            (any::<u32>(), exit).prop_map(|(id, exit)| FromStage::Ended { id, exit }),
            any::<bool>().prop_map(|still| FromStage::Held { still }),
        ]
    }

    proptest! {
        #[test]
        fn what_was_said_is_what_is_heard(there in to_stage(), back in from_stage()) {
            prop_assert_eq!(ToStage::decode(&there.encode()), Some(there));
            prop_assert_eq!(FromStage::decode(&back.encode()), Some(back));
        }

        #[test]
        fn a_frame_cut_short_or_with_more_is_malformed(message in to_stage(), cut in any::<prop::sample::Index>()) {
            let mut frame = message.encode();
            prop_assert_eq!(ToStage::decode(&frame[..cut.index(frame.len())]), None);
            frame.push(0);
            prop_assert_eq!(ToStage::decode(&frame), None);
        }

        #[test]
        fn any_bytes_are_decoded_without_a_panic(frame in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = ToStage::decode(&frame);
            let _ = FromStage::decode(&frame);
        }
    }
}
