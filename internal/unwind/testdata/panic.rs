// Panics through main > outer > middle > inner, caught in outer.
use std::hint::black_box;
use std::io::Write;
use std::panic;

struct Guard(Vec<u64>);

impl Drop for Guard {
    fn drop(&mut self) {
        black_box(self.0.iter().sum::<u64>());
    }
}

#[inline(never)]
fn inner(n: u64) -> u64 {
    let g = Guard((0..n % 50 + 10).collect());
    if n % 3 == 0 {
        panic!("multiple of {}", g.0.len());
    }
    black_box(g.0[3])
}

#[inline(never)]
fn middle(n: u64) -> u64 {
    let _g = Guard(vec![n; 10]);
    black_box(inner(n)) + 1
}

#[inline(never)]
fn outer(n: u64) -> u64 {
    black_box(panic::catch_unwind(|| middle(n)).unwrap_or(1)) + 1
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    println!("ready");
    std::io::stdout().flush().unwrap();
    let mut n = 0u64;
    loop {
        n = n.wrapping_add(1);
        black_box(outer(n));
    }
}
