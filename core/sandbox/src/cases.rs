//! What a jail must allow and refuse, one row a case, for every system.
//!
//! The table is the promise. On macOS it is asked of the evaluator over the generated profile, on Linux the real jail
//! runs it; a row on which the two differ carries its reason. A row speaks about a place of the *machine*: writing
//! to `/tmp` inside a Linux jail succeeds, but the machine's `/tmp` is not reached, so that is `Refused`. The rows
//! assume the jail that a session has by default: nothing lent but two folders and a socket, no network, loopback
//! as the platform offers it.

use std::fmt;

/// What is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Access {
    /// Read its content, or list it.
    Read,
    /// See that it is there, its size and times.
    Stat,
    /// Change its content.
    Write,
    /// Make it.
    Create,
    /// Delete it.
    Delete,
    /// Execute it.
    Execute,
    /// Clone it into the copy, sharing its blocks, and so read it.
    Clone,
    /// Make a second name for it in the copy.
    Link,
    /// Move it into the copy.
    MoveIn,
    /// Connect to it.
    Connect,
    /// Accept connections on it.
    Serve,
    /// Send it a signal.
    Signal,
    /// Read its arguments and environment.
    ReadArguments,
    /// Have another program of the person open or do something.
    Start,
}

/// What it is tried on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Place {
    /// A file in the copy.
    Copy,
    /// A file of the original, as it is outside now.
    Original,
    /// The original by another name that the system has for it: `/System/Volumes/Data/...`, `/proc/PID/root/...`.
    OriginalByAlias,
    /// A file in the copy of another session.
    OtherSession,
    /// A file of Enclos's own state.
    State,
    /// A file in the home inside.
    SessionHome,
    /// A file in the temporary folder inside.
    SessionTmp,
    /// A file in the machine's `/tmp`.
    MachineTmp,
    /// An ordinary file in the person's home.
    PersonHome,
    /// A private SSH key.
    SshKey,
    /// The folder that holds the private SSH key.
    SshFolder,
    /// The keychain or keyring.
    Keychain,
    /// A browser's profile.
    Browser,
    /// A start file of the person's shell.
    ShellStart,
    /// A file in a folder that is lent to be read.
    LentRead,
    /// A file with credentials in that folder.
    LentSecret,
    /// A file in a folder that is lent to be written.
    LentWrite,
    /// A program of the system.
    SystemProgram,
    /// Password hashes.
    PasswordHashes,
    /// Data of a database server that the person's package manager installed.
    ServiceData,
    /// A Unix socket of the session.
    SessionSocket,
    /// A Unix socket that is lent.
    LentSocket,
    /// A Unix socket in the folder that is lent to be read.
    SocketInLent,
    /// The socket of the person's SSH agent.
    AgentSocket,
    /// The socket of Docker.
    DockerSocket,
    /// The session's terminal.
    OwnTerminal,
    /// Another terminal of the person.
    OtherTerminal,
    /// A server of the session on loopback.
    OwnServer,
    /// A service of the machine that listens on loopback when the session starts.
    EarlyService,
    /// One that starts to listen later, on a port that is not known for a service.
    LateService,
    /// An address outside this machine.
    Internet,
    /// A process of the session.
    OwnProcess,
    /// A process of the person outside.
    OtherProcess,
    /// The program that opens documents and addresses (LaunchServices, the desktop's portal).
    Opener,
    /// The way other apps are told to act (Apple events, the session bus).
    AppControl,
    /// The service manager of the login (launchd, systemd).
    ServiceManager,
    /// The service that holds the keychain.
    KeychainService,
    /// The pasteboard.
    Pasteboard,
}

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// The place is reached.
    Allowed,
    /// It is not.
    Refused,
    /// This system has no such place or access, or it depends on more than the jail.
    NotHere,
}

/// One row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// What is tried.
    pub access: Access,
    /// On what.
    pub place: Place,
    /// What happens on macOS.
    pub macos: Outcome,
    /// What happens on Linux.
    pub linux: Outcome,
    /// Why the two differ; empty when they do not.
    pub why: &'static str,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?}", self.access, self.place)
    }
}

const fn allowed(access: Access, place: Place) -> Case {
    Case {
        access,
        place,
        macos: Outcome::Allowed,
        linux: Outcome::Allowed,
        why: "",
    }
}

const fn refused(access: Access, place: Place) -> Case {
    Case {
        access,
        place,
        macos: Outcome::Refused,
        linux: Outcome::Refused,
        why: "",
    }
}

const fn differs(
    access: Access,
    place: Place,
    macos: Outcome,
    linux: Outcome,
    why: &'static str,
) -> Case {
    Case {
        access,
        place,
        macos,
        linux,
        why,
    }
}

