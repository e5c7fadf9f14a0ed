//! The supervisor: one process per session that owns the jailed tree, its streams and the control socket.
//!
//! It is started with the session's lock and listening socket already in hand, so there is no moment in which the
//! session belongs to nobody. Terminals come and go; the session lives until its command ends or is stopped. A single
//! thread waits for everything at once, because the jail is bound to the life of the thread that started it.

mod jailed;
mod serve;
mod streams;
mod viewer;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::net::UnixListener;
use std::os::unix::net::UnixStream;
use std::time::Duration;
use std::time::Instant;

use enclos_paths::AbsPath;
use rustix::event::PollFd;
use rustix::event::PollFlags;
use rustix::event::Timespec;
use rustix::io::Errno;

use self::jailed::Asking;
use self::jailed::First;
use self::jailed::Jailed;
pub(crate) use self::streams::Audience;
use self::streams::Paused;
use self::streams::StreamEnd;
use self::streams::Streams;
use self::viewer::Viewer;
use crate::Clock;
use crate::Exit;
use crate::Record;
use crate::RecordError;
use crate::State;
use crate::control::FrameKind;
use crate::control::Refusal;
use crate::control::SocketPlace;
use crate::lock::Lock;
use crate::private::Durability;
use crate::registry::Held;

/// What a supervisor is born with.
#[derive(Debug)]
pub(crate) struct Inheritance {
    /// The session's folder with its lock.
    pub held: Held,
    /// The control socket, already bound.
    pub listener: UnixListener,
    /// Where that socket lies.
    pub place: SocketPlace,
    /// What time it is.
    pub clock: Clock,
}

impl Inheritance {
    /// Puts the inheritance together from descriptors that the parent left open.
    #[must_use]
    pub(crate) fn new(
        session: AbsPath,
        lock: File,
        listener: UnixListener,
        place: SocketPlace,
        clock: Clock,
    ) -> Self {
        Self {
            held: Held {
                folder: session,
                lock: Lock::inherited(lock),
            },
            listener,
            place,
            clock,
        }
    }
}

/// Starts the command of a prepared session and serves the session until the command has ended.
///
/// Returns when every process of the session is gone and the record says how the command ended.
///
/// # Errors
/// When the record cannot be read or written, or waiting itself fails. A command that cannot be started is no error
/// here: it is told to whoever is connected and recorded.
pub(crate) fn supervise(inheritance: Inheritance) -> Result<(), SuperviseError> {
    let Inheritance {
        held,
        listener,
        place,
        clock,
    } = inheritance;
    let signals = signals().map_err(SuperviseError::Signals)?;
    listener
        .set_nonblocking(true)
        .map_err(SuperviseError::Listener)?;
    let started = Jailed::start(&held.folder);
    let record = Record::update(&held.folder, Durability::Process, |record| {
        if let Ok(first) = &started {
            record.gaps.clone_from(&first.gaps);
        }
        record.state = State::Running {
            since: milliseconds(clock),
        };
    })?;
    let First {
        jailed,
        streams,
        executable,
        ..
    } = match started {
        Ok(started) => started,
        Err(error) => {
            let exit = error.exit();
            let refusal = Refusal::NotStarted {
                message: error.sentence(),
                exit,
            };
            finish(&held, clock, (exit, Vec::new()))?;
            let viewers = first_visitors(&listener);
            place.remove();
            return farewell(viewers, held, |viewer| viewer.refuse(&refusal));
        }
    };
    crate::base::keep_in_background(&executable, &held.folder);
    let mut supervisor = Supervisor {
        listener: Some(listener),
        place: &place,
        signals,
        record: &record,
        jailed,
        programs: BTreeMap::from([(COMMAND, streams)]),
        viewers: Vec::new(),
        stopping: None,
        exit: None,
        checked: Instant::now(),
    };
    let exit = supervisor.serve()?;
    let viewers = std::mem::take(&mut supervisor.viewers);
    let left = supervisor.jailed.left();
    drop(supervisor);
    finish(&held, clock, (exit, left))?;
    place.remove();
    farewell(viewers, held, |viewer| {
        viewer.send_json(FrameKind::Exited, &exit)
    })
}

struct Supervisor<'a> {
    listener: Option<UnixListener>,
    place: &'a SocketPlace,
    signals: UnixStream,
    record: &'a Record,
    jailed: Jailed,
    /// The streams of the command and of the shells beside it, by number.
    programs: BTreeMap<u32, Streams>,
    viewers: Vec<Viewer>,
    /// Since when the command has been asked to end.
    stopping: Option<Stopping>,
    exit: Option<Exit>,
    /// When the socket's file was last seen to be there.
    checked: Instant,
}

