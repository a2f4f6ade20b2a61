//! Pictures: what is drawn is where it should be, and looks as it should.

mod seen;