const NAMES_ARE_SEEN: &str = "macOS resolves a path through the attributes of every folder on it, so that a file exists is visible";
const NO_MARKER: &str = "whether blocks can be shared depends on the file system of the copy";

/// The table.
#[rustfmt::skip]
pub static CASES: &[Case] = {
    use Access::*;
    use Outcome::*;
    use Place::*;
    &[
        // The session's own.
        allowed(Read, Place::Copy),
        allowed(Write, Place::Copy),
        allowed(Create, Place::Copy),
        allowed(Delete, Place::Copy),
        allowed(Execute, Place::Copy),
        allowed(Link, Place::Copy),
        differs(Access::Clone, Place::Copy, Allowed, NotHere, NO_MARKER),
        allowed(Read, SessionHome),
        allowed(Create, SessionHome),
        allowed(Execute, SessionHome),
        allowed(Read, SessionTmp),
        allowed(Create, SessionTmp),
        allowed(Execute, SessionTmp),
        allowed(Connect, SessionSocket),
        allowed(Read, OwnTerminal),
        allowed(Write, OwnTerminal),
        allowed(Signal, OwnProcess),
        differs(ReadArguments, OwnProcess, Refused, Allowed,
            "the setting of macOS that tells arguments tells those of every process, so it is closed"),
        // The original and everything of Enclos.
        refused(Read, Original),
        refused(Write, Original),
        refused(Create, Original),
        refused(Delete, Original),
        refused(Execute, Original),
        refused(Access::Clone, Original),
        refused(Link, Original),
        refused(MoveIn, Original),
        refused(Read, OriginalByAlias),
        refused(Write, OriginalByAlias),
        refused(Access::Clone, OriginalByAlias),
        refused(Read, OtherSession),
        refused(Write, OtherSession),
        refused(Access::Clone, OtherSession),
        refused(Link, OtherSession),
        refused(Read, State),
        refused(Write, State),
        refused(Create, State),
        // The person's.
        refused(Read, PersonHome),
        refused(Write, PersonHome),
        refused(Create, PersonHome),
        refused(Execute, PersonHome),
        refused(Access::Clone, PersonHome),
        refused(Link, PersonHome),
        refused(MoveIn, PersonHome),
        differs(Stat, PersonHome, Allowed, Refused, NAMES_ARE_SEEN),
        refused(Read, SshKey),
        refused(Stat, SshKey),
        refused(Write, SshKey),
        refused(Access::Clone, SshKey),
        refused(Link, SshKey),
        refused(Access::Clone, SshFolder),
        refused(MoveIn, SshFolder),
        refused(Read, Keychain),
        refused(Write, Keychain),
        refused(Read, Browser),
        refused(Read, ShellStart),
        refused(Write, ShellStart),
        refused(Read, MachineTmp),
        refused(Create, MachineTmp),
        // What is lent.
        allowed(Read, LentRead),
        allowed(Execute, LentRead),
        refused(Write, LentRead),
        refused(Create, LentRead),
        refused(Delete, LentRead),
        refused(Link, LentRead),
        refused(Read, LentSecret),
        refused(Access::Clone, LentSecret),
        allowed(Read, LentWrite),
        allowed(Write, LentWrite),
        allowed(Create, LentWrite),
        allowed(Connect, LentSocket),
        refused(Connect, SocketInLent),
        // The machine.
        allowed(Read, SystemProgram),
        allowed(Execute, SystemProgram),
        refused(Write, SystemProgram),
        refused(Create, SystemProgram),
        refused(Read, PasswordHashes),
        differs(Read, ServiceData, Refused, NotHere, "package managers of Linux keep such data in folders that are never lent"),
        refused(Connect, AgentSocket),
        refused(Connect, DockerSocket),
        refused(Read, OtherTerminal),
        refused(Write, OtherTerminal),
        refused(Signal, OtherProcess),
        refused(ReadArguments, OtherProcess),
        // The network.
        allowed(Serve, OwnServer),
        allowed(Connect, OwnServer),
        refused(Connect, EarlyService),
        differs(Connect, LateService, Allowed, Refused,
            "rules of macOS cannot tell a session's server from another on loopback; known ports and those in use are closed"),
        refused(Connect, Internet),
        // Programs outside that act for whoever asks.
        refused(Start, Opener),
        refused(Start, AppControl),
        refused(Start, ServiceManager),
        refused(Connect, KeychainService),
        refused(Connect, Pasteboard),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_differs_says_why_and_no_other_does() {
        for case in CASES {
            assert_eq!(case.macos != case.linux, !case.why.is_empty(), "{case}");
        }
    }

    #[test]
    fn no_row_is_there_twice() {
        let rows: std::collections::BTreeSet<_> =
            CASES.iter().map(|case| (case.access, case.place)).collect();
        assert_eq!(rows.len(), CASES.len());
    }
}
