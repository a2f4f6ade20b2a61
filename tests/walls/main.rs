//! Walls of every shape, standing and moving.

mod bullets;
mod oracle;
mod rest;
mod support;
mod work;