/// How long a command that was asked to end may take before it is killed.
const GRACE: Duration = Duration::from_secs(4);

/// How long output may still come after the last process is gone; pipes are empty long before.
const DRAIN: Duration = Duration::from_secs(2);

/// How long the last frames may take to be read by a viewer before the supervisor leaves.
const FAREWELL: Duration = Duration::from_secs(10);

/// How often the world is looked at when nothing happens.
const TICK: Duration = Duration::from_secs(2);

/// A command that has been asked to end.
#[derive(Debug, Clone, Copy)]
struct Stopping {
    since: Instant,
    asked_twice: bool,
}

/// The number of the session's own command; shells come after.
const COMMAND: u32 = 0;

enum Source {
    Listener,
    Signals,
    Gone,
    News,
    Stream(u32, StreamEnd),
    Viewer(usize),
}

impl Supervisor<'_> {
    fn serve(&mut self) -> Result<Exit, SuperviseError> {
        let mut ended: Option<Instant> = None;
        loop {
            for (source, flags) in self.wait(ended)? {
                self.handle(&source, flags);
            }
            self.viewers.retain_mut(|viewer| !viewer.gone);
            self.thaw_if_nobody_cares();
            self.enforce_deadlines();
            self.see_shells_off();
            if self.exit.is_some() {
                let since = *ended.get_or_insert_with(Instant::now);
                if self.programs.values().all(Streams::is_drained) || since.elapsed() > DRAIN {
                    return Ok(self.exit.unwrap_or(Exit::Signal(9)));
                }
            }
        }
    }

    fn wait(&self, ended: Option<Instant>) -> Result<Vec<(Source, PollFlags)>, SuperviseError> {
        let mut sources = Vec::new();
        let mut fds = Vec::new();
        let mut add = |source, fd| {
            sources.push(source);
            fds.push(fd);
        };
        if let Some(listener) = &self.listener {
            add(Source::Listener, PollFd::new(listener, PollFlags::IN));
        }
        add(Source::Signals, PollFd::new(&self.signals, PollFlags::IN));
        if ended.is_none() {
            add(
                Source::Gone,
                PollFd::from_borrowed_fd(self.jailed.gone(), PollFlags::IN),
            );
            add(
                Source::News,
                PollFd::from_borrowed_fd(self.jailed.news(), PollFlags::IN),
            );
        }
        for (&id, streams) in &self.programs {
            for (end, fd, flags) in streams.interests(self.paused(id)) {
                add(Source::Stream(id, end), PollFd::from_borrowed_fd(fd, flags));
            }
        }
        for (at, viewer) in self.viewers.iter().enumerate() {
            let full = self
                .programs
                .get(&viewer.program)
                .is_some_and(Streams::is_full);
            let mut flags = if full {
                PollFlags::empty()
            } else {
                PollFlags::IN
            };
            if viewer.has_waiting() {
                flags |= PollFlags::OUT;
            }
            add(Source::Viewer(at), PollFd::new(viewer, flags));
        }
        let tick = if ended.is_some() || self.stopping.is_some() {
            Duration::from_millis(50)
        } else {
            TICK
        };
        let timeout = Timespec {
            tv_sec: tick.as_secs().cast_signed(),
            tv_nsec: tick.subsec_nanos().into(),
        };
        match rustix::event::poll(&mut fds, Some(&timeout)) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Vec::new()),
            Err(source) => return Err(SuperviseError::Wait(source)),
        }
        let ready: Vec<PollFlags> = fds.iter().map(PollFd::revents).collect();
        Ok(sources
            .into_iter()
            .zip(ready)
            .filter(|(_, flags)| !flags.is_empty())
            .collect())
    }

    fn paused(&self, program: u32) -> Paused {
        let holds_back = |viewer: &Viewer| viewer.program == program && viewer.holds_back();
        if self.exit.is_none() && self.viewers.iter().any(holds_back) {
            Paused::Yes
        } else {
            Paused::No
        }
    }

    /// Tells the viewers of shells that have ended how they did.
    fn see_shells_off(&mut self) {
        let drained = self
            .programs
            .iter()
            .filter(|(id, streams)| **id != COMMAND && streams.is_drained());
        for id in drained.map(|(id, _)| *id).collect::<Vec<_>>() {
            let Some(exit) = self.jailed.exit_of(id) else {
                continue;
            };
            self.programs.remove(&id);
            for viewer in self
                .viewers
                .iter_mut()
                .filter(|viewer| viewer.program == id)
            {
                viewer.send_json(FrameKind::Exited, &exit);
                viewer.output = false;
            }
        }
    }

    /// How processes are asked to end at first: a quarter of the grace later the other way, because shells ignore the one
    /// and programs without a terminal often the other.
    fn first_asking(&self) -> Asking {
        let on_terminal = self
            .programs
            .get(&COMMAND)
            .is_some_and(Streams::has_terminal);
        if on_terminal {
            Asking::Hangup
        } else {
            Asking::Terminate
        }
    }

    fn hasten(&mut self) {
        let Some(stopping) = self.stopping.filter(|_| self.exit.is_none()) else {
            return;
        };
        if stopping.since.elapsed() > GRACE {
            self.jailed.kill();
        } else if !stopping.asked_twice && stopping.since.elapsed() > GRACE / 4 {
            self.stopping = Some(Stopping {
                asked_twice: true,
                ..stopping
            });
            self.jailed.ask_to_end(match self.first_asking() {
                Asking::Hangup => Asking::Terminate,
                Asking::Terminate => Asking::Hangup,
            });
        }
    }

    fn enforce_deadlines(&mut self) {
        for viewer in &mut self.viewers {
            let on_terminal = self
                .programs
                .get(&viewer.program)
                .is_some_and(Streams::has_terminal);
            viewer.gone |= on_terminal && viewer.is_stuck();
        }
        self.hasten();
        if self.checked.elapsed() > TICK {
            self.checked = Instant::now();
            self.jailed.tend();
            if !self.place.is_there()
                && let Ok(listener) = self.place.listen()
                && listener.set_nonblocking(true).is_ok()
            {
                self.listener = Some(listener);
            }
        }
    }
}

