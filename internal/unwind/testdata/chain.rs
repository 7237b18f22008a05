// The chain main > outer > middle > inner with Rust's collections, formatting,
// closures and panics below it.
use std::collections::HashMap;
use std::hint::black_box;

#[inline(never)]
fn inner(i: u64) -> u64 {
    match i % 5 {
        0 => (0..2000u64).fold(i, |s, k| s.wrapping_mul(31).wrapping_add(black_box(k))),
        1 => {
            let mut v: Vec<u64> = (0..200).map(|k| k * 7919 % 200).collect();
            v.sort_by(|a, b| b.cmp(a));
            v[3]
        }
        2 => format!("{} {:?} {:.3}", i, Some("x"), 1.5).len() as u64,
        3 => {
            let mut m = HashMap::new();
            for k in 0..50 {
                m.insert(k, k.to_string());
            }
            m.len() as u64
        }
        _ => "a,b,c,d".split(',').map(|s| s.len() as u64).sum(),
    }
}

#[inline(never)]
fn middle(i: u64) -> u64 {
    black_box(inner(i)) + 1
}

#[inline(never)]
fn outer(i: u64) -> u64 {
    black_box(middle(i)) + 1
}

fn main() {
    println!("ready");
    for i in 0.. {
        black_box(outer(i));
    }
}
