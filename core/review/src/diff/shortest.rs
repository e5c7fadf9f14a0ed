//! A point in the middle of the shortest edit (Myers, "An O(ND) Difference Algorithm and Its Variations", 1986).
//!
//! Searched from both ends at once, so memory stays linear. When the two do not meet within [`FARTHEST`] edits the
//! farthest point reached is taken: the edit is then not the shortest, but still one.

/// How many edits from either end the search goes before it takes what it has.
const FARTHEST: isize = 1024;

/// A diagonal that was not reached.
const NOWHERE: isize = -1;

/// The search, with its tables kept between calls.
pub(super) struct Shortest {
    forward: Diagonals,
    backward: Diagonals,
}

/// By diagonal (`x - y`): the farthest `x` reached on it.
struct Diagonals(Vec<isize>);

impl Diagonals {
    fn at(&self, k: isize) -> isize {
        self.0[Self::index(k)]
    }

    fn set(&mut self, k: isize, x: isize) {
        self.0[Self::index(k)] = x;
    }

    fn index(k: isize) -> usize {
        (k + FARTHEST + 2).unsigned_abs()
    }
}

/// One direction of the search over a rectangle of `n` by `m` lines.
struct Side<F> {
    n: isize,
    m: isize,
    equal: F,
}

impl<F: Fn(isize, isize) -> bool> Side<F> {
    /// Goes one edit farther on diagonal `k`; gives the point after the edit and the `x` after the equal lines.
    fn step(&self, reached: &mut Diagonals, k: isize) -> Option<(isize, isize)> {
        let (left, up) = (reached.at(k - 1), reached.at(k + 1));
        let right = if left != NOWHERE && left < self.n {
            left + 1
        } else {
            NOWHERE
        };
        let down = if up != NOWHERE && up - k <= self.m {
            up
        } else {
            NOWHERE
        };
        let start = right.max(down);
        if start == NOWHERE {
            reached.set(k, NOWHERE);
            return None;
        }
        let mut x = start;
        while x < self.n && x - k < self.m && (self.equal)(x, x - k) {
            x += 1;
        }
        reached.set(k, x);
        Some((start, x))
    }
}

impl Shortest {
    pub(super) fn new() -> Self {
        let size = 2 * (FARTHEST.unsigned_abs() + 2) + 1;
        Self {
            forward: Diagonals(vec![NOWHERE; size]),
            backward: Diagonals(vec![NOWHERE; size]),
        }
    }

    /// A point that splits `a` and `b`, which are not empty and differ at both ends; none when `left` is used up.
    pub(super) fn middle(
        &mut self,
        a: &[u32],
        b: &[u32],
        left: &mut u64,
    ) -> Option<(usize, usize)> {
        let (n, m) = (a.len().cast_signed(), b.len().cast_signed());
        let ahead = Side {
            n,
            m,
            equal: |x: isize, y: isize| a[x.unsigned_abs()] == b[y.unsigned_abs()],
        };
        let back = Side {
            n,
            m,
            equal: |x: isize, y: isize| {
                a[(n - 1 - x).unsigned_abs()] == b[(m - 1 - y).unsigned_abs()]
            },
        };
        self.forward.0.fill(NOWHERE);
        self.backward.0.fill(NOWHERE);
        *left = left.saturating_sub(self.forward.0.len() as u64);
        // A step "down" from here is the start of both searches: the point (0, 0) on diagonal 0.
        self.forward.set(1, 0);
        self.backward.set(1, 0);
        let delta = n - m;
        for d in 0..=FARTHEST {
            let mut steps = 0;
            for k in (-d..=d).step_by(2) {
                let Some((start, x)) = ahead.step(&mut self.forward, k) else {
                    continue;
                };
                steps += 2 + x - start;
                let other = delta - k;
                if delta % 2 != 0 && other.abs() < d && meets(x, self.backward.at(other), n) {
                    return inside(start, start - k, n, m);
                }
            }
            for k in (-d..=d).step_by(2) {
                let Some((start, x)) = back.step(&mut self.backward, k) else {
                    continue;
                };
                steps += 2 + x - start;
                let other = delta - k;
                if delta % 2 == 0 && other.abs() <= d && meets(x, self.forward.at(other), n) {
                    return inside(n - start, m - (start - k), n, m);
                }
            }
            *left = left.checked_sub(steps.unsigned_abs() as u64).unwrap_or(0);
            if *left == 0 {
                return None;
            }
        }
        self.farthest(n, m)
    }

    /// The point that lies farthest from the start.
    fn farthest(&self, n: isize, m: isize) -> Option<(usize, usize)> {
        let reached = (-FARTHEST..=FARTHEST).filter_map(|k| {
            let x = self.forward.at(k);
            (x != NOWHERE).then_some((x, x - k))
        });
        let (x, y) = reached.max_by_key(|(x, y)| x + y)?;
        inside(x, y, n, m)
    }
}

fn meets(x: isize, opposite: isize, n: isize) -> bool {
    opposite != NOWHERE && x + opposite >= n
}

/// A point at a corner would split nothing off.
fn inside(x: isize, y: isize, n: isize, m: isize) -> Option<(usize, usize)> {
    let point = (usize::try_from(x).ok()?, usize::try_from(y).ok()?);
    let splits = (x, y) != (0, 0) && (x, y) != (n, m) && x <= n && y <= m;
    splits.then_some(point)
}
