/*
 * codes: a 64-bit program that also runs 32-bit code, as a loader of 32-bit programs for other systems does, and code in a
 * segment of its own. It works in wide (64-bit), in narrow (32-bit) and in segmented, whose program counter counts
 * from the beginning of its segment. share[0] to share[2] have the processor time of each. Without modify_ldt(2) there is
 * no segmented. Built with -no-pie: 32-bit code is below 4 GB.
 */
#include "ptest.h"
#include "burn.h"
#include <asm/ldt.h>
#include <sys/syscall.h>

void wide(void), narrow(void), segmented(void), enter(const void *to);

/* enter jumps to an address and a selector. The code that it jumps to keeps no stack, and jumps back. */
__asm__(".pushsection .text\n"
	".globl wide, narrow, segmented, enter\n"
	".type wide, @function; .type narrow, @function; .type segmented, @function; .type enter, @function\n"
	"wide: mov $20000000, %ecx\n"
	"1: dec %ecx; jnz 1b; ret\n"
	".size wide, .-wide\n"
	"enter: .cfi_startproc; mov %rsp, kept(%rip); ljmp *(%rdi)\n"
	"back: mov kept(%rip), %rsp; ret; .cfi_endproc\n"
	".size enter, .-enter\n"
	".code32\n"
	"narrow: mov $20000000, %ecx\n"
	"1: dec %ecx; jnz 1b; ljmp $0x33, $back\n"
	".size narrow, .-narrow\n"
	"segmented: mov $20000000, %ecx\n"
	"1: dec %ecx; jnz 1b; ljmp $0x33, $back\n"
	".size segmented, .-segmented\n"
	".code64\n"
	".local kept; .comm kept, 8, 8\n"
	".popsection\n");

struct __attribute__((packed)) far {
	uint32_t at;
	uint16_t selector;
};

int main(int argc, char **argv)
{
	struct far to_narrow = { (uint32_t)(uintptr_t)narrow, 0x23 }, to_segmented = { 0, 7 };
	struct user_desc d = {
		.base_addr = (uint32_t)(uintptr_t)segmented, .limit = 0xfffff, .limit_in_pages = 1, .seg_32bit = 1, .contents = 2, .useable = 1,
	};
	int segments;

	start(argc, argv, NULL);
	segments = syscall(SYS_modify_ldt, 1, &d, sizeof d) == 0;
	ready();
	while (!over()) {
		uint64_t began = cpu_now(), ended;

		wide();
		atomic_fetch_add(&truth->share[0], (ended = cpu_now()) - began);
		enter(&to_narrow);
		enter(&to_narrow);
		atomic_fetch_add(&truth->share[1], (began = cpu_now()) - ended);
		if (segments) {
			enter(&to_segmented);
			atomic_fetch_add(&truth->share[2], cpu_now() - began);
		}
	}
	return done(0);
}
