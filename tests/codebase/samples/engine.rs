use crate::parts::{Piston, Valve};
use std::fmt::Display;

/// Turns fuel into motion.
#[derive(Debug)]
pub struct Engine { power: u32 }

pub trait Runs { fn run(&self); }

impl Runs for Engine {
    fn run(&self) { println!("{}", self.power); Piston::fire(self.power); }
}

pub const MAX: u32 = 9;
macro_rules! spin { () => {} }
mod inner { pub fn deep() {} }
enum Gear { First, Second(u8) }
