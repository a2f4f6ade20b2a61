//! The window as it is: on a display in memory (Xvfb), with whatever adapter there is, driven by the keys and the mouse of
//! xdotool. Where one of the two is missing the tests fail and say what to install.

mod driver;
mod scenes;
mod window;
