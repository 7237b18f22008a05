// odd: the same in Rust. See odd.cc.
use std::hint::black_box;
use std::io::Write;

struct W {
    v: [u64; 4],
}

impl W {
    #[inline(never)]
    fn m(&self, n: i64) -> i64 {
        black_box(self);
        n - 1
    }
}

#[inline(never)]
fn strs(a: &[&str], n: i64) -> i64 {
    black_box(a);
    n
}

#[inline(never)]
fn text(a: &str, b: &std::path::Path, n: i64) -> i64 {
    black_box((a, b));
    n
}

#[inline(never)]
fn apply<F: Fn(i64, &str) -> i64>(f: F) -> i64 {
    f(black_box(3), black_box("abc"))
}

fn calls() {
    let w = W { v: [1, 2, 3, 4] };
    black_box(&w.v);
    let captured = black_box(21i64);
    w.m(black_box(29));
    println!("odd::W::m\t~{:p}\t~29\t~28", &w);
    let all = ["one", "two", "three"];
    strs(&all, black_box(1));
    println!("odd::strs\t~{{data_ptr={:p}, length=3}}\t~1\t~1", &all);
    text("abc", std::path::Path::new("/tmp"), black_box(2));
    println!("odd::text\t~\"abc\"\t~\"/tmp\"\t~2\t~2");
    apply(|x, s| x + s.len() as i64 + captured);
    println!("odd::calls::{{{{closure}}}}\t~3\t~\"abc\"\t~27");
}

fn main() {
    println!("ready");
    std::io::stdout().flush().unwrap();
    let mut line = String::new();
    while std::io::stdin().read_line(&mut line).unwrap() > 0 {
        calls();
        println!("end");
        std::io::stdout().flush().unwrap();
        line.clear();
    }
}
