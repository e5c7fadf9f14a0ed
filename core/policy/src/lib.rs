//! What is allowed: pure decisions over data. No I/O: whoever calls reads files and passes their text.
