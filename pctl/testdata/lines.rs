// lines: when standard input ends, a function is called three times, and a closure in it four times each.
use std::io::Read;

#[inline(never)]
fn total(n: u64) -> u64 {
    let add = |sum: u64, x: u64| {
        std::hint::black_box(sum) + x // add
    };
    let mut sum = 0;
    for x in 0..4 {
        sum = add(sum, x * n);
    }
    sum
}

fn main() {
    println!("ready");
    let mut rest = Vec::new();
    std::io::stdin().read_to_end(&mut rest).unwrap();
    let mut all = 0;
    for n in 0..3 {
        all += total(n);
    }
    std::process::exit(if all == 18 { 0 } else { 1 });
}
