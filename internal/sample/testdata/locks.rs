// locks: threads named after what they wait for, which main has. It says ready when all wait.
use std::sync::{Condvar, Mutex, RwLock};
use std::thread;
use std::time::Duration;

static MUTEX: Mutex<i32> = Mutex::new(0);
static RWLOCK: RwLock<i32> = RwLock::new(0);
static PAIR: (Mutex<i32>, Condvar) = (Mutex::new(0), Condvar::new());

fn start(name: &str, f: fn()) {
    thread::Builder::new().name(name.to_string()).spawn(f).unwrap();
}

fn main() {
    let _m = MUTEX.lock().unwrap();
    let _w = RWLOCK.write().unwrap();
    start("mutex", || drop(MUTEX.lock().unwrap()));
    start("rwlock", || drop(RWLOCK.read().unwrap()));
    start("condvar", || drop(PAIR.1.wait(PAIR.0.lock().unwrap()).unwrap()));
    start("park", || thread::park());
    thread::sleep(Duration::from_millis(300));
    println!("ready");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    std::process::exit(0);
}
