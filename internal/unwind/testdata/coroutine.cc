// A coroutine resumed by main > drive, that works in produce > inner, and one it awaits.
#include <coroutine>
#include <cstdio>
#include <exception>

#define NOINLINE __attribute__((noinline))

volatile unsigned long sink;

NOINLINE void inner(int n)
{
	for (int i = 0; i < n; i++)
		sink = sink + i;
	sink = sink + 1;
}

struct task {
	struct promise_type {
		std::coroutine_handle<> waiter = std::noop_coroutine();
		task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
		std::suspend_always initial_suspend() noexcept { return {}; }
		auto final_suspend() noexcept
		{
			struct leave {
				bool await_ready() noexcept { return false; }
				std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> h) noexcept { return h.promise().waiter; }
				void await_resume() noexcept {}
			};
			return leave{};
		}
		std::suspend_always yield_value(int) { return {}; }
		void return_void() {}
		void unhandled_exception() { std::terminate(); }
	};
	std::coroutine_handle<promise_type> h;
	bool await_ready() { return false; }
	std::coroutine_handle<> await_suspend(std::coroutine_handle<> w)
	{
		h.promise().waiter = w;
		return h;
	}
	void await_resume() {}
};

task part(int n)
{
	inner(300 + n % 3);
	co_return;
}

task produce()
{
	for (int i = 0;; i++) {
		inner(200);
		task t = part(i);
		co_await t;
		t.h.destroy();
		co_yield i;
	}
}

NOINLINE void drive(task &t)
{
	t.h.resume();
	sink = sink + 1;
}

int main()
{
	puts("ready");
	fflush(stdout);
	task t = produce();
	for (;;)
		drive(t);
}
