//! Walls of every shape, standing and moving.

mod bullets;
mod flow;
mod oracle;
mod rest;
mod support;
mod work;
