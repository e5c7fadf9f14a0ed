//! A socket that carries frames, and descriptors beside them.
//!
//! The promise: a frame arrives whole or the conversation is over, and descriptors arrive with the frame they were sent
//! with. How it could break: reading past a frame's end would take the next one's descriptors, so a frame's length is
//! read first and then exactly that many bytes.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::Timeout;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};

use super::wire::LONGEST;

/// One end.
#[derive(Debug)]
pub(crate) struct Channel(OwnedFd);

/// A frame and what came with it.
#[derive(Debug)]
pub(crate) struct Frame {
    /// The bytes.
    pub(crate) bytes: Vec<u8>,
    /// The descriptors, close-on-exec.
    pub(crate) descriptors: Vec<OwnedFd>,
}

/// The most descriptors a frame carries.
const MOST: usize = 4;

impl Channel {
    /// Two ends, both close-on-exec.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let flags = SocketFlags::CLOEXEC;
        let (ours, theirs) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        Ok((Self(ours), theirs))
    }

    /// The end that was inherited as `fd`.
    pub(crate) fn over(fd: OwnedFd) -> Self {
        Self(fd)
    }

    /// Makes sending and receiving fail with [`io::ErrorKind::WouldBlock`] after `patience`; none waits forever.
    pub(crate) fn set_patience(&self, patience: Option<Duration>) -> io::Result<()> {
        for direction in [Timeout::Recv, Timeout::Send] {
            rustix::net::sockopt::set_socket_timeout(&self.0, direction, patience)?;
        }
        Ok(())
    }

    /// Sends one frame; waits while the other end does not read.
    pub(crate) fn send(&self, frame: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let len = u32::try_from(frame.len())
            .ok()
            .filter(|_| frame.len() <= LONGEST);
        let len = len.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        let mut bytes = Vec::with_capacity(4 + frame.len());
        bytes.extend(len.to_le_bytes());
        bytes.extend(frame);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors))
        {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        let mut sent = again(|| {
            rustix::net::sendmsg(
                &self.0,
                &[io::IoSlice::new(&bytes)],
                &mut ancillary,
                SendFlags::NOSIGNAL,
            )
        })?;
        while let Some(rest) = bytes.get(sent..).filter(|rest| !rest.is_empty()) {
            sent += again(|| rustix::net::send(&self.0, rest, SendFlags::NOSIGNAL))?;
        }
        Ok(())
    }

    /// Waits for one frame; none when the other end is gone.
    pub(crate) fn receive(&self) -> io::Result<Option<Frame>> {
        let mut len = [0_u8; 4];
        let Some(descriptors) = self.receive_start(&mut len)? else {
            return Ok(None);
        };
        let len = usize::try_from(u32::from_le_bytes(len)).unwrap_or(usize::MAX);
        if len > LONGEST {
            return Err(io::Error::from(io::ErrorKind::InvalidData));
        }
        let mut bytes = vec![0; len];
        if !self.fill(&mut bytes)? {
            return Ok(None);
        }
        Ok(Some(Frame { bytes, descriptors }))
    }

    fn receive_start(&self, len: &mut [u8; 4]) -> io::Result<Option<Vec<OwnedFd>>> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let got = loop {
            let mut into = [io::IoSliceMut::new(&mut len[..])];
            match rustix::net::recvmsg(&self.0, &mut into, &mut ancillary, RecvFlags::CMSG_CLOEXEC)
            {
                Err(Errno::INTR) => {}
                result => break ended(result.map(|message| message.bytes))?,
            }
        };
        if got == 0 {
            return Ok(None);
        }
        let mut descriptors = Vec::new();
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                descriptors.extend(rights);
            }
        }
        let rest = len.get_mut(got..).unwrap_or_default();
        Ok(self.fill(rest)?.then_some(descriptors))
    }

    /// Whether all of `into` could be read before the other end was gone.
    fn fill(&self, mut into: &mut [u8]) -> io::Result<bool> {
        while !into.is_empty() {
            let got = ended(again(|| rustix::io::read(&self.0, &mut *into)))?;
            if got == 0 {
                return Ok(false);
            }
            into = into.get_mut(got..).unwrap_or_default();
        }
        Ok(true)
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A process that was killed with unread bytes in its socket makes the reader see a reset; to us that is an end.
fn ended(result: rustix::io::Result<usize>) -> io::Result<usize> {
    match result {
        Err(Errno::CONNRESET) => Ok(0),
        result => Ok(result?),
    }
}

fn again<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn frames_stay_apart_and_keep_their_descriptors() {
        let (ours, theirs) = Channel::pair().unwrap();
        let theirs = Channel::over(theirs);
        let (_read, mut write) = std::io::pipe().unwrap();
        ours.send(b"one", &[]).unwrap();
        ours.send(b"two", &[write.as_fd()]).unwrap();
        ours.send(b"", &[]).unwrap();
        let one = theirs.receive().unwrap().unwrap();
        assert_eq!(
            (one.bytes.as_slice(), one.descriptors.len()),
            (&b"one"[..], 0)
        );
        let two = theirs.receive().unwrap().unwrap();
        assert_eq!(
            (two.bytes.as_slice(), two.descriptors.len()),
            (&b"two"[..], 1)
        );
        assert_ne!(two.descriptors[0].as_raw_fd(), write.as_raw_fd());
        assert_eq!(theirs.receive().unwrap().unwrap().bytes, b"");
        write.write_all(b"x").unwrap();
        drop(ours);
        assert!(theirs.receive().unwrap().is_none(), "the other end is gone");
    }

    #[test]
    fn a_frame_bigger_than_the_sockets_buffer_arrives() {
        let (ours, theirs) = Channel::pair().unwrap();
        let theirs = Channel::over(theirs);
        let big = vec![7; 3 << 20];
        let sender = std::thread::spawn({
            let big = big.clone();
            move || ours.send(&big, &[]).unwrap()
        });
        assert_eq!(theirs.receive().unwrap().unwrap().bytes, big);
        sender.join().unwrap();
    }

    #[test]
    fn a_length_beyond_the_limit_is_refused_before_it_is_allocated() {
        let (ours, theirs) = Channel::pair().unwrap();
        let theirs = Channel::over(theirs);
        rustix::io::write(&ours, &u32::MAX.to_le_bytes()).unwrap();
        assert_eq!(
            theirs.receive().unwrap_err().kind(),
            io::ErrorKind::InvalidData
        );
        assert!(ours.send(&vec![0; LONGEST + 1], &[]).is_err());
    }
}
