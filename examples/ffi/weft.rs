// SPDX-License-Identifier: MIT
// weft from Rust: a thousand fibers that sleep, add to a counter under a mutex, and send to a channel. Only the standard
// library; the declarations are those that the program uses.
//
//     rustc -O examples/ffi/weft.rs -L $(pkg-config --variable=libdir weft-ffi) -l weft-ffi
use std::ffi::{c_char, c_int, c_void};

#[repr(C)]
#[derive(Clone, Copy)]
struct Fiber {
    id: u64,
}

#[link(name = "weft-ffi")]
#[link(name = "weft")]
extern "C" {
    fn weft_version() -> *const c_char;
    fn weft_run(main: extern "C" fn(*mut c_void) -> c_int, arg: *mut c_void, config: *const c_void) -> c_int;
    fn weft_spawn(fiber: *mut Fiber, attr: *const c_void, f: extern "C" fn(*mut c_void) -> *mut c_void, arg: *mut c_void) -> c_int;
    fn weft_join(fiber: Fiber, result: *mut *mut c_void) -> c_int;
    fn weft_sleep_for(nanoseconds: u64) -> c_int;
    fn weft_mutex_lock(mutex: *mut c_void) -> c_int;
    fn weft_mutex_unlock(mutex: *mut c_void) -> c_int;
    fn weft_chan_make(size: usize, capacity: usize) -> *mut c_void;
    fn weft_chan_send(chan: *mut c_void, item: *const c_void) -> c_int;
    fn weft_chan_recv(chan: *mut c_void, item: *mut c_void) -> c_int;
    fn weft_chan_free(chan: *mut c_void) -> c_int;
    fn weft_ffi_size(name: *const c_char) -> usize;
    fn weft_ffi_constant(name: *const c_char) -> u64;
}

struct Shared {
    mutex: Vec<u64>, // zeros are a mutex; it must not move
    channel: *mut c_void,
    count: u64,
    millisecond: u64,
}

// A panic must not leave a fiber: extern "C" functions abort then, and say so.
extern "C" fn work(arg: *mut c_void) -> *mut c_void {
    let shared = arg as *mut Shared;
    unsafe {
        weft_sleep_for((*shared).millisecond);
        let mutex = (*shared).mutex.as_mut_ptr() as *mut c_void;
        weft_mutex_lock(mutex);
        (*shared).count += 1;
        let mine = (*shared).count;
        weft_mutex_unlock(mutex);
        if weft_chan_send((*shared).channel, &mine as *const u64 as *const c_void) != 0 {
            return arg;
        }
    }
    std::ptr::null_mut()
}

extern "C" fn start(arg: *mut c_void) -> c_int {
    const FIBERS: usize = 1000;
    let shared = arg as *mut Shared;
    let mut fibers = vec![Fiber { id: 0 }; FIBERS];
    let mut sum = 0u64;
    unsafe {
        for fiber in fibers.iter_mut() {
            if weft_spawn(fiber, std::ptr::null(), work, arg) != 0 {
                return 1;
            }
        }
        for _ in 0..FIBERS {
            let mut item = 0u64;
            if weft_chan_recv((*shared).channel, &mut item as *mut u64 as *mut c_void) != 0 {
                return 1;
            }
            sum += item;
        }
        for fiber in fibers {
            if weft_join(fiber, std::ptr::null_mut()) != 0 {
                return 1;
            }
        }
    }
    println!("{} fibers, the sum is {}", FIBERS, sum);
    (sum != (FIBERS * (FIBERS + 1) / 2) as u64) as c_int
}

fn main() {
    unsafe {
        let words = (weft_ffi_size("weft_mutex\0".as_ptr() as *const c_char) + 7) / 8;
        let mut shared = Shared {
            mutex: vec![0; words],
            channel: weft_chan_make(8, 16),
            count: 0,
            millisecond: weft_ffi_constant("WEFT_MILLISECOND\0".as_ptr() as *const c_char),
        };
        println!("weft {}", std::ffi::CStr::from_ptr(weft_version()).to_str().unwrap());
        let code = weft_run(start, &mut shared as *mut Shared as *mut c_void, std::ptr::null());
        weft_chan_free(shared.channel);
        std::process::exit(code);
    }
}
