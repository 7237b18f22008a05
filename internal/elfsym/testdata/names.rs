// Rust names: modules, traits, generics and closures.
mod shapes {
    pub trait Area {
        fn area(&self) -> u64;
    }
    pub struct Square(pub u64);
    impl Area for Square {
        #[inline(never)]
        fn area(&self) -> u64 {
            self.0.wrapping_mul(self.0)
        }
    }
    #[inline(never)]
    pub fn total<T: Area>(v: &[T]) -> u64 {
        v.iter().map(|s| s.area()).fold(0, |a, b| a ^ b)
    }
}

use shapes::{total, Square};

fn main() {
    let n = std::env::args().count() as u64;
    std::process::exit((total(&[Square(n), Square(n + 1)]) & 1) as i32);
}