/// Records how the command ended, and who could not be ended with it.
fn finish(held: &Held, clock: Clock, (exit, left): (Exit, Vec<String>)) -> Result<(), RecordError> {
    let at = milliseconds(clock);
    Record::update(&held.folder, Durability::Process, |record| {
        record.state = State::Ended { exit, at };
        record.gaps.extend(left);
    })?;
    Ok(())
}

/// Gives up the lock and only then tells the viewers, so that whoever hears of the end can act on the session.
fn farewell(
    mut viewers: Vec<Viewer>,
    held: Held,
    say: impl Fn(&mut Viewer),
) -> Result<(), SuperviseError> {
    let folder = held.folder.clone();
    drop(held);
    for viewer in &mut viewers {
        say(viewer);
    }
    let deadline = Instant::now() + FAREWELL;
    while viewers
        .iter()
        .any(|viewer| viewer.has_waiting() && !viewer.gone)
        && Instant::now() < deadline
    {
        let mut fds: Vec<PollFd<'_>> = viewers
            .iter()
            .filter(|v| v.has_waiting())
            .map(|v| PollFd::new(v, PollFlags::OUT))
            .collect();
        let timeout = Timespec {
            tv_sec: 0,
            tv_nsec: 100_000_000,
        };
        match rustix::event::poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(source) => return Err(SuperviseError::Wait(source)),
        }
        for viewer in &mut viewers {
            viewer.flush();
        }
    }
    drop(viewers);
    // Nobody waits any more. A session that was decided on meanwhile may be gone.
    let _ = Record::flush(&folder);
    Ok(())
}

/// Those who connected before the command could not be started; at least the starter itself has.
fn first_visitors(listener: &UnixListener) -> Vec<Viewer> {
    let mut viewers = Vec::new();
    let deadline = Instant::now() + Duration::from_millis(500);
    while viewers.is_empty() && Instant::now() < deadline {
        match listener.accept() {
            Ok((stream, _)) => viewers.extend(Viewer::new(stream).ok()),
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
    viewers
}

fn signals() -> io::Result<UnixStream> {
    let (read, write) = UnixStream::pair()?;
    read.set_nonblocking(true)?;
    for signal in [
        signal_hook::consts::SIGTERM,
        signal_hook::consts::SIGINT,
        signal_hook::consts::SIGHUP,
    ] {
        signal_hook::low_level::pipe::register(signal, write.try_clone()?)?;
    }
    Ok(read)
}

fn milliseconds(clock: Clock) -> i64 {
    i64::try_from(clock.now() / 1_000_000).unwrap_or(i64::MAX)
}

/// Why a supervisor could not do its work. The copy is whole; the session counts as interrupted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SuperviseError {
    /// The record cannot be read or written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Signals cannot be received.
    #[error("the supervisor cannot receive signals")]
    Signals(#[source] io::Error),
    /// The control socket cannot be used.
    #[error("the control socket cannot be used")]
    Listener(#[source] io::Error),
    /// Waiting fails.
    #[error("the supervisor cannot wait for its session")]
    Wait(#[source] Errno),
    /// It cannot be cut loose from the terminal that started it.
    #[error("the supervisor cannot leave the terminal it was started from")]
    Detach(#[source] Errno),
}
