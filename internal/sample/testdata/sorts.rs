// Sorts through closures and trait objects until standard input ends.
use std::io::{Read, Write};

trait Key {
    fn key(&self, x: u64) -> u64;
}

struct Mix(u64);

impl Key for Mix {
    #[inline(never)]
    fn key(&self, x: u64) -> u64 {
        (0..50).fold(x ^ self.0, |a, i| a.wrapping_mul(6364136223846793005).wrapping_add(i))
    }
}

#[inline(never)]
fn turn(keys: &[Box<dyn Key>], n: u64) -> u64 {
    let mut v: Vec<u64> = (0..n).collect();
    for k in keys {
        v.sort_by_cached_key(|x| k.key(*x));
    }
    v[0]
}

fn main() {
    std::thread::spawn(|| {
        let mut b = [0u8; 1];
        while std::io::stdin().read(&mut b).unwrap_or(0) > 0 {}
        std::process::exit(0);
    });
    println!("ready");
    std::io::stdout().flush().unwrap();
    let keys: Vec<Box<dyn Key>> = vec![Box::new(Mix(1)), Box::new(Mix(2))];
    let mut sum = 0u64;
    while sum != 1 {
        sum = sum.wrapping_add(turn(&keys, 1000)) | 2;
    }
}
