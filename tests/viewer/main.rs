//! The real window on a virtual display (Xvfb), with any adapter, driven by keys and mouse from xdotool. If one of the
//! two programs is missing, the tests fail and say what to install.

mod driver;
mod scenes;
mod tools;
mod window;
